"""Memory of CUDA devices: what is free, what rows take of it, and giving back what torch keeps."""

import threading
from contextlib import contextmanager, suppress

import torch

RESIDENT_SHARE = 0.5  # of a GPU's free memory that the rows may take; beyond, batches are sent one by one


def free_memory(device):
    """Bytes free on a CUDA device, with those that torch keeps for later; None for others, which do not tell."""
    if device.type != "cuda":
        return None
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept


def memory_beside_rows(device, n_row_bytes):
    """Bytes free on a CUDA device once `place_rows` has put rows there; None for others."""
    free = free_memory(device)
    return free if free is None or n_row_bytes > RESIDENT_SHARE * free else free - n_row_bytes


# Memory that libraries ask the driver for, past torch's allocator, is not reported by torch's own error.
_OUT_OF_MEMORY_TEXTS = ("STATUS_ALLOC_FAILED", "CUDA error: out of memory", "CUDA_ERROR_OUT_OF_MEMORY")


def is_out_of_memory(error):
    """Whether an error says that a device has no memory left: torch's own error, or that of a library below it."""
    if isinstance(error, torch.cuda.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _OUT_OF_MEMORY_TEXTS)


_turns: dict[int, threading.Lock] = {}


@contextmanager
def alone_on(device):
    """Let one thread at a time do what takes much of a CUDA device's memory; other devices need no turns."""
    if device.type != "cuda":
        yield
        return
    index = torch.cuda.current_device() if device.index is None else device.index
    with _turns.setdefault(index, threading.Lock()):
        yield


cuda_memory_lock = threading.Lock()  # torch's memory is not to be released while a graph is recorded


def release_memory(device):
    """Give back to the device what torch keeps for later."""
    if device.type == "cuda":
        with cuda_memory_lock, suppress(RuntimeError):  # torch 2.5 refuses once a recording has broken off
            torch.cuda.empty_cache()
