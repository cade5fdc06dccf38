"""A card that is not there: tensors "on cuda" whose values lie on the CPU, for a torch built without CUDA.

It refuses what a card refuses or does differently from run to run, and sees each operation: devices that are mixed,
generators of another device or none, waits and copies inside a recording, sums of floats whose order is the threads'.
A graph is a tape, replayed on the same memory. Autocast's lists are CUDA's own. It knows nothing of cuDNN's kernels,
races or speed.
"""

import threading
import time
from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map

COPIES = ("_to_copy", "copy_")  # the operations that may cross devices
WAITS = (  # for values, or for how many there are
    *("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "repeat_interleave", "_coalesce"),
    *("unique_consecutive", "_unique2", "unique_dim", "bincount"),
)
PRODUCTS = ("convolution", "convolution_backward", "mm", "bmm", "addmm", "baddbmm")
UNREPEATABLE = (  # of floats; torch's notes on use_deterministic_algorithms
    *(
        "median",
        "index_add",
        "index_add_",
        "scatter_add",
        "scatter_add_",
        "cumsum",
        "kthvalue",
        "grid_sampler_2d_backward",
    ),
    *("histc", "index_reduce", "put_", "upsample_bilinear2d_backward", "reflection_pad2d_backward"),
)


class Wrong(AssertionError):
    """What no card would do, or not twice alike."""


class Log:
    """What the cards were asked."""

    recordings: dict = {}  # graphs that are being recorded, by the thread and the device
    names: list = []  # of operations
    waits: list = []  # pairs of operation and reason, outside recordings
    tf32: set = set()  # what was allowed at products and convolutions
    memory_for: list = []  # products until the memory runs out, if it does


class CardTensor(torch.Tensor):
    """A tensor on a card, with its values ``inner`` on the CPU."""

    @staticmethod
    def __new__(cls, inner, device):
        layout = {"strides": inner.stride(), "storage_offset": inner.storage_offset()}
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype, device=device, **layout)

    def __init__(self, inner, device):
        self.inner = inner

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        return run(operation, args, kwargs or {}, threading.get_ident())

    @property
    def data(self):
        return self.detach()

    @data.setter
    def data(self, new):
        if new.shape != self.shape:
            raise Wrong(f"data of shape {new.shape} for {self.shape}")
        self.inner = new.inner

    def numpy(self, *, force=False):
        return self.detach().cpu().numpy()

    def tolist(self):
        return self.cpu().tolist()

    def __deepcopy__(self, memo):
        copied = self.detach().clone()
        is_parameter = getattr(self, "_is_param", False)
        memo[id(self)] = torch.nn.Parameter(copied, self.requires_grad) if is_parameter else copied
        return memo[id(self)]

    def __repr__(self):
        return f"CardTensor({self.inner!r}, {self.device})"


def tensors_of(tree):
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def card_of(device):
    """The card of that name, with its index; None of what is none."""
    device = None if device is None else torch.device(device)
    if device is None or device.type != "cuda":
        return None
    return device if device.index is not None else torch.device("cuda", torch.cuda.current_device())


def run(operation, args, kwargs, thread):
    """Do an operation of a thread's that asks for a card, or has tensors on one, as the card would."""
    tensors, target = tensors_of((args, kwargs)), kwargs.get("device")
    cards = {tensor.device for tensor in tensors if isinstance(tensor, CardTensor)}
    if not cards and card_of(target) is None:
        return operation(*args, **{**kwargs, "pin_memory": False} if kwargs.get("pin_memory") else kwargs)
    name = operation._schema.name.removeprefix("aten::")
    card = card_of(target) or (next(iter(cards)) if cards else None)
    generator = next((leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Generator)), None)
    check_devices(name, cards, tensors, args)
    check_draws(operation, name, generator, card)
    check_repeatable(name, tensors, args)
    log(name)
    leaves_card = name == "_to_copy" and target is not None and card_of(target) is None
    graph = Log.recordings.get((thread, card))
    check_waits(name, reason_to_wait(name, cards, tensors, args, leaves_card), graph is not None)
    result = compute(operation, args, kwargs, generator, graph)
    if leaves_card:
        return result.clone() if result is args[0].inner else result
    if not tensors_of(result):
        return result
    if name == "copy_" and not isinstance(args[0], CardTensor):
        return args[0]
    wrapped = tree_map(lambda leaf: CardTensor(leaf, card) if isinstance(leaf, torch.Tensor) else leaf, result)
    return wrapped if name.startswith(("_foreach", "_fused")) else aliased(operation, args, kwargs, wrapped)


def aliased(operation, args, kwargs, wrapped):
    """What is changed in place is the tensor itself; a view shares its memory."""
    try:
        return return_and_correct_aliasing(operation, args, kwargs, wrapped)
    except AssertionError:  # of operations whose schema says too little
        return wrapped


