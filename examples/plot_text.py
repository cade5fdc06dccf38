"""
Embeddings of text
==================

**The labellings of all rounds agree on 20 % of the texts, and 87 % of these are in the cluster of their subject; of all
texts 67 % are, as by k-means. Agreement finds the part that is clear.**

Texts become vectors first; those are clustered like any others. A sentence encoder would make better vectors than the
TF-IDF and SVD of this example, which needs no download: its texts are the docstrings of SciPy's functions and classes,
and the classes they are compared with are SciPy's subpackages.
"""

import importlib
import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
import scipy
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from skspc import SPCClustering
from skspc.metrics import clustering_accuracy
from skspc.plotting import ConfusionDisplay

# %%
# Texts
# -----
# Names of subpackages are taken out: they would give the answer away. Notes too, many of which are the same everywhere.

SUBPACKAGES = ["linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "special", "stats"]


def prose(docstring):
    """Words of a docstring up to its notes and examples, without names of subpackages."""
    text = re.split(r"\n *(?:Notes|Examples|References)\n", docstring)[0].lower()
    return re.sub(rf"scipy|{'|'.join(SUBPACKAGES)}|[^a-z\s]", " ", text)


texts, subjects = [], []
for subject in SUBPACKAGES:
    module = importlib.import_module(f"scipy.{subject}")
    for name in module.__all__:
        thing = getattr(module, name)
        documented = inspect.isclass(thing) or inspect.isfunction(thing) or isinstance(thing, np.ufunc)
        if documented and len(words := prose(thing.__doc__ or "").split()) >= 20:
            texts.append(" ".join(words))
            subjects.append(subject)
print(f"SciPy {scipy.__version__}: {len(texts)} texts of {len(SUBPACKAGES)} subjects")

# %%
# Vectors
# -------
# ``Normalizer`` gives all vectors one length, so that distances are those of the angle between them.

embed = make_pipeline(
    TfidfVectorizer(sublinear_tf=True, min_df=3, max_df=0.3, stop_words="english"),
    TruncatedSVD(20, random_state=0),
    Normalizer(),
)
X = embed.fit_transform(texts)

# %%
# Clusters
# --------

model = SPCClustering(len(SUBPACKAGES), n_estimators=3, max_iter=2, random_state=0).fit(X)
kmeans = KMeans(len(SUBPACKAGES), n_init=10, random_state=0).fit_predict(X)
print(f"k-means:       {100 * clustering_accuracy(subjects, kmeans):.1f} % of the texts in their subject's cluster")
print(f"SPCClustering: {100 * clustering_accuracy(subjects, model.labels_):.1f} %")
agreed = model.agreed_
print(
    f"of the {agreed.sum()} agreed texts: "
    f"{100 * clustering_accuracy(np.array(subjects)[agreed], model.labels_[agreed]):.1f} %"
)

# %%
# The words of each cluster: those whose mean TF-IDF in it exceeds that in all texts most.

weights, words = embed[0].transform(texts), embed[0].get_feature_names_out()
for cluster in range(model.n_clusters_):
    inside = np.asarray(weights[model.labels_ == cluster].mean(axis=0)).ravel()
    excess = inside - np.asarray(weights.mean(axis=0)).ravel()
    print(f"{cluster} ({(model.labels_ == cluster).sum():>3} texts):", ", ".join(words[np.argsort(-excess)[:7]]))

# %%
ConfusionDisplay.from_estimator(model, None, subjects)
plt.show()
