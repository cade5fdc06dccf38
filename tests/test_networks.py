"""Networks batched over members, against separate modules of torch."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from skspc._method.objectives import cross_entropy, l1_distance
from skspc.networks import ConvNetwork, MLPNetwork
from skspc.networks._common import default_latent_size
from skspc.networks._conv import stage_sizes
from skspc.networks._heads import build_heads
from skspc.networks._layers import (
    MemberBatchNorm,
    MemberConv2d,
    MemberConvTranspose2d,
    MemberLinear,
    channels_to_members,
    members_to_channels,
)

K, B = 3, 5
IMAGE_SHAPES = [(1, 8, 8), (1, 9, 13), (1, 16, 16), (1, 28, 28), (1, 31, 8), (3, 8, 8), (3, 12, 17)]


def generators(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds or range(K)]


def random(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def assert_close(actual, expected, atol=1e-5):
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=atol)


def assert_same_gradients(layer, parts, outputs, expected, name, pick):
    """Backpropagate the same weights through both, and compare the gradients of one parameter."""
    weights = random(*outputs.shape, seed=9)
    for module in (layer, *parts):
        module.zero_grad()
    (outputs * weights).sum().backward()
    (expected * weights).sum().backward()
    for member, part in enumerate(parts):
        assert_close(pick(getattr(layer, name).grad, member), getattr(part, name).grad, atol=1e-4)


def copy_into(part, weight, bias):
    """Give a module of torch a member's weight and bias."""
    with torch.no_grad():
        part.weight.copy_(weight)
        part.bias.copy_(bias)
    return part


# Layers


def test_member_linear_is_so_many_linears():
    layer = MemberLinear(4, 6, generators())
    parts = [copy_into(nn.Linear(4, 6), layer.weight[k].T, layer.bias[k, 0]) for k in range(K)]
    x = random(K, B, 4)
    expected = torch.stack([part(x[k]) for k, part in enumerate(parts)])
    assert_close(layer(x), expected)
    assert_same_gradients(layer, parts, layer(x), expected, "weight", lambda grad, k: grad[k].T)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [(8, 8), (9, 6)])
def test_member_conv_is_so_many_convolutions(stride, size):
    layer = MemberConv2d(2, 4, stride, generators())
    weights, biases = layer.weight.view(K, 4, 2, 3, 3), layer.bias.view(K, 4)
    parts = [copy_into(nn.Conv2d(2, 4, 3, stride, padding=1), weights[k], biases[k]) for k in range(K)]
    x = random(K, B, 2, *size)
    expected = torch.stack([part(x[k]) for k, part in enumerate(parts)])
    outputs = channels_to_members(layer(members_to_channels(x)), K)
    assert outputs.shape[3:] == tuple(math.ceil(length / stride) for length in size)
    assert_close(outputs, expected)
    assert_same_gradients(layer, parts, outputs, expected, "weight", lambda grad, k: grad.view_as(weights)[k])


@pytest.mark.parametrize("size", [(8, 8), (7, 8), (8, 13), (5, 3)])
def test_member_transposed_conv_is_so_many_transposed_convolutions(size):
    layer = MemberConvTranspose2d(4, 2, size, generators())
    weights, biases = layer.weight.view(K, 4, 2, 3, 3), layer.bias.view(K, 2)
    padding = tuple(1 - length % 2 for length in size)
    parts = [
        copy_into(nn.ConvTranspose2d(4, 2, 3, 2, padding=1, output_padding=padding), weights[k], biases[k])
        for k in range(K)
    ]
    x = random(K, B, 4, *(math.ceil(length / 2) for length in size))
    expected = torch.stack([part(x[k]) for k, part in enumerate(parts)])
    outputs = channels_to_members(layer(members_to_channels(x)), K)
    assert outputs.shape[3:] == size
    assert_close(outputs, expected)
    assert_same_gradients(layer, parts, outputs, expected, "weight", lambda grad, k: grad.view_as(weights)[k])


def test_member_batch_norm_is_so_many_batch_norms_in_training_and_after():
    layer = MemberBatchNorm(4, generators())
    with torch.no_grad():
        layer.weight.copy_(random(K * 4, seed=1))
        layer.bias.copy_(random(K * 4, seed=2))
    parts = [copy_into(nn.BatchNorm1d(4), layer.weight.view(K, 4)[k], layer.bias.view(K, 4)[k]) for k in range(K)]
    for mode in (True, True, True, False):  # three batches, and the averages learnt of them
        x = 3 * random(K, B, 4, seed=int(layer.num_batches_tracked)) + 1
        outputs = layer.train(mode)(x)
        expected = torch.stack([part.train(mode)(x[k]) for k, part in enumerate(parts)])
        assert_close(outputs, expected)
        assert_same_gradients(layer, parts, outputs, expected, "weight", lambda grad, k: grad.view(K, 4)[k])


