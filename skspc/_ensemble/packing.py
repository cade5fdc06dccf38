"""An ensemble as plain values and arrays, and back: what files hold of it. No torch object is among them."""

import torch

from .._runtime.arrays import to_numpy
from .._runtime.modes import ordinary_torch_modes
from ..networks import ConvNetwork, MLPNetwork
from ..networks._conv import ConvAutoencoder
from ..networks._mlp import MLPAutoencoder
from .group import MemberGroup
from .sizing import MEMBERS_PER_CPU_GROUP
from .states import some_members

SETTINGS_OF = {ConvAutoencoder: ConvNetwork, MLPAutoencoder: MLPNetwork}  # what builds each again
META = torch.device("meta")  # shapes without memory
MAX_LENGTH = 2**31
ARRAYS_PER_LAYER = 7  # at least: weight and bias, and the five of its normalisation


def can_be_packed(ensemble):
    """Whether settings alone build its modules again: not with a network of one's own, nor before there are heads."""
    return all(type(group.autoencoder) in SETTINGS_OF and len(group.heads) > 0 for group in ensemble.groups)


def pack_ensemble(ensemble):
    """Describe an ensemble as a dict.

    "network", of skspc, without any "auto"; "input_shape", "seed", "n_members", "n_clusters"; and "arrays", the weights
    and buffers of all members by name, as ndarrays.
    """
    group = ensemble.groups[0]
    network = {
        name: tuple(map(int, size)) if isinstance(size, tuple) else int(size)
        for name, size in group.autoencoder.sizes.items()
    }
    state = ensemble.state()
    return {
        "network": SETTINGS_OF[type(group.autoencoder)](**network, noise=float(group.network.noise)),
        "input_shape": tuple(map(int, group.autoencoder.input_shape)),
        "seed": ensemble.seed,
        "n_members": ensemble.n_members,
        "n_clusters": group.heads[-1].weight.shape[2],
        "arrays": {f"{part}.{name}": to_numpy(value) for part in state for name, value in state[part].items()},
    }


@ordinary_torch_modes()
def unpack_groups(packed):
    """Build the groups of an ensemble again, on the CPU; the inverse of `pack_ensemble`.

    What ``packed`` claims is not believed: modules are built on torch's meta device, where sizes take no memory, and
    each array must have the shape and dtype that it has there, or a ValueError tells what does not fit.
    """
    network, arrays, n_members = packed["network"], packed["arrays"], packed["n_members"]
    settings = network, packed["input_shape"], packed["seed"], packed["n_clusters"]
    _check_network(network, len(arrays))
    try:
        member = _named_tensors(_empty_group(range(1), *settings)).values()
    except RuntimeError as error:  # torch's, of a size beyond 64 bits
        raise ValueError(f"its network cannot be built: {error}.") from error
    n_values = sum(array.size for array in arrays.values() if array.dtype.kind == "f")
    if n_members * sum(tensor.numel() for tensor in member if tensor.is_floating_point()) != n_values:
        raise ValueError("its weights are not as many as its network has.")
    _check_arrays(arrays, _named_tensors(_empty_group(range(n_members), *settings)))
    firsts = range(0, n_members, MEMBERS_PER_CPU_GROUP)
    groups = [_empty_group(range(n_members)[first : first + MEMBERS_PER_CPU_GROUP], *settings) for first in firsts]
    for group in groups:
        _fill(group, arrays, n_members)
    return groups


def _named_tensors(group):
    """Weights and buffers of a group, by the names they have when packed."""
    modules = {"autoencoder": group.autoencoder, "heads": group.heads}
    return {f"{part}.{name}": tensor for part in modules for name, tensor in modules[part].state_dict().items()}


def _check_network(network, n_arrays):
    """Refuse settings that `pack_ensemble` cannot have made, or with more layers than there are arrays."""
    if type(network) not in SETTINGS_OF.values():
        raise ValueError(f"its network is {network!r:.50}.")
    max_layers = n_arrays // ARRAYS_PER_LAYER
    for name, size in network.get_params().items():
        if name == "noise":
            holds = type(size) is float
        else:
            lengths = size if isinstance(size, tuple) else (size,)
            most = max_layers if name == "convolutions_per_stage" else MAX_LENGTH
            holds = len(lengths) <= max_layers
            holds = holds and all(type(length) is int and 1 <= length <= most for length in lengths)
        if not holds:
            raise ValueError(f"its network has {name}={size!r:.50}.")


def _empty_group(members, network, input_shape, seed, n_clusters):
    """A group whose tensors have shapes and no values."""
    with META:
        group = MemberGroup(network, input_shape, seed, members, META)
        group.reset_heads(n_clusters)
    return group


def _check_arrays(arrays, expected):
    """Refuse arrays other than the ``expected`` tensors, by name, shape and dtype."""
    if set(arrays) != set(expected):
        raise ValueError(f"it lacks, or has beside what its network needs, {min(set(arrays) ^ set(expected))!r}.")
    for name, tensor in expected.items():
        found, due = describe(arrays[name].dtype, arrays[name].shape), describe(tensor.dtype, tensor.shape)
        if found != due:
            raise ValueError(f"{name!r} is {found}, not {due}.")


def describe(dtype, shape):
    """Name dtype and shape of an array or a tensor alike: float32 of shape (2, 3)."""
    return f"{str(dtype).removeprefix('torch.')} of shape {tuple(shape)}"


def _fill(group, arrays, n_members):
    """Give a group on the meta device its members' part of all members' arrays, on the CPU."""
    which = slice(group.members[0], group.members[-1] + 1)
    for part in ("autoencoder", "heads"):
        module = getattr(group, part)
        # Copies: an array may be read-only, or a view of a file.
        state = {name: torch.tensor(arrays[f"{part}.{name}"]) for name in module.state_dict()}
        module.load_state_dict(some_members(state, which, n_members), assign=True)
    group.device = torch.device("cpu")
