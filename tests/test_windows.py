"""Convolutions as products of windows, against the grouped ones; and which of the two a layer takes."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from skspc.networks import ConvNetwork, _choice
from skspc.networks._layers import MemberConv2d, MemberConvTranspose2d

SIZES = [(28, 28), (14, 14), (7, 7), (9, 14), (3, 8), (1, 2)]


def make_layers(n_members, n_in, n_out, size):
    """What the networks have of such layers, in float64, each with the size of its images."""
    generators = [torch.Generator().manual_seed(i) for i in range(n_members)]
    half = tuple(-(-length // 2) for length in size)
    return {
        "stride 1": (MemberConv2d(n_in, n_out, 1, generators).double(), size),
        "stride 2": (MemberConv2d(n_in, n_out, 2, generators).double(), size),
        "transposed": (MemberConvTranspose2d(n_in, n_out, size, generators).double(), half),
    }


def make_images(layer, n_in, size, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(5, layer.n_members * n_in, *size, generator=generator, dtype=torch.float64)
    return x.contiguous(memory_format=torch.channels_last).requires_grad_()


def there_and_back(way, layer, x):
    """Maps, and gradients of images, weight and bias for a gradient that is drawn."""
    maps = way(x, layer.weight, layer.bias)
    generator = torch.Generator().manual_seed(9)
    gradient = torch.randn(maps.shape, generator=generator, dtype=torch.float64).to(maps.dtype)
    return [maps, *torch.autograd.grad(maps, [x, layer.weight, layer.bias], gradient)]


@pytest.mark.parametrize("kind", ["stride 1", "stride 2", "transposed"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("n_members, n_in, n_out", [(1, 1, 4), (1, 3, 1), (3, 1, 5), (2, 16, 32), (4, 6, 3)])
def test_windows_give_what_grouped_convolutions_give_and_their_gradients(kind, size, n_members, n_in, n_out):
    layer, size = make_layers(n_members, n_in, n_out, size)[kind]
    x = make_images(layer, n_in, size)
    found, expected = (there_and_back(way, layer, x) for way in (layer.by_windows, layer.grouped))
    for tensor, due in zip(found, expected, strict=True):
        torch.testing.assert_close(tensor, due, rtol=1e-12, atol=1e-12)
    assert found[0].is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("kind", ["stride 1", "stride 2", "transposed"])
def test_images_that_ask_for_no_gradient_get_none(kind):
    layer, size = make_layers(2, 3, 4, (9, 8))[kind]
    x = make_images(layer, 3, size).detach()
    ways = (layer.by_windows(x, layer.weight, layer.bias), layer.grouped(x, layer.weight, layer.bias))
    found, expected = (torch.autograd.grad(maps.square().sum(), layer.weight)[0] for maps in ways)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["stride 1", "stride 2", "transposed"])
def test_products_are_in_the_dtype_of_autocast_and_gradients_in_that_of_the_weights(kind):
    layer, size = make_layers(3, 4, 8, (9, 8))[kind]
    layer, x = layer.float(), make_images(layer, 4, size).detach().float().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        found, expected = (there_and_back(way, layer, x) for way in (layer.by_windows, layer.grouped))
    assert [tensor.dtype for tensor in found] == [torch.bfloat16, *[torch.float32] * 3]
    for tensor, due in zip(found, expected, strict=True):
        torch.testing.assert_close(tensor, due, rtol=0.02, atol=0.02 * float(due.detach().abs().max()))


class Operations(TorchDispatchMode):
    """Keeps the names of operations."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.names.add(operation._schema.name.removeprefix("aten::"))
        return operation(*args, **(kwargs or {}))


@pytest.mark.parametrize("kind", ["stride 1", "stride 2", "transposed"])
def test_no_sum_depends_on_the_order_of_threads(kind):
    layer, size = make_layers(3, 4, 8, (9, 8))[kind]
    with Operations() as operations:
        there_and_back(layer.by_windows, layer, make_images(layer, 4, size))
    adding = (  # what torch's own gradients of copied windows would do
        "index",
        "scatter",
        "put",
        "unfold_backward",
        "as_strided",
        "col2im",
        "convolution",
    )
    assert "bmm" in operations.names  # there, and back
    assert [name for name in operations.names if name.startswith(adding) or "add_" in name] == []