def test_channels_are_grouped_by_member_and_back():
    x = torch.arange(2 * 3 * 4 * 5 * 6).view(2, 3, 4, 5, 6)  # (K, B, C, H, W)
    channels = members_to_channels(x)
    assert channels.shape == (3, 8, 5, 6)
    assert torch.equal(channels[1, 4:], x[1, 1])
    assert torch.equal(channels_to_members(channels, 2), x)


@pytest.mark.parametrize("n_members", [1, 2])
def test_maps_stay_channels_last_from_one_channel_on(n_members):
    # Of one channel both layouts are contiguous, and torch took the other: then gradients came in two layouts.
    network = ConvNetwork().build((1, 8, 8), generators(*range(n_members)))
    strides = []
    for layer in network.down:
        layer.register_forward_hook(lambda layer, inputs, maps: strides.append((maps.shape[1:3], maps.stride())))
    network.encode(random(n_members, B, 1, 8, 8))
    assert all(of_map[1] == 1 and of_map[3] == shape[0] for shape, of_map in strides)


@pytest.mark.parametrize(
    "build, fan_in",
    [
        (lambda drawn: MemberLinear(40, 50, drawn), 40),
        (lambda drawn: MemberConv2d(10, 20, 2, drawn), 90),
        (lambda drawn: MemberConvTranspose2d(20, 10, (8, 8), drawn), 45),
    ],
    ids=["linear", "conv", "transposed"],
)
def test_initial_weights_are_uniform_within_one_over_the_root_of_the_fan_in(build, fan_in):
    layer, bound = build(generators()), 1 / math.sqrt(fan_in)
    for parameter in (layer.weight, layer.bias):
        assert 0.8 * bound < parameter.abs().max() <= bound
    assert layer.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)


def test_linear_and_conv_begin_as_torchs_own():
    # The same bound as torch's default: the same spread of weights, to sampling error.
    for ours, theirs in (
        (MemberLinear(40, 500, generators()), nn.Linear(40, 500)),
        (MemberConv2d(10, 200, 1, generators()), nn.Conv2d(10, 200, 3)),
    ):
        assert ours.weight.std().item() == pytest.approx(theirs.weight.std().item(), rel=0.05)


# A member is the same whichever members stand beside it


@pytest.mark.parametrize(
    "build, input_shape",
    [
        (MLPNetwork(hidden=(7,)).build, (6,)),
        (ConvNetwork(channels=(4, 6)).build, (1, 9, 8)),
        (ConvNetwork(channels=(4, 6), convolutions_per_stage=2).build, (2, 8, 8)),
    ],
    ids=["mlp", "conv", "pairs"],
)
def test_a_member_does_not_depend_on_the_members_beside_it(build, input_shape):
    together, alone = build(input_shape, generators(4, 5, 6)), build(input_shape, generators(5))
    other_side = build(input_shape, generators(5, 4))
    x = random(3, B, *input_shape)
    for mode in (True, False):
        latents = []
        for network, rows, member in ((together, x, 1), (alone, x[1:2], 0), (other_side, x[[1, 0]], 0)):
            network.train(mode)
            z = network.encode(rows)
            latents.append((z[member], network.decode(z)[member]))
        for z, decoded in latents[1:]:
            assert_close(z, latents[0][0])
            assert_close(decoded, latents[0][1])


def test_building_leaves_torchs_global_state_alone():
    state = torch.get_rng_state()
    MLPNetwork().build((5,), generators())
    ConvNetwork().build((1, 8, 8), generators())
    build_heads(4, 3, generators())
    assert torch.equal(torch.get_rng_state(), state)


def test_members_of_one_seed_are_equal_and_of_two_are_not():
    network = MLPNetwork(hidden=(7,)).build((6,), generators(1, 1, 2)).eval()
    z = network.encode(random(1, B, 6).expand(3, B, 6))
    assert torch.equal(z[0], z[1])
    assert not torch.allclose(z[0], z[2])


# Autoencoders


@pytest.mark.parametrize("image_shape", IMAGE_SHAPES, ids=str)
@pytest.mark.parametrize("convolutions_per_stage", [1, 2])
def test_images_come_back_in_their_shape_and_range(image_shape, convolutions_per_stage):
    network = ConvNetwork(convolutions_per_stage=convolutions_per_stage).build(image_shape, generators())
    x = random(K, B, *image_shape)
    for mode in (True, False):
        z = network.train(mode).encode(x)
        decoded = network.decode(10 * z)
        assert z.shape == (K, B, network.latent_size)
        assert decoded.shape == x.shape
        assert decoded.abs().max() <= 1


