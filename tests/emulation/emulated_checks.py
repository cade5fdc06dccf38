"""Checks of the CUDA path on an emulated card: `python emulated_checks.py card.so` prints a line of JSON for each.

The library is loaded before torch is, which asks once what devices there are. `tests/test_emulated_card.py` runs this.
"""

import contextlib
import ctypes
import json
import os
import sys
import threading
import time
import traceback
import warnings
from itertools import product

if __name__ == "__main__":
    ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)

import emulated_card
import numpy as np
import torch
from emulated_card import Log, Wrong
from gpu_parts.rows import Job
from gpu_parts.training import epoch_rows
from gpu_parts.works import works_rows
from test_steps import ClaimsToBeRecordable, train

import skspc._method.objectives
import skspc._runtime.arrays
import skspc._spc
from skspc import SPCClustering
from skspc._ensemble.ensemble import Ensemble
from skspc._ensemble.group import ROWS_PER_CHUNK
from skspc._ensemble.plan import TrainingPlan
from skspc._method.objectives import Reconstruction, cross_entropy
from skspc._runtime.devices import resolve_device
from skspc._runtime.modes import ordinary_torch_modes
from skspc._runtime.steps import CudaRecorder, RecordedStep, recorded_on_cuda
from skspc.augmentations import AffineAugmentation, lower_median
from skspc.clusterers import UMAPReducer
from skspc.clusterers._umap_torch import Space, embed, embed_together
from skspc.networks import ConvNetwork, MLPNetwork, _choice

CPU, CARD, OTHER = torch.device("cpu"), torch.device("cuda", 0), torch.device("cuda", 1)
VECTORS = MLPNetwork(latent_size=3, hidden=(8,)), (5,)
IMAGES = ConvNetwork(latent_size=3, channels=(4, 6)), (1, 8, 8)
UMAP = {"n_neighbors": 8, "n_components": 2, "min_dist": 0.0, "n_epochs": 3, "seed": 0}
BYTES = (np.arange(24 * 64) % 256).astype(np.uint8).reshape(24, 1, 8, 8)


def equal_losses(losses, expected, rtol=2e-5):
    for found, due in zip(losses, expected, strict=True):
        assert found.keys() == due.keys()
        assert all(np.isclose(found[name], due[name], rtol=rtol) for name in due), (found, due)


def train_alike(network, shape, device=CARD, rtol=2e-5, **changes):
    """Train every stage on a card and on the CPU: the same losses, and the card's steps were recorded."""
    found = []
    replays = count_replays(lambda: found.extend(train(network, shape, device=device, **changes)[1]))
    equal_losses(found, train(network, shape, **changes)[1], rtol)
    assert replays >= 3 * 5  # of three stages with eight steps each


def count_replays(function):
    """How often graphs were replayed meanwhile."""
    replay, replays = emulated_card.Graph.replay, []

    def counted(graph):
        replays.append(graph)
        replay(graph)

    emulated_card.Graph.replay = counted
    try:
        function()
    finally:
        emulated_card.Graph.replay = replay
    return len(replays)


def check_vectors_train():
    train_alike(*VECTORS)
    train_alike(*VECTORS, reconstruction="none")


def check_vectors_train_in_bfloat16():
    train_alike(*VECTORS, precision=torch.bfloat16, reconstruction="unagreed", rtol=1e-2)


def check_images_train():
    # Adam makes steps of the rounding in the gradients of biases, which a batch normalisation takes away again.
    train_alike(*IMAGES, augmentation=AffineAugmentation(), rtol=1e-2)


def check_images_train_in_bfloat16():
    train_alike(*IMAGES, precision=torch.bfloat16, augmentation=AffineAugmentation(), rtol=1e-2)


@contextlib.contextmanager
def ways_to_convolve(**replaced):
    """Nothing is known of ways to convolve yet, and functions that choose one are replaced."""
    plain, known = {name: getattr(_choice, name) for name in replaced}, dict(_choice._by_windows)
    _choice._by_windows.clear()
    vars(_choice).update(replaced)
    try:
        yield
    finally:
        vars(_choice).update(plain)
        _choice._by_windows.clear()
        _choice._by_windows.update(known)


