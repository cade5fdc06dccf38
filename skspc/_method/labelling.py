"""The labellings of a round: the clustering function psi of the paper on every latent space."""

import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from .._constants import NOISE
from .._runtime.devices import training_devices
from .._runtime.jobs import is_distributed, jobs_at_once
from .._runtime.quiet import dependencies_quiet
from .._runtime.seeding import derive_seed
from .._runtime.threads import threads_shared
from .parts import AUTO, copy_clusterer, copy_reducer, count_parameter


@dataclass(frozen=True)
class Labellings:
    """The labellings of one round that have the right number of clusters, and why others were left out.

    Attributes
    ----------
    kept : ndarray of shape (L, N)
    spaces : list of int
        The space of each: 0..K-1 for the members, K for all latents side by side.
    left_out : list of dict
        "space" and "reason" of each other one.
    """

    kept: np.ndarray
    spaces: list
    left_out: list

    @property
    def n_tried(self):
        return len(self.spaces) + len(self.left_out)


def n_spaces(n_members, concatenate):
    """Spaces of a round: one a member, and for several members all latents side by side."""
    return n_members + (concatenate and n_members > 1)


def latent_spaces(latents, concatenate, diverged=()):
    """The spaces of latents (K, N, m), by space: (N, m) of each member, and (N, K*m) of all side by side."""
    spaces = {member: latents[member] for member in range(len(latents)) if member not in diverged}
    if concatenate and len(spaces) > 1:
        spaces[len(latents)] = np.concatenate(list(spaces.values()), axis=1)
    return spaces


def cluster_spaces(latents, n_clusters, settings, seed, diverged=(), embeddings=None, starts=None):
    """Label every member's latents (K, N, m) and, for several members, all latents side by side.

    With n_clusters "auto", each space is labelled with the number of clusters that most of them have. Members in
    ``diverged`` are left out. Labels (N,), and what the reducer made of the latents, are returned by space: 0..K-1 for
    the members, K for all side by side. Embeddings that there are already are labelled as they are. ``starts`` are
    where others begin, those of `skspc._method.parts.starts_of`, if there is one for each space.
    """
    spaces = latent_spaces(latents, settings.concatenate, diverged)
    seeds = {i: derive_seed(seed, i) for i in spaces}
    devices = dict(zip(spaces, cycle(_devices(settings.device)), strict=False))
    rows_per_cluster = None if n_clusters == AUTO else len(latents[0]) / n_clusters
    starts = starts if starts and all(i in starts for i in spaces) else dict.fromkeys(spaces)
    # The libraries' own threads are shared out like torch's: threads in threads wait for each other.
    with threads_shared(len(spaces), n_jobs=jobs_at_once(settings.n_jobs)) as n_workers, dependencies_quiet():
        run = Parallel(n_jobs=n_workers, prefer="threads")
        if embeddings is None:
            embeddings = reduce_together(spaces, settings.reducer, seeds, devices, rows_per_cluster, starts, run)
        reducer = settings.reducer
        if embeddings is not None:
            spaces, reducer = embeddings, None
        found = run(
            delayed(_reduce_and_label)(
                (spaces[i], starts[i]), reducer, rows_per_cluster, devices[i], settings.clusterer, n_clusters, seeds[i]
            )
            for i in spaces
        )
        labellings = [labels for _, labels in found]
        if n_clusters == AUTO and count_parameter(settings.clusterer) is not None:
            n_clusters = _most_common_count(labellings)
            labellings = run(
                delayed(_label)((embedding,), settings.clusterer, n_clusters, seeds[i])
                for i, (embedding, _) in zip(spaces, found, strict=True)
            )
    embeddings = {i: embedding for i, (embedding, _) in zip(spaces, found, strict=True)}
    return dict(zip(spaces, labellings, strict=True)), embeddings


def _devices(device):
    """The devices that spaces are dealt to; workers elsewhere may have others."""
    return [device] if is_distributed() else training_devices(torch.device(device))


