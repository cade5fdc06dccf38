"""clusterer="auto": the way to label that fits the data, chosen at the first clustering and without labels."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from .._runtime.quiet import dependencies_quiet
from ..clusterers import get_clusterer, get_reducer
from .consensus import find_consensus
from .labelling import label_embedding
from .parts import AUTO

_ROWS_OF_DENSITY = 30  # rows a cluster, below which k-means finds more of them than HDBSCAN (docs/clusterers.md)
_MAX_ROWS = 5000  # that the choice of a reducer looks at
_N_NEIGHBORS = 10
# Between what is seen where k-means on the latents is far better (Stack Overflow titles: agreement .12 to .16 higher,
# neighbours together as often, within .004) and on 25 other ensembles, but for one of iris (docs/clusterers.md).
_MORE_AGREEMENT = 0.05
_AS_MANY_NEIGHBORS = 0.02


@dataclass(frozen=True)
class LabellingRule:
    """A clusterer, and the reducer whose embedding it sees, or None where it sees the latents."""

    clusterer: object
    reducer: object


def labelling_rules(clusterer, reducer, n_clusters, n_rows):
    """The rules between which a fit chooses: one, unless the clusterer is "auto" and there is a reducer.

    Where rows a cluster are too few to tell dense from sparse, k-means takes HDBSCAN's place. A number of clusters that
    is "auto" is found by HDBSCAN.
    """
    reducer = get_reducer(reducer)
    if not isinstance(clusterer, str) or clusterer != AUTO:
        return (LabellingRule(get_clusterer(clusterer), reducer),)
    few_rows = n_clusters != AUTO and n_rows < _ROWS_OF_DENSITY * n_clusters
    first = LabellingRule(get_clusterer("kmeans" if few_rows else "hdbscan"), reducer)
    return (first,) if reducer is None else (first, LabellingRule(get_clusterer("kmeans"), None))


def choose_rule(latents, embeddings, n_clusters, seed):
    """Index of the rule by which rows are labelled, of the settings' first one and the others.

    That is the first, unless its reducer does not pay. Embeddings are by space, without members that diverged.
    """
    members = [i for i in range(len(latents)) if i in embeddings]
    pays = reducer_pays([latents[i] for i in members], [embeddings[i] for i in members], n_clusters, seed)
    return 0 if pays else 1


@dependencies_quiet()
def reducer_pays(latents, embeddings, n_clusters, seed):
    """Whether members should be clustered by their embeddings K x (N, d) rather than by their latents K x (N, m).

    Both ways are tried with k-means. The embeddings are left alone if members agree clearly more on the clusters of
    their latents, and these keep neighbours together as well, where both are looked at with the eyes of the others: a
    member's nearest neighbours should be in one cluster of another member. UMAP follows the neighbours of a member;
    where these are chance, as among rows of few words, other members know nothing of them. A stable cut through the
    midst of rows alone does not count: its neighbours are torn apart for all.
    """
    chosen = np.random.default_rng(seed).permutation(len(latents[0]))[:_MAX_ROWS]
    if len(latents) < 2 or n_clusters > len(chosen):
        return True
    latents = [member[chosen] for member in latents]
    found = [
        [label_embedding(space, get_clusterer("kmeans"), n_clusters, seed) for space in spaces]
        for spaces in (latents, [embedding[chosen] for embedding in embeddings])
    ]
    if any(labels.max() + 1 != n_clusters for labellings in found for labels in labellings):
        return True
    agreement = [find_consensus(np.stack(labellings), n_clusters).agreement.mean() for labellings in found]
    n_neighbors = min(_N_NEIGHBORS, len(chosen) - 1)
    neighbors = [NearestNeighbors(n_neighbors=n_neighbors).fit(member).kneighbors()[1] for member in latents]
    together = [
        np.mean(
            [labellings[i][neighbors[j]] == labellings[i][:, None] for i, j in permutations(range(len(latents)), 2)]
        )
        for labellings in found
    ]
    return agreement[0] <= agreement[1] + _MORE_AGREEMENT or together[0] < together[1] - _AS_MANY_NEIGHBORS
