"""Spherical k-means: clusters of directions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .. import _options
from .._validation import check_counts

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from .._core.counts import Counts


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
    >>> from threecpo.cluster import SphericalKMeans
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
        """Cluster the directions of the rows of X.

        Parameters
        ----------
        X : CountTable, array-like, frame or sparse matrix of shape \
(n_rows, n_columns)
            Values of 0 or more. Sparse input stays sparse; X is never changed.
        y : None
            Not used; here for scikit-learn's conventions.

        Returns
        -------
        SphericalKMeans
            The fitted estimator itself.
        """
        from .._core.kmeans import best_lloyd
        from .._core.workers import Workers

        n_clusters = _options.check_integer("n_clusters", self.n_clusters, 1)
        n_init = _options.check_integer("n_init", self.n_init, 1)
        max_iter = _options.check_integer("max_iter", self.max_iter, 1)
        counts = check_counts(X, self).scaled(2)
        _options.check_enough_rows(n_clusters, counts.n_rows)
        n_runs, start = self._start(counts, n_clusters, n_init)
        seeds = _options.restart_seeds(self.random_state, n_runs)
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
        """Cluster of each row of X: the centre of largest cosine.

        Parameters
        ----------
        X : CountTable, array-like, frame or sparse matrix of shape \
(n_rows, n_columns)
            Values of the same columns.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels.
        """
        return np.argmax(self._cosines(X), axis=1).astype(np.int32)

    def score(self, X: ArrayLike | Any, y: object = None) -> float:  # noqa: ARG002
        """Minus the inertia of X.

        Parameters
        ----------
        X : CountTable, array-like, frame or sparse matrix of shape \
(n_rows, n_columns)
            Values of the same columns.
        y : None
            Not used; here for scikit-learn's conventions.

        Returns
        -------
        float
            Sum over rows of the cosine to the nearest centre minus 1.
        """
        return float((self._cosines(X).max(axis=1) - 1.0).sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _start(self, counts: Counts, n_clusters: int, n_init: int) -> tuple[int, Any]:
        from .._core import seeding

        if isinstance(self.init, str):
            _options.check_choice("init", self.init, ("k-means++", "random"))
            make = (
                seeding.k_means if self.init == "k-means++" else seeding.random_centers
            )
            return n_init, make(counts)
        from .._fit.starting import check_labels

        labels = check_labels(self.init, counts.n_rows, n_clusters)
        return 1, lambda *_: labels

    def _cosines(self, X: ArrayLike | Any) -> NDArray[np.float64]:
        from .._core import describe
        from .._core.rules import COSINE
        from .._core.workers import Workers

        check_is_fitted(self)
        counts = check_counts(X, self, reset=False).scaled(2)
        profile = COSINE.profile(self.cluster_centers_)
        with Workers(_options.resolve_n_jobs(self.n_jobs)) as workers:
            return describe.scores(counts, profile, workers)
