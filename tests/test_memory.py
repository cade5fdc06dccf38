"""Estimates of memory, and how many members go together."""

import gc
import threading

import numpy as np
import pytest
import torch

from skspc._ensemble.ensemble import Ensemble
from skspc._ensemble.plan import TrainingPlan
from skspc._ensemble.sizing import COPIES_OF_WEIGHTS, bytes_of_member, members_at_once
from skspc._method.objectives import Reconstruction
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
