"""paper/reproduce.py: which runs are made, what is kept of them, and the tables made of that."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import reproduce
from conftest import DATA
from reproduction import data, debian, machine, packaged, paper, report, results, runs, worker
from reproduction.methods import METHODS, MODULE_OF, OF_CLUSTPY, SPC, TABLES, configure, is_configured_as
from reproduction.runs import Run, expected_seconds, make_runs, plan

from skspc import SPCClustering

TINY = ["n_estimators=2", "pretrain_epochs=1", "epochs=1", "max_iter=1", "clusterer=kmeans", "reducer=null"]
CARD = "NVIDIA H100"


def make_row(method="spc", seed=0, dataset="usps", table="main", **changes):
    """A hand-made row of a run at the defaults."""
    algorithm, parameters = METHODS[method].algorithm, METHODS[method].parameters
    row = {
        "table": table,
        "dataset": dataset,
        "data": "0123456789ab",
        "n_rows": data.N_ROWS[dataset],
        "method": method,
        "algorithm": algorithm,
        "parameters": configure(algorithm, parameters),
        "seed": seed,
        "accuracy": 0.98,
        "nmi": 0.95,
        "cluster_sizes": [1500, 1300],
        "class_sizes": [1553, 1269],
        "n_noise": 0,
        "seconds": 300.0,
        "device": CARD,
        "peak_memory_mib": 1000.0,
        "versions": {"skspc": "0.1.0"},
        "commit": "a" * 40,
    }
    if algorithm == SPC:
        oracle = {"round": 2, "accuracy": 0.985, "nmi": 0.96, "accuracy_by_round": [0.97, 0.98, 0.985]}
        row |= {"agreed_share": 0.9, "chosen_round": 1, "n_rounds": 3, "oracle_best_round": oracle}
    return row | changes


def cells_of(text, start):
    """Cells of the one table line that starts with ``start``."""
    (line,) = [line for line in text.split("\n") if line.startswith(start)]
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.fixture
def said():
    return []


@pytest.fixture
def measured(monkeypatch):
    """Runs that were made, where a run is only noted down: each takes 100 s by its own account."""
    made = []

    def note(run, say):
        made.append(run)
        row = make_row(run.method, run.seed, run.dataset, run.table, seconds=100.0, device=machine.cpu_name())
        recorded = {"data": data.load(run.dataset, run.n_rows).digest, "n_rows": run.size}
        return row | recorded | {"parameters": configure(run.algorithm, run.parameters)}

    monkeypatch.setattr(runs, "measure", note)
    return made


# What is planned


def test_every_data_set_has_its_first_seed_before_any_second():
    planned = plan(["main"], ["digits", "usps"], [0, 1], methods=["spc", "kmeans"])
    assert [(run.seed, run.dataset, run.method) for run in planned] == [
        *((0, "digits", "spc"), (0, "digits", "kmeans"), (0, "usps", "spc"), (0, "usps", "kmeans")),
        *((1, "digits", "spc"), (1, "digits", "kmeans"), (1, "usps", "spc"), (1, "usps", "kmeans")),
    ]


def test_augmentation_is_for_images_alone():
    methods = {run.method for run in plan(["main"], ["pendigits"], [0])}
    assert methods == set(TABLES["main"]) - {"spc-affine"}
    assert {run.method for run in plan(["main"], ["coil20"], [0])} == set(TABLES["main"])


def test_ablations_are_those_of_the_paper():
    by_name = {run.method: run.parameters for run in plan(["ablations"], ["mnist"], [0])}
    assert by_name["a1"] == {"selection": "consensus"}
    assert by_name["a2"] == {"selection": "own"}
    assert by_name["a3"] == {"n_estimators": 1}
    assert by_name["a4"] == {"n_estimators": 1, "pretrain_epochs": 0, "reconstruction": "none"}
    assert by_name["a5-k1"] == {"n_estimators": 1, "max_iter": 0}
    assert by_name["a5-k15"] == {"n_estimators": 15, "max_iter": 0}
    assert by_name["a6"] == METHODS["umap-hdbscan"].parameters
    sizes = [run.parameters["n_estimators"] for run in plan(["ensemble-size"], ["mnist"], [0])]
    assert sizes == [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25]


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.algorithm == SPC])
def test_parameters_of_a_method_are_parameters_of_the_estimator(name):
    SPCClustering(**METHODS[name].parameters)._validate_params()


def test_settings_change_what_a_method_leaves_open_and_spc_alone():
    settings = {"n_estimators": 15, "epochs": 2}
    by_name = {run.method: run.parameters for run in plan(["main", "ablations"], ["usps"], [0], settings=settings)}
    assert by_name["spc"] == settings
    assert by_name["a3"] == {"n_estimators": 1, "epochs": 2}
    assert by_name["kmeans"] == {"n_init": 10}


# What counts as there already


def test_the_same_configuration_is_there_whatever_the_table_or_the_commit():
    rows = [make_row("k15", table="ensemble-size")]
    assert is_configured_as(rows[0], SPC, METHODS["spc-k15"].parameters)
    assert not is_configured_as(rows[0], SPC, METHODS["spc"].parameters)


def test_without_rounds_the_parameters_of_rounds_do_not_count():
    recorded = configure(SPC, {}) | {"max_iter": 0, "tol": 0.5, "n_iter_no_change": 99}
    assert is_configured_as(make_row(parameters=recorded), SPC, {"max_iter": 0})
    assert is_configured_as(
        make_row(parameters=configure(SPC, {"max_iter": 0})), SPC, {"max_iter": 0, "selection": "own"}
    )
    assert not is_configured_as(make_row(parameters=recorded | {"max_iter": 1}), SPC, {"max_iter": 1})
    assert not is_configured_as(make_row(parameters=recorded | {"n_estimators": 99}), SPC, {"max_iter": 0})


def test_a_run_under_other_defaults_is_another_run():
    recorded = configure(SPC, {})
    assert recorded["max_iter"] == SPCClustering().max_iter
    assert is_configured_as(make_row(parameters=recorded), SPC, {})
    assert not is_configured_as(make_row(parameters=recorded | {"max_iter": 99}), SPC, {})


def test_a_parameter_that_came_later_had_its_default():
    recorded = configure(SPC, {})
    del recorded["max_samples"]
    assert is_configured_as(make_row(parameters=recorded), SPC, {})
    assert not is_configured_as(make_row(parameters=recorded), SPC, {"max_samples": 0.5})


def test_device_and_threads_are_no_configuration():
    assert configure(SPC, {"device": "cpu", "n_jobs": 2}) == configure(SPC, {})
    assert is_configured_as(make_row(parameters=configure(SPC, {})), SPC, {"device": "cpu"})


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"n_rows": 100}, {"dataset": "usps"}, {"data": "another"}, {"algorithm": "KMeans"}]
)
def test_data_algorithm_and_seed_count(change):
    run = Run("main", "digits", "spc", None, 0, {})
    row = make_row(dataset="digits", data=data.load("digits").digest)
    assert run.is_in(row)
    assert not run.is_in(row | change)


def test_configurations_come_back_from_json_as_they_went():
    configuration = configure(SPC, {"image_shape": (8, 8)})
    assert configuration["image_shape"] == [8, 8]
    assert json.loads(json.dumps(configuration)) == configuration


# Runs


def test_a_stopped_command_goes_on_where_it_was(tmp_path, measured, said):
    path = tmp_path / "new folder" / "results.jsonl"
    planned = plan(["main"], ["digits"], [0, 1], methods=["spc", "kmeans"])
    make_runs(planned[:3], path, say=said.append)
    make_runs(planned, path, say=said.append)
    assert measured == planned
    assert said[3:] == [
        "main: digits, spc, seed 0: there already",
        "main: digits, kmeans, seed 0: there already",
        "main: digits, spc, seed 1: there already",
        "main: digits, kmeans, seed 1: accuracy 98.00, NMI 95.00, 100 s",
    ]
    assert [row["seed"] for row in results.read_rows(path)] == [0, 0, 1, 1]


def test_fresh_makes_rows_of_other_commits_again(tmp_path, measured, said, monkeypatch):
    path = tmp_path / "results.jsonl"
    planned = plan(["main"], ["digits"], [0], methods=["spc"])
    monkeypatch.setattr(machine, "versions", lambda: {"skspc": "0.1.0"})
    monkeypatch.setattr(machine, "commit", lambda: "a" * 40)
    make_runs(planned, path, say=said.append)
    make_runs(planned, path, fresh=True, say=said.append)
    assert len(measured) == 1
    monkeypatch.setattr(machine, "commit", lambda: "b" * 40)
    make_runs(planned, path, say=said.append)
    assert len(measured) == 1
    make_runs(planned, path, fresh=True, say=said.append)
    assert len(measured) == 2


def test_hours_start_no_run_that_would_end_later(tmp_path, measured, said):
    path = tmp_path / "results.jsonl"
    planned = plan(["main"], ["digits"], [0, 1], methods=["kmeans"])
    make_runs(planned, path, hours=1000 / 3600, say=said.append)
    assert measured == planned
    more = plan(["main"], ["digits"], [2, 3], methods=["kmeans"])
    make_runs(more, path, hours=99 / 3600, say=said.append)
    assert measured == planned
    assert said[-1] == (
        "main: digits, kmeans, seed 2: would not be over within 0.0275 hours; stopped here, the same command goes on "
        "from here"
    )


def test_a_run_is_expected_to_take_what_others_took():
    run = Run("main", "usps", "spc", None, 0, {"n_estimators": 15})
    here = {"device": machine.cpu_name()}
    five = make_row("k5", seconds=100.0, **here)
    two = make_row("k2", seconds=60.0, **here)
    same = make_row("k15", seconds=250.0, **here)
    assert expected_seconds(run, []) == 0
    assert expected_seconds(run, [make_row("k15", device="another machine's")]) == 0
    assert expected_seconds(run, [make_row("k15", dataset="mnist", **here)]) == 0
    assert expected_seconds(run, [five, two]) == 15 * 30
    assert expected_seconds(run, [five, two, same]) == 250


@pytest.mark.parametrize(("method", "needed"), [("dec", "clustpy"), ("n2d-clustpy", "clustpy"), ("evoc-told", "evoc")])
def test_a_peer_that_is_not_installed_is_left_out(tmp_path, measured, said, monkeypatch, method, needed):
    monkeypatch.setattr(machine, "is_installed", lambda module: module != needed)
    planned = plan(["main"], ["digits"], [0], methods=[method, "kmeans"])
    assert make_runs(planned, tmp_path / "results.jsonl", say=said.append) == 0
    assert [run.method for run in measured] == ["kmeans"]
    remedy = f"{needed} is not installed. Install the peers with: pip install -r paper/peers.txt"
    assert f"main: digits, {method}, seed 0: left out, {remedy}" in said


def test_what_the_peers_need_is_what_their_file_installs():
    lines = (runs.FOLDER / "peers.txt").read_text().splitlines()
    assert {line.split("==")[0] for line in lines if not line.startswith("#")} == set(MODULE_OF.values())
    assert set(MODULE_OF.values()) <= set(machine.PACKAGES)  # so that each row has the version


def test_a_peer_that_is_told_the_number_is_another_one():
    told, untold = (configure("EVoC", METHODS[method].parameters) for method in ("evoc-told", "evoc"))
    assert is_configured_as(make_row(parameters=told), "EVoC", METHODS["evoc-told"].parameters)
    assert not is_configured_as(make_row(parameters=told), "EVoC", METHODS["evoc"].parameters)
    assert not is_configured_as(make_row(parameters=untold), "EVoC", METHODS["evoc-told"].parameters)


def test_a_failed_run_costs_one_row(tmp_path, said):
    path = tmp_path / "results.jsonl"
    planned = [
        Run("main", "digits", "kmeans", 60, 0, {"n_init": 0}),
        Run("main", "digits", "kmeans", 60, 0, {"n_init": 1}),
    ]
    assert make_runs(planned, path, say=said.append) == 1
    assert said[0].startswith("main: digits, 60 rows, kmeans, seed 0: failed with exit status 1, no row is written.")
    assert "The 'n_init' parameter of KMeans must be" in said[0]
    (row,) = results.read_rows(path)
    assert row["parameters"] == {"n_init": 1}


def test_a_killed_run_costs_one_row(tmp_path, said, monkeypatch):
    monkeypatch.setattr(runs, "WORKER", "import os; os.kill(os.getpid(), 9)")
    planned = plan(["main"], ["digits"], [0], methods=["kmeans"], n_rows=60)
    assert make_runs(planned, tmp_path / "results.jsonl", say=said.append) == 1
    assert "failed with exit status -9" in said[0]


@pytest.mark.case(
    "reproducibility",
    "the command that reproduces the paper's tables",
    origin="N2D#9, #15; rymc/n2d#10; DCN#4; DeepDPM#26, #50",
)
def test_a_real_run_of_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # as here: sums in another order may end in other labels
    path = tmp_path / "results.jsonl"
    words = ["--dataset", "digits", "--n-rows", "120", "--seeds", "3", "--method", "spc", "kmeans"]
    words += ["--results", str(path), "--set", *TINY]
    assert reproduce.main([*words, "--print"]) == 0
    assert reproduce.main(words) == 0
    spc, kmeans = results.read_rows(path)
    printed = capsys.readouterr().out
    assert printed.count("there already") == 2

    images, classes = data.load("digits", 120).rows, data.load("digits", 120).classes
    model = SPCClustering(10, random_state=3, **dict(map(reproduce.parse_setting, TINY))).fit(images)
    scored = runs.accuracy_and_nmi(classes, model.labels_)
    assert {name: spc[name] for name in scored} == scored
    assert spc["cluster_sizes"] == sorted(np.bincount(model.labels_).tolist(), reverse=True)
    assert (spc["n_rounds"], spc["kept"]) == (model.n_iter_, "the vote of all rounds")
    assert spc["agreed_share"] == model.agreed_.mean()
    assert (spc["n_rows"], spc["seed"], spc["table"], spc["method"]) == (120, 3, "main", "spc")
    oracle = spc["oracle_best_round"]
    assert oracle["accuracy"] == max(oracle["accuracy_by_round"])
    assert len(oracle["accuracy_by_round"]) == 2
    assert {"torch", "scikit-learn", "umap-learn", "hdbscan", "numpy", "skspc"} <= spc["versions"].keys()
    assert 0 < kmeans["peak_memory_mib"] < spc["peak_memory_mib"]  # the one does not load torch
    assert "oracle_best_round" not in kmeans
    title = "SPC, clusterer=kmeans, epochs=1, max_iter=1, n_estimators=2, pretrain_epochs=1, reducer=null"
    assert f"| digits, 120 rows | {title} | 2 | {100 * spc['accuracy']:.2f} | " in printed


# The worker


def test_the_worker_is_told_nothing_of_the_classes_but_their_number():
    run = Run("main", "digits", "spc", 120, 4, {"epochs": 1})
    task = runs.make_task(run, data.load("digits", 120))
    assert task == {"algorithm": SPC, "parameters": {"epochs": 1}, "n_clusters": 10, "seed": 4}


def test_the_worker_tells_the_labels_of_each_round(blobs):
    rows, classes = np.concatenate([blobs[0], blobs[0][:20]]), np.concatenate([blobs[1], blobs[1][:20]])
    parameters = dict(map(reproduce.parse_setting, TINY))
    arrays, figures = worker.fit_spc(rows, {"n_clusters": 3, "seed": 0, "parameters": parameters})
    assert arrays["rounds"].shape == (figures["n_rounds"], len(rows))
    np.testing.assert_array_equal(arrays["rounds"][:, :20], arrays["rounds"][:, -20:])  # equal rows have one label
    assert runs.score(arrays, classes)["oracle_best_round"]["accuracy"] > 0.9


def test_the_oracle_is_kept_apart_from_the_result():
    arrays = {
        "labels": np.array([0, 0, 1, 0]),
        "agreed": np.array([True, True, True, False]),
        "rounds": np.array([[0, 0, 1, 0], [1, 1, 0, 0]]),
    }
    figures = runs.score(arrays, np.array([5, 5, 7, 7]))
    assert figures["accuracy"] == 0.75
    assert figures["agreed_accuracy"] == 1.0
    assert figures["oracle_best_round"] == {"round": 1, "accuracy": 1.0, "nmi": 1.0, "accuracy_by_round": [0.75, 1.0]}
    assert (figures["cluster_sizes"], figures["class_sizes"]) == ([3, 1], [2, 2])


def test_noise_is_wrong_and_in_no_cluster():
    figures = runs.score({"labels": np.array([0, 0, -1, 1])}, np.array([0, 0, 1, 1]))
    assert (figures["accuracy"], figures["n_noise"], figures["cluster_sizes"]) == (0.75, 1, [2, 1])
    assert "oracle_best_round" not in figures


def test_umap_and_a_clusterer_as_one_would_write_it(blobs, monkeypatch):
    rows, classes = blobs
    given = []

    class UMAP:
        def __init__(self, **settings):
            given.append(settings)

        def fit_transform(self, X):
            return X

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=UMAP))  # the real one compiles for many seconds
    for fit, method in ((worker.fit_umap_gmm, "umap-gmm"), (worker.fit_umap_hdbscan, "umap-hdbscan")):
        arrays, figures = fit(rows, {"n_clusters": 3, "seed": 4, "parameters": METHODS[method].parameters})
        assert runs.score(arrays, classes)["accuracy"] > 0.95
        assert figures["device"] == machine.cpu_name()
    assert given == [{"n_neighbors": 30, "min_dist": 0.0, "random_state": 4, "n_jobs": 1}] * 2


class Peer:
    """Stands in for any peer: notes what it is given, and has a tree of three leaves."""

    tree_ = SimpleNamespace(get_leaf_and_split_nodes=lambda: ([0, 1, 2], [3, 4]))

    def __init__(self, **settings):
        self.given.append(settings)

    def fit_predict(self, X):
        np.testing.assert_allclose(X, [[0, 0.5], [1, 1]])
        assert X.dtype == np.float32
        return np.array([1, 0], dtype=np.int32)

    def flat_clustering(self, n_leaf_nodes_to_keep):
        self.given.append(n_leaf_nodes_to_keep)
        return np.array([0, 0], dtype=np.int32)


@pytest.fixture
def peer(monkeypatch):
    """The stand-in, in the place of all that ClustPy and EVoC have."""
    deep = SimpleNamespace(**dict.fromkeys(OF_CLUSTPY, Peer))
    monkeypatch.setattr(Peer, "given", [], raising=False)
    monkeypatch.setitem(sys.modules, "clustpy", SimpleNamespace(deep=deep))
    monkeypatch.setitem(sys.modules, "evoc", SimpleNamespace(EVoC=Peer))
    return Peer


def fit_peer(method, n_clusters=2):
    """Labels of a method on two images of 0 to 16."""
    algorithm, parameters = METHODS[method].algorithm, METHODS[method].parameters
    task = {"algorithm": algorithm, "n_clusters": n_clusters, "seed": 7, "parameters": parameters}
    fit = worker.fit_clustpy if algorithm in OF_CLUSTPY else worker.FITS[algorithm]
    images = np.array([[[0, 8]], [[16, 16]]], dtype=np.uint8)
    arrays, figures = fit(images if algorithm in OF_CLUSTPY else images / 16, task)
    assert figures.keys() == {"seconds", "device"}
    return arrays["labels"].tolist()


@pytest.mark.parametrize("method", ["dec", "idec", "dcn", "vade"])
def test_clustpy_is_given_flat_rows_from_0_to_1_and_its_own_defaults(peer, method):
    assert fit_peer(method) == [1, 0]
    assert peer.given == [{"n_clusters": 2, "random_state": 7}]


def test_a_tree_is_cut_to_the_number_of_clusters_as_far_as_it_has_leaves(peer):
    assert fit_peer("deepect") == [0, 0]
    assert fit_peer("deepect", n_clusters=9) == [0, 0]
    assert peer.given == [{"random_state": 7}, 2, {"random_state": 7}, 3]


def test_clustpys_n2d_has_a_plane(peer):
    assert fit_peer("n2d-clustpy") == [1, 0]
    assert peer.given == [{"n_clusters": 2, "random_state": 7, "manifold_params": {"n_components": 2}}]


def test_evoc_is_told_the_number_of_clusters_or_not(peer):
    assert fit_peer("evoc") == fit_peer("evoc-told") == [1, 0]
    assert peer.given == [{"approx_n_clusters": number, "random_state": 7} for number in (None, 2)]


def test_features_with_negative_values_are_scaled_for_vade_alone():
    features = np.array([[-1, 5, 2], [3, 5, -2], [1, 5, 0]], dtype=np.float32)
    assert worker.scale_for_clustpy(features, "IDEC") is features
    scaled = worker.scale_for_clustpy(features, "VaDE")
    np.testing.assert_allclose(scaled, [[0, 0, 1], [1, 0, 0], [0.5, 0, 0.5]])
    assert scaled.dtype == np.float32


def test_peak_memory_is_that_of_the_process():
    program = (
        "import numpy, sys; sys.path.insert(0, sys.argv[1]); from reproduction.machine import peak_memory; "
        "before = peak_memory(); numpy.ones(2**24); print(before, peak_memory() - before)"
    )
    command = [sys.executable, "-c", program, str(runs.FOLDER)]
    before, grown = map(float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert 5 < before < 200
    assert 120 < grown < 140


# The results file


def test_a_line_cut_off_by_a_kill_is_no_row(tmp_path):
    path = tmp_path / "results.jsonl"
    assert results.read_rows(path) == []
    results.append_row(path, {"seed": 0})
    with open(path, "a") as file:
        file.write('{"seed": 1, "accu')
    assert results.read_rows(path) == [{"seed": 0}]
    results.append_row(path, {"seed": 2})
    assert path.read_text() == '{"seed": 0}\n{"seed": 2}\n'


def test_any_other_broken_line_is_named(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"seed": 0}\nnonsense\n{"seed": 1}\n')
    with pytest.raises(ValueError, match=r"results.jsonl, line 2 is not a JSON row: .* Mend or remove that line."):
        results.read_rows(path)


# The report


def test_a_mean_has_its_spread_and_names_seeds_commits_and_devices():
    rows = [
        make_row(seed=1, accuracy=0.98, nmi=0.94, commit="b" * 40 + "+", seconds=400.0),
        make_row(seed=0, accuracy=0.96, nmi=0.95, device="a CPU", seconds=9000.0, peak_memory_mib=700.0),
    ]
    text = report.render_page(rows)
    assert cells_of(text.split("## Ablations")[0], "| USPS") == [
        *("USPS", "SPC", "5", "97.00 (1.41)", "94.50 (0.71)", "98.40 (0.94)", "95.42 (0.15)", "90.0"),
        *("9000; 400", "700; 1000", "2 (0, 1)", "aaaaaaa, bbbbbbb+", f"a CPU; {CARD}"),
        "`python paper/reproduce.py --table main --dataset usps --method spc --seeds 0 1`",
    ]
    oracle = text.split("## Oracle best round")[1]
    assert cells_of(oracle, "| USPS") == [
        *("USPS", "SPC", "5", "97.00 (1.41)", "94.50 (0.71)", "98.50 (0.00)", "96.00 (0.00)"),
        *("2 (kept: 1), 2 (kept: 1)", "2 (0, 1)"),
    ]


def test_the_readme_has_the_rows_that_are_declared_of_whole_sets():
    others = [make_row("kmeans"), make_row("spc", n_rows=1000), make_row("spc-affine", parameters=configure(SPC, {}))]
    rows = [make_row("kmeans", dataset="stackoverflow_titles", seconds=0.7), make_row("spc-affine"), *others]
    readme = report.render_readme(rows)
    assert [line.split(" | ")[:2] for line in readme.split("\n") if line.startswith("| ")] == [
        *(["| data", "method"], ["| ---", "---"]),
        *(["| USPS", "SPC, affine augmentation"], ["| Stack Overflow titles", "KMeans"]),
    ]
    assert cells_of(readme, "| Stack") == ["Stack Overflow titles", "KMeans", "98.00", "95.00", "1", "1 (0)", CARD]


def test_every_declared_row_of_the_readme_is_recorded():
    recorded = report.readme_groups(results.read_rows(reproduce.RESULTS))
    assert [(group.dataset, group.method) for group in recorded] == list(report.README_ROWS)


def test_a_page_has_parts_of_the_rows_too():
    rows = [make_row("kmeans", dataset="mnist"), make_row("kmeans", dataset="mnist", n_rows=10_000)]
    page = report.render_page(rows)
    assert cells_of(page, "| MNIST |")[-1] == (
        "`python paper/reproduce.py --table main --dataset mnist --method kmeans --seeds 0`"
    )
    cells = cells_of(page, "| MNIST, 10000 rows")
    assert cells[-1].endswith("--method kmeans --n-rows 10000 --seeds 0`")


def test_of_runs_with_the_same_seed_the_last_counts():
    (group,) = report.group_rows([make_row(accuracy=0.5), make_row(accuracy=0.75)], "main")
    assert [row["accuracy"] for row in group.rows] == [0.75]


def test_other_settings_stand_apart_under_their_names():
    other = configure(SPC, {"n_estimators": 10, "max_samples": None, "augmentation": "affine"})
    rows = [make_row(parameters=other), make_row("a1", table="ablations"), make_row()]
    usual, changed = report.group_rows(rows, "main")
    assert (usual.title, changed.title) == ("SPC", "SPC, augmentation=affine, n_estimators=10")
    assert changed.command.endswith("--method spc --seeds 0 --set augmentation=affine n_estimators=10")
    assert report.result_cells(changed)["paper: accuracy"] == "-"
    assert [group.method for group in report.group_rows(rows, "ablations")] == ["spc", "a1"]


def test_a_selection_counts_as_what_auto_comes_to_on_the_data():
    few, many = {"class_sizes": [100] * 10, "n_rows": 1000}, {"class_sizes": [1000] * 10, "n_rows": 10_000}
    agreed, balanced = (configure(SPC, {"selection": name}) for name in ("agreed", "balanced"))
    for sizes, usual, other in ((few, agreed, balanced), (many, balanced, agreed)):
        rows = [make_row(parameters=parameters, **sizes) for parameters in (usual, other)]
        titles = [group.title for group in report.group_rows(rows, "main")]
        assert titles == ["SPC", f"SPC, selection={other['selection']}"]


def test_a_run_is_in_every_table_that_has_its_configuration():
    rows = [make_row("k1", table="ensemble-size")]
    assert [group.title for group in report.group_rows(rows, "ablations")] == ["A3: one member"]
    assert [group.title for group in report.group_rows(rows, "ensemble-size")] == ["K = 1"]
    assert report.group_rows(rows, "main") == []
    assert report.render_page(rows).count("(kept: 1)") == 1


def test_copies_of_the_data_are_told():
    (group,) = report.group_rows([make_row(seed=0), make_row(seed=1, data="other")], "main")
    assert report.result_cells(group)["commit"] == "aaaaaaa; 2 copies of the data"
    assert report.short_commit(None) == "not known"


def test_sizes_stand_beside_those_of_the_classes_and_of_the_paper():
    text = report.size_table(report.group_rows([make_row(), make_row("kmeans"), make_row(seed=1)], "cluster-sizes"))
    assert text.split("\n") == [
        "| data | labels | sizes |",
        "| --- | --- | --- |",
        "| USPS | SPC, seed 0 | 1500, 1300 |",
        "| USPS | SPC in the paper | 1565, 1272, 933, 856, 834, 833, 819, 787, 706, 693 |",
        "| USPS | classes | 1553, 1269 |",
    ]


def test_without_runs_the_tables_say_so():
    assert "No runs are recorded yet." in report.render_readme([])
    assert report.render_page([]).count("No runs are recorded yet.") == 5


def test_text_goes_between_the_markers(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("before\n<!-- results -->\nold\n<!-- /results -->\nafter\n")
    report.replace_between_markers(path, "new")
    report.replace_between_markers(path, "newer")
    assert path.read_text() == "before\n<!-- results -->\n\nnewer\n\n<!-- /results -->\nafter\n"


@pytest.mark.parametrize(
    "content", ["", "<!-- results -->", "<!-- /results --><!-- results -->", "<!-- results --><!-- /results -->" * 2]
)
def test_missing_markers_are_told(tmp_path, content):
    path = tmp_path / "page.md"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"page.md needs <!-- results --> and, below it, <!-- /results -->, each once"):
        report.replace_between_markers(path, "new")


@pytest.mark.parametrize("page", [reproduce.README, reproduce.PAGE], ids=lambda page: page.name)
def test_tables_are_those_of_the_rows(page):
    render = report.render_readme if page == reproduce.README else report.render_page
    _, _, rest = page.read_text(encoding="utf-8").partition(report.BEGIN)
    written = rest.partition(report.END)[0].strip()
    assert written == render(results.read_rows(reproduce.RESULTS)), "run python paper/reproduce.py --report"


def test_the_report_writes_both_pages(tmp_path, monkeypatch):
    for name in ("README", "PAGE"):
        page = tmp_path / f"{name}.md"
        page.write_text(f"{report.BEGIN}{report.END}")
        monkeypatch.setattr(reproduce, name, page)
    path = tmp_path / "results.jsonl"
    results.append_row(path, make_row())
    assert reproduce.main(["--report", "--results", str(path)]) == 0
    assert cells_of((tmp_path / "PAGE.md").read_text().split("## Ablations")[0], "| USPS")[:3] == ["USPS", "SPC", "5"]
    assert report.EMPTY in (tmp_path / "README.md").read_text()
    assert "## Ensemble size" in (tmp_path / "PAGE.md").read_text()


# The paper


def test_figures_of_the_paper():
    assert paper.printed_figure("main", "spc", "mnist") == (99.03, 97.04, 0.1, 0.25)
    assert paper.printed_figure("main", "spc-gmm", "fashion_mnist") == (65.03, 69.51, 1.54, 1.21)
    assert paper.printed_figure("main", "n2d", "usps") == (95.8, 90.0, None, None)
    assert paper.printed_figure("ablations", "a4", "usps") == (87.49, 82.68, 7.93, 2.6)
    assert paper.printed_figure("ensemble-size", "k5", "fashion_mnist") == (67.91, 73.46, None, None)
    assert paper.printed_figure("main", "spc", "digits") is None
    assert paper.printed_figure("main", "spc-affine", "usps") is None
    assert paper.printed_figure("cluster-sizes", "spc", "usps") is None


def test_figures_of_the_paper_are_for_rows_that_are_there():
    for table, figures in paper.TABLES.items():
        assert figures.keys() <= set(TABLES[table])
    for (dataset, _), sizes in paper.CLUSTER_SIZES.items():
        assert sum(sizes) == data.N_ROWS[dataset]
        assert list(sizes) == sorted(sizes, reverse=True)


# Data


def test_a_part_of_the_rows_is_the_same_in_every_run():
    part, again = data.load.__wrapped__("digits", 200), data.load.__wrapped__("digits", 200)
    assert part.rows.shape == (200, 8, 8)
    np.testing.assert_array_equal(part.classes, again.classes)
    whole = data.load("digits")
    assert part.digest == whole.digest
    assert len(set(part.classes.tolist())) == 10
    assert data.load("digits", 10**6).rows.shape == whole.rows.shape


def test_optdigits_has_its_own_range():
    rows = data.make_rows("optdigits", np.array([[[0, 16]]], dtype=np.uint8))
    assert rows.dtype == np.float64
    assert data.make_rows("usps", np.zeros((1, 2, 2), dtype=np.uint8)).dtype == np.uint8


def test_features_of_signals():
    time = np.arange(128) / 128
    signals = np.stack([np.stack([np.sin(2 * np.pi * 5 * time), np.full(128, level)]) for level in (1.0, 3.0)])
    signals[1, 0] *= 2
    features = data.signal_features(signals)
    assert features.shape == (2, 72)
    np.testing.assert_allclose(features[:, 1], [-1, 1])  # standard deviations .71 and 1.41, standardised
    np.testing.assert_allclose(features[:, 4 + 5], [-1, 1])  # the frequency of the sine
    np.testing.assert_allclose(features[:, 36], [-1, 1])  # means 1 and 3 of the second channel
    np.testing.assert_allclose(features[:, 37], 0)


def test_features_of_texts():
    texts = np.array(["sort a list", "sorted list order", "git merge branch", "merge a git conflict", "branch git"])
    features = data.text_features(texts)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1)
    similarity = features @ features.T
    assert similarity[0, 1] > similarity[0, 2:].max()


def test_a_set_that_is_nowhere_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("SKSPC_DATA", str(tmp_path))
    message = "COIL-20 is read from coil20.npz: set SKSPC_DATA to a folder that has it."
    with pytest.raises(FileNotFoundError, match=message):
        data.load.__wrapped__("coil20")
    monkeypatch.delenv("SKSPC_DATA")
    with pytest.raises(FileNotFoundError, match="Stack Overflow titles is read from stackoverflow_titles.tsv.gz"):
        data.load.__wrapped__("stackoverflow_titles")


@pytest.mark.parametrize("name", ["coil20", "usps", "pendigits", "optdigits"])
def test_data_sets_are_whole(name, monkeypatch):
    if not (DATA / f"{name}.npz").exists():
        pytest.skip(f"{name} is not in {DATA}; set SKSPC_DATA to the folder that holds it")
    monkeypatch.setenv("SKSPC_DATA", str(DATA))
    found = data.load.__wrapped__(name)
    assert len(found.rows) == len(found.classes) == data.N_ROWS[name]
    assert (found.rows.ndim == 3) == (name in data.IMAGES)


def loaded_if_installed(name):
    """A data set that comes inside a package; the test is skipped where that is not installed."""
    try:
        return data.load.__wrapped__(name)
    except FileNotFoundError as error:
        return pytest.skip(str(error))


@pytest.mark.parametrize("name", list(packaged.N_ROWS))
def test_data_sets_of_packages_are_whole(name):
    found = loaded_if_installed(name)
    assert found.rows.shape[0] == len(found.classes) == data.N_ROWS[name]
    assert found.rows.dtype == np.float64 and np.isfinite(found.rows).all()
    assert np.bincount(found.classes).min() >= 30


def planted(monkeypatch, tmp_path, files):
    """Files of a package that is installed nowhere."""
    for path, text in files.items():
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text) if isinstance(text, bytes) else place.write_text(text, encoding="utf-8")
    monkeypatch.setattr(packaged, "file_of", lambda package, path: tmp_path / path)


def test_series_of_a_package_are_read_channel_by_channel(monkeypatch, tmp_path):
    head = "# of vowels: nine\n@problemName x\n@data\n"
    folder = "datasets/data/JapaneseVowels/JapaneseVowels_eq_"
    files = {f"{folder}TRAIN.ts": f"{head}1,2:3,4:b\n5,6:7,8:a\n", f"{folder}TEST.ts": f"{head}9,9:9,9:b\n"}
    planted(monkeypatch, tmp_path, files)
    rows, classes = packaged.stored("japanese_vowels")
    np.testing.assert_array_equal(rows, [[1, 2, 3, 4], [5, 6, 7, 8], [9, 9, 9, 9]])
    np.testing.assert_array_equal(classes, [1, 0, 1])


def test_tables_of_packages_are_read(monkeypatch, tmp_path):
    lines = ["species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year"]
    lines += ["Gentoo,Biscoe,1,2,3,4,male,2007", "Adelie,Torgersen,NA,NA,NA,NA,NA,2007", "Adelie,Dream,5,6,7,8,NA,2007"]
    files = {
        "data/penguins.csv": "\n".join(lines) + "\n",
        "datasets/phishing.csv.gz": gzip.compress(b"popup,is_phishing\n0.5,1\n1.0,0\n"),
        "tests/datasets/ionosphere.tab": "a1\ty\nc\td\n\tclass\n0.5\tg\n1\tb\n",
    }
    planted(monkeypatch, tmp_path, files)
    expected = {
        "penguins": ([["1", "2", "3", "4"], ["5", "6", "7", "8"]], ["Gentoo", "Adelie"]),
        "phishing": ([["0.5"], ["1.0"]], ["1", "0"]),
        "ionosphere": ([["0.5"], ["1"]], ["g", "b"]),
    }
    for name, table in expected.items():
        assert packaged.TABLES[name]() == table
    rows, classes = packaged.stored("penguins")
    np.testing.assert_allclose(rows, [[-1] * 4, [1] * 4])
    np.testing.assert_array_equal(classes, [1, 0])


@pytest.mark.parametrize("name", list(debian.N_ROWS))
def test_data_sets_of_debian_are_whole(name):
    found = loaded_if_installed(name)
    if name not in debian.SECTIONS:  # others are those of the release that is installed
        assert found.rows.shape[0] == data.N_ROWS[name]
    assert len(found.rows) == len(found.classes) and np.isfinite(found.rows).all()


def test_descriptions_of_packages_are_of_one_section_and_said_once():
    packages = [("a", "games", "A game"), ("b", "math", "Sums"), ("c", "math", "Both"), ("d", "games", "Both")]
    packages += [("b-doc", "math", "Manual"), ("e", "net", "A web"), ("f", "math", "Sums")]
    told = "\n\n".join(
        f"Package: {name}\nSection: {section}\nDescription-en: {text}\n more" for name, section, text in packages
    )
    texts, sections = debian.read_descriptions(f"{told}\n\nPackage: g\nSection: games\n", ["games", "math"])
    assert list(zip(texts, sections, strict=True)) == [("A game", "games"), ("Sums", "math")]


def test_symbols_are_columns_of_their_own():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"leaf": ["0", None, "1"], "stem": ["y", "y", "n"]})
    np.testing.assert_array_equal(debian.symbols(frame), [[1, 0, 0, 0, 1], [0, 0, 1, 0, 1], [0, 1, 0, 1, 0]])


@pytest.mark.parametrize(
    "name, remedy", [("descriptions", "no apt-cache here"), ("dna", "apt-get install r-cran-mlbench")]
)
def test_debians_sets_tell_what_to_install(name, remedy, monkeypatch, tmp_path):
    monkeypatch.setattr(debian, "MLBENCH", tmp_path)
    monkeypatch.setattr(debian.shutil, "which", lambda program: None)
    with pytest.raises(FileNotFoundError, match=remedy):
        debian.stored(name)


def test_a_system_without_debians_sections_is_told(monkeypatch):
    told = SimpleNamespace(stdout="Package: a\nSection: universe/games\nDescription-en: A game\n")
    monkeypatch.setattr(debian.shutil, "which", lambda program: program)
    monkeypatch.setattr(debian.subprocess, "run", lambda *args, **kwargs: told)
    with pytest.raises(FileNotFoundError, match="apt-get update, on Debian"):
        debian.stored("descriptions_2")


def test_a_package_that_lacks_is_asked_for():
    with pytest.raises(FileNotFoundError, match="package no_such, which is not installed: pip install --no-deps -r"):
        packaged.file_of("no_such", "x.csv")


# The command line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a --dataset to measure, or --report or --print to see what is measured"),
        (["--dataset", "pendigits", "--method", "spc-affine"], "no such run: no table named has such a method"),
        (["--dataset", "usps", "--set", "epoch=1"], "'epoch=1' is not NAME=VALUE with a parameter of SPCClustering"),
        (["--dataset", "usps", "--set", "epochs"], "'epochs' is not NAME=VALUE"),
    ],
)
def test_a_command_that_makes_no_sense(words, message, capsys):
    with pytest.raises(SystemExit):
        reproduce.main(words)
    assert message in capsys.readouterr().err


def test_a_failed_run_shows_in_the_exit_status(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reproduce, "make_runs", lambda *arguments: 1)
    assert reproduce.main(["--dataset", "digits", "--results", str(tmp_path / "none.jsonl")]) == 1


def test_settings_are_json_or_words():
    assert reproduce.parse_setting("max_samples=0.5") == ("max_samples", 0.5)
    assert reproduce.parse_setting("reducer=null") == ("reducer", None)
    assert reproduce.parse_setting("clusterer=gmm") == ("clusterer", "gmm")


# The machine


def test_a_commit_tells_of_uncommitted_changes(monkeypatch):
    answers = {"rev-parse": "c" * 40, "status": ""}
    monkeypatch.setattr(machine, "_git", lambda command, *arguments: answers[command])
    assert machine.commit() == "c" * 40
    answers["status"] = " M skspc/_spc.py"
    assert machine.commit() == "c" * 40 + "+"


def test_a_tree_without_git_names_its_commit_by_the_environment(monkeypatch):
    monkeypatch.setattr(machine, "ROOT", Path("/"))
    monkeypatch.delenv("SKSPC_COMMIT", raising=False)
    assert machine.commit() is None
    monkeypatch.setenv("SKSPC_COMMIT", "d" * 40)
    assert machine.commit() == "d" * 40
