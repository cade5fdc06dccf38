"""The step that training repeats: run as it stands or, on CUDA, recorded once as a graph and replayed.

A step of small networks is hundreds of small kernels, and to launch each takes longer than to run it; a graph is
launched as one.
"""

import warnings
import weakref
from collections import defaultdict
from contextlib import suppress
from typing import ClassVar

import torch

from .memory import cuda_memory_lock, is_out_of_memory

BLOCK = 16  # values of float32 in the widest vector of a CPU
LARGEST_RATE = 1e37  # ten times as much is no float32; members diverge at far less
WARM_UP_STEPS = 3  # run before one is recorded: libraries and optimiser then have what they keep
TORCH_VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
LAZY_GENERATORS = (2, 14)  # from which a graph finds the generators that it draws from


def make_step(batch_losses, parameters, learning_rate, generators, precision=torch.float32, recorded=True):
    """Make what trains ``parameters`` on one batch by Adam.

    ``batch_losses(*batch, generators=generators)`` returns a dict of tensors (K,); members' losses are summed, so that
    each member trains as if alone. What it draws comes from the generators, one a member. If the step is to be recorded
    on CUDA, it must neither wait for a value nor copy between devices. ``precision`` is of the products.

    The step takes the tensors of a batch, each of the same shape every time, and returns the losses before it, in
    tensors that the next step may overwrite.
    """
    step = adam_step(batch_losses, parameters, learning_rate, generators[0].device, precision)
    return recorded_on_cuda(step, generators) if recorded else lambda *batch: step(batch, generators)


def recorded_on_cuda(step, generators):
    """Make of what takes a batch and generators what takes the tensors of a batch: recorded, where they are CUDA's."""
    device = generators[0].device
    if device.type == "cuda" and not CudaRecorder.is_broken:
        return RecordedStep(step, generators, CudaRecorder(device))
    return lambda *batch: step(batch, generators)


def adam_step(batch_losses, parameters, learning_rate, device, precision):
    """Make a step that takes the tensors of a batch and generators; the rest is as in `make_step`."""
    values = lay_out(parameters)
    # One pass over all parameters saves an eighth of a step on small images.
    settings = {"fused": device.type in ("cpu", "cuda"), "foreach": False, "capturable": device.type == "cuda"}
    # A rate that is no float32 is an error of torch's; members diverge at far less.
    optimiser = torch.optim.Adam(values, lr=min(learning_rate, LARGEST_RATE), **settings)

    def step(batch, generators):
        # Inside another autocast the cache outlives the step, and weights would stay as they were first cast.
        with torch.autocast(device.type, precision, enabled=precision != torch.float32, cache_enabled=False):
            losses = batch_losses(*batch, generators=generators)
        optimiser.zero_grad(set_to_none=False)
        sum(loss.sum() for loss in losses.values()).backward()
        optimiser.step()
        return {name: loss.detach() for name, loss in losses.items()}

    return step


def lay_out(parameters):
    """Move parameters, and gradients of zero, into one tensor for each dtype: a list of these.

    Each parameter begins at a whole block, and the tensors end with one: on the CPU, Adam computes what is left of a
    vector in another way, and whether that is a member's must not go by the members beside it.
    """
    of_dtypes = defaultdict(list)
    for parameter in parameters:
        of_dtypes[parameter.dtype].append(parameter)
    return [_lay_out_together(alike) for alike in of_dtypes.values()]


def _lay_out_together(parameters):
    lengths = [parameter.numel() + -parameter.numel() % BLOCK for parameter in parameters]
    values = torch.zeros(sum(lengths), dtype=parameters[0].dtype, device=parameters[0].device)
    values.grad = torch.zeros_like(values)
    for parameter, place, gradient in zip(parameters, values.split(lengths), values.grad.split(lengths), strict=True):
        place[: parameter.numel()] = parameter.detach().flatten()
        parameter.data = place[: parameter.numel()].view_as(parameter)
        parameter.grad = gradient[: parameter.numel()].view_as(parameter)
    return values


