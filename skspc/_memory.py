"""How many members train at once in the memory of a device."""

import torch
from torch.autograd.graph import saved_tensors_hooks

from .networks._losses import reconstruction_loss

COPIES_OF_WEIGHTS = 4  # the weights, their gradients, and two moments of Adam
COPIES_OF_ACTIVATIONS = 2  # what is kept for the backward pass, and its gradients and workspaces: a judgement
USABLE_SHARE = 0.8  # of the free memory; the rest is for what is not counted
MEASURED_ROWS = 2


def bytes_of_member(network, input_shape, batch_size):
    """Estimate the memory that one member takes in training, from one pass over two rows on the CPU.

    Parameters
    ----------
    network : object with ``build(input_shape, generators)``
    input_shape : tuple
    batch_size : int

    Returns
    -------
    n_bytes : int
    """
    autoencoder = network.build(input_shape, [torch.Generator().manual_seed(0)])
    saved = {}

    def keep(tensor):
        saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    weights = {parameter.untyped_storage().data_ptr() for parameter in autoencoder.parameters()}
    rows = torch.zeros(1, MEASURED_ROWS, *input_shape, dtype=torch.float32)
    with saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = reconstruction_loss(autoencoder.decode(autoencoder.encode(rows)), rows)
    activations = sum(size for storage, size in saved.items() if storage not in weights)
    n_weight_bytes = sum(parameter.nbytes for parameter in autoencoder.parameters())
    del loss
    return COPIES_OF_WEIGHTS * n_weight_bytes + COPIES_OF_ACTIVATIONS * activations * batch_size // MEASURED_ROWS


def members_at_once(n_members, n_devices, n_bytes, free):
    """Largest group of members, when they are dealt to devices and must fit into each one's free memory.

    Parameters
    ----------
    n_members, n_devices : int
    n_bytes : int
        Of one member.
    free : int
        Bytes free on the device that has the least.

    Returns
    -------
    size : int
        At least 1.
    """
    of_each_device = -(-n_members // n_devices)
    return max(1, min(of_each_device, int(USABLE_SHARE * free) // n_bytes))
