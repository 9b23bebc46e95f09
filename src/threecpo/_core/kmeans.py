"""k-means and spherical k-means as another use of the pass: centres for log rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .describe import scores
from .loops import rows as row_loops
from .loops.rows import Profile
from .sums import assign, sum_by_labels
from .workers import SERIAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .counts import Counts
    from .seeding import Start
    from .sums import Sums
    from .workers import Workers


@dataclass(frozen=True)
class Lloyd:
    """Where k-means ended: ``centers`` are those that gave ``labels``."""

    labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    statistics: Sums
    n_iter: int
    converged: bool


def lloyd(
    counts: Counts,
    labels: NDArray[np.int32],
    n_clusters: int,
    workers: Workers,
    *,
    spherical: bool = False,
    max_iter: int = 300,
) -> Lloyd:
    """Alternate centres and nearest centres, from labels or from seeds among nowhere.

    ``spherical`` keeps centres at length 1 and expects rows of that length. A cluster
    that loses all rows takes the row that is furthest from its own centre.
    """
    labels = labels.copy()
    statistics = _statistics(counts, labels, n_clusters)
    converged, n_iter = False, 0
    while not converged and n_iter < max_iter:
        n_iter += 1
        centers = _centers(statistics, spherical=spherical)
        profile = center_profile(centers, spherical=spherical)
        profile.offsets[statistics.sizes[:-1] == 0] = -np.inf
        moved = assign(counts, profile, labels, statistics, workers, with_scales=False)
        filled = not statistics.sizes[:-1].all() and _fill(counts, profile, labels)
        if filled:
            statistics = _statistics(counts, labels, n_clusters)
        converged = moved == 0 and not filled
    return Lloyd(labels, centers, statistics, n_iter, converged)


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
        run = lloyd(
            counts, labels, n_clusters, inner, spherical=True, max_iter=max_iter
        )
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
        sizes = run.statistics.sizes[:-1]
        order = np.argsort(-sizes, kind="stable")
        centers = run.centers[order[: np.count_nonzero(sizes)]]
        cosines = scores(counts, center_profile(centers, spherical=True), SERIAL)
        labels = cosines.argmax(axis=1).astype(np.int32)
        inertia = float((1.0 - cosines.max(axis=1)).sum())
        return cls(labels, centers, inertia, run.n_iter, run.converged)


def center_profile(centers: NDArray[np.float64], *, spherical: bool) -> Profile:
    """Score rows by x·c, less half of |c|² where distances are Euclidean."""
    n_clusters, n_columns = centers.shape
    log_rates = row_loops.empty_log_rates(n_columns, n_clusters)
    log_rates[:-1, :n_clusters] = centers.T
    nothing = np.zeros(n_clusters)
    return Profile(
        slots=np.arange(n_columns, dtype=np.int32),
        log_rates=log_rates,
        offsets=nothing if spherical else -(centers**2).sum(axis=1) / 2,
        shared_weights=nothing,
        scale_weights=nothing,
        ranks=np.arange(n_clusters, dtype=np.int32),
        prior_shared=0.0,
        prior_scale=0.0,
        threshold=0.0,
    )


def _statistics(counts: Counts, labels: NDArray[np.int32], n_clusters: int) -> Sums:
    everything = np.ones(counts.n_columns, dtype=np.int8)
    return sum_by_labels(counts, labels, n_clusters, everything, 0.0)


def _centers(statistics: Sums, *, spherical: bool) -> NDArray[np.float64]:
    sums = statistics.sums[:-1]
    lengths = statistics.sizes[:-1].astype(float)
    if spherical:
        lengths = np.sqrt((sums**2).sum(axis=1))
    return sums / np.where(lengths > 0, lengths, 1.0)[:, None]


def _fill(counts: Counts, profile: Profile, labels: NDArray[np.int32]) -> bool:
    """Give each empty cluster the worst-placed row of a cluster that has others."""
    n_clusters = len(profile.ranks)
    scores = np.empty((counts.n_rows, n_clusters))
    for block in counts.blocks:
        row_loops.score_rows(
            counts.indptr, counts.indices, counts.data, *block, profile, scores
        )
    own = scores[np.arange(counts.n_rows), labels]
    distances = counts.row_lengths(2) ** 2 - 2 * own
    sizes = np.bincount(labels, minlength=n_clusters)
    filled = False
    for row in np.argsort(-distances, kind="stable"):
        empty = np.flatnonzero(sizes == 0)
        if not len(empty) or distances[row] <= 0:
            break
        if sizes[labels[row]] > 1:
            sizes[labels[row]] -= 1
            labels[row] = empty[0]
            sizes[empty[0]] += 1
            filled = True
    return filled
