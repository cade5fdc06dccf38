"""The order of the gallery: first what a newcomer wants to see."""

from pathlib import Path

STORIES = (
    *("digits", "trust", "outliers", "known_labels", "n_clusters", "merge_split", "new_data"),
    *("text", "sentence_embeddings", "augmentation", "custom_clusterer", "pipeline", "dynamics", "ablations", "dask"),
)


class StoryOrder:
    """Sort key of sphinx-gallery: the place of an example's file in `STORIES`."""

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __call__(self, filename):
        return STORIES.index(Path(filename).stem.removeprefix("plot_"))

    def __repr__(self):
        return type(self).__name__