# The choice


def test_the_cpu_convolves_in_groups_and_measures_nothing(monkeypatch):
    monkeypatch.setattr(_choice, "goes_by_windows", None)
    monkeypatch.setattr(MemberConv2d, "by_windows", None)
    monkeypatch.setattr(MemberConvTranspose2d, "by_windows", None)
    generators = [torch.Generator().manual_seed(i) for i in range(2)]
    network = ConvNetwork(latent_size=3, channels=(4,)).build((1, 9, 8), generators)
    assert network.decode(network.encode(torch.zeros(2, 5, 1, 9, 8))).shape == (2, 5, 1, 9, 8)


@pytest.mark.parametrize(
    "n_members, grouped, by_windows, expected",
    [
        (15, 3.0, 1.0, True),
        (15, 1.0, 1.2, True),  # close: as estimated
        (15, 1.0, 1.5, False),
        (1, 1.2, 1.0, False),  # close: as estimated
        (1, 1.5, 1.0, True),
        (15, float("inf"), 1.0, True),  # it failed
        (15, 1.0, float("inf"), False),
        (15, float("inf"), float("inf"), True),
        (1, float("inf"), float("inf"), False),
    ],
)
def test_the_faster_way_is_taken_and_the_estimate_where_neither_is_clearly(
    n_members, grouped, by_windows, expected, monkeypatch
):
    layer, _ = make_layers(n_members, 1, 1, (8, 8))["stride 1"]
    times = {layer.grouped: grouped, layer.by_windows: by_windows}
    monkeypatch.setattr(_choice, "_milliseconds", lambda way, arguments: times[way])
    assert _choice.measured(layer, make_images(layer, 1, (8, 8))) is expected


class OnCard(SimpleNamespace):
    """As much of images on a card as the choice looks at."""

    def __init__(self, index=0, **changes):
        settings = {"shape": (5, 3, 8, 8), "dtype": torch.float32, "requires_grad": True}
        super().__init__(device=torch.device("cuda", index), **settings | changes)


@pytest.fixture
def card(monkeypatch):
    """A card that is being recorded or not, and what was measured on it."""
    card = SimpleNamespace(is_recording=False, measured=[])
    monkeypatch.setattr(_choice, "_by_windows", {})
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: card.is_recording)
    monkeypatch.setattr(_choice, "measured", lambda layer, x: (card.measured.append(x), False)[1])
    return card


def test_each_shape_and_device_is_measured_once(card, monkeypatch):
    layers = make_layers(3, 1, 1, (8, 8))
    kinds = [OnCard(), OnCard(1), OnCard(shape=(6, 3, 8, 8)), OnCard(dtype=torch.float64), OnCard(requires_grad=False)]
    for _ in range(2):
        for layer, _ in layers.values():
            assert [_choice.goes_by_windows(layer, x) for x in kinds] == [False] * 5
    assert len(card.measured) == 3 * 5
    with torch.no_grad():
        _choice.goes_by_windows(layers["stride 1"][0], kinds[0])
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: kind == "cuda")
    monkeypatch.setattr(torch, "get_autocast_dtype", lambda kind: torch.bfloat16)
    _choice.goes_by_windows(layers["stride 1"][0], kinds[0])
    assert len(card.measured) == 3 * 5 + 2


def test_a_recording_measures_nothing_and_goes_by_what_is_known(card):
    layer, _ = make_layers(3, 1, 1, (8, 8))["stride 2"]
    card.is_recording = True
    assert _choice.goes_by_windows(layer, OnCard()) is True  # as estimated
    card.is_recording = False
    assert _choice.goes_by_windows(layer, OnCard()) is False
    card.is_recording = True
    assert _choice.goes_by_windows(layer, OnCard()) is False
    assert len(card.measured) == 1


def test_a_way_that_fails_takes_forever(monkeypatch):
    def fail(*arguments):
        raise torch.cuda.OutOfMemoryError

    class Event:
        def __init__(self, enable_timing):
            pass

        def record(self):
            pass

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "device", nullcontext)
    assert _choice._milliseconds(fail, [torch.zeros(1)]) == float("inf")
