"""clusterer="auto": the way to label that fits the data, chosen at the first clustering and without labels."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy.special import entr
from sklearn.neighbors import NearestNeighbors

from .._constants import NOISE
from .._runtime.quiet import dependencies_quiet
from ..clusterers import get_clusterer, get_reducer
from .consensus import find_consensus
from .labelling import label_embedding
from .parts import AUTO

_ROWS_OF_DENSITY = 30  # rows a cluster, below which k-means finds more of them than HDBSCAN (docs/clusterers.md)
_MAX_ROWS = 5000  # that the choice of a reducer looks at
_N_NEIGHBORS = 10
# Between what is seen where k-means on the latents is far better (Stack Overflow titles: agreement .05 to .16 higher,
# neighbours together as often, within .004) and elsewhere where agreement is as much higher: one ensemble of iris
# (.058, together .010 less often) and HAR, where it is far worse (.05 to .12, together .020 to .039 less often).
_MORE_AGREEMENT = 0.05
_AS_MANY_NEIGHBORS = 0.007
# Between .09 and more, where k-means is mostly better, and .01 and less of pendigits, digits and USPS; and above what
# comes of the noise alone that HDBSCAN leaves of the same clusters (docs/clusterers.md).
_MORE_ROWS = 0.05
_MORE_EVEN = 0.001


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
    if reducer is None:
        return (first,)
    on_latents = LabellingRule(get_clusterer("kmeans"), None)
    return (first, on_latents) if few_rows else (first, on_latents, LabellingRule(get_clusterer("kmeans"), reducer))


def choose_rule(latents, embeddings, found, n_rules, n_clusters, seed):
    """Index of the rule by which rows are labelled, of `labelling_rules`.

    It is the first, unless its reducer does not pay, or k-means fits its embeddings better. Embeddings, and the first
    rule's labels that were ``found``, are by space, without members that diverged.
    """
    members = [i for i in range(len(latents)) if i in embeddings]
    chosen = np.random.default_rng(seed).permutation(len(latents[0]))[:_MAX_ROWS]
    if len(members) < 2 or n_clusters > len(chosen):
        return 0
    latents = [latents[i][chosen] for i in members]
    with dependencies_quiet():
        by_latents, by_embeddings = (
            [label_embedding(space, get_clusterer("kmeans"), n_clusters, seed) for space in spaces]
            for spaces in (latents, [embeddings[i][chosen] for i in members])
        )
    if not (are_exact(by_latents, n_clusters) and are_exact(by_embeddings, n_clusters)):
        return 0
    if not reducer_pays(latents, by_latents, by_embeddings, n_clusters):
        return 1
    if n_rules > 2 and fits_better(by_embeddings, [found[i][chosen] for i in members], n_clusters):
        return 2
    return 0


def are_exact(labellings, n_clusters):
    return all(labels.max() + 1 == n_clusters for labels in labellings)


def reducer_pays(latents, by_latents, by_embeddings, n_clusters):
    """Whether members should be clustered by their embeddings rather than by their latents K x (N, m).

    Both ways were tried with k-means: K x (N,) labels each. The embeddings are left alone if members agree clearly more
    on the clusters of their latents, and these keep neighbours together as well, where both are looked at with the eyes
    of the others: a member's nearest neighbours should be in one cluster of another member. UMAP follows the neighbours
    of a member; where these are chance, as among rows of few words, other members know nothing of them. A stable cut
    through the midst of rows alone does not count: its neighbours are torn apart for all.
    """
    found = by_latents, by_embeddings
    agreement = [find_consensus(np.stack(labellings), n_clusters).agreement.mean() for labellings in found]
    n_neighbors = min(_N_NEIGHBORS, len(latents[0]) - 1)
    # By all distances: scikit-learn's trees are asked through joblib, which sets the warnings of the whole process.
    finder = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute")
    neighbors = [finder.fit(member).kneighbors()[1] for member in latents]
    together = [
        np.mean(
            [labellings[i][neighbors[j]] == labellings[i][:, None] for i, j in permutations(range(len(latents)), 2)]
        )
        for labellings in found
    ]
    return agreement[0] <= agreement[1] + _MORE_AGREEMENT or together[0] < together[1] - _AS_MANY_NEIGHBORS


def fits_better(by_k_means, by_density, n_clusters):
    """Whether members agree wholly on more rows by k-means, on clusters of more even sizes: K x (N,) labels each.

    Neither alone will do: a stable cut may merge clusters and cut up others, which makes sizes less even, and k-means
    makes even sizes of clusters that are not, on which members do not agree.
    """
    if any(labels.max() >= n_clusters for labels in by_density):  # one could not be brought to so many
        return agreed_share(find_consensus(np.stack(by_k_means), n_clusters)) > _MORE_ROWS
    votes = [find_consensus(np.stack(labellings), n_clusters) for labellings in (by_k_means, by_density)]
    agreed = [agreed_share(vote) for vote in votes]
    evenness = [evenness_of_sizes(vote, n_clusters) for vote in votes]
    return agreed[0] > agreed[1] + _MORE_ROWS and evenness[0] > evenness[1] + _MORE_EVEN


def agreed_share(vote):
    return (vote.agreement == 1).mean()


def evenness_of_sizes(vote, n_clusters):
    """Entropy of the clusters' sizes in a vote, noise left out: 1 where all have one size, 0 where there is but one."""
    sizes = np.bincount(vote.labels[vote.labels != NOISE], minlength=n_clusters)
    return entr(sizes / max(1, sizes.sum())).sum() / np.log(n_clusters)
