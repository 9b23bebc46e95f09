"""k-means as another use of the pass: centres for log rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .codes import all_relevant
from .rules import linear_profile, scores
from .sums import assign, sum_by_labels
from .workers import SERIAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from .codes import Floats, Ints
    from .counts import Counts
    from .loops.records import Profile
    from .sums import Sums
    from .workers import Workers

    # What k-means minimises: sums to centres, and what is added to their products with
    # rows so that the nearest centre has the highest score.
    CenterRule = Callable[[Sums], tuple[Floats, Floats]]


def euclidean(sums: Sums) -> tuple[Floats, Floats]:
    """Distances to means: rows are scored by x·c less half of |c|²."""
    centers = divided(sums.clusters, sums.cluster_weights)
    return centers, -(centers**2).sum(axis=1) / 2


@dataclass(frozen=True)
class Lloyd:
    """Where k-means ended: ``centers`` are those that gave ``labels``."""

    labels: Ints
    centers: Floats
    sums: Sums
    n_iter: int
    converged: bool


def lloyd(
    counts: Counts,
    labels: Ints,
    n_clusters: int,
    workers: Workers,
    *,
    rule: CenterRule = euclidean,
    max_iter: int = 300,
) -> Lloyd:
    """Alternate centres and nearest centres; empty clusters take the furthest row."""
    labels = labels.copy()
    sums = _sums_of(counts, labels, n_clusters)
    converged, n_iter = False, 0
    while not converged and n_iter < max_iter:
        n_iter += 1
        centers, offsets = rule(sums)
        offsets = np.where(sums.cluster_sizes == 0, -np.inf, offsets)
        profile = linear_profile(centers, offsets)
        moved = assign(counts, profile, labels, sums, workers, with_sizes=False)
        filled = not sums.cluster_sizes.all() and _fill(counts, profile, labels)
        if filled:
            sums = _sums_of(counts, labels, n_clusters)
        converged = moved == 0 and not filled
    return Lloyd(labels, centers, sums, n_iter, converged)


def divided(sums: Floats, lengths: Floats) -> Floats:
    """Sums over lengths; those of length 0 stay 0."""
    return sums / np.where(lengths > 0, lengths, 1.0)[:, None]


def _sums_of(counts: Counts, labels: Ints, n_clusters: int) -> Sums:
    everything = all_relevant(counts.n_columns)
    return sum_by_labels(counts, labels, n_clusters, everything, 0.0)


def _fill(counts: Counts, profile: Profile, labels: Ints) -> bool:
    """Give each empty cluster the worst-placed row of a cluster that has others."""
    own = scores(counts, profile, SERIAL)[np.arange(counts.n_rows), labels]
    distances = counts.row_lengths(2) ** 2 - 2 * own
    cluster_sizes = np.bincount(labels, minlength=profile.n_clusters)
    filled = False
    for row in np.argsort(-distances, kind="stable"):
        empty = np.flatnonzero(cluster_sizes == 0)
        if not len(empty) or distances[row] <= 0:
            break
        if cluster_sizes[labels[row]] > 1:
            cluster_sizes[labels[row]] -= 1
            labels[row] = empty[0]
            cluster_sizes[empty[0]] += 1
            filled = True
    return filled