def check_devices(name, cards, tensors, args):
    """Refuse tensors of two devices; numbers from the CPU, and places to index by, may stand beside a card's."""
    if len(cards) > 1 and name not in COPIES:
        raise Wrong(f"{name} of tensors on {sorted(map(str, cards))}")
    for tensor in tensors:
        is_number = tensor.ndim == 0 and not name.startswith(("_fused", "_foreach"))
        is_place = name.startswith("index") and tensor is not args[0] and tensor.dtype in (torch.int64, torch.bool)
        if cards and name not in COPIES and not isinstance(tensor, CardTensor) and not is_number and not is_place:
            raise Wrong(f"{name} of a tensor {tuple(tensor.shape)} on the CPU beside those on a card")


def check_draws(operation, name, generator, card):
    """Refuse random numbers that are not of a generator of the card's."""
    if torch.Tag.nondeterministic_seeded in operation.tags and generator is None:
        raise Wrong(f"{name} draws from torch's own generator")
    if generator is not None and generator.device != card:
        raise Wrong(f"{name} on {card} draws from a generator on {generator.device}")


def check_repeatable(name, tensors, args):
    accumulates = name in ("index_put", "index_put_", "_index_put_impl_") and len(args) > 3 and args[3]
    if (name in UNREPEATABLE or accumulates) and tensors and tensors[0].is_floating_point():
        raise Wrong(f"{name} of floats is not the same twice")


def log(name):
    Log.names.append(name)
    if name not in PRODUCTS:
        return
    Log.tf32.add((torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()))
    if Log.memory_for:
        Log.memory_for[0] -= 1
        if Log.memory_for[0] <= 0:
            Log.memory_for.clear()
            raise torch.cuda.OutOfMemoryError("CUDA out of memory, emulated")


def reason_to_wait(name, cards, tensors, args, leaves_card):
    """Why the CPU waits for the card here, or the card for the CPU; None if neither does."""
    if name.startswith("index") and any(tensor.dtype == torch.bool for tensor in tensors_of(args[1:2])):
        return "a mask as an index"
    if name in COPIES and (leaves_card or not all(isinstance(each, CardTensor) for each in tensors)):
        return "to the CPU" if leaves_card else "from the CPU"
    if name.startswith("index") and not all(isinstance(each, CardTensor) for each in tensors):
        return "an index from the CPU"
    return "a value" if name in WAITS else None


def check_waits(name, reason, recording):
    if reason is None:
        return
    if recording:
        raise RuntimeError(f"CUDA error: operation not permitted when stream is capturing: {name} ({reason})")
    Log.waits.append((name, reason))


def compute(operation, args, kwargs, generator, graph):
    """Do on the CPU what the card is asked, and put it on the tape of a graph."""
    stand_in = None
    if generator is not None:
        stand_in = torch.Generator()
        stand_in.set_state(generator.get_state())

    def on_cpu(leaf):
        if isinstance(leaf, CardTensor):
            return leaf.inner
        if isinstance(leaf, torch.Generator):
            return stand_in
        return torch.device("cpu") if isinstance(leaf, torch.device) else leaf

    args, kwargs = tree_map(on_cpu, (args, kwargs))
    kwargs = {name: value for name, value in kwargs.items() if name != "pin_memory"}
    if graph is not None:
        graph.keep(tensors_of((args, kwargs)), generator)
    with _disable_current_modes():
        result = operation(*args, **kwargs)
    if generator is not None:
        generator.set_state(stand_in.get_state())
    if graph is not None:
        graph.tape.append((operation, args, kwargs, result, generator, stand_in))
    return result


class Graph:
    """A recording: operations with their memory, whose effects are taken back at its end."""

    def __init__(self):
        self.generators, self.tape, self.before = [], [], {}

    def register_generator_state(self, generator):
        self.generators.append(generator)

    def keep(self, tensors, generator):
        if generator is not None and not any(
            torch.equal(generator.get_state(), g.get_state()) for g in self.generators
        ):
            raise RuntimeError("CUDA error: a generator draws in a recording that it is not registered with")
        for tensor in tensors:
            memory = tensor.untyped_storage()
            if memory.data_ptr() not in self.before:
                self.before[memory.data_ptr()] = memory, memory.clone()

    def take_back(self):
        with torch.no_grad(), _disable_current_modes():
            for memory, before in self.before.values():
                memory.copy_(before)

    def replay(self):
        with torch.no_grad(), _disable_current_modes():
            for operation, args, kwargs, returned, generator, stand_in in self.tape:
                if generator is not None:
                    stand_in.set_state(generator.get_state())
                read = {tensor.untyped_storage().data_ptr() for tensor in tensors_of((args, kwargs))}
                again = operation(*args, **kwargs)
                if generator is not None:
                    generator.set_state(stand_in.get_state())
                for old, new in zip(tensors_of(returned), tensors_of(again), strict=True):
                    if old.untyped_storage().data_ptr() not in read:  # neither a view nor changed in place
                        old.detach().copy_(new)

    def reset(self):
        self.tape.clear()


