"""clusterer="auto": the way to label that fits the data, chosen at the first clustering and without labels."""

from dataclasses import dataclass, replace
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

ON_EMBEDDINGS = 2  # the indices, among `labelling_rules` where there are more than two, of k-means,
BY_MIXTURE = 3  # of a mixture,
BY_DENSITY_ALONE = 4  # and of HDBSCAN without k-means beside it
_ROWS_OF_DENSITY = 30  # rows a cluster, below which k-means finds more of them than HDBSCAN (docs/clusterers.md)
_MAX_ROWS = 5000  # that the choice looks at
_N_NEIGHBORS = 10
# Between what is seen where k-means on the latents is far better (Stack Overflow titles: agreement .05 to .16 higher,
# neighbours together as often, within .004) and elsewhere where agreement is as much higher: one ensemble of iris
# (.058, together .010 less often) and HAR, where it is far worse (.05 to .12, together .020 to .039 less often).
_MORE_AGREEMENT = 0.05
_AS_MANY_NEIGHBORS = 0.007
# Between .53 to .76 (short texts, sequences of DNA, where k-means on the latents is better by 5 to 26 points) and .81
# (HAR and the genes of yeast, where it is worse by 17 to 38); and between together .005 to .052 less often there and
# .116 (letters by their moments, where it is worse by 4).
_AGREED_AT_ALL = 0.79
_WHERE_NONE_AGREES = 0.08
# Between .09 and more, where k-means is mostly better, and .01 and less of pendigits, digits and USPS; and above what
# comes of the noise alone that HDBSCAN leaves of the same clusters (docs/clusterers.md).
_MORE_ROWS = 0.05
_MORE_EVEN = 0.001
# COIL-20, which gains by k-means, has 1.4 times as many, and sets of unequal clusters, which lose, mostly above 1.5;
# HAR and MNIST, which lose by a mixture, have .63 and more, and sets of unequal clusters, which gain, .4 and less.
_TEARS_MORE = 1.5
_TEARS_LESS = 0.5
# Between .13 (all kinds of HAR, equal in number, where k-means is right) and .17 (unequal classes, of which it cuts up
# the largest); between .10 (such classes, too) and .125 (penguins, equal in number, where it is right; docs/rounds.md).
_FAR_MORE_EVEN = 0.15
_CLEARLY_MORE_AGREEMENT = 0.12
_HARDLY = 0.001  # of the pairs: so few tell nothing where clusters lie apart


@dataclass(frozen=True)
class LabellingRule:
    """A clusterer, the reducer whose embedding it sees, or None where it sees the latents, and clusterers beside it.

    These label the same embeddings, for the vote that makes a fit's labels: see `skspc._method.rounds`.
    """

    clusterer: object
    reducer: object
    beside: tuple = ()


def labelling_rules(clusterer, reducer, n_clusters, n_rows):
    """The rules between which a fit chooses: one, unless the clusterer is "auto" and there is a reducer.

    Where rows a cluster are too few to tell dense from sparse, k-means takes HDBSCAN's place. A number of clusters that
    is "auto" is found by HDBSCAN. Beside HDBSCAN or k-means, the other one labels the same embeddings, but by the last
    rule.
    """
    reducer = get_reducer(reducer)
    if not isinstance(clusterer, str) or clusterer != AUTO:
        return (LabellingRule(get_clusterer(clusterer), reducer),)
    density, k_means, mixture = (get_clusterer(name) for name in ("hdbscan", "kmeans", "gmm"))
    few_rows = n_clusters != AUTO and n_rows < _ROWS_OF_DENSITY * n_clusters
    if reducer is None:
        return (LabellingRule(k_means if few_rows else density, None),)
    on_latents = LabellingRule(k_means, None)
    if few_rows:
        return LabellingRule(k_means, reducer), on_latents
    by_density = LabellingRule(density, reducer, beside=(k_means,))
    by_k_means = LabellingRule(k_means, reducer, beside=(density,))
    return by_density, on_latents, by_k_means, LabellingRule(mixture, reducer), replace(by_density, beside=())