def check_images_train_in_either_way_to_convolve():
    X = np.random.default_rng(0).uniform(-1, 1, (24, 1, 9, 8)).astype(np.float32)

    def pretrain(device, precision):
        network = ConvNetwork(latent_size=3, channels=(4, 6), convolutions_per_stage=2)
        ensemble = Ensemble(network, X.shape[1:], 0, 2, device, precision=precision)
        return [ensemble.train(Reconstruction(X), TrainingPlan(2, 6, 1e-2))]

    for by_windows, (precision, rtol) in product((True, False), ((torch.float32, 2e-5), (torch.bfloat16, 2e-3))):
        found, n_operations = [], len(Log.names)
        with ways_to_convolve(measured=lambda layer, x, way=by_windows: way):
            replays = count_replays(lambda to=precision, found=found: found.extend(pretrain(CARD, to)))
        assert replays == 5
        assert ("convolution" in Log.names[n_operations:]) != by_windows
        equal_losses(found, pretrain(CPU, precision), rtol)


def check_ways_to_convolve_are_timed_once_a_shape_and_before_a_recording():
    plain, timed = _choice._milliseconds, []

    def seen(way, arguments):
        milliseconds = plain(way, arguments)
        timed.append((way.__name__, *[tensor.shape for tensor in arguments], torch.is_grad_enabled(), milliseconds))
        return milliseconds

    with ways_to_convolve(_milliseconds=seen):
        train(*IMAGES, device=CARD)
        n_times = len(timed)
        train(*IMAGES, device=CARD)
    assert len(timed) == n_times == len({each[:-1] for each in timed}) == 2 * len({each[1:-1] for each in timed}) > 0
    assert all(0 < each[-1] < np.inf for each in timed)


def check_two_cards_are_sent_rows_too_many_for_either_without_a_wait():
    share, skspc._runtime.arrays.RESIDENT_SHARE = skspc._runtime.arrays.RESIDENT_SHARE, 0
    sent, waits, take = [], [], skspc._method.objectives.take_rows

    def seen(X, rows, device):
        n_waits = len(Log.waits)
        batch = take(X, rows, device)
        sent.append(type(X))
        waits.extend(reason for _, reason in Log.waits[n_waits:])
        return batch

    skspc._method.objectives.take_rows = seen
    try:
        train_alike(*IMAGES, device=torch.device("cuda"), rows=BYTES, rtol=1e-2)
    finally:
        skspc._runtime.arrays.RESIDENT_SHARE, skspc._method.objectives.take_rows = share, take
    assert set(sent) == {np.ndarray} and set(waits) == {"from the CPU"}
    groups = Ensemble(*IMAGES, 0, 3, torch.device("cuda")).groups
    assert [group.device for group in groups] == [CARD, OTHER]


def check_heads_train_in_float32_under_autocast():
    logits = torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(0)).to(CARD)
    labels = torch.zeros(2, 6, dtype=torch.int64, device=CARD)
    with torch.autocast("cuda", torch.bfloat16):
        loss = cross_entropy(logits.to(torch.bfloat16), labels)
    expected = cross_entropy(logits.cpu().to(torch.bfloat16).float(), labels.cpu())
    assert loss.dtype == torch.float32 and torch.equal(loss.cpu(), expected)


def check_a_border_has_the_cpus_median_by_an_operation_that_repeats():
    for n_values in (5, 6, 1):
        values = torch.randn(3, n_values, generator=torch.Generator().manual_seed(n_values))
        assert torch.equal(lower_median(values.to(CARD)).cpu(), values.median(dim=1).values)


def check_a_fit_on_two_cards_labels_and_predicts_as_the_cpu_does():
    X, models = blobs(), []
    Log.tf32.clear()
    used = used_devices(lambda: models.append(fit("cuda", X)))
    assert used == {CARD, OTHER}
    expected = fit("cpu", X)
    assert np.array_equal(models[0].labels_, expected.labels_)
    Log.tf32.discard((False, "highest"))
    assert not Log.tf32, "float32 was not multiplied as it is"
    np.testing.assert_allclose(models[0].predict_proba(X), expected.predict_proba(X), atol=1e-4)


def used_devices(function):
    """Devices that torch's UMAP was asked to compute on meanwhile."""
    from skspc.clusterers import _umap_torch

    plain, used = _umap_torch._embed_on, set()

    def seen(device, *rest):
        used.add(device)
        return plain(device, *rest)

    _umap_torch._embed_on = seen
    try:
        function()
    finally:
        _umap_torch._embed_on = plain
    return used


def blobs(n_rows=90):
    noise = np.random.default_rng(0).normal(size=(n_rows, 5))
    return (noise + 8 * np.eye(3, 5)[np.arange(n_rows) % 3]).astype(np.float32)