@contextmanager
def recording(graph, pool=None, stream=None, capture_error_mode="global"):
    """What `torch.cuda.graph` is."""
    here = threading.get_ident(), stream.device
    if stream.is_default or capture_error_mode != "thread_local" or torch.cuda.current_device() != stream.device.index:
        raise Wrong("recorded on a stream, in a mode, or with a device current, that would not do")
    if Log.recordings:
        raise Wrong("two recordings at once")
    states = [generator.get_state() for generator in graph.generators]
    Log.recordings[here] = graph
    try:
        with in_stream(stream):
            yield
    finally:
        del Log.recordings[here]
        for generator, state in zip(graph.generators, states, strict=True):
            generator.set_state(state)
        graph.take_back()


class Stream:
    def __init__(self, device=None, is_default=False):
        self.device, self.is_default = card_of(device or "cuda"), is_default

    def wait_stream(self, other):
        if Log.recordings.get((threading.get_ident(), self.device)) is not None:
            raise Wrong("a stream waits in a recording")


class Event:
    """A time on a card, which here is the CPU's."""

    def __init__(self, enable_timing=False):
        self.time = None

    def record(self):
        self.refuse_in_recording()
        self.time = time.perf_counter()

    def synchronize(self):
        self.refuse_in_recording()

    def elapsed_time(self, end):
        self.refuse_in_recording()
        return 1000 * (end.time - self.time)

    @staticmethod
    def refuse_in_recording():
        if is_recording():
            raise Wrong("a clock in a recording")


def is_recording():
    """Whether this thread records a graph."""
    return any(thread == threading.get_ident() for thread, _ in Log.recordings)


class OfThread(threading.local):
    def __init__(self):
        self.streams, self.device = {}, 0


of_thread = OfThread()


def current_stream(device=None):
    card = card_of(device or "cuda")
    return of_thread.streams.setdefault(card, Stream(card, is_default=True))


@contextmanager
def in_stream(stream):
    before = current_stream(stream.device)
    of_thread.streams[stream.device] = stream
    try:
        yield
    finally:
        of_thread.streams[stream.device] = before


@contextmanager
def on_device(device):
    before, of_thread.device = of_thread.device, torch.device(device).index or 0
    try:
        yield
    finally:
        of_thread.device = before


class Asking(TorchDispatchMode):
    """Sees a thread's operations: those without a tensor on a card, and those in torch's own threads for gradients."""

    def __init__(self):
        super().__init__()
        self.thread = threading.get_ident()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        return run(operation, args, kwargs or {}, self.thread)


class Sparse:
    """A sparse tensor on a card, which `CardTensor` cannot be."""

    def __init__(self, indices, values, size, make):
        self.parts, self.size, self.make = (indices, values), size, make

    def coalesce(self):
        check_waits("coalesce", "a value", is_recording())
        card, (indices, values) = self.parts[0].device, (part.inner for part in self.parts)
        with _disable_current_modes():
            joined = self.make(indices, values, self.size, check_invariants=False).coalesce()
            self.parts = CardTensor(joined.indices(), card), CardTensor(joined.values(), card)
        return self

    def indices(self):
        return self.parts[0]

    def values(self):
        return self.parts[1]


def install(n_cards=2, free=80 * 2**30):
    """Put the cards into this process, for good, which has loaded the library before it imported torch."""
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    told = {
        "is_available": True,
        "_lazy_init": None,
        "device_count": n_cards,
        "mem_get_info": (free, free),
        "memory_reserved": 0,
        "memory_allocated": 0,
        "max_memory_allocated": 0,
        "reset_peak_memory_stats": None,
        "synchronize": None,
        "get_device_name": "a card that is not there",
        "get_device_capability": (9, 0),
        "is_bf16_supported": True,
        "empty_cache": None,
    }
    for name, value in told.items():
        setattr(torch.cuda, name, lambda *args, value=value, **kwargs: value)
    torch.cuda.current_device, torch.cuda.is_current_stream_capturing = lambda: of_thread.device, is_recording
    torch.cuda.Stream, torch.cuda.stream, torch.cuda.current_stream = Stream, in_stream, current_stream
    torch.cuda.device, torch.cuda.CUDAGraph, torch.cuda.graph = on_device, Graph, recording
    torch.cuda.Event = Event
    make, start = torch.sparse_coo_tensor, threading.Thread.run

    def sparse_coo_tensor(indices, values, size, **kwargs):
        on_card = isinstance(indices, CardTensor)
        return Sparse(indices, values, size, make) if on_card else make(indices, values, size, **kwargs)

    def run_thread(thread):
        with Asking():
            start(thread)

    torch.sparse_coo_tensor, threading.Thread.run = sparse_coo_tensor, run_thread