def reduce_together(spaces, reducer, seeds, devices, rows_per_cluster, starts, run):
    """Reduce the spaces of each device at once: embeddings by space. None where one after the other is the way.

    A reducer that can has, in its own class (a parent's would pass over what the class changes), a static method
    ``_fit_transform_spaces(reducers, spaces, n_jobs)``, which takes a copy for each space, set up as in `reduce_space`,
    and returns a list of embeddings, or None.
    """
    if "_fit_transform_spaces" not in vars(type(reducer)) or is_distributed():
        return None
    of_devices = defaultdict(list)
    for space, device in devices.items():
        of_devices[device].append(space)
    n_jobs = max(1, run.n_jobs // len(of_devices))

    def reduce_those(which, device):
        reducers = [copy_reducer(reducer, seeds[i], device, rows_per_cluster, starts[i]) for i in which]
        return reducers[0]._fit_transform_spaces(reducers, [spaces[i] for i in which], n_jobs)

    found: dict[int, np.ndarray] = {}
    made = run(delayed(reduce_those)(which, device) for device, which in of_devices.items())
    for which, embeddings in zip(of_devices.values(), made, strict=True):
        if embeddings is None:
            return None
        found |= {i: checked_embedding(each, spaces[i], reducer) for i, each in zip(which, embeddings, strict=True)}
    return {i: found[i] for i in spaces}


def more_neighbors(latents, n_clusters, settings, seed, diverged=()):
    """How many neighbours the reducer needs, where its own leave latents (K, N, m) in too many pieces; None elsewhere.

    They are looked for in one member's latents, the first that has not diverged. A reducer that can tell has, in its
    own class, a method ``_more_neighbors(X, n_clusters)``, which is asked of a copy, set up as in `reduce_space`.
    """
    if "_more_neighbors" not in vars(type(settings.reducer)):
        return None
    member = next(i for i in range(len(latents)) if i not in diverged)
    device = _devices(settings.device)[0]
    copy = copy_reducer(settings.reducer, derive_seed(seed, member), device, len(latents[member]) / n_clusters)
    return copy._more_neighbors(latents[member], n_clusters)


def _reduce_and_label(space_and_start, reducer, rows_per_cluster, device, clusterer, n_clusters, seed):
    """Reduce and label one space; arrays come in a tuple: see `skspc._runtime.jobs.run_elsewhere`."""
    space, start = space_and_start
    embedding = reduce_space(space, reducer, seed, device, rows_per_cluster, start)
    return embedding, label_embedding(embedding, clusterer, n_clusters, seed)


def _label(embedding_in_tuple, clusterer, n_clusters, seed):
    (embedding,) = embedding_in_tuple
    return label_embedding(embedding, clusterer, n_clusters, seed)


def reduce_space(space, reducer, seed, device, rows_per_cluster=None, start=None):
    """Reduce one latent space (N, m) by a copy of the reducer, set up as by `copy_reducer`: (N, d)."""
    if reducer is None:
        return space
    copy = copy_reducer(reducer, seed, device, rows_per_cluster, start)
    return checked_embedding(copy.fit_transform(space), space, reducer)


def checked_embedding(embedding, space, reducer):
    """What a reducer made of a space, as an array: (N, d), of finite numbers, or a ValueError."""
    embedding = np.asarray(embedding)
    if embedding.ndim != 2 or len(embedding) != len(space) or not np.issubdtype(embedding.dtype, np.number):
        raise ValueError(
            f"reducer={reducer!r} made an array of shape {embedding.shape} and type {embedding.dtype} of {len(space)} "
            "rows. fit_transform must return one row of numbers for each row."
        )
    if not np.isfinite(embedding).all():
        raise ValueError(f"reducer={reducer!r} returned values that are not finite.")
    return embedding


def label_embedding(embedding, clusterer, n_clusters, seed):
    """Cluster one reduced space (N, d) by a copy of the clusterer, its ``n_clusters`` and ``random_state`` set.

    It may lack either. Labels (N,) are 0, 1, ... without gaps; the clusterer's negative ones are ``NOISE``.
    """
    # In float32 the covariance of rows on a line, as threads of UMAP are, may have no inverse, which ends a mixture.
    embedding = np.asarray(embedding, dtype=np.float64)
    labels = np.asarray(copy_clusterer(clusterer, n_clusters, seed).fit_predict(embedding))
    if labels.shape != (len(embedding),) or not np.issubdtype(labels.dtype, np.number):
        raise ValueError(
            f"clusterer={clusterer!r} returned labels of shape {labels.shape} and type {labels.dtype} for "
            f"{len(embedding)} rows. fit_predict must return one number for each row."
        )
    kept = labels >= 0
    compact = np.full(len(labels), NOISE, dtype=np.int64)
    compact[kept] = np.unique(labels[kept], return_inverse=True)[1]
    return compact


def keep_exact(found, n_clusters, n_tried):
    """Keep the labellings, found by space, with exactly ``n_clusters`` clusters, of ``n_tried`` spaces of the round."""
    counts = {i: int(labels.max()) + 1 for i, labels in found.items()}
    spaces = [i for i, count in counts.items() if count == n_clusters]
    left_out = []
    for i in range(n_tried):
        if i not in found:
            left_out.append({"space": i, "reason": "training diverged"})
        elif counts[i] != n_clusters:
            left_out.append({"space": i, "reason": f"{counts[i]} clusters instead of {n_clusters}"})
    n_rows = len(next(iter(found.values())))
    kept = np.stack([found[i] for i in spaces]) if spaces else np.empty((0, n_rows), dtype=np.int64)
    return Labellings(kept, spaces, left_out)


def joined(readings):
    """The `Labellings` by one clusterer and those by others, one after the other."""
    left_out = [entry for labellings in readings for entry in labellings.left_out]
    spaces = [space for labellings in readings for space in labellings.spaces]
    return Labellings(np.concatenate([labellings.kept for labellings in readings]), spaces, left_out)


def leave_out(labellings, reason):
    """The `Labellings`, none of which is kept any more, for this reason."""
    left_out = [*labellings.left_out, *({"space": space, "reason": reason} for space in labellings.spaces)]
    return Labellings(labellings.kept[:0], [], left_out)


def settle_n_clusters(found, n_clusters, n_known=0):
    """Return ``n_clusters`` if any labelling has it, else, with a warning, the count that most have.

    There are as many as known labels name at least: ``n_known``, at most ``n_clusters``.
    """
    if has_exact(found, n_clusters):
        return n_clusters
    settled = max(_most_common_count(found), n_known)
    if settled == n_clusters:
        return settled
    if n_clusters != AUTO:
        why = "which known_labels name" if settled == n_known else "the number found most often"
        message = (
            f"No labelling could be brought to n_clusters={n_clusters}; the fit goes on with {settled}, {why}. "
            "Lower n_clusters, or try another clusterer, e.g. clusterer='gmm'."
        )
    elif settled == 1:
        message = "n_clusters='auto' found no clusters apart; all rows are in one. Pass n_clusters if you know better."
    else:
        return settled
    warnings.warn(message, ConvergenceWarning, stacklevel=9)
    return settled


def exact_labellings(found, n_clusters):
    """Those of the labellings, found by space, with exactly ``n_clusters`` clusters."""
    return [labels for labels in found.values() if labels.max() + 1 == n_clusters]


def has_exact(labellings, n_clusters):
    """Whether any labels (N,) have so many clusters."""
    return any(labels.max() + 1 == n_clusters for labels in labellings)


def fewer_if_none_exact(labellings, n_clusters):
    """``n_clusters`` if any labelling has it, else the count that most have, if that is less."""
    return n_clusters if has_exact(labellings, n_clusters) else min(n_clusters, _most_common_count(labellings))


def _most_common_count(labellings):
    """Return the number of clusters that most labellings have, the larger of two as common; 1 if all is noise."""
    counts = Counter(int(labels.max()) + 1 for labels in labellings)
    del counts[0]  # nothing but noise is no clustering
    return max(counts, key=lambda count: (counts[count], count)) if counts else 1
