"""The door to devices. No accelerator is needed: its absence, or its presence, is forged."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import skspc._runtime.arrays
import skspc._runtime.memory
from skspc._runtime.arrays import place_rows, take_rows, to_numpy
from skspc._runtime.devices import inference_device, resolve_device, resolve_precision, training_devices
from skspc._runtime.memory import memory_beside_rows
from skspc._runtime.modes import ordinary_torch_modes, reproducible
from skspc._runtime.threads import VALUES_PER_THREAD, threads_shared


@pytest.fixture
def without_cuda(monkeypatch):
    """A machine without CUDA, whatever the machine."""

    zeros = torch.zeros

    def refuse(*size, device):
        if torch.device(device).type == "cuda":
            raise RuntimeError("No CUDA GPUs are available\nand a second line")
        return zeros(*size, device=device)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch, "zeros", refuse)


@pytest.fixture
def with_everything(monkeypatch):
    """A machine that has every device."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    zeros = torch.zeros
    monkeypatch.setattr(torch, "zeros", lambda *size, device: zeros(*size))


def test_auto_is_the_cpu_where_there_is_no_cuda(without_cuda):
    assert resolve_device("auto") == torch.device("cpu")


def test_auto_is_cuda_where_there_is_one(with_everything):
    assert resolve_device("auto") == torch.device("cuda")


def test_auto_is_the_cpu_with_a_warning_where_cuda_is_there_and_does_not_work(without_cuda, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)  # as in a forked process, or for too old a card
    with pytest.warns(
        RuntimeWarning, match=r"'auto' takes the CPU: .*\(No CUDA GPUs are available\)\. Pass device='cpu'"
    ):
        assert resolve_device("auto") == torch.device("cpu")


@pytest.mark.parametrize(
    "capabilities, device, expected",
    [
        ([(9, 0)], "cuda", torch.bfloat16),
        ([(8, 0), (8, 6)], "cuda", torch.bfloat16),
        ([(7, 5)], "cuda", torch.float32),
        ([(9, 0), (7, 5)], "cuda", torch.float32),  # members are dealt to both
        ([(9, 0), (7, 5)], "cuda:0", torch.bfloat16),
        ([(9, 0)], "cpu", torch.float32),
        ([(9, 0)], "mps", torch.float32),
    ],
)
def test_products_are_in_bfloat16_where_every_device_has_it(capabilities, device, expected, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(capabilities))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capabilities[device.index])
    assert resolve_precision("auto", torch.device(device)) == expected
    assert resolve_precision("float32", torch.device(device)) == torch.float32
    assert resolve_precision("bfloat16", torch.device(device)) == torch.bfloat16


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu")])
def test_the_cpu_by_name_or_as_a_device(device):
    assert resolve_device(device) == torch.device("cpu")


@pytest.mark.parametrize("device", ["cuda", "cuda:1", torch.device("cuda", 1)])
def test_a_device_that_is_there_is_kept_with_its_index(with_everything, device):
    assert resolve_device(device) == torch.device(device)


@pytest.mark.parametrize("device", ["cuda", "cuda:7", torch.device("cuda")])
def test_a_device_that_is_absent_is_an_error_with_reason_and_remedy(without_cuda, device):
    with pytest.raises(ValueError, match=r"device=.*cuda.* \(No CUDA GPUs are available\)\. Pass device='auto'"):
        resolve_device(device)


@pytest.mark.parametrize("device", ["nonsense", "", "Auto", "CPU"])
def test_a_name_that_torch_does_not_know_is_an_error(device):
    with pytest.raises(ValueError, match=f"device='{device}' cannot be used on this machine .* Pass device='auto'"):
        resolve_device(device)


def test_what_names_no_device_is_an_error():
    with pytest.raises(ValueError, match="device=None cannot be used on this machine"):
        resolve_device(None)


def test_inference_falls_back_to_the_cpu(without_cuda):
    assert inference_device("cuda") == torch.device("cpu")
    assert inference_device("auto") == torch.device("cpu")


def test_inference_takes_the_device_that_is_there(with_everything):
    assert inference_device("cuda:1") == torch.device("cuda:1")
    assert inference_device("auto") == torch.device("cuda")


def test_inference_is_not_on_mps_which_has_no_float64(with_everything):
    assert inference_device("mps") == torch.device("cpu")


@pytest.fixture
def six_threads(monkeypatch):
    """A torch that uses six threads, and is told to use others."""
    setting = [6]
    monkeypatch.setattr(torch, "get_num_threads", lambda: setting[-1])
    monkeypatch.setattr(torch, "set_num_threads", setting.append)


@pytest.mark.parametrize(
    "n_tasks, n_values, n_workers, n_threads",
    [
        (1, 1, 1, 1),
        (1, VALUES_PER_THREAD - 1, 1, 1),
        (1, VALUES_PER_THREAD, 1, 2),
        (1, 10**9, 1, 6),
        (2, 10**9, 2, 3),
        (2, VALUES_PER_THREAD, 2, 2),
        (4, 10**9, 4, 1),
        (100, 10**9, 6, 1),
    ],
)
def test_tasks_share_the_threads_and_the_callers_number_comes_back(
    six_threads, n_tasks, n_values, n_workers, n_threads
):
    with threads_shared(n_tasks, n_values) as workers:
        assert (workers, torch.get_num_threads()) == (n_workers, n_threads)
    assert torch.get_num_threads() == 6


