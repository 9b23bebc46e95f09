"""k-means and spherical k-means as another use of the pass: centres for log rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .codes import all_relevant
from .describe import scores
from .rules import COSINE, EUCLIDEAN
from .sums import assign, sum_by_labels
from .workers import SERIAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .counts import Counts
    from .loops.records import Profile
    from .rules import CenterRule
    from .seeding import Start
    from .sums import Sums
    from .workers import Workers


@dataclass(frozen=True)
class Lloyd:
    """Where k-means ended: ``centers`` are those that gave ``labels``."""

    labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    sums: Sums
    n_iter: int
    converged: bool


def lloyd(
    counts: Counts,
    labels: NDArray[np.int32],
    n_clusters: int,
    workers: Workers,
    *,
    rule: CenterRule = EUCLIDEAN,
    max_iter: int = 300,
) -> Lloyd:
    """Alternate centres and nearest centres, from labels or from seeds among nowhere.

    A cluster that loses all rows takes the row that is furthest from its own centre.
    """
    labels = labels.copy()
    sums = _sums_of(counts, labels, n_clusters)
    converged, n_iter = False, 0
    while not converged and n_iter < max_iter:
        n_iter += 1
        centers = rule.centers(sums)
        profile = rule.profile(centers)
        offsets = np.where(sums.cluster_sizes == 0, -np.inf, profile.offsets)
        profile = profile._replace(offsets=offsets)
        moved = assign(counts, profile, labels, sums, workers, with_sizes=False)
        filled = not sums.cluster_sizes.all() and _fill(counts, profile, labels)
        if filled:
            sums = _sums_of(counts, labels, n_clusters)
        converged = moved == 0 and not filled
    return Lloyd(labels, centers, sums, n_iter, converged)


def best_lloyd(
    counts: Counts,
    start: Start,
    n_clusters: int,
    seeds: Sequence[np.random.SeedSequence],
    workers: Workers,
    *,
    max_iter: int,
) -> tuple[Spherical, list[float]]:
    """Spherical k-means from every seed: the best run, and the inertia of all."""

    def one(seed: np.random.SeedSequence) -> Spherical:
        inner = workers.serial()
        labels = start(np.random.default_rng(seed), n_clusters, inner)
        run = lloyd(counts, labels, n_clusters, inner, rule=COSINE, max_iter=max_iter)
        return Spherical.of(counts, run)

    best: Spherical | None = None
    inertias = []
    for result in workers.map(one, seeds):
        inertias.append(result.inertia)
        if best is None or result.inertia < best.inertia:
            best = result
    assert best is not None
    return best, inertias


@dataclass(frozen=True)
class Spherical:
    """A finished run of spherical k-means, its clusters numbered from the largest."""

    labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    inertia: float
    n_iter: int
    converged: bool

    @classmethod
    def of(cls, counts: Counts, run: Lloyd) -> Spherical:
        cluster_sizes = run.sums.cluster_sizes
        order = np.argsort(-cluster_sizes, kind="stable")
        centers = run.centers[order[: np.count_nonzero(cluster_sizes)]]
        cosines = scores(counts, COSINE.profile(centers), SERIAL)
        labels = cosines.argmax(axis=1).astype(np.int32)
        inertia = float((1.0 - cosines.max(axis=1)).sum())
        return cls(labels, centers, inertia, run.n_iter, run.converged)


def _sums_of(counts: Counts, labels: NDArray[np.int32], n_clusters: int) -> Sums:
    everything = all_relevant(counts.n_columns)
    return sum_by_labels(counts, labels, n_clusters, everything, 0.0)


def _fill(counts: Counts, profile: Profile, labels: NDArray[np.int32]) -> bool:
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
