"""Displays: what they show, by the artists on their axes, and what they refuse."""

import builtins
import io
import pickle

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skspc import SPCClustering, plotting
from skspc.metrics import clustering_accuracy
from skspc.plotting import (
    AgreementDisplay,
    ClusterGalleryDisplay,
    ClusterTreeDisplay,
    ConfusionDisplay,
    EmbeddingDisplay,
    NClustersCurveDisplay,
    TrainingDynamicsDisplay,
)
from skspc.plotting._palette import distinct_colours

DISPLAYS = [  # of a fitted model
    AgreementDisplay,
    ClusterGalleryDisplay,
    ClusterTreeDisplay,
    ConfusionDisplay,
    EmbeddingDisplay,
    TrainingDynamicsDisplay,
]


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def digits():
    digits = load_digits(n_class=4)
    return digits.images[:160], digits.target[:160]


@pytest.fixture(scope="module")
def fitted(digits):
    options = {"n_estimators": 2, "pretrain_epochs": 3, "epochs": 2, "max_iter": 1, "random_state": 0}
    return SPCClustering(4, **options).fit(digits[0])


def texts(ax):
    return [text.get_text() for text in ax.texts]


def rows_history(*shares):
    counts = {"n_labellings": 3}
    return [counts | {"agreed_share": share, "n_agreed": 10 * share, "mean_agreement": share} for share in shares]


# All displays


def test_the_module_lists_its_displays():
    assert plotting.__all__ == sorted(display.__name__ for display in [*DISPLAYS, NClustersCurveDisplay])


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_display_keeps_the_manner_of_scikit_learn(display, fitted, digits):
    images, y = digits
    ax = plt.figure().add_subplot()
    arguments = {ConfusionDisplay: (images, y), EmbeddingDisplay: (images,), ClusterGalleryDisplay: (images,)}
    options = {"embedding": np.random.default_rng(0).normal(size=(160, 2))} if display is EmbeddingDisplay else {}
    drawn = display.from_estimator(fitted, *arguments.get(display, ()), ax=ax, **options)
    assert isinstance(drawn, display)
    assert drawn.ax_ is ax
    assert drawn.figure_ is ax.figure
    again = drawn.plot()
    assert again is drawn
    assert drawn.ax_ is not ax
    drawn.figure_.canvas.draw()


@pytest.mark.parametrize("display", DISPLAYS)
def test_without_matplotlib_the_error_says_how_to_install_it(display, fitted, monkeypatch):
    real_import = builtins.__import__

    def without_matplotlib(name, *arguments, **options):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    arguments = {ConfusionDisplay: (None, [])}.get(display, (None,))
    needs = r"draws with matplotlib, which cannot be imported. Install it with: pip install \"skspc\[plot\]\""
    with pytest.raises(ImportError, match=rf"{display.__name__}.from_estimator {needs}"):
        display.from_estimator(fitted, *arguments)
    arguments = {ClusterGalleryDisplay: ([], [], []), TrainingDynamicsDisplay: ([],), AgreementDisplay: ([],)}
    with pytest.raises(ImportError, match=rf"{display.__name__}.from_predictions {needs}"):
        display.from_predictions(*arguments.get(display, ([], [])))


def test_without_matplotlib_a_constructed_display_says_so_too(monkeypatch):
    real_import = builtins.__import__

    def without_matplotlib(name, *arguments, **options):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match="AgreementDisplay.plot draws with matplotlib"):
        AgreementDisplay([1.0]).plot()


@pytest.mark.parametrize("display", DISPLAYS)
def test_other_estimators_are_refused(display):
    X = [[0.0], [1.0]]
    estimator = KMeans(2, n_init=1).fit(X)
    arguments = (X, [0, 1]) if display is ConfusionDisplay else (X,)
    with pytest.raises(TypeError, match="not KMeans. Pass a search's best_estimator_; for other clusterers use"):
        display.from_estimator(estimator, *arguments)