def choose_rule(latents, embeddings, found, n_rules, n_clusters, seed, reducer_stays=False):
    """Index of the rule by which rows are labelled, of `labelling_rules`.

    It is the first, unless its reducer does not pay, which may be settled already, or k-means or a mixture fits its
    embeddings better. Embeddings, and the first rule's labels that were ``found``, are by space, without members that
    diverged. Of one member nothing can be compared, and of two labellings of one space the one without noise would
    always win: there density has none beside it.
    """
    members = [i for i in range(len(latents)) if i in embeddings]
    chosen = np.random.default_rng(seed).permutation(len(latents[0]))[:_MAX_ROWS]
    if len(members) < 2:
        return BY_DENSITY_ALONE if n_rules > BY_DENSITY_ALONE else 0
    if not 1 < n_clusters <= len(chosen):
        return 0
    spaces = {i: embedding[chosen] for i, embedding in embeddings.items()}
    by_k_means = label_all(spaces, "kmeans", n_clusters, seed)
    by_first = {i: found[i][chosen] for i in spaces}
    if not are_exact(by_k_means.values(), n_clusters):
        return 0
    if not reducer_stays:
        of_members = {i: latents[i][chosen] for i in members}
        by_latents = label_all(of_members, "kmeans", n_clusters, seed)
        if not are_exact(by_latents.values(), n_clusters):
            return 0
        by_embeddings = [[labels[i] for i in members] for labels in (by_k_means, by_first)]
        if not reducer_pays(list(of_members.values()), list(by_latents.values()), by_embeddings, n_clusters):
            return 1
    if n_rules == 2:
        return 0
    labellings = by_first, by_k_means, label_all(spaces, "gmm", n_clusters, seed)
    return fitting_rule(list(spaces.values()), [list(of_one.values()) for of_one in labellings], n_clusters)


def label_all(spaces, clusterer, n_clusters, seed):
    """The labels (N,) that a registered clusterer gives each space, by space."""
    with dependencies_quiet():
        return {i: label_embedding(space, get_clusterer(clusterer), n_clusters, seed) for i, space in spaces.items()}


def are_exact(labellings, n_clusters):
    return all(labels.max() + 1 == n_clusters for labels in labellings)


def reducer_pays(latents, by_latents, by_embeddings, n_clusters):
    """Whether members should be clustered by their embeddings rather than by their latents K x (N, m).

    K x (N,) labels each: the latents' by k-means, the embeddings' by k-means and by density. The embeddings are left
    alone if members agree clearly more on the clusters of their latents, and these keep neighbours together as well,
    where all are looked at with the eyes of the others: a member's nearest neighbours should be in one cluster of
    another member. UMAP follows the neighbours of a member; where these are chance, as among rows of few words, other
    members know nothing of them. A stable cut through the midst of rows alone does not count: its neighbours are torn
    apart for all.
    """
    neighbors = [nearest_rows(member) for member in latents]
    agreement, together = agreement_and_neighbors(by_latents, neighbors, n_clusters)
    return any(
        agreement <= of_embeddings + _MORE_AGREEMENT or together < theirs - fewer_together(of_embeddings)
        for of_embeddings, theirs in (
            agreement_and_neighbors(labellings, neighbors, n_clusters)
            for labellings in by_embeddings
            if all(labels.max() < n_clusters for labels in labellings)
        )
    )


def fewer_together(agreement_of_embeddings):
    """How many fewer neighbours may be together by the latents than by embeddings on which members agree so much.

    More, where they hardly agree: near rows stay near in any layout, and what is far from what is another chance for
    each. Such clusters keep neighbours together, and say nothing.
    """
    return _AS_MANY_NEIGHBORS if agreement_of_embeddings >= _AGREED_AT_ALL else _WHERE_NONE_AGREES


def agreement_and_neighbors(labellings, neighbors, n_clusters):
    """Mean agreement of members' labels K x (N,), and how many of the others' neighbours (N, k) are in a row's cluster.

    Rows that are noise are in none.
    """
    together = [
        np.mean((labellings[i][neighbors[j]] == labellings[i][:, None]) & (labellings[i] != NOISE)[:, None])
        for i, j in permutations(range(len(labellings)), 2)
    ]
    return find_consensus(np.stack(labellings), n_clusters).agreement.mean(), np.mean(together)


def nearest_rows(space):
    """Indices (N, k) of the ten nearest of the other rows (N, m), or of all if they are fewer."""
    # By all distances: scikit-learn's trees are asked through joblib, which sets the warnings of the whole process.
    n_neighbors = min(_N_NEIGHBORS, len(space) - 1)
    return NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute").fit(space).kneighbors()[1]


