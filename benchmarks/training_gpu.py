"""The trainer on a GPU, one table: `python benchmarks/training_gpu.py --data mnist.npz`.

1. Seconds of an epoch of pretraining, K members on all rows (network R: strided 3 x 3 convolutions 32-64-128, which is
   the shipped network for 28 x 28 images), by precision and batch size, and peak memory: the step as a fit has it,
   recorded as a CUDA graph and with sums that repeat; what either costs or gains; beside it K modules of plain torch,
   compiled and recorded by torch's own compiler, in the same precision, one after the other.
2. Milliseconds of each convolution down and up, forward and back, in the two ways that a fit on a card chooses from:
   grouped, by cuDNN, and by windows and a batched product, which moves more memory; and the one that it takes.
3. A whole fit of K members to its own end, by precision: seconds, rounds, accuracy, and whether a second fit of the
   same seed gives the same labels.
4. The plain pipeline: members one by one, umap-learn and hdbscan. One pretraining and one round are measured, and the
   rounds of the fit above are counted at that price.
5. Seconds of UMAP in torch of a round's spaces, all laid out as one batch, and one after the other; and whether the
   embeddings are the same (on the CPU they are not: its vectors round by where a value stands).

`--tables 125` leaves out whole fits: all five, with MNIST and fifteen members, may take more than ten minutes.
A row that fails says so, and the next one is tried. Without ``--data`` the rows are random images, for which the
accuracy says nothing; `--scale 0.001 --device cpu` tries the script on a machine without a GPU.
"""

import argparse
import time
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import product

import hdbscan
import numpy as np
import torch
import umap
from training import make_plain, timed, train_plain

from skspc import SPCClustering
from skspc._ensemble.ensemble import Ensemble
from skspc._ensemble.plan import TrainingPlan
from skspc._method.objectives import Reconstruction
from skspc._runtime.modes import reproducible
from skspc._runtime.steps import CudaRecorder
from skspc.clusterers._umap import N_EPOCHS
from skspc.clusterers._umap_torch import Space, embed_together
from skspc.metrics import clustering_accuracy
from skspc.networks import ConvNetwork
from skspc.networks._choice import way_to_convolve
from skspc.networks._layers import MemberConv2d, MemberConvTranspose2d

N_MEMBERS, N_ROWS, N_CLUSTERS, N_LATENTS = 15, 70_000, 10, 50


def load_images(path, scale):
    """Images (N, H, W) of bytes, and their classes."""
    n_rows = max(150, int(scale * N_ROWS))
    if path is None:
        random = np.random.default_rng(0)
        patterns = random.integers(0, 256, (N_CLUSTERS, 28, 28))
        classes = random.integers(N_CLUSTERS, size=n_rows)
        return np.clip(patterns[classes] + random.normal(0, 60, (n_rows, 28, 28)), 0, 255).astype(np.uint8), classes
    with np.load(path, allow_pickle=False) as archive:
        return archive["images"][:n_rows], archive["labels"][:n_rows]


def forget_peak(device):
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


@contextmanager
def a_row_may_fail(what):
    """Print that a row failed, and why, in place of the row."""
    try:
        yield
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else ""
        print(f"| {what} | FAILED | {type(error).__name__}: {reason} |".replace("\n", " "), flush=True)


def peak_gib(device):
    return torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else float("nan")


MODES = {"": (True, True), ", not recorded": (False, True), ", sums in any order": (True, False)}


@contextmanager
def training_mode(recorded, repeatable, device):
    """Train as a fit does, or without recorded steps, or without sums that repeat."""
    before = CudaRecorder.is_broken
    CudaRecorder.is_broken = not recorded
    try:
        with reproducible(device) if repeatable else nullcontext():
            yield
    finally:
        CudaRecorder.is_broken = before