def test_threads_started_inside_have_the_number_of_each():
    torch.set_num_threads(2)
    try:
        with threads_shared(2), ThreadPoolExecutor(2) as pool:
            assert list(pool.map(lambda _: torch.get_num_threads(), range(2))) == [1, 1]
        with threads_shared(1), ThreadPoolExecutor(1) as pool:
            assert pool.submit(torch.get_num_threads).result() == 2
    finally:
        torch.set_num_threads(1)


def test_the_number_comes_back_after_fits_that_overlap_in_threads():
    torch.set_num_threads(2)
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))

    def first():
        with threads_shared(2):
            first_is_in.set()
            second_is_in.wait(timeout=30)

    def second():
        first_is_in.wait(timeout=30)
        with threads_shared(2):
            second_is_in.set()
            first_is_out.wait(timeout=30)

    threads = [threading.Thread(target=work) for work in (first, second)]
    try:
        for thread in threads:
            thread.start()
        threads[0].join(timeout=30)
        first_is_out.set()
        threads[1].join(timeout=30)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(torch.get_num_threads).result() == 2
    finally:
        torch.set_num_threads(1)


def test_the_callers_number_of_threads_comes_back_after_an_error(six_threads):
    with pytest.raises(KeyError), threads_shared(1, 1):
        raise KeyError
    assert torch.get_num_threads() == 6


def test_to_numpy_detaches():
    array = to_numpy(torch.ones(2, 3, dtype=torch.float64, requires_grad=True))
    assert isinstance(array, np.ndarray)
    assert (array.shape, array.dtype) == ((2, 3), np.float64)


@pytest.mark.parametrize("n_row_bytes, beside", [(0, 100), (50, 50), (51, 100)])
def test_rows_take_memory_where_they_are_put(monkeypatch, n_row_bytes, beside):
    monkeypatch.setattr(skspc._runtime.memory, "free_memory", lambda device: 100)
    assert memory_beside_rows(torch.device("cuda"), n_row_bytes) == beside


def test_a_cpu_tells_no_memory():
    assert memory_beside_rows(torch.device("cpu"), 7) is None


@pytest.mark.parametrize("device, expected", [("cuda", ["cuda:0", "cuda:1"]), ("cuda:1", ["cuda:1"]), ("cpu", ["cpu"])])
def test_training_uses_all_devices_or_the_one_named(monkeypatch, device, expected):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [str(each) for each in training_devices(torch.device(device))] == expected


def test_rows_too_many_for_the_device_are_taken_batch_by_batch(monkeypatch):
    X = np.arange(12, dtype=np.float32).reshape(6, 2)
    monkeypatch.setattr(skspc._runtime.arrays, "free_memory", lambda device: 95)  # the rows take 48 bytes
    assert place_rows(X, torch.device("meta")) is X
    monkeypatch.setattr(skspc._runtime.arrays, "free_memory", lambda device: 96)
    assert torch.is_tensor(place_rows(X, torch.device("meta")))
    index = torch.tensor([[4, 0], [1, 1]])
    for rows in (X, torch.from_numpy(X)):
        assert take_rows(rows, index, torch.device("cpu")).tolist() == X[index.numpy()].tolist()


def test_read_only_rows_are_taken_without_a_warning():
    X = np.array([[0, 255], [51, 204]], dtype=np.uint8)
    X.flags.writeable = False
    taken = take_rows(X, slice(0, 2), torch.device("cpu"))
    np.testing.assert_allclose(taken.numpy(), [[-1, 1], [-0.6, 0.6]], atol=1e-6)


@pytest.mark.parametrize("device, expected", [("cuda", (True, False)), ("cpu", (False, True))])
def test_cudnn_is_made_repeatable_for_a_while(monkeypatch, device, expected):
    cudnn = torch.backends.cudnn
    monkeypatch.setattr(cudnn, "deterministic", False)
    monkeypatch.setattr(cudnn, "benchmark", True)
    enabled = cudnn.enabled
    with pytest.raises(KeyError), reproducible(torch.device(device)):
        assert (cudnn.deterministic, cudnn.benchmark) == expected
        assert cudnn.enabled is enabled
        raise KeyError
    assert (cudnn.deterministic, cudnn.benchmark) == (False, True)


# The caller's modes of torch


def modes():
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize(
    "mode",
    [torch.no_grad, torch.inference_mode, lambda: torch.autocast("cpu", torch.bfloat16), lambda: torch.device("meta")],
    ids=["no_grad", "inference", "autocast", "device"],
)
def test_modes_are_ordinary_inside_and_the_callers_again(mode):
    with mode():
        before, device = modes(), torch.get_default_device()
        with ordinary_torch_modes():
            assert modes() == (True, False, False)
            assert torch.zeros(1).device == torch.device("cpu")
        assert modes() == before
        assert torch.get_default_device() == device
    assert modes() == (True, False, False)