def release(parameters):
    """Give parameters memory of their own again, and no gradients: both may lie in that of a step."""
    for parameter in parameters:
        parameter.data, parameter.grad = parameter.data.clone(), None


class RecordedStep:
    """A step that is recorded in one of its first calls, and replayed in the next ones.

    It takes a list of tensors, and generators. What it does may depend on these and on tensors that stay where they
    are: nothing else may change between calls.
    """

    def __init__(self, step, generators, recorder):
        self.step, self.generators, self.recorder = step, generators, recorder
        self.n_calls, self.replay = 0, None

    def __call__(self, *batch):
        self.n_calls += 1
        if self.replay is not None:
            for kept, new in zip(self.batch, batch, strict=True):
                kept.copy_(new)
            self.replay()
            return self.returned
        if self.n_calls > WARM_UP_STEPS:
            return self.step(batch, self.generators)
        returned = self.recorder.warm_up(lambda: self.step(batch, self.generators))
        if self.n_calls == WARM_UP_STEPS:
            self._try_to_record(batch)  # in the thread of a warm-up step: some of what that sets up is the thread's
        return returned

    def _try_to_record(self, batch):
        """Record the step, which takes no effect by that; where it can't be, training goes on as before."""
        self.batch, states = [tensor.clone() for tensor in batch], [each.get_state() for each in self.generators]
        try:
            self.replay, self.returned = self.recorder.record(
                lambda: self.step(self.batch, self.generators), self.generators
            )
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise
            # A generator whose recording broke off refuses to draw.
            self.generators = [torch.Generator(each.device) for each in self.generators]
            for generator, state in zip(self.generators, states, strict=True):
                generator.set_state(state)
            warnings.warn(
                f"A step could not be recorded as a CUDA graph ({str(error).splitlines()[0]}). This process "
                "goes without from now on: each step takes longer, and the result is as good.",
                RuntimeWarning,
                stacklevel=2,
            )


class CudaRecorder:
    """Records as a CUDA graph what a function does on a device.

    A graph keeps a stream to itself, and hands it on: torch keeps memory for each stream that was ever used.
    """

    is_broken = False  # a recording that breaks off leaves torch in a state in which none should be tried
    _broken_graphs: ClassVar[list] = []  # generators go on pointing to what they were registered with
    _free_streams: ClassVar[defaultdict[torch.device, list]] = defaultdict(list)

    def __init__(self, device):
        self.device, free = device, self._free_streams[device]
        self.stream = free.pop() if free else torch.cuda.Stream(device)
        weakref.finalize(self, free.append, self.stream)

    def warm_up(self, function):
        """Call the function on the stream that it will be recorded on."""
        before = torch.cuda.current_stream(self.device)
        self.stream.wait_stream(before)
        try:
            with torch.cuda.device(self.device), torch.cuda.stream(self.stream):
                return function()
        finally:
            before.wait_stream(self.stream)

    def record(self, function, generators):
        """Record the function, which takes no effect by that, and may draw from the generators.

        Returned are a function that does again, on the same memory, what it does, and what it returned, whose tensors
        have values once it has been replayed.
        """
        with cuda_memory_lock, torch.cuda.device(self.device):
            graph = torch.cuda.CUDAGraph()
            if TORCH_VERSION < LAZY_GENERATORS:
                for generator in generators:
                    graph.register_generator_state(generator)
            try:
                with (
                    torch.cuda.stream(torch.cuda.current_stream(self.device)),  # a recording that fails leaves its own
                    torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"),
                ):
                    returned = function()
            except RuntimeError as error:
                self._broken_graphs.append(graph)
                if not is_out_of_memory(error):
                    CudaRecorder.is_broken = True
                    raise
                with suppress(RuntimeError):
                    graph.reset()  # its memory is wanted
                raise
        return graph.replay, returned