@pytest.mark.parametrize("channels", [(8,), (4, 6), (4, 6, 8, 10, 12)])
def test_any_number_of_stages_will_do(channels):
    network = ConvNetwork(channels=channels, latent_size=5).build((1, 9, 20), generators())
    x = random(K, B, 1, 9, 20)
    assert network.encode(x).shape == (K, B, 5)
    assert network.decode(network.encode(x)).shape == x.shape


@pytest.mark.parametrize(
    "image_shape, channels, map_shape",
    [
        ((1, 28, 28), (32, 64, 128), (128, 4, 4)),
        ((1, 16, 16), (32, 64, 128), (128, 2, 2)),
        ((1, 8, 8), (32, 64, 128), (64, 2, 2)),  # two stages: the maps are 2 pixels high
        ((1, 31, 8), (32, 64, 128), (64, 8, 2)),
        ((3, 9, 13), (4,), (4, 5, 7)),
    ],
)
def test_the_maps_of_the_last_stage(image_shape, channels, map_shape):
    network = ConvNetwork(channels=channels).build(image_shape, generators())
    assert network.map_shape == map_shape
    maps = network.down(members_to_channels(random(K, B, *image_shape)))
    assert channels_to_members(maps, K).shape[2:] == map_shape


@pytest.mark.parametrize(
    "height, width, n_stages, sizes",
    [
        (28, 28, 3, [(28, 28), (14, 14), (7, 7), (4, 4)]),
        (8, 8, 3, [(8, 8), (4, 4), (2, 2)]),
        (9, 40, 4, [(9, 40), (5, 20), (3, 10), (2, 5)]),
        (8, 8, 1, [(8, 8), (4, 4)]),
    ],
)
def test_maps_are_halved_until_they_are_two_pixels(height, width, n_stages, sizes):
    assert stage_sizes(height, width, n_stages) == sizes


@pytest.mark.parametrize("image_shape, strides", [((1, 15, 30), [1, 2] * 3), ((1, 16, 16), [2] * 3)])
def test_auto_has_two_convolutions_a_stage_for_small_images(image_shape, strides):
    network = ConvNetwork().build(image_shape, generators())
    assert [layer.stride for layer in network.down if isinstance(layer, MemberConv2d)] == strides


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"channels": ()}, "channels=.* at least one stage"),
        ({"channels": (4, 0)}, r"channels=\(4, 0\) must be whole numbers"),
        ({"convolutions_per_stage": 0}, r"convolutions_per_stage=\(0,\) must be whole numbers"),
        ({"latent_size": "large"}, r"latent_size=\('large',\) must be whole numbers"),
    ],
)
def test_settings_that_make_no_network_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        ConvNetwork(**settings).build((1, 16, 16), generators())


@pytest.mark.parametrize("hidden", [(8, -1), "wide"])
def test_widths_that_make_no_network_are_named(hidden):
    with pytest.raises(ValueError, match="hidden=.* must be whole numbers"):
        MLPNetwork(hidden=hidden).build((5,), generators())


@pytest.mark.parametrize(
    ("input_shape", "width"), [((1,), 128), ((32,), 128), ((33,), 256), ((1, 4, 8), 128), ((1, 6, 6), 256)]
)
def test_a_few_features_have_narrow_layers(input_shape, width):
    network = MLPNetwork().build(input_shape, generators())
    assert network.sizes["hidden"] == (width, width)
    assert network.encoder[0].weight.shape[2] == width


def test_widths_may_be_an_array():
    assert MLPNetwork(hidden=np.array([8, 4])).build((5,), generators()).sizes["hidden"] == (8, 4)


def test_more_convolutions_a_stage_are_of_stride_one():
    network = ConvNetwork(channels=(4, 6), convolutions_per_stage=3).build((1, 16, 16), generators())
    assert [layer.stride for layer in network.down if isinstance(layer, MemberConv2d)] == [1, 1, 2, 1, 1, 2]


@pytest.mark.parametrize("hidden", [(), (7,), (7, 3)])
@pytest.mark.parametrize("input_shape", [(6,), (1, 4, 5), (1,)])
def test_vectors_and_images_come_back_from_the_mlp(hidden, input_shape):
    network = MLPNetwork(hidden=hidden, latent_size=2).build(input_shape, generators())
    x = random(K, B, *input_shape)
    for mode in (True, False):
        z = network.train(mode).encode(x)
        assert z.shape == (K, B, 2)
        assert network.decode(z).shape == x.shape


