"""Augmentation of images: limits, background, randomness, and what it does in training."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from skspc import SPCClustering
from skspc._ensemble.ensemble import Ensemble
from skspc._ensemble.group import MemberGroup
from skspc._ensemble.plan import TrainingPlan
from skspc._method.objectives import PseudoLabels, Reconstruction
from skspc.augmentations import AffineAugmentation, border_median, get_augmentation, sampled_places
from skspc.networks import ConvNetwork

CPU = torch.device("cpu")
STILL = {"rotation": 0, "shift": 0, "scale": 0, "shear": 0}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def square(size=16, background=-1.0, ink=1.0):
    """One image: a square of ink in the middle."""
    image = torch.full((1, 1, size, size), background)
    image[..., size // 4 : -size // 4, size // 4 : -size // 4] = ink
    return image


def centre(image):
    """Centre of mass (down, right) of the ink of one image, in pixels."""
    ink = image[0, 0] - image[0, 0].min()
    places = torch.arange(len(ink), dtype=ink.dtype)
    return float((ink.sum(1) * places).sum() / ink.sum()), float((ink.sum(0) * places).sum() / ink.sum())


def test_no_change_allowed_is_no_change():
    images = torch.rand(3, 2, 9, 12, generator=generator())
    torch.testing.assert_close(AffineAugmentation(**STILL)(images, generator()), images)


@pytest.mark.parametrize("size", [8, 28])
def test_shifts_are_in_proportion_to_the_image(size):
    shifts = []
    for seed in range(50):
        down, right = centre(AffineAugmentation(**{**STILL, "shift": 0.1})(square(size), generator(seed)))
        shifts += [down - (size - 1) / 2, right - (size - 1) / 2]
    assert max(map(abs, shifts)) <= 0.1 * size + 1e-3
    assert max(shifts) > 0.08 * size and min(shifts) < -0.08 * size


def test_maps_stay_within_their_limits_and_use_them():
    maps = AffineAugmentation(**{**STILL, "rotation": 30}).draw_maps((500, 1, 8, 8), generator(), CPU)
    angles = torch.atan2(maps[:, 1, 0], maps[:, 0, 0]).rad2deg()
    assert 29 < angles.abs().max() <= 30 and angles.min() < -25 < 25 < angles.max()
    assert (maps[:, :, 2] == 0).all()
    maps = AffineAugmentation(**{**STILL, "scale": 0.2}).draw_maps((500, 1, 8, 8), generator(), CPU)
    assert 0.8 <= maps[:, 0, 0].min() < 0.81 and 1.19 < maps[:, 1, 1].max() <= 1.2
    assert not torch.equal(maps[:, 0, 0], maps[:, 1, 1])
    maps = AffineAugmentation(**{**STILL, "shear": 0.3}).draw_maps((500, 1, 8, 8), generator(), CPU)
    assert 0.29 < maps[:, 0, 1].abs().max() <= 0.3
    assert (maps[:, 1, 0] == 0).all()


@pytest.mark.parametrize("size", [(8, 64), (64, 8), (32, 32)])
def test_rotations_keep_lengths_and_angles_whatever_the_sides(size):
    maps = AffineAugmentation(**{**STILL, "rotation": 10}).draw_maps((200, 1, *size), generator(), CPU)
    sides = torch.tensor([size[1], size[0]], dtype=maps.dtype)
    in_pixels = maps[:, :, :2] * sides[:, None] / sides  # (n, 2, 2)
    torch.testing.assert_close(in_pixels @ in_pixels.mT, torch.eye(2).expand(200, 2, 2))
    assert torch.atan2(in_pixels[:, 1, 0], in_pixels[:, 0, 0]).rad2deg().abs().max() <= 10


@pytest.mark.parametrize("background, ink", [(-1.0, 1.0), (1.0, -1.0), (0.25, 0.5)])
def test_what_comes_into_view_is_background(background, ink):
    images = square(16, background, ink).expand(20, 1, 16, 16)
    augmented = AffineAugmentation(shift=0.2)(images, generator())
    corners = augmented[:, 0, [0, 0, -1, -1], [0, -1, 0, -1]]
    torch.testing.assert_close(corners, torch.full_like(corners, background))
    assert augmented.min() >= min(background, ink) - 1e-6 and augmented.max() <= max(background, ink) + 1e-6


@pytest.mark.parametrize("shape", [(3, 1, 8, 8), (2, 3, 7, 9), (2, 1, 1, 5)])
def test_places_are_those_of_torch_and_no_coarser_under_autocast(shape):
    maps = AffineAugmentation().draw_maps(shape, generator(), CPU)
    expected = torch.nn.functional.affine_grid(maps, list(shape), align_corners=False)
    with torch.autocast("cpu", torch.bfloat16):
        places = sampled_places(maps, shape)
    torch.testing.assert_close(places, expected, rtol=0, atol=1e-6)


def test_the_border_is_all_around_and_by_channel():
    images = torch.zeros(1, 2, 4, 4)
    images[0, 1, 1:-1, 1:-1] = 9.0  # the middle does not count
    images[0, 0] = 5.0
    assert border_median(images).flatten().tolist() == [5.0, 0.0]


def test_each_image_has_a_map_of_its_own_and_a_seed_makes_it_again():
    images = square().expand(4, 1, 16, 16)
    one, same, other = (AffineAugmentation()(images, generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(one, same) and not torch.equal(one, other)
    assert len({tuple(image.flatten().tolist()) for image in one}) == 4


@pytest.mark.parametrize("parameter, value", [("rotation", -1), ("shift", 1.0), ("scale", 1), ("shear", "much")])
def test_parameters_out_of_range_are_named_before_training(parameter, value):
    with pytest.raises(ValueError, match=f"The '{parameter}' parameter of AffineAugmentation must be .*Got"):
        get_augmentation(AffineAugmentation(**{parameter: value}), (1, 8, 8))


def test_names_callables_and_none():
    assert get_augmentation(None, None) is None
    assert type(get_augmentation("affine", (1, 8, 8))) is AffineAugmentation
    assert get_augmentation(test_names_callables_and_none, None) is test_names_callables_and_none


@pytest.mark.parametrize(
    "value, error, message",
    [
        ("flip", ValueError, r"augmentation='flip' is not known\. Pass 'affine', None, or a callable"),
        (
            AffineAugmentation,
            TypeError,
            r"augmentation=.* cannot be called\. Pass 'affine', None, or a callable \(an inst",
        ),
        (3, TypeError, r"augmentation=3 cannot be called"),
    ],
)
def test_what_cannot_augment_is_refused(value, error, message):
    with pytest.raises(error, match=message):
        get_augmentation(value, (1, 8, 8))


def test_vectors_have_no_affine_augmentation(blobs, quick):
    with pytest.raises(ValueError, match=r"augmentation='?A.*is for images, and X has rows of features\. Pass"):
        SPCClustering(3, augmentation="affine", **quick).fit(blobs[0])


def blacken(images, generator):
    return torch.full_like(images, -1.0)


def blacken_in_place(images, generator):
    return images.fill_(-1.0)


@pytest.mark.parametrize("augmentation", [blacken, blacken_in_place])
@pytest.mark.parametrize("stage", ["pretraining", "round"])
def test_what_is_encoded_is_augmented_and_what_is_reconstructed_is_not(stage, augmentation):
    X = np.full((32, 1, 8, 8), 0.5, dtype=np.float32)
    group = MemberGroup(ConvNetwork(latent_size=4, channels=(4,)), (1, 8, 8), 0, range(2), CPU, augmentation)
    group.reset_heads(2)
    plan, none = TrainingPlan(60, 16, 1e-2), np.zeros((2, 32), dtype=int)
    pretraining = stage == "pretraining"
    objective = Reconstruction(X) if pretraining else PseudoLabels(X, none, none > 0, none == 0, stage=1)
    list(group.train(objective, plan))
    group.autoencoder.train()  # with the statistics that it was trained with
    with torch.no_grad():
        decoded = group.autoencoder.decode(group.autoencoder.encode(torch.full((2, 16, 1, 8, 8), -1.0)))
    assert (decoded - 0.5).abs().mean() < 0.1


def test_the_batch_of_each_member_is_augmented_at_each_step_of_training_and_only_there():
    seen = []

    def watch(images, generator):
        seen.append((tuple(images.shape), type(generator)))
        return images

    X = torch.rand(16, 1, 8, 8, generator=generator()).numpy()
    ensemble = Ensemble(ConvNetwork(latent_size=4, channels=(4,)), (1, 8, 8), 0, 3, CPU, augmentation=watch)
    ensemble.reset_heads(2)
    ensemble.train(Reconstruction(X), TrainingPlan(1, 8, 1e-3))
    assert seen == 6 * [((8, 1, 8, 8), torch.Generator)]  # two steps of three members
    seen.clear()
    targets = np.zeros((3, 16), dtype=int)
    objective = PseudoLabels(X, targets, targets == 0, targets == 0, stage=1)
    ensemble.train(objective, TrainingPlan(1, 8, 1e-3))
    assert len(seen) == 6
    seen.clear()
    ensemble.encode(X)
    assert seen == []


def test_an_augmentation_may_compute_products_whatever_the_precision():
    made = set()

    def blurred(images, generator):
        blurred = torch.nn.functional.conv2d(images, torch.full((1, 1, 3, 3), 1 / 9), padding=1)
        made.add(blurred.dtype)
        return blurred

    group = MemberGroup(
        ConvNetwork(latent_size=4, channels=(4,)), (1, 8, 8), 0, range(2), CPU, blurred, precision=torch.bfloat16
    )
    list(group.train(Reconstruction(np.zeros((16, 1, 8, 8), dtype=np.float32)), TrainingPlan(1, 8, 1e-3)))
    assert made == {torch.float32}


@pytest.mark.parametrize(
    "result, made", [(lambda batch: batch[:1], r"\(1, 4\)"), (lambda batch: batch.double(), "float64"), (id, "[0-9]+")]
)
def test_what_a_callable_makes_is_checked(result, made):
    X = np.random.default_rng(0).normal(size=(20, 4))
    model = SPCClustering(2, n_estimators=1, augmentation=lambda batch, generator: result(batch))
    with pytest.raises(ValueError, match=rf"augmentation=.* made of a batch of \(20, 4\), .*: .*{made}.*same shape"):
        model.fit(X)


def test_a_fit_with_augmentation_repeats_and_differs_from_one_without(quick):
    X = np.random.default_rng(0).random((60, 8, 8))
    model, without = SPCClustering(2, augmentation="affine", **quick), SPCClustering(2, **quick)
    latents = [clone(one).fit(X).transform(X) for one in (model, model, without)]
    assert np.array_equal(latents[0], latents[1])
    assert not np.allclose(latents[0], latents[2])


def test_nested_parameters_reach_the_augmentation():
    model = SPCClustering(2, augmentation=AffineAugmentation()).set_params(augmentation__rotation=3.0)
    assert clone(model).augmentation.rotation == 3.0