@pytest.mark.parametrize("of", [ConfusionDisplay.from_estimator, TrainingDynamicsDisplay.from_estimator])
@pytest.mark.case("types and layouts of data", "pictures of rows without a class: NaN in y")
def test_rows_without_a_class_are_refused(of, fitted, digits):
    y = np.where(np.arange(160) < 3, np.nan, digits[1])
    with pytest.raises(ValueError, match="Input y_true contains NaN: 3 of 160 rows have no class. Leave these rows"):
        of(fitted, digits[0], y)
    with pytest.raises(ValueError, match="Input y_true contains NaN"):
        TrainingDynamicsDisplay.from_predictions(rows_history(0.5), y_true=y, labels=[fitted.labels_])
    with pytest.raises(ValueError, match="Input y_true contains NaN"):
        ConfusionDisplay.from_predictions(y, fitted.labels_)


@pytest.mark.case("types and layouts of data", "pictures of rows without a cluster: NaN in labels")
def test_rows_without_a_cluster_are_refused():
    labels = [0.0, np.nan]
    with pytest.raises(ValueError, match="Input labels contains NaN: 1 of 2 rows have no cluster. Pass -1, noise"):
        EmbeddingDisplay.from_predictions([[0, 0], [1, 1]], labels)
    with pytest.raises(ValueError, match="Input labels contains NaN"):
        AgreementDisplay.from_predictions([1, 1], labels)
    with pytest.raises(ValueError, match="Input labels contains NaN"):
        ClusterGalleryDisplay.from_predictions(np.zeros((2, 8, 8)), labels, [1, 1])


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        AgreementDisplay.from_estimator(SPCClustering())


@pytest.mark.parametrize("display", [EmbeddingDisplay, ClusterGalleryDisplay])
def test_rows_that_cannot_be_those_of_the_fit_are_refused(display, fitted, digits):
    images, _ = digits
    with pytest.raises(ValueError, match="X has 159 rows, but the model was fitted on 160. Pass the rows of the fit"):
        display.from_estimator(fitted, images[1:])
    with pytest.raises(ValueError, match="X holds other rows, or another order. Pass the rows of the fit"):
        display.from_estimator(fitted, images[np.random.default_rng(0).permutation(160)])


def test_a_pipeline_hands_on_the_rows_as_its_last_step_takes_them(digits):
    X, _ = make_blobs(n_samples=60, centers=2, random_state=0)
    options = {"n_estimators": 1, "pretrain_epochs": 2, "max_iter": 0, "reducer": None, "clusterer": "kmeans"}
    pipeline = make_pipeline(FunctionTransformer(lambda X: 10 * X), SPCClustering(2, random_state=0, **options)).fit(X)
    display = EmbeddingDisplay.from_estimator(pipeline, X, embedding=X)
    np.testing.assert_array_equal(display.labels, pipeline[-1].labels_)
    alone = make_pipeline(pipeline[-1])
    assert AgreementDisplay.from_estimator(alone).agreement is pipeline[-1].agreement_
    assert EmbeddingDisplay.from_estimator(alone, 10 * X, embedding=X).label_texts_


# Embedding


