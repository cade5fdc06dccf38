"""The predictor as an ONNX graph, against the model it was made of."""

import builtins
import os

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError

from skspc import SPCClustering
from skspc.export import to_onnx

SHORT = {"clusterer": "kmeans", "reducer": None, "n_estimators": 3, "pretrain_epochs": 1, "epochs": 1, "max_iter": 1}
IMAGES = load_digits(n_class=3).images[:60]
ROWS = make_blobs(n_samples=60, n_features=4, centers=3, random_state=0)[0] + 1e9  # beyond float32


@pytest.mark.parametrize(
    ("X", "n_clusters", "scaling"),
    [(IMAGES, 3, "auto"), (ROWS, 3, "standard"), (ROWS, 3, "global"), (ROWS, 1, None)],
    ids=["images", "vectors", "vectors by one scale", "one cluster of rows as they are"],
)
@pytest.mark.filterwarnings("ignore:X has images with values:UserWarning")  # 1e30 is beyond the range learnt
def test_the_graph_gives_the_probabilities_of_the_model(X, n_clusters, scaling, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = SPCClustering(n_clusters, scaling=scaling, random_state=0, **SHORT).fit(X)
    to_onnx(model, tmp_path / "model.onnx")
    assert os.listdir(tmp_path) == ["model.onnx"]
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    far = np.concatenate([X, 1e30 * np.sign(X - X.mean())])
    for rows in (X[:1], X[:7], X, far):
        (probabilities,) = session.run(["probabilities"], {"X": rows.reshape(len(rows), -1)})
        assert probabilities.shape == (len(rows), n_clusters)
        np.testing.assert_allclose(probabilities, model.predict_proba(rows), rtol=0, atol=1e-5)


def test_an_unfitted_model_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        to_onnx(SPCClustering(3), tmp_path / "model.onnx")


def test_a_missing_package_is_named_with_its_remedy(monkeypatch, tmp_path):
    true_import = builtins.__import__

    def import_all_but_onnxscript(name, *arguments, **keywords):
        if name == "onnxscript":
            raise ModuleNotFoundError("No module named 'onnxscript'", name=name)
        return true_import(name, *arguments, **keywords)

    model = SPCClustering(1, random_state=0, **SHORT).fit(ROWS)
    monkeypatch.setattr(builtins, "__import__", import_all_but_onnxscript)
    pytest.importorskip("onnx")
    with pytest.raises(ImportError, match=r"to_onnx needs onnxscript: pip install 'skspc\[onnx\]'"):
        to_onnx(model, tmp_path / "model.onnx")
