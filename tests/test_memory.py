"""Estimates of memory, how many members go together, and rows of a file that is larger than the memory."""

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch

from skspc import SPCClustering
from skspc._ensemble.ensemble import Ensemble
from skspc._ensemble.plan import TrainingPlan
from skspc._ensemble.sizing import COPIES_OF_WEIGHTS, bytes_of_member, members_at_once
from skspc._input.scaling import fit_image_scaling, fit_vector_scaling
from skspc._method.objectives import Reconstruction
from skspc._runtime.arrays import RowsOfFile, chunks, lies_in_file, place_rows, rows_at, take_rows
from skspc._runtime.memory import alone_on, is_out_of_memory
from skspc.networks import ConvNetwork, MLPNetwork


@pytest.mark.parametrize(
    "n_members, n_devices, n_bytes, free, size",
    [
        (15, 1, 10, 10**6, 15),
        (15, 2, 10, 10**6, 8),  # eight and seven
        (15, 1, 10, 100, 8),  # of the 80 usable bytes
        (15, 4, 10, 30, 2),
        (15, 1, 10, 1, 1),  # to be tried all the same
        (2, 8, 10, 10**6, 1),
    ],
)
def test_groups_fit_and_use_all_devices(n_members, n_devices, n_bytes, free, size):
    assert members_at_once(n_members, n_devices, n_bytes, free) == size


def test_the_estimate_counts_weights_and_what_the_backward_pass_keeps():
    class Doubling(torch.nn.Module):
        """Four weights; squaring keeps its input."""

        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(4))

        def encode(self, x):
            return (x * self.weight) ** 2

        def decode(self, z):
            return z

    class Network:
        def build(self, input_shape, generators):
            return Doubling()

    # A row of four values: x (for the weight's gradient), x * weight (for the square's), and the sign of the error.
    weights, kept_of_a_row = 4 * 4, 3 * 4 * 4
    assert bytes_of_member(Network(), (4,), batch_size=10) == 6 * weights + 2 * 10 * kept_of_a_row


@pytest.mark.parametrize("network, shape", [(MLPNetwork(), (64,)), (ConvNetwork(), (1, 28, 28))])
def test_the_estimate_grows_with_the_batch(network, shape):
    small, large = (bytes_of_member(network, shape, batch_size) for batch_size in (32, 256))
    assert small < large < 8 * small