def test_the_mlp_is_layers_of_torch_in_this_order():
    network = MLPNetwork(hidden=(7,), latent_size=2).build((6,), generators(0)).eval()
    linear, norm, _, last = network.encoder
    part = nn.Sequential(
        copy_into(nn.Linear(6, 7), linear.weight[0].T, linear.bias[0, 0]),
        nn.BatchNorm1d(7),
        nn.LeakyReLU(),
        copy_into(nn.Linear(7, 2), last.weight[0].T, last.bias[0, 0]),
    ).eval()
    x = random(1, B, 6)
    assert isinstance(norm, MemberBatchNorm)
    assert_close(network.encode(x)[0], part(x[0]))
    assert [type(layer).__name__ for layer in network.decoder][-1] == "MemberLinear"


def test_the_output_of_the_mlp_is_not_bounded():
    network = MLPNetwork(hidden=(7,), latent_size=2).build((6,), generators()).eval()
    assert network.decode(1e4 * random(K, B, 2)).abs().max() > 100


def test_after_training_a_row_does_not_depend_on_the_rows_beside_it():
    network = ConvNetwork(channels=(4, 6)).build((1, 8, 8), generators()).double()
    x = random(K, B, 1, 8, 8).double()
    network.encode(x)
    network.eval()
    torch.testing.assert_close(network.encode(x[:, 2:3]), network.encode(x)[:, 2:3], rtol=1e-12, atol=1e-12)


# Heads


def test_heads_are_layers_of_torch_with_25_hidden():
    heads = build_heads(4, 3, generators())
    x = random(K, B, 4)
    first, _, last = heads
    for k in range(K):
        part = nn.Sequential(
            copy_into(nn.Linear(4, 25), first.weight[k].T, first.bias[k, 0]),
            nn.LeakyReLU(),
            copy_into(nn.Linear(25, 3), last.weight[k].T, last.bias[k, 0]),
        )
        assert_close(heads(x)[k], part(x[k]))


# Latent sizes


@pytest.mark.parametrize(
    "input_shape, latent_size",
    [
        ((1, 28, 28), 50),
        ((1, 16, 16), 21),
        ((1, 8, 8), 10),
        ((3, 32, 32), 50),
        ((4,), 4),
        ((1,), 1),
        ((10,), 10),
        ((131,), 10),
        ((132,), 11),
        ((600,), 50),
        ((5000,), 50),
    ],
)
def test_automatic_latent_size(input_shape, latent_size):
    assert default_latent_size("auto", input_shape) == latent_size


def test_a_latent_size_that_is_given_is_kept():
    assert default_latent_size(77, (4,)) == 77
    assert MLPNetwork(latent_size=77).build((4,), generators()).latent_size == 77


# Losses


def test_reconstruction_loss_by_hand():
    x = torch.zeros(2, 2, 1, 1, 4)
    decoded = torch.tensor([[[1.0, -1, 0, 2], [0, 0, 0, 0]], [[4, 4, 4, 4], [-8, 0, 0, 0]]]).view_as(x)
    assert l1_distance(decoded, x).tolist() == [[1.0, 0.0], [4.0, 2.0]]
    assert l1_distance(x, decoded).tolist() == [[1.0, 0.0], [4.0, 2.0]]


def test_reconstruction_loss_of_vectors_is_the_mean_over_features():
    assert l1_distance(torch.tensor([[[1.0, 3.0]]]), torch.tensor([[[0.0, 1.0]]])).tolist() == [[1.5]]


def test_pseudo_label_loss_by_hand():
    # Logits log(1), log(3): probabilities 1/4, 3/4.
    logits = torch.tensor([[[0.0, math.log(3)]] * 2, [[0.0, 0.0]] * 2])
    loss = cross_entropy(logits, torch.tensor([[0, 1], [1, 0]]))
    assert_close(loss, torch.tensor([[math.log(4), math.log(4 / 3)], [math.log(2), math.log(2)]]))


def test_pseudo_label_loss_of_logits_in_bfloat16_is_in_float32():
    logits, targets = torch.randn(2, 5, 3, dtype=torch.bfloat16), torch.randint(3, (2, 5))
    assert torch.equal(cross_entropy(logits, targets), cross_entropy(logits.float(), targets))
    assert cross_entropy(logits.double(), targets).dtype == torch.float64


def test_pseudo_label_loss_is_torchs_cross_entropy_of_each_member():
    logits, targets = random(K, B, 4), torch.randint(4, (K, B), generator=generators(0)[0])
    expected = torch.stack([nn.CrossEntropyLoss(reduction="none")(logits[k], targets[k]) for k in range(K)])
    assert_close(cross_entropy(logits, targets), expected)
