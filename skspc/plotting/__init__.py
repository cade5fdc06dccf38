"""Pictures of a fit: Display objects in scikit-learn's manner.

Each is made by its constructor from computed values, by ``from_estimator`` from a fitted `SPCClustering`, or by
``from_predictions`` from arrays of any origin. ``plot`` draws it, on axes given or new, and sets ``ax_`` and
``figure_``. matplotlib is imported when something is drawn: ``pip install "skspc[plot]"``.
"""

from ._agreement import AgreementDisplay
from ._confusion import ConfusionDisplay
from ._counts import ClusterTreeDisplay, NClustersCurveDisplay
from ._dynamics import TrainingDynamicsDisplay
from ._embedding import EmbeddingDisplay
from ._gallery import ClusterGalleryDisplay

__all__ = [
    "AgreementDisplay",
    "ClusterGalleryDisplay",
    "ClusterTreeDisplay",
    "ConfusionDisplay",
    "EmbeddingDisplay",
    "NClustersCurveDisplay",
    "TrainingDynamicsDisplay",
]
