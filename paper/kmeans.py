"""Spherical k-means: clusters of directions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from threecpo import _options
from threecpo._core import seeding
from threecpo._core.kmeans import divided, lloyd
from threecpo._core.rules import linear_profile, scores
from threecpo._core.workers import SERIAL, Workers
from threecpo._fit.plan import check_enough_rows
from threecpo._fit.starting import check_labels
from threecpo._validation import check_counts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from threecpo._core.counts import Counts
    from threecpo._core.kmeans import Lloyd
    from threecpo._core.seeding import Start
    from threecpo._core.sums import Sums


def cosine(sums: Sums) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Angles to centres of length 1: rows are of length 1 too, and scored by x·c."""
    centers = divided(sums.clusters, np.sqrt((sums.clusters**2).sum(axis=1)))
    return centers, np.zeros(len(centers))


def _cosines(
    counts: Counts, centers: NDArray[np.float64], workers: Workers
) -> NDArray[np.float64]:
    """Product of each row with each centre."""
    return scores(counts, linear_profile(centers, np.zeros(len(centers))), workers)


class SphericalKMeans(ClusterMixin, BaseEstimator):
    """k-means with the cosine in place of the Euclidean distance.

    Rows are scaled to length 1; a centre is the mean direction of its rows, and a row
    goes to the centre of largest cosine. The length of a row does not matter. Seeds are
    chosen by k-means++ among the scaled rows; a cluster that loses all rows takes the
    row that is furthest from its own centre.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"k-means++", "random"} or array-like of shape (n_rows,), \
default="k-means++"
        Start: seeds by k-means++, distinct random rows, or labels (a single run).
    n_init : int, default=10
        Number of runs; the one of lowest inertia is kept.
    max_iter : int, default=300
        Most iterations of one run.
    random_state : int, RandomState, Generator or None, default=None
        Seed. The same seed gives the same bits for any ``n_jobs``.
    n_jobs : int or None, default=None
        Threads. None is all cores, or one inside a joblib or Dask worker.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Cluster of each row, the largest first. Rows of zeros have no direction and go
        to the first cluster.
    cluster_centers_ : ndarray of shape (n_clusters, n_columns)
        Centres, of length 1.
    inertia_ : float
        Sum over rows of 1 minus the cosine to their centre.
    restart_inertias_ : ndarray of shape (n_init,)
        Inertia of every run.
    n_iter_ : int
        Iterations of the kept run.
    n_clusters_ : int
        Number of clusters found: fewer where there are fewer distinct directions.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_columns,)
        Column names, where X is a frame whose columns have names.

    References
    ----------
    I. S. Dhillon and D. S. Modha, "Concept decompositions for large sparse text data
    using clustering", 2001.

    Examples
    --------
    >>> X = [[9, 1], [80, 20], [1, 7], [20, 1]]
    >>> SphericalKMeans(2, random_state=0).fit_predict(X)
    array([0, 0, 1, 0], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: str | ArrayLike = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike | Any, y: object = None) -> Self:  # noqa: ARG002
        """Cluster the directions of the rows of X, which are values of 0 or more."""
        n_clusters = _options.check_integer("n_clusters", self.n_clusters, 1)
        n_init = _options.check_integer("n_init", self.n_init, 1)
        max_iter = _options.check_integer("max_iter", self.max_iter, 1)
        counts = check_counts(X, self).scaled(2)
        check_enough_rows(n_clusters, counts.n_rows)
        n_runs, start = self._start(counts, n_clusters, n_init)
        seeds = np.random.SeedSequence(_options.entropy_of(self.random_state)).spawn(
            n_runs
        )
        with Workers(_options.resolve_n_jobs(self.n_jobs)) as workers:
            best, inertias = best_lloyd(
                counts, start, n_clusters, seeds, workers, max_iter=max_iter
            )
        self.labels_ = best.labels
        self.cluster_centers_ = best.centers
        self.inertia_ = best.inertia
        self.restart_inertias_ = np.array(inertias)
        self.n_iter_ = best.n_iter
        self.n_clusters_ = len(best.centers)
        if not best.converged:
            message = f"No fixed point within max_iter={max_iter} iterations."
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        elif self.n_clusters_ < n_clusters:
            message = (
                f"Only {self.n_clusters_} of n_clusters={n_clusters} clusters kept any "
                "rows: there are fewer distinct directions."
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def predict(self, X: ArrayLike | Any) -> NDArray[np.int32]:
        """Cluster of each row of X: the centre of largest cosine."""
        return np.argmax(self._cosines(X), axis=1).astype(np.int32)

    def score(self, X: ArrayLike | Any, y: object = None) -> float:  # noqa: ARG002
        """Minus the inertia of X."""
        return float((self._cosines(X).max(axis=1) - 1.0).sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _start(self, counts: Counts, n_clusters: int, n_init: int) -> tuple[int, Any]:
        if isinstance(self.init, str):
            _options.check_choice("init", self.init, ("k-means++", "random"))
            make = (
                seeding.k_means if self.init == "k-means++" else seeding.random_centers
            )
            return n_init, make(counts)
        labels = check_labels(self.init, counts.n_rows, n_clusters)
        return 1, lambda *_: labels

    def _cosines(self, X: ArrayLike | Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        counts = check_counts(X, self, reset=False).scaled(2)
        with Workers(_options.resolve_n_jobs(self.n_jobs)) as workers:
            return _cosines(counts, self.cluster_centers_, workers)


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
        run = lloyd(counts, labels, n_clusters, inner, rule=cosine, max_iter=max_iter)
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
        cosines = _cosines(counts, centers, SERIAL)
        labels = cosines.argmax(axis=1).astype(np.int32)
        inertia = float((1.0 - cosines.max(axis=1)).sum())
        return cls(labels, centers, inertia, run.n_iter, run.converged)
