"""Members as plain values and arrays, and back: what files hold of an ensemble. No torch object is among them."""

import torch

from ._device import own_torch_modes, to_numpy
from ._members import MemberGroup
from .networks import ConvNetwork, MLPNetwork
from .networks._conv import ConvAutoencoder
from .networks._mlp import MLPAutoencoder

NETWORKS = {ConvAutoencoder: ConvNetwork, MLPAutoencoder: MLPNetwork}  # the settings that build each again
META = torch.device("meta")  # shapes without memory
MAX_LENGTH = 2**31
ARRAYS_PER_LAYER = 7  # at least: weight and bias, and the five of its normalisation


def can_be_packed(groups):
    """Whether settings alone build the groups' modules again: not with a network of one's own, nor before heads."""
    return all(type(group.autoencoder) in NETWORKS and len(group.heads) > 0 for group in groups)


def pack_groups(groups):
    """Describe groups of members on the CPU.

    Returns
    -------
    packed : dict
        "network", of skspc, without any "auto"; "input_shape", "seed", "n_clusters", the "sizes" of the groups; and
        "arrays", the weights and buffers by name, as ndarrays.
    """
    autoencoder, heads = groups[0].autoencoder, groups[0].heads
    network = {
        name: tuple(map(int, size)) if isinstance(size, tuple) else int(size)
        for name, size in autoencoder.sizes.items()
    }
    return {
        "network": NETWORKS[type(autoencoder)](**network, noise=float(groups[0].network.noise)),
        "input_shape": tuple(map(int, autoencoder.input_shape)),
        "seed": groups[0].seed,
        "n_clusters": heads[-1].weight.shape[2],
        "sizes": [len(group.members) for group in groups],
        "arrays": {name: to_numpy(tensor) for name, tensor in _all_tensors(groups).items()},
    }


@own_torch_modes()
def unpack_groups(packed):
    """Build groups again; the inverse of `pack_groups`.

    What ``packed`` claims is not believed: groups are built on torch's meta device, where sizes take no memory, and
    each array must have the shape and dtype that it has there.

    Raises
    ------
    ValueError
        If values and arrays do not fit each other.
    """
    network, arrays, sizes = packed["network"], packed["arrays"], packed["sizes"]
    settings = network, packed["input_shape"], packed["seed"], packed["n_clusters"]
    _check_network(network, len(arrays))
    try:
        member = _named_tensors(_empty_group(range(1), *settings), 0).values()
    except RuntimeError as error:  # torch's, of a size beyond 64 bits
        raise ValueError(f"its network cannot be built: {error}.") from error
    n_values = sum(array.size for array in arrays.values() if array.dtype.kind == "f")
    n_values_of_member = sum(tensor.numel() for tensor in member if tensor.is_floating_point())
    if min(sizes, default=0) < 1 or sum(sizes) * n_values_of_member != n_values:
        raise ValueError("its weights are not as many as its network has.")
    groups, first = [], 0
    for size in sizes:
        groups.append(_empty_group(range(first, first + size), *settings))
        first += size
    _check_arrays(arrays, _all_tensors(groups))
    for i, group in enumerate(groups):
        _fill(group, i, arrays)
    return groups


def _named_tensors(group, i):
    """Weights and buffers of group ``i``, by the names they have when packed."""
    modules = {"autoencoder": group.autoencoder, "heads": group.heads}
    return {
        f"groups.{i}.{part}.{name}": tensor
        for part, module in modules.items()
        for name, tensor in module.state_dict().items()
    }


def _all_tensors(groups):
    return {name: tensor for i, group in enumerate(groups) for name, tensor in _named_tensors(group, i).items()}


def _check_network(network, n_arrays):
    """Refuse settings that `pack_groups` cannot have made, or with more layers than there are arrays."""
    if type(network) not in NETWORKS.values():
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


def _fill(group, i, arrays):
    for part in ("autoencoder", "heads"):
        module = getattr(group, part)
        # Copies: an array may be read-only, or a view of a file.
        state = {name: torch.tensor(arrays[f"groups.{i}.{part}.{name}"]) for name in module.state_dict()}
        module.load_state_dict(state, assign=True)
    group.device = torch.device("cpu")
