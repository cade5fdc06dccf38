"""How many members train at once: by the memory of a device, and by the workers of the CPU."""

import math

import torch
from torch.autograd.graph import saved_tensors_hooks

MEMBERS_PER_CPU_GROUP = 2
# Where a step is short, three: with 15 members a fifth faster on batches of 64 images of 8 x 8, but a tenth slower on
# 256 of 16 x 16.
MEMBERS_OF_SHORT_STEPS = 3
SHORT_STEP = 16_384  # values in one member's batch
# The weights, their gradients, two moments of Adam, and the weights before: for members that diverge, and for halves.
COPIES_OF_WEIGHTS = 6
COPIES_OF_ACTIVATIONS = 2  # what is kept for the backward pass, and its gradients and workspaces: a judgement
USABLE_SHARE = 0.8  # of the free memory; the rest is for what is not counted
MEASURED_ROWS = 2


def bytes_of_member(network, input_shape, batch_size):
    """Estimate the memory that one member takes in training, from one pass over two rows on the CPU."""
    autoencoder = network.build(input_shape, [torch.Generator().manual_seed(0)])
    saved = {}

    def keep(tensor):
        saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    weights = {parameter.untyped_storage().data_ptr() for parameter in autoencoder.parameters()}
    rows = torch.zeros(1, MEASURED_ROWS, *input_shape, dtype=torch.float32)
    with saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = (autoencoder.decode(autoencoder.encode(rows)) - rows).abs().mean()
    activations = sum(size for storage, size in saved.items() if storage not in weights)
    n_weight_bytes = sum(parameter.nbytes for parameter in autoencoder.parameters())
    del loss
    return COPIES_OF_WEIGHTS * n_weight_bytes + COPIES_OF_ACTIVATIONS * activations * batch_size // MEASURED_ROWS


def members_at_once(n_members, n_devices, n_bytes, free):
    """Largest group of members, each of ``n_bytes``, dealt to devices of which each has ``free`` bytes; 1 at least."""
    of_each_device = -(-n_members // n_devices)
    return max(1, min(of_each_device, int(USABLE_SHARE * free) // n_bytes))


def members_per_cpu_group(n_members, input_shape, batch_size, n_workers):
    """Members in a group on the CPU, so that all workers have groups to train.

    A short step on vectors is operations that each cost something by themselves, once a group: there are no more groups
    than workers. Where steps are long, small groups keep workers busy to the end, and convolutions are faster in them.
    """
    of_each_worker = -(-n_members // n_workers)
    is_short = batch_size * math.prod(input_shape) <= SHORT_STEP
    if len(input_shape) == 1 and (is_short or n_workers == 1):
        return of_each_worker
    is_worth_three = is_short and n_members > 2 * MEMBERS_OF_SHORT_STEPS
    return min(of_each_worker, MEMBERS_OF_SHORT_STEPS if is_worth_three else MEMBERS_PER_CPU_GROUP)
