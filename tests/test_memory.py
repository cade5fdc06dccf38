"""Estimates of memory, and how many members go together."""

import pytest
import torch

from skspc._ensemble.sizing import bytes_of_member, members_at_once
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
    assert bytes_of_member(Network(), (4,), batch_size=10) == 4 * weights + 2 * 10 * kept_of_a_row


@pytest.mark.parametrize("network, shape", [(MLPNetwork(), (64,)), (ConvNetwork(), (1, 28, 28))])
def test_the_estimate_grows_with_the_batch(network, shape):
    small, large = (bytes_of_member(network, shape, batch_size) for batch_size in (32, 256))
    assert small < large < 8 * small