def epoch_table(images, n_members, device):
    """Seconds of an epoch, batched and one by one."""
    X = images[:, None]
    modes = MODES if device.type == "cuda" else [""]  # elsewhere they change nothing
    for precision, batch_size, mode in product((torch.float32, torch.bfloat16), (256, 1024), modes):
        plan = TrainingPlan(1, min(batch_size, len(X) // 2), 1e-3)
        what = f"epoch of {len(X)} x {n_members}, {precision}, batches of {plan.batch_size}{mode}"
        with a_row_may_fail(what), training_mode(*MODES[mode], device):
            forget_peak(device)
            settings = {"batch_size": plan.batch_size, "precision": precision}
            ensemble = Ensemble(ConvNetwork(), X.shape[1:], 0, n_members, device, **settings)
            train = partial(ensemble.train, Reconstruction(X), plan)
            seconds = [timed(train, device) for _ in range(3)]
            print(f"| {what} | {min(seconds[1:]):.2f} s | peak {peak_gib(device):.1f} GiB |", flush=True)
    for precision in (torch.float32, torch.bfloat16):
        what = f"the same, {n_members} compiled modules one by one (one measured), {precision}"
        with a_row_may_fail(what):
            print(f"| {what} | {n_members * plain_epoch(X, precision, device):.2f} s | |", flush=True)


def plain_epoch(X, precision, device):
    """Seconds of an epoch of one module of plain torch, compiled and recorded on CUDA."""
    plan = TrainingPlan(1, min(256, len(X) // 2), 1e-3)
    member = make_plain(X.shape[1:], ConvNetwork(), Ensemble(ConvNetwork(), X.shape[1:], 0, 1, device)).to(device)
    if device.type == "cuda":
        member = torch.compile(member, mode="reduce-overhead")
    rows = torch.from_numpy(X).to(device) / 127.5 - 1
    with torch.autocast(device.type, precision, enabled=precision != torch.float32):
        return min([timed(lambda: train_plain([member], rows, plan, device), device) for _ in range(3)][1:])


def forward_and_back(way, x, layer):
    with torch.autocast(x.device.type, torch.bfloat16):
        way(x, layer.weight, layer.bias).float().square().sum().backward()


def convolution_table(n_members, batch_size, device):
    """Milliseconds of each convolution of a network, forward and back, in two ways that give the same."""
    for n_in, n_out, size in ((1, 32, 28), (32, 64, 14), (64, 128, 7)):
        generators = [torch.Generator().manual_seed(i) for i in range(n_members)]
        down = MemberConv2d(n_in, n_out, 2, generators), n_in, size
        up = MemberConvTranspose2d(n_out, n_in, (size, size), generators), n_out, (size + 1) // 2
        for kind, (layer, n_channels, side) in {"down": down, "up": up}.items():
            what = f"convolution {kind}, {n_in} x {size} x {size}, {n_members} x {batch_size}, bfloat16"
            with a_row_may_fail(what):
                x = torch.randn(batch_size, n_members * n_channels, side, side, device=device)
                print(f"| {what} | {convolution_row(layer.to(device), x, device)} |", flush=True)


def convolution_row(layer, x, device):
    """Milliseconds of one layer in either way, as cells of a row."""
    x = x.contiguous(memory_format=torch.channels_last).requires_grad_()
    ways = {"grouped": layer.grouped, "by windows": layer.by_windows}
    maps = [way(x, layer.weight, layer.bias) for way in ways.values()]
    torch.testing.assert_close(*maps, rtol=1e-2, atol=1e-2)  # TF32 may round
    n_times = 10 if device.type == "cuda" else 1
    seconds = [
        min(timed(partial(forward_and_back, way, x, layer), device) for _ in range(n_times)) for way in ways.values()
    ]
    cells = [f"{name} {1000 * of_one:.2f} ms" for name, of_one in zip(ways, seconds, strict=True)]
    with torch.autocast(device.type, torch.bfloat16):
        return " | ".join(cells) + f"; a fit takes {way_to_convolve(layer, x).__name__}"


def spaces_table(n_rows, n_spaces, device):
    """Seconds of UMAP of spaces at once, and one after the other."""
    spaces = [Space(make_latents(n_rows, seed), min(30, n_rows - 1), seed) for seed in range(n_spaces)]
    settings = {"n_components": 2, "min_dist": 0.0, "n_epochs": N_EPOCHS, "device": device}
    what, found = f"UMAP in torch of {n_spaces} x {n_rows} x {N_LATENTS}", []
    n_jobs = torch.get_num_threads()
    ways = {
        "all at once": lambda: found.append(embed_together(spaces, **settings, n_jobs=n_jobs)),
        "one by one": lambda: found.append([embed_together([space], **settings)[0] for space in spaces]),
    }
    for name, way in ways.items():
        with a_row_may_fail(f"{what}, {name}"):
            forget_peak(device)
            seconds = timed(way, device)
            same = "" if len(found) < 2 else ("the same" if all(map(np.array_equal, *found)) else "OTHER EMBEDDINGS")
            print(f"| {what}, {name} | {seconds:.2f} s | peak {peak_gib(device):.1f} GiB {same} |", flush=True)


def make_latents(n_rows, seed):
    random = np.random.default_rng(seed)
    centers = random.normal(0, 10, (N_CLUSTERS, N_LATENTS))
    return (centers[np.arange(n_rows) % N_CLUSTERS] + random.normal(0, 3, (n_rows, N_LATENTS))).astype(np.float32)


def fit_table(images, classes, n_members, device, max_iter, epochs):
    """Seconds of whole fits: their models."""
    models = []
    for precision in ("float32", "bfloat16"):
        with a_row_may_fail(f"fit, K = {n_members}, {precision}"):
            models.append(fit_row(images, classes, n_members, device, precision, max_iter=max_iter, epochs=epochs))
    return models


def fit_row(images, classes, n_members, device, precision, *, max_iter, epochs):
    """Seconds of two fits of one seed, as a row: the model."""
    model = SPCClustering(
        N_CLUSTERS,
        n_estimators=n_members,
        precision=precision,
        device=str(device),
        random_state=0,
        max_iter=max_iter,
        pretrain_epochs=epochs,
        epochs=epochs,
    )
    seconds, labels = [], []
    for _ in range(2):
        begin = time.perf_counter()
        labels.append(model.fit_predict(images))
        seconds.append(time.perf_counter() - begin)
    print(
        f"| fit, K = {n_members}, {precision} | {seconds[0]:.1f} s, again {seconds[1]:.1f} s | {model.n_iter_} "
        f"clusterings; accuracy {100 * clustering_accuracy(classes, labels[0]):.2f} %; the second fit has "
        f"{'the same labels' if np.array_equal(*labels) else 'OTHER LABELS'} |",
        flush=True,
    )
    return model


def plain_pipeline(images, n_members, device, model):
    """Seconds of the plain pipeline, from one pretraining and one clustering of one member."""
    X = images[:, None]
    plans = [model.history_[min(i, len(model.history_) - 1)]["training"] for i in (0, 1)]
    rows = torch.from_numpy(X).to(device) / 127.5 - 1
    batched = Ensemble(ConvNetwork(), X.shape[1:], 0, 1, device)
    member = make_plain(X.shape[1:], ConvNetwork(), batched).to(device)
    an_epoch = timed(lambda: train_plain([member], rows, TrainingPlan(1, plans[0]["batch_size"], 1e-3), device), device)
    with torch.no_grad():
        latents = torch.cat([member.eval().encoder(chunk) for chunk in rows.split(512)]).cpu().numpy()
    n_neighbors = min(30, len(X) - 1)

    def cluster():
        embedding = umap.UMAP(n_neighbors=n_neighbors, min_dist=0.0, random_state=0, n_jobs=1).fit_transform(latents)
        hdbscan.HDBSCAN(min_cluster_size=max(2, len(X) // (2 * N_CLUSTERS)), min_samples=10).fit(embedding)

    cluster()  # compiles
    a_clustering = timed(cluster, device)
    n_rounds = model.n_iter_ - 1
    epochs = plans[0]["n_epochs"] + n_rounds * plans[1]["n_epochs"]
    total = n_members * epochs * an_epoch + model.n_iter_ * (n_members + 1) * a_clustering
    print(
        f"| the same by a plain pipeline, counted | {total:.0f} s | {n_members} members x {epochs} epochs of "
        f"{an_epoch:.1f} s, {model.n_iter_} x {n_members + 1} clusterings of {a_clustering:.1f} s |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="npz file with images and labels")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows, to try the script")
    parser.add_argument("--n-members", type=int, default=N_MEMBERS)
    parser.add_argument("--max-iter", type=int, default=8)
    parser.add_argument("--epochs", type=lambda text: text if text == "auto" else int(text), default="auto")
    parser.add_argument(
        "--tables", default="12345", help="which of the five to make, e.g. 12; the fourth needs the third"
    )
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    images, classes = load_images(arguments.data, arguments.scale)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}\n| what | seconds | |\n| --- | --- | --- |")
    n_members, tables = arguments.n_members, arguments.tables
    if "1" in tables:
        epoch_table(images, n_members, device)
    if "2" in tables:
        convolution_table(n_members, min(256, len(images)), device)
    models = []
    if "3" in tables:
        models = fit_table(images, classes, n_members, device, arguments.max_iter, arguments.epochs)
    if "4" in tables and models:
        with a_row_may_fail("the same by a plain pipeline"):
            plain_pipeline(images, n_members, device, models[-1])
    if "5" in tables:
        spaces_table(len(images), n_members + 1, device)


if __name__ == "__main__":
    main()