def crowded(n_clusters, n_rows=2000):
    """Clusters whose middles all but coincide."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n_rows, 2)), np.arange(n_rows) % n_clusters


def label_boxes(display):
    renderer = display.figure_.canvas.get_renderer()
    return [Text.get_window_extent(text, renderer) for text in display.label_texts_]


def assert_labels_are_apart(display, n_clusters):
    display.figure_.canvas.draw()
    boxes = label_boxes(display)
    assert len(boxes) == n_clusters
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    frame = display.ax_.bbox.padded(0.5)
    assert all(frame.contains(*corner) for box in boxes for corner in (box.min, box.max))
    assert all(text.get_alpha() == 1.0 for text in display.label_texts_)


@pytest.mark.parametrize("n_clusters", [10, 40])
@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_labels_never_overlap(n_clusters, spread):
    X, labels = crowded(n_clusters)
    X = X + spread * np.random.default_rng(1).normal(size=(n_clusters, 2))[labels]
    display = EmbeddingDisplay.from_predictions(X, labels)
    assert [text.get_text() for text in display.label_texts_] == [str(i) for i in range(n_clusters)]
    assert_labels_are_apart(display, n_clusters)


def test_labels_do_not_overlap_when_the_figure_or_its_limits_change():
    X, labels = crowded(40)
    display = EmbeddingDisplay.from_predictions(X, labels)
    display.figure_.set_size_inches(4.2, 4.5)
    assert_labels_are_apart(display, 40)
    display.figure_.set_dpi(200)
    assert_labels_are_apart(display, 40)
    display.ax_.set(xlim=(-9, 9), ylim=(-9, 9))
    assert_labels_are_apart(display, 40)


def test_a_label_without_room_in_a_figure_made_smaller_is_not_drawn():
    display = EmbeddingDisplay.from_predictions(*crowded(40))
    display.figure_.set_size_inches(1.5, 1.5)
    display.figure_.canvas.draw()
    drawn = [text.get_alpha() == 1.0 for text in display.label_texts_]
    assert 0 < sum(drawn) < 40
    boxes = [box for box, is_drawn in zip(label_boxes(display), drawn, strict=True) if is_drawn]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_a_label_at_its_anchor_has_no_line_and_a_moved_one_has():
    X, labels = crowded(2)
    apart = EmbeddingDisplay.from_predictions(X + 30 * labels[:, None], labels)
    assert not any(text.arrow_patch.get_visible() for text in apart.label_texts_)
    X, labels = crowded(40)
    together = EmbeddingDisplay.from_predictions(X, labels)
    assert sum(text.arrow_patch.get_visible() for text in together.label_texts_) > 20


def test_a_legend_stands_for_labels_that_have_no_room():
    figure = plt.figure(figsize=(9, 4), layout="constrained")
    ax = figure.subplots(1, 2)[0].inset_axes((0, 0.5, 0.3, 0.4))
    display = EmbeddingDisplay.from_predictions(*crowded(40), ax=ax)
    assert display.label_texts_ == []
    legend = display.ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [str(i) for i in range(40)]
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in legend.get_texts()]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_axes_too_small_for_labels_and_legend_get_a_warning():
    ax = plt.figure(figsize=(1.5, 1.5), layout="constrained").add_subplot()
    with pytest.warns(UserWarning, match="The axes are too small to name 40 clusters; pass larger ones, or ax=None"):
        display = EmbeddingDisplay.from_predictions(*crowded(40), ax=ax)
    assert display.label_texts_ == []
    assert display.ax_.get_legend() is None


def test_dots_have_their_clusters_colours_and_doubtful_ones_are_hollow():
    X = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0], [4, 0]])
    labels = np.array([0, 0, 1, 1, -1])
    display = EmbeddingDisplay.from_predictions(X, labels, agreement=[1, 0.5, 1, 0.75, 0.2], min_agreement=0.75)
    agreed, doubtful = display.ax_.collections
    order = np.argsort(agreed.get_offsets()[:, 0])
    np.testing.assert_array_equal(agreed.get_offsets()[order, 0], [0, 2, 3])
    np.testing.assert_allclose(agreed.get_facecolors()[order, :3], distinct_colours(2)[[0, 1, 1]])
    np.testing.assert_array_equal(doubtful.get_offsets()[:, 0], [1, 4])
    np.testing.assert_allclose(doubtful.get_facecolors()[:, :3], 1.0)
    np.testing.assert_allclose(doubtful.get_edgecolors()[0, :3], 0.65 * distinct_colours(1)[0])
    assert display.ax_.get_xlabel() == "2 of 5 rows are doubtful (hollow)"
    assert [text.get_text() for text in display.label_texts_] == ["0", "1"]  # noise has no number


def test_without_agreement_no_row_is_doubtful():
    display = EmbeddingDisplay.from_predictions([[0.0, 0], [1, 1]], [0, 1])
    assert len(display.ax_.collections[1].get_offsets()) == 0
    assert display.ax_.get_xlabel() == ""


def test_a_number_stands_on_a_row_of_its_cluster():
    # The median of a ring lies in its hole.
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    display = EmbeddingDisplay.from_predictions(np.vstack([ring, [[0.0, 0.0]]]), [0] * 40 + [1])
    assert np.linalg.norm(display.label_texts_[0].xy) == pytest.approx(1)
    np.testing.assert_array_equal(display.label_texts_[1].xy, (0, 0))  # matplotlib 3.7 has an array there


def test_seventy_thousand_rows_are_small_dots_drawn_as_an_image():
    X, labels = crowded(40, 70_000)
    display = EmbeddingDisplay.from_predictions(X, labels, agreement=np.where(np.arange(70_000) % 10, 1.0, 0.5))
    agreed, doubtful = display.ax_.collections
    assert (len(agreed.get_offsets()), len(doubtful.get_offsets())) == (63_000, 7_000)
    assert agreed.get_rasterized() and doubtful.get_rasterized()
    assert max(agreed.get_sizes()) < 2
    written = io.BytesIO()
    display.figure_.savefig(written, format="pdf")
    assert written.tell() < 1_000_000  # as vectors: 1.4 million bytes
    assert_labels_are_apart(display, 40)


def test_the_size_of_the_dots_can_be_set():
    display = EmbeddingDisplay.from_predictions([[0.0, 0], [1, 1]], [0, 1], marker_size=7)
    assert display.ax_.collections[0].get_sizes() == [7]


def test_a_fits_latents_are_reduced_when_no_embedding_is_given(fitted, digits):
    display = EmbeddingDisplay.from_estimator(fitted, digits[0])
    assert display.embedding.shape == (160, 2)
    assert np.isfinite(display.embedding).all()
    assert len(display.label_texts_) == 4
    again = EmbeddingDisplay.from_predictions(fitted.transform(digits[0]), fitted.labels_)
    np.testing.assert_array_equal(again.embedding, display.embedding)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_a_few_rows_have_a_picture(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    assert EmbeddingDisplay.from_predictions(X, np.arange(n_rows)).embedding.shape == (n_rows, 2)


def test_a_figure_with_labels_can_be_pickled():
    display = EmbeddingDisplay.from_predictions(*crowded(3))
    figure = pickle.loads(pickle.dumps(display.figure_))
    figure.canvas.draw()
    assert [text.get_text() for text in figure.axes[0].texts] == ["0", "1", "2"]


def test_an_embedding_of_other_shape_is_refused():
    with pytest.raises(ValueError, match=r"embedding has shape \(3, 1\); it must have two columns"):
        EmbeddingDisplay(np.zeros((3, 1)), [0, 0, 0]).plot()
    with pytest.raises(ValueError, match="Input embedding contains NaN"):
        EmbeddingDisplay([[0.0, np.nan]], [0]).plot()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        EmbeddingDisplay.from_predictions(np.zeros((3, 2)), [0, 0])


# Training dynamics


def test_a_fit_shows_its_agreed_share_and_the_round_kept(fitted):
    display = TrainingDynamicsDisplay.from_estimator(fitted)
    kept, agreed = display.ax_.lines
    assert kept.get_xdata() == [fitted.best_iter_, fitted.best_iter_]
    np.testing.assert_allclose(agreed.get_ydata(), [100 * row["agreed_share"] for row in fitted.history_])
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == [f"most agreed: {fitted.best_iter_}", "agreed rows"]


def test_a_fit_with_truth_shows_accuracy_at_the_last_round(fitted, digits):
    _, y = digits
    display = TrainingDynamicsDisplay.from_estimator(fitted, y=y)
    of_agreed, accuracy = [line.get_ydata() for line in display.ax_.lines[2:]]
    assert accuracy[-1] == pytest.approx(100 * clustering_accuracy(y, fitted.labels_))
    assert np.isnan(accuracy[:-1]).all()
    assert 0 <= of_agreed[-1] <= 100
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TrainingDynamicsDisplay.from_estimator(fitted, y=y[1:])


def test_labels_by_round_show_accuracy_by_round():
    labels = [[0, 1, 0, 0], [1, 1, 0, 0]]
    agreed = [[False] * 4, [True, True, True, False]]
    display = TrainingDynamicsDisplay.from_predictions(
        rows_history(0.0, 0.75), y_true=["a", "a", "b", "b"], labels=labels, agreed=agreed
    )
    _, share, of_agreed, accuracy = [line.get_ydata() for line in display.ax_.lines]
    np.testing.assert_allclose(share, [0, 75])
    np.testing.assert_allclose(accuracy, [75, 100])
    np.testing.assert_allclose(of_agreed, [np.nan, 100])
    assert display.ax_.lines[0].get_xdata() == [1, 1]


def test_accuracies_by_round_are_drawn_as_they_are():
    display = TrainingDynamicsDisplay.from_predictions(rows_history(0.5, 0.5, 0.4), accuracies=[0.7, 0.8, 0.9])
    assert display.ax_.lines[0].get_xdata() == [0, 0]  # the first of the best
    np.testing.assert_allclose(display.ax_.lines[2].get_ydata(), [70, 80, 90])


def test_many_rounds_have_a_dozen_ticks_at_most():
    assert len(TrainingDynamicsDisplay(rows_history(*[0.5] * 100)).plot().ax_.get_xticks()) <= 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y_true": [0, 1]}, "Accuracy by round needs both y_true and labels"),
        ({"labels": [[0, 1]]}, "Accuracy by round needs both y_true and labels"),
        ({"agreed": [[True, True]]}, "Accuracy by round needs both y_true and labels"),
        ({"accuracies": [0.5, 0.6]}, "accuracies has 2 entries, but history has 1 rounds; pass one a round"),
        ({"y_true": [0, 1], "labels": [[0, 1]] * 3}, "labels has 3 entries, but history has 1 rounds"),
        ({"y_true": [0, 1], "labels": [[0, 1]], "agreed": []}, "agreed has 0 entries, but history has 1 rounds"),
        ({"y_true": [0, 1], "labels": [[0, 1]], "accuracies": [1.0]}, "accuracies and labels both give the accuracy"),
    ],
)
def test_sequences_that_do_not_fit_the_history_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        TrainingDynamicsDisplay.from_predictions(rows_history(0.5), **arguments)


def test_an_empty_history_is_refused():
    with pytest.raises(ValueError, match="history is empty; pass history_ of a fit"):
        TrainingDynamicsDisplay([]).plot()


# Gallery


def shown(display):
    """Images by their place (x, y), as they are drawn."""
    return {(image.get_extent()[0], image.get_extent()[3]): image for image in display.ax_.images}


def test_sure_images_are_on_the_left_and_the_most_doubtful_at_the_right():
    images = np.arange(6)[:, None, None] * np.ones((6, 2, 2)) / 5  # image i has value i / 5
    labels, agreement = [0, 0, 0, 0, 3, 3], [0.9, 1.0, 0.2, 0.4, 0.5, 1.0]
    display = ClusterGalleryDisplay.from_predictions(images, labels, agreement, n=2, min_agreement=0.5)
    drawn = [(y, x, image.get_array()[0, 0]) for (x, y), image in shown(display).items()]
    by_line = [[round(5 * value) for line, _, value in sorted(drawn) if line == wanted] for wanted in (0, 1)]
    assert by_line == [[1, 0, 3, 2], [5, 4]]
    assert [name for name in texts(display.ax_) if name.isdigit()] == ["0", "3"]
    assert {"most sure", "least sure", "framed: the labellings disagree"} <= set(texts(display.ax_))
    frames = sorted((patch.get_y(), patch.get_x()) for patch in display.ax_.patches)
    assert frames == sorted((y, x) for y, x, value in drawn if round(5 * value) in (2, 3))


def test_images_with_three_channels_are_shown_in_colour():
    images = np.zeros((2, 3, 4, 5), dtype=np.uint8)
    images[0, 0] = 255
    display = ClusterGalleryDisplay.from_predictions(images, [0, 1], [1.0, 1.0])
    red, black = [image.get_array() for image in display.ax_.images]
    assert red.shape == (4, 5, 3)
    np.testing.assert_array_equal(red[0, 0], [1, 0, 0])
    np.testing.assert_array_equal(black, 0)
    assert display.ax_.patches[:] == []  # nothing is framed, and nothing says so
    assert "framed: the labellings disagree" not in texts(display.ax_)


def test_bytes_go_from_black_to_white_and_other_numbers_by_their_range():
    assert (
        ClusterGalleryDisplay(np.full((1, 2, 2), 51, np.uint8), [[0]], [[]]).plot().ax_.images[0].get_array().max()
        == 0.2
    )
    pair = ClusterGalleryDisplay(np.array([[[-1.0]], [[3.0]]]), [[0, 1]], [[]]).plot().ax_.images
    assert [image.get_array().item() for image in pair] == [0, 1]
    assert ClusterGalleryDisplay(np.full((1, 2, 2), 7.0), [[0]], [[]]).plot().ax_.images[0].get_array().max() == 0


def test_a_fit_shows_its_representatives(fitted, digits):
    images, _ = digits
    display = ClusterGalleryDisplay.from_estimator(fitted, images, n=3)
    found = fitted.cluster_representatives(3)
    assert len(display.ax_.images) == sum(len(rows) for rows in (*found.sure, *found.doubtful))
    first = shown(display)[min(shown(display), key=lambda place: (place[1], place[0]))].get_array()
    expected = images[found.sure[0][0]]
    assert np.corrcoef(first.ravel(), expected.ravel())[0, 1] == pytest.approx(1)
    flat = ClusterGalleryDisplay.from_estimator(fitted, images.reshape(160, 64), n=3)
    assert len(flat.ax_.images) == len(display.ax_.images)


def test_clusters_can_be_named_and_few():
    display = ClusterGalleryDisplay(np.zeros((1, 2, 2)), [[0]], [[]], clusters=["zero"]).plot()
    assert "zero" in texts(display.ax_)
    assert texts(ClusterGalleryDisplay(np.zeros((1, 2, 2)), [], []).plot().ax_) == ["most sure"]


def test_forty_clusters_fit_on_a_screen():
    images = np.zeros((400, 8, 8))
    display = ClusterGalleryDisplay.from_predictions(images, np.arange(400) % 40, np.ones(400))
    assert len(display.ax_.images) == 400
    width, height = display.figure_.get_size_inches()
    assert 8 < width <= 13
    assert 8 < height <= 13


def test_what_is_no_image_is_refused():
    with pytest.raises(ValueError, match=r"X has shape \(4, 64\), which are no images.*draw an EmbeddingDisplay"):
        ClusterGalleryDisplay.from_predictions(np.zeros((4, 64)), [0] * 4, [1.0] * 4)
    with pytest.raises(
        ValueError, match=r"have 4 channels; a gallery shows one or three.*pass .*\.transpose\(0, 3, 1, 2\)"
    ):
        ClusterGalleryDisplay.from_predictions(np.zeros((4, 4, 8, 8)), [0] * 4, [1.0] * 4)
    with pytest.raises(ValueError, match="sure has 1 clusters and doubtful 2; pass rows of the same clusters"):
        ClusterGalleryDisplay(np.zeros((4, 8, 8)), [[0]], [[1], [2]]).plot()
    with pytest.raises(ValueError, match="n=0 must be a whole number"):
        ClusterGalleryDisplay.from_predictions(np.zeros((4, 8, 8)), [0] * 4, [1.0] * 4, n=0)


def test_a_model_of_vectors_has_no_gallery():
    X, _ = make_blobs(n_samples=40, centers=2, random_state=0)
    options = {"n_estimators": 1, "pretrain_epochs": 2, "max_iter": 0, "reducer": None, "clusterer": "kmeans"}
    model = SPCClustering(2, random_state=0, **options).fit(X)
    with pytest.raises(ValueError, match=r"X has shape \(40, 2\), which are no images"):
        ClusterGalleryDisplay.from_estimator(model, X)


# Agreement


def test_bars_are_the_shares_of_each_level_with_the_least_agreed_cluster_first():
    display = AgreementDisplay.from_predictions([1, 1, 0.5, 1, 0.25, 0.5, 1, 1], [0, 0, 0, 0, 2, 2, -1, -1])
    np.testing.assert_allclose(display.levels_, [0.25, 0.5, 1])
    np.testing.assert_allclose(display.shares_, [[1 / 8, 2 / 8, 5 / 8], [0.5, 0.5, 0], [0, 0.25, 0.75]])
    ticks = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert ticks == ["all rows (8)", "cluster 2 (2)", "cluster 0 (4)"]
    unanimous = display.ax_.containers[0]
    assert [bar.get_width() for bar in unanimous] == [62.5, 0, 75]
    assert [bar.get_x() for bar in display.ax_.containers[1]] == [62.5, 0, 75]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["1.00", "0.50", "0.25"]


def test_agreement_of_many_values_is_binned():
    display = AgreementDisplay.from_predictions(np.linspace(0, 1, 101))
    np.testing.assert_allclose(display.levels_, np.arange(10) / 10)
    np.testing.assert_allclose(display.shares_, [[10 / 101] * 9 + [11 / 101]])
    assert display.ax_.get_legend().get_texts()[0].get_text() == "0.9 to 1.0"


def test_all_votes_of_sixteen_labellings_have_a_level():
    assert len(AgreementDisplay.from_predictions(np.arange(17) / 16).levels_) == 17


def test_a_fit_shows_its_agreement_by_cluster(fitted):
    display = AgreementDisplay.from_estimator(fitted)
    assert display.shares_.shape[0] == 5
    assert display.shares_[0, -1] == pytest.approx(np.mean(fitted.agreement_ == fitted.agreement_.max()))


@pytest.mark.parametrize("agreement", [[], [1.2], [-0.1], [np.nan]])
def test_agreement_that_is_no_share_is_refused(agreement):
    with pytest.raises(ValueError, match="agreement must hold shares between 0 and 1, at least one"):
        AgreementDisplay.from_predictions(agreement)


# Confusion


def test_clusters_stand_in_the_order_of_their_classes():
    y_true = ["a", "a", "a", "b", "b", "c"]
    display = ConfusionDisplay.from_predictions(y_true, [2, 2, 0, 0, 0, 1])
    assert display.confusion_matrix.tolist() == [[2, 1, 0], [0, 2, 0], [0, 0, 1]]
    assert display.clusters.tolist() == [2, 0, 1]
    assert display.accuracy_ == pytest.approx(5 / 6) == clustering_accuracy(y_true, [2, 2, 0, 0, 0, 1])
    assert display.ax_.get_title() == "accuracy 83.3 %"
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["2", "0", "1"]
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["a", "b", "c"]
    assert texts(display.ax_) == ["2", "1", "2", "1"]  # no zeros
    np.testing.assert_allclose(display.im_.get_array(), [[2 / 3, 1 / 3, 0], [0, 1, 0], [0, 0, 1]])


def test_more_clusters_than_classes_come_last_and_noise_after_them():
    display = ConfusionDisplay.from_predictions([0, 0, 1, 1, 0, 0], [3, 3, 2, 2, 0, -1])
    assert display.clusters.tolist() == [3, 2, 0, -1]
    assert display.confusion_matrix.tolist() == [[2, 0, 1, 1], [0, 2, 0, 0]]
    assert display.accuracy_ == pytest.approx(4 / 6)
    assert display.ax_.get_xticklabels()[-1].get_text() == "noise"


def test_more_classes_than_clusters_come_last():
    y_true, labels = [0, 1, 1, 2, 2, 2], [0, 0, 0, 1, 1, 1]
    display = ConfusionDisplay.from_predictions(y_true, labels)
    assert display.classes.tolist() == [1, 2, 0]
    assert display.confusion_matrix.tolist() == [[2, 0], [0, 3], [1, 0]]
    assert display.accuracy_ == pytest.approx(5 / 6) == clustering_accuracy(y_true, labels)


def test_noise_alone_is_right_nowhere():
    display = ConfusionDisplay.from_predictions([0, 1], [-1, -1])
    assert display.accuracy_ == 0
    assert display.clusters.tolist() == [-1]


def test_percents_of_a_class_and_no_figures():
    display = ConfusionDisplay.from_predictions([0, 0, 0, 1], [0, 0, 1, 1], normalize="true")
    assert texts(display.ax_) == ["67", "33", "100"]
    assert texts(display.plot(include_values=False).ax_) == []
    with pytest.raises(ValueError, match="normalize='pred' is not known; pass None for counts or 'true' for percents"):
        display.plot(normalize="pred")


def test_figures_that_would_not_be_legible_are_left_out():
    labels = np.repeat(np.arange(40), 1000)
    display = ConfusionDisplay.from_predictions(labels, labels)
    assert texts(display.ax_) == ["1000"] * 40
    assert min(text.get_fontsize() for text in display.ax_.texts) >= 6
    small = plt.figure(figsize=(4, 4)).add_subplot()
    assert texts(display.plot(ax=small).ax_) == []
    assert len(texts(display.plot(ax=plt.figure(figsize=(4, 4)).add_subplot(), include_values=True).ax_)) == 40


def test_figures_of_a_matrix_do_not_overlap():
    rng = np.random.default_rng(0)
    display = ConfusionDisplay.from_predictions(rng.integers(40, size=70_000), rng.integers(40, size=70_000))
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in display.ax_.texts]
    assert len(boxes) == 1600
    edges = np.array([box.extents for box in boxes])
    gaps = np.maximum(edges[:, None, :2], edges[None, :, :2]) - np.minimum(edges[:, None, 2:], edges[None, :, 2:])
    assert np.triu((gaps < 0).all(axis=2), k=1).sum() == 0


def test_a_model_is_confused_by_its_labels_or_its_predictions(fitted, digits):
    images, y = digits
    of_fit = ConfusionDisplay.from_estimator(fitted, None, y)
    assert of_fit.accuracy_ == pytest.approx(clustering_accuracy(y, fitted.labels_))
    of_new = ConfusionDisplay.from_estimator(fitted, images[:50], y[:50])
    assert of_new.accuracy_ == pytest.approx(clustering_accuracy(y[:50], fitted.predict(images[:50])))


def test_a_matrix_of_other_shape_is_refused():
    with pytest.raises(
        ValueError, match=r"confusion_matrix has shape \(1, 2\), but there are 1 classes and 1 clusters"
    ):
        ConfusionDisplay(np.ones((1, 2)), ["a"], [0]).plot()


# Number of clusters


def curve_of(best, **changes):
    curve = {"n_clusters": [2, 3, 4], "best_n_clusters": best, "held_out_agreement": [0.7, 1.0, 0.6]}
    return curve | {"agreement": [0.5, 1.0, 0.9], "silhouette": [0.4, 0.8, 0.3]} | changes


def test_a_curve_shows_its_figures_and_the_number_to_choose():
    display = NClustersCurveDisplay(curve_of(3, held_out_agreement_std=[0.1, 0.0, 0.1])).plot()
    drawn = {line.get_label(): list(line.get_ydata()) for line in display.ax_.lines}
    assert drawn["held-out agreement"] == [0.7, 1.0, 0.6]
    assert drawn["agreement of the members"] == [0.5, 1.0, 0.9]
    assert drawn["silhouette"] == [0.4, 0.8, 0.3]
    assert display.ax_.lines[0].get_xdata() == [3, 3]
    assert display.ax_.get_title() == "3 clusters"
    assert NClustersCurveDisplay(curve_of(None)).plot().ax_.get_title() == "none is found again"


def test_a_curve_is_drawn_of_an_estimator_that_is_not_fitted():
    X, _ = make_blobs(n_samples=60, centers=[[0, 0], [0, 9]], random_state=0)
    model = SPCClustering(n_estimators=2, pretrain_epochs=5, reducer=None, clusterer="kmeans", random_state=0)
    display = NClustersCurveDisplay.from_estimator(model, X, n_clusters=[2, 3], n_splits=1)
    assert list(display.curve.n_clusters) == [2, 3]
    assert not hasattr(model, "labels_")
    with pytest.raises(TypeError, match="not KMeans"):
        NClustersCurveDisplay.from_estimator(KMeans(2), X)


def test_a_tree_joins_first_what_labellings_put_together_most():
    labels = [0, 0, 1, 1, 2, 2]
    coarse, fine = [0, 0, 0, 0, 1, 1], [5, 5, 7, 7, 6, 6]
    display = ClusterTreeDisplay.from_predictions(labels, [coarse, fine])
    assert display.linkage.tolist() == [[0, 1, 0.5, 2], [2, 3, 1.0, 3]]
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] in (["0", "1", "2"], ["2", "0", "1"])
    noisy = ClusterTreeDisplay.from_predictions([0, 0, 1, 1, -1, -1], [[0, -1, 0, 0, 0, 0]])
    assert noisy.linkage[0, 2] == 0.5  # one row of the first cluster of two, noise left out


def test_a_tree_needs_clusters_and_labellings_of_the_same_rows():
    with pytest.raises(ValueError, match="labels has 1 clusters; a tree needs two or more"):
        ClusterTreeDisplay.from_predictions([0, 0, -1], [[0, 0, 1]])
    with pytest.raises(ValueError, match="member_labels holds no labelling"):
        ClusterTreeDisplay.from_predictions([0, 1], [])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ClusterTreeDisplay.from_predictions([0, 1], [[0, 1, 1]])