def fit(device, X, **changes):
    settings = {"n_estimators": 2, "pretrain_epochs": 2, "epochs": 1, "max_iter": 1, "random_state": 0, "n_jobs": 1}
    reducer = UMAPReducer(n_epochs=3, engine="torch")
    network = MLPNetwork(latent_size=3, hidden=(8,))
    settings |= {"network": network, "reducer": reducer, "clusterer": "kmeans", "precision": "float32"} | changes
    return SPCClustering(3, device=device, **settings).fit(X)


def check_a_row_is_encoded_alike_whatever_stands_beside_it():
    sizes = []
    X = np.random.default_rng(0).uniform(-1, 1, (ROWS_PER_CHUNK + 3, *IMAGES[1]))
    ensemble = Ensemble(*IMAGES, 0, 2, CPU)
    ensemble.reset_heads(3)
    on_card = ensemble.for_inference(CARD)
    (group,) = on_card.groups
    encode = group.autoencoder.encode
    group.autoencoder.encode = lambda chunk: (sizes.append((chunk.dtype, *chunk.shape)), encode(chunk))[1]
    whole = on_card.encode(X)
    assert np.array_equal(on_card.encode(X[5:7]), whole[:, 5:7]) and whole.dtype == np.float64
    assert set(sizes) == {(torch.float32, 2, ROWS_PER_CHUNK, *IMAGES[1])}
    np.testing.assert_allclose(whole, ensemble.for_inference(CPU).encode(X), atol=1e-5)
    np.testing.assert_allclose(on_card.classify(whole), ensemble.for_inference(CPU).classify(whole), atol=1e-12)


def check_umap_is_the_cpus_and_recorded():
    X, embeddings = blobs(), []
    replays = count_replays(lambda: embeddings.append(embed(X, **UMAP, device=OTHER)))
    np.testing.assert_allclose(embeddings[0], embed(X, **UMAP, device=CPU), atol=1e-4)
    assert replays > 10


def check_umap_of_spaces_at_once_is_that_of_each_in_as_many_steps_as_the_longest():
    spaces, settings, found = [Space(blobs(90), 12, 0), Space(blobs(40), 5, 1)], (2, 0.0, 1), []
    replays = [
        count_replays(lambda these=these: found.extend(embed_together(these, *settings, OTHER)))
        for these in (spaces, spaces[:1], spaces[1:])
    ]
    assert replays[0] == max(replays[1:]) > 3 and replays[1] != replays[2]
    for embedding, alone, space in zip(found[:2], found[2:], spaces, strict=True):
        np.testing.assert_allclose(embedding, alone, atol=1e-3)
        np.testing.assert_allclose(embedding, embed_together([space], *settings, CPU)[0], atol=1e-3)