def fitting_rule(embeddings, labellings, n_clusters):
    """Index of the rule whose clusters fit the embeddings L x (N, d) best: any of `labelling_rules` but 1.

    ``labellings`` are those by density, by k-means, and by a mixture, L x (N,) labels each; those by k-means are exact.
    A mixture is for clusters of unequal size, where it tears far less apart than the better one of the others. For
    these, too, density has k-means beside it only where that does not seem to cut up the largest.
    """
    neighbors = [nearest_rows(space) for space in embeddings]
    density, k_means, mixture = (verdict_of(those, neighbors, n_clusters) for those in labellings)
    rule, taken = (ON_EMBEDDINGS, k_means) if fits_better(k_means, density) else (0, density)
    if taken is None:
        return rule
    exact = mixture is not None and are_exact(labellings[2], n_clusters)
    if exact and taken.torn > _HARDLY and mixture.torn < _TEARS_LESS * taken.torn:
        return BY_MIXTURE
    alone = rule == 0 and are_exact(labellings[0], n_clusters) and cuts_up(k_means, density)
    return BY_DENSITY_ALONE if alone else rule


@dataclass(frozen=True)
class Verdict:
    """What is seen of the vote of one clusterer's labellings without classes.

    Attributes
    ----------
    agreement : float
        Mean over the rows of the share of the labellings that give a row its label.
    agreed : float
        Share of the rows on which all labellings agree.
    evenness : float
        Entropy of the clusters' sizes, noise left out: 1 where all have one size, 0 where there is but one.
    torn : float
        Share of the pairs of a row and one of its nearest in an embedding that are in two clusters, noise left out:
        mean over spaces.
    """

    agreement: float
    agreed: float
    evenness: float
    torn: float


def verdict_of(labellings, neighbors, n_clusters):
    """The verdict on labels L x (N,), from neighbours L x (N, k); None if one has more than so many clusters."""
    if any(labels.max() >= n_clusters for labels in labellings):
        return None
    vote = find_consensus(np.stack(labellings), n_clusters)
    sizes = np.bincount(vote.labels[vote.labels != NOISE], minlength=n_clusters)
    return Verdict(
        agreement=vote.agreement.mean(),
        agreed=(vote.agreement == 1).mean(),
        evenness=entr(sizes / max(1, sizes.sum())).sum() / np.log(n_clusters),
        torn=torn_by(vote, neighbors),
    )


def torn_by(vote, neighbors):
    """Share of the pairs of a row and a neighbour, L x (N, k), that a vote tears apart: mean over the spaces."""
    return np.mean([torn_share(vote.labels, nearest) for nearest in neighbors])


def torn_share(labels, nearest):
    """Share of the pairs of a row and a neighbour (N, k) that are in two clusters; 0 where all rows are noise."""
    of_row, of_neighbor = np.broadcast_arrays(labels[:, None], labels[nearest])
    clustered = (of_row != NOISE) & (of_neighbor != NOISE)
    return np.sum(of_row != of_neighbor, where=clustered) / max(1, clustered.sum())


def fits_better(k_means, density):
    """Whether members agree wholly on more rows by k-means, on clusters of more even sizes that tear hardly more apart.

    Neither alone will do: a stable cut may merge clusters and cut up others, which makes sizes less even, and k-means
    makes even sizes of clusters that are not. Mostly members do not agree on these; where they do, the cuts go through
    dense parts, and tear neighbours apart.
    """
    if density is None:  # a labelling could not be brought to so many clusters
        return k_means.agreed > _MORE_ROWS
    return (
        k_means.agreed > density.agreed + _MORE_ROWS
        and k_means.evenness > density.evenness + _MORE_EVEN
        and k_means.torn <= max(_HARDLY, _TEARS_MORE * density.torn)
    )


def cuts_up(k_means, density):
    """Whether k-means seems to make clusters even that are not, by the verdicts on both.

    Where it is right about even clusters that density merges and cuts up by chance, members agree clearly more on its
    clusters; where it cuts up the largest of unequal ones, alike in all spaces, hardly more than on those by density,
    unless these have much noise, which agrees with nothing.
    """
    return (
        k_means.evenness > density.evenness + _FAR_MORE_EVEN
        and k_means.agreement < density.agreement + _CLEARLY_MORE_AGREEMENT
    )