def test_so_many_copies_of_the_weights_lie_in_memory_while_members_train():
    ensemble = Ensemble(MLPNetwork(latent_size=2, hidden=(128,)), (128,), 0, 2, torch.device("cpu"))
    n_bytes = sum(parameter.nbytes for parameter in ensemble.groups[0].autoencoder.parameters())
    counts = []

    class Counting(Reconstruction):
        def losses(self, networks, x):
            counts.append(sum(tensors_alive(n_bytes // 8).values()))
            return super().losses(networks, x)

    others = sum(tensors_alive(n_bytes // 8).values()) - n_bytes  # of tests before
    ensemble.train(Counting(np.zeros((8, 128), dtype=np.float32)), TrainingPlan(1, 4, 1e-3))
    assert (counts[1] - others) / n_bytes == pytest.approx(COPIES_OF_WEIGHTS, rel=0.02)


def tensors_alive(n_bytes):
    """Bytes of all memory of tensors that takes so many, by where it lies."""
    found = [value for value in gc.get_objects() if type(value) in (torch.Tensor, torch.nn.Parameter)]
    memory = [tensor.untyped_storage() for tensor in found if tensor.layout == torch.strided]
    return {each.data_ptr(): each.nbytes() for each in memory if each.nbytes() >= n_bytes}


@pytest.mark.parametrize(
    "error, expected",
    [
        (torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"), True),
        (RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be reported later"), True),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False),
        (ValueError("CUBLAS_STATUS_ALLOC_FAILED"), False),
    ],
)
def test_libraries_below_torch_run_out_of_memory_in_words_of_their_own(error, expected):
    assert is_out_of_memory(error) is expected


@pytest.mark.parametrize(
    "first, second, waits", [("cuda:1", "cuda:1", True), ("cuda:1", "cuda:2", False), ("cpu", "cpu", False)]
)
def test_a_card_is_one_threads_at_a_time(first, second, waits):
    entered = threading.Event()

    def enter():
        with alone_on(torch.device(second)):
            entered.set()

    with alone_on(torch.device(first)):
        thread = threading.Thread(target=enter)
        thread.start()
        assert entered.wait(timeout=0.2 if waits else 30) is not waits
    thread.join()
    assert entered.is_set()


# Rows in a file


def mapped(path, X):
    """The rows in a file that is mapped for reading."""
    np.save(path, X)
    return np.load(path, mmap_mode="r")


IMAGES = np.random.default_rng(0).integers(0, 256, (60, 8, 8)).astype(np.uint8)
KINDS = {
    "bytes": IMAGES,
    "bytes, some of them twice": np.concatenate([IMAGES, IMAGES[:5]]),
    "images of floats": IMAGES / 255,
    "images of floats, some of them twice": np.concatenate([IMAGES, IMAGES[:5]]) / 255,
    "vectors": IMAGES[:, 0] / np.float32(3),
    "vectors, some of them twice": np.concatenate([IMAGES, IMAGES[:5]])[:, 0].astype(np.float32),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_file_are_fitted_as_rows_in_memory_are(kind, tmp_path):
    X, parameters = KINDS[kind], {"clusterer": "kmeans", "reducer": None, "n_estimators": 2, "max_iter": 1}
    model = SPCClustering(3, **parameters, network="mlp", pretrain_epochs=2, epochs=1, random_state=0)
    expected = model.fit(X).member_labels_, model.predict_proba(X)
    of_file = mapped(tmp_path / "rows.npy", X)
    assert np.array_equal(model.fit(of_file).member_labels_, expected[0])
    assert np.array_equal(model.predict_proba(of_file), expected[1])


def test_what_lies_in_a_file_is_known_by_its_views(tmp_path):
    X = mapped(tmp_path / "rows.npy", IMAGES)
    views = [X, X[3:], np.asarray(X).reshape(60, 64), X[:, 0], RowsOfFile(X)]
    assert [lies_in_file(view) for view in views] == [True] * 5
    assert [lies_in_file(array) for array in (IMAGES, X[[1, 2]], np.array(X), X + 1)] == [False] * 4


def test_rows_of_a_file_are_read_and_scaled_when_they_are_taken(tmp_path):
    X = mapped(tmp_path / "rows.npy", KINDS["vectors"])
    index = np.delete(np.arange(60), 7)
    some = rows_at(X, index)
    assert isinstance(some, RowsOfFile)
    assert rows_at(X, np.arange(60)) is X
    assert np.array_equal(rows_at(np.array(X), index), some[:])
    scaling = fit_vector_scaling(some, (8,))
    rows, expected = scaling.training_rows(some), scaling.apply(X[index])
    assert (rows.shape, rows.dtype, rows.nbytes, len(rows)) == ((59, 8), np.float32, expected.nbytes, 59)
    for which in (slice(3, 9), np.array([[0, 58], [7, 7]]), 4):
        assert np.array_equal(rows[which], expected[which])
    batches = torch.tensor([[1, 2], [3, 4]])
    assert np.array_equal(take_rows(rows, batches, torch.device("cpu")), expected[batches])
    assert place_rows(rows, torch.device("cpu")) is rows
    assert np.array_equal(np.concatenate(list(chunks(rows))), expected)


def test_bytes_of_a_file_stay_bytes(tmp_path):
    X = np.asarray(mapped(tmp_path / "rows.npy", IMAGES)).reshape(60, 64)
    scaling = fit_image_scaling(X, (1, 8, 8))
    assert np.shares_memory(scaling.training_rows(X), X)
    some = scaling.training_rows(rows_at(X, np.arange(50)))
    assert (some.shape, some.dtype) == ((50, 1, 8, 8), np.uint8)
    assert np.array_equal(some[np.array([2, 3])][:, 0], IMAGES[2:4])


LARGER_THAN_MEMORY = """
import resource, sys
import numpy as np
import skspc._method.outliers, skspc._spc
from skspc import SPCClustering
from skspc.networks import MLPNetwork

skspc._spc.HEAD_EPOCHS, skspc._spc.MIN_HEAD_STEPS, skspc._method.outliers.MAX_KEPT = 1, 10, 100
path, row_shape, dtype, n_rows, mib = sys.argv[1], eval(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
model = SPCClustering(
    3,
    network=MLPNetwork(latent_size=3, hidden=(8,)),
    clusterer="kmeans",
    reducer=None,
    max_landmarks=1000,
    n_estimators=1,
    pretrain_epochs=1,
    max_iter=0,
    random_state=0,
)
random = np.random.default_rng(0)
X = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(n_rows, *row_shape))
for start in range(0, n_rows, 1000):
    patterns = 100 * (np.arange(1000) % 3).reshape(-1, *len(row_shape) * [1])
    X[start : start + 1000] = patterns + random.integers(0, 50, (1000, *row_shape))
X[9] = X[0]
X.flush()
model.fit(np.array(X[:300])).outlier_score(X[:300])  # what is loaded and compiled once
X = np.load(path, mmap_mode="r")
with open("/proc/self/status") as file:
    taken = next(int(line.split()[1]) for line in file if line.startswith("VmData"))
limit = 1024 * taken + mib * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
labels = model.fit(X).labels_
assert (model.predict(X) == labels).mean() > 0.99
assert (labels == labels[np.arange(n_rows) % 1000 % 3]).all()
print(f"{X.nbytes / 2**20:.0f} MiB, fitted in {mib}")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits private memory without files")
@pytest.mark.parametrize("row_shape, dtype, mib", [((32, 32), "uint8", 80), ((256,), "float32", 80)])
def test_a_file_larger_than_the_memory_is_fitted_and_predicted(row_shape, dtype, mib, tmp_path):
    arguments = [str(tmp_path / "rows.npy"), repr(row_shape), dtype, "100000", str(mib)]
    environment = os.environ | {name: "1" for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MALLOC_ARENA_MAX")}
    ran = subprocess.run(
        [sys.executable, "-c", LARGER_THAN_MEMORY, *arguments], capture_output=True, text=True, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"98 MiB, fitted in {mib}\n"