def check_umap_goes_on_on_the_cpu_where_memory_runs_out():
    X = blobs()
    Log.memory_for[:] = [1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        embedding = embed(X, **UMAP, device=CARD)
    assert ["too little memory for UMAP" in str(each.message) for each in caught] == [True]
    assert np.array_equal(embedding, embed(X, **UMAP, device=CPU))


def check_a_step_without_memory_to_record_it_goes_on_in_halves():
    Log.memory_for[:] = [40]  # products of three steps, and some
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        losses = train(*VECTORS, device=CARD)[1]
    assert ["half as many at a time" in str(each.message) for each in caught] == [True]
    equal_losses(losses, train(*VECTORS)[1])
    assert not CudaRecorder.is_broken


def check_two_fits_in_threads_are_what_they_are_alone():
    X, found = blobs(), {}

    def work(name):
        try:
            found[name] = train(*VECTORS, device=CARD)[1], embed(X, **UMAP, device=CARD)
        except BaseException as error:
            found[name] = error

    work("alone")
    threads = [threading.Thread(target=work, args=(name,)) for name in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in found.values():
        if isinstance(result, BaseException):
            raise result
    losses, embedding = found["alone"]
    assert all(found[name][0] == losses and np.array_equal(found[name][1], embedding) for name in range(2)), found


def check_auto_is_the_card():
    assert resolve_device("auto") == torch.device("cuda")


def check_a_broken_recording_keeps_its_graph_and_training_goes_on():
    n_kept = len(CudaRecorder._broken_graphs)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(*IMAGES, device=CARD, augmentation=ClaimsToBeRecordable())
    assert any("could not be recorded as a CUDA graph" in str(each.message) for each in caught)
    assert CudaRecorder.is_broken and len(CudaRecorder._broken_graphs) == n_kept + 1
    CudaRecorder.is_broken = False


def in_recording(function):
    """Record a function that takes generators, as a step is."""
    generator = torch.Generator(CARD)

    def step(batch, generators):
        function(batch[0], generators)

    recorder = CudaRecorder(CARD)
    recorder.record(lambda: step([torch.ones(4, device=CARD)], [generator]), [generator])


def faults():
    """What must not pass, by name: functions, and the error that each must bring."""
    x, y, long = torch.ones(4, device=CARD), torch.ones(4, device=OTHER), torch.zeros(4, dtype=torch.int64, device=CARD)
    return {
        "tensors of two cards": (lambda: x + y, Wrong),
        "a tensor of the CPU's": (lambda: x + torch.ones(4), Wrong),
        "a generator of the CPU's": (
            lambda: torch.rand(4, generator=torch.Generator(), device=CARD),
            (Wrong, RuntimeError),
        ),
        "a generator of another card's": (lambda: x.uniform_(generator=torch.Generator(OTHER)), (Wrong, RuntimeError)),
        "torch's own generator": (lambda: torch.rand(4, device=CARD), Wrong),
        "torch's own generator, by dropout": (lambda: torch.nn.functional.dropout(x), Wrong),
        "a sum in any order": (lambda: x.index_add_(0, long, x), Wrong),
        "a median": (lambda: x.median(dim=0), Wrong),
        "a value in a recording": (lambda: in_recording(lambda x, _: x.sum().item()), RuntimeError),
        "a mask in a recording": (lambda: in_recording(lambda x, _: x[x > 0]), RuntimeError),
        "a copy in a recording": (lambda: in_recording(lambda x, _: x.cpu()), RuntimeError),
        "a copy to the card in a recording": (
            lambda: in_recording(lambda x, _: x + torch.ones(4).to(CARD)),
            RuntimeError,
        ),
        "a generator unknown to a recording": (
            lambda: in_recording(lambda x, _: x.normal_(generator=torch.Generator(CARD).manual_seed(3))),
            RuntimeError,
        ),
    }


def check_planted_faults_are_seen():
    passed = []
    for name, (fault, error) in faults().items():
        with contextlib.suppress(error):
            fault()
            passed.append(name)
    CudaRecorder.is_broken = False
    assert passed == []


def check_a_recorded_step_draws_anew_each_time():
    generator, drawn = torch.Generator(CARD).manual_seed(0), torch.zeros(4, device=CARD)
    step = recorded_on_cuda(
        lambda batch, generators: drawn.copy_(torch.rand(4, generator=generators[0], device=CARD)), [generator]
    )
    assert isinstance(step, RecordedStep)
    alone = torch.Generator().manual_seed(0)
    for _ in range(6):
        step()
        assert torch.equal(drawn.cpu(), torch.rand(4, generator=alone))


def check_the_gpu_script_forces_a_way_to_convolve():
    rows = epoch_rows(Job(CARD, scale=0, n_members=2))
    for row, is_grouped in zip(rows[1:3], (True, False), strict=True):
        n_operations = len(Log.names)
        assert row.what.endswith("grouped") == is_grouped
        assert float(row.measure().figure.removesuffix(" s")) > 0
        assert ("convolution" in Log.names[n_operations:]) == is_grouped


def check_the_gpu_script_measures_the_choice_anew():
    row = epoch_rows(Job(CARD, scale=0, n_members=1))[0]
    assert "of 6 shapes" in row.measure().note


def check_the_gpu_script_compares_a_fit_with_the_cpus():
    changes = {"epochs": 1, "pretrain_epochs": 1, "clusterer": "kmeans", "reducer": None}
    rows = [
        row for row in works_rows(Job(CARD, n_members=2, changes=changes)) if row.what.startswith("wine, vectors, fl")
    ]
    verdicts = [row.measure().verdicts for row in rows]
    assert verdicts == [("losses alike",), ("a seed repeats",), ("predicts alike",)]


CHECKS = {name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")}


def main():
    torch.set_num_threads(1)
    emulated_card.install()
    skspc._spc.MIN_HEAD_STEPS = skspc._spc.HEAD_EPOCHS = 2
    for name, check in CHECKS.items():
        error, begin = None, time.process_time()
        try:
            with emulated_card.Asking(), ordinary_torch_modes(), warnings.catch_warnings():
                warnings.simplefilter("error")
                check()
        except BaseException:
            error = traceback.format_exc()
        print(json.dumps({"check": name, "error": error, "seconds": time.process_time() - begin}), flush=True)
    os._exit(0)  # torch would look for the cards once more


if __name__ == "__main__":
    main()
