"""k-means over the number of clusters, and the criteria that choose among the fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import normalize

from threecpo._options import check_choice

from .kmeans import SphericalKMeans
from .transforms import CanonicalCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

CRITERIA = ("silhouette", "elbow", "bic")
_CHUNK_BYTES = 2**24
# Squared distances below this share of the squared lengths are rounding.
_ROUNDING = 1e-14


class KMeansFit(NamedTuple):
    """What the criteria need of a fit for one number of clusters."""

    n_clusters: int
    labels: NDArray[np.int32]
    inertia: float
    bic: float
    silhouette: float

    @property
    def n_found(self) -> int:
        return len(np.unique(self.labels))


class KMeansChoice(NamedTuple):
    """The best fit by a criterion, and what is minimised for every K."""

    fit: KMeansFit
    totals: NDArray[np.float64]


@dataclass(frozen=True)
class KMeansPath:
    """Fits by ascending number of clusters."""

    fits: tuple[KMeansFit, ...]

    @property
    def n_clusters(self) -> list[int]:
        return [fit.n_clusters for fit in self.fits]

    @property
    def inertias(self) -> NDArray[np.float64]:
        return np.array([fit.inertia for fit in self.fits])

    def choose(self, criterion: str) -> KMeansChoice:
        """Best fit by "silhouette", "elbow" or "bic"; ties go to the smaller K.

        A curve without an elbow goes on to its largest K.
        """
        check_choice("criterion", criterion, CRITERIA)
        if criterion == "elbow":
            n_clusters = np.array(self.n_clusters)
            found = elbow(n_clusters, self.inertias)
            totals = (n_clusters != (found or n_clusters[-1])).astype(float)
        else:
            totals = np.array([-getattr(fit, criterion) for fit in self.fits])
        best = int(np.argmin(np.where(np.isnan(totals), np.inf, totals)))
        return KMeansChoice(self.fits[best], totals)


def k_means_path(
    X: Any, n_clusters: Iterable[int], estimator: Any, *, n_init: int = 20
) -> KMeansPath:
    """Fit k-means for several numbers of clusters, on counts transformed once.

    Parameters
    ----------
    X : CountTable, array-like, frame or sparse matrix of shape (n_rows, n_columns)
        Counts, 0 or more.
    n_clusters : iterable of int
        Numbers of clusters to try.
    estimator : KMeans, SphericalKMeans or a pipeline that ends in one of them
        Options are kept, except for these two.
    n_init : int, default=20
        Number of runs for each.

    Examples
    --------
    >>> from paper import methods
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> k_means = methods()["RF+KM"](2, random_state=0)
    >>> path = k_means_path(X, range(2, 7), k_means, n_init=2)
    >>> path.choose("silhouette").fit.n_found
    2
    """
    steps = (
        estimator if isinstance(estimator, Pipeline) else Pipeline([("_", estimator)])
    )
    model = clone(steps[-1]).set_params(n_init=n_init)
    if not isinstance(model, SphericalKMeans | KMeans):
        message = f"{type(model).__name__} is not k-means."
        raise ValueError(message)
    first = clone(steps[:-1]) if len(steps) > 1 else CanonicalCounts()
    Z = first.fit_transform(X)
    wanted = sorted(set(n_clusters))
    found = []
    for k in wanted:
        fit = clone(model).set_params(n_clusters=k).fit(Z)
        found.append((fit.labels_, float(fit.inertia_)))
    rows = normalize(Z) if isinstance(model, SphericalKMeans) else Z
    values = silhouettes(rows, [labels for labels, _ in found])
    return KMeansPath(
        tuple(
            KMeansFit(k, *fit, x_means_bic(*fit, Z.shape[1]), float(silhouette))
            for k, fit, silhouette in zip(wanted, found, values, strict=True)
        )
    )


def elbow(n_clusters: NDArray[Any], losses: NDArray[Any]) -> int | None:
    """Where a convex falling curve bends most, by Kneedle (Satopää et al., 2011).

    ``n_clusters`` ascend. The first peak above the straight line from which the curve
    comes down by more than a mean step (S = 1) is the elbow; None if there is no such.
    """
    if np.ptp(losses) == 0.0:
        return None
    x, y = _unit(n_clusters), _unit(losses)
    height = (1.0 - y) - x
    step = np.diff(x).mean()
    peaks = height >= np.maximum(
        np.r_[height[0], height[:-1]], np.r_[height[1:], height[-1]]
    )
    peak = None
    for i in range(len(height) - 1):
        peak = i if peaks[i] else peak
        if peak is not None and height[i + 1] < height[peak] - step:
            return int(n_clusters[peak])
    return None


def _unit(values: NDArray[Any]) -> NDArray[np.float64]:
    """Scaled to [0, 1]."""
    return (values - values.min()) / np.ptp(values)


def x_means_bic(labels: NDArray[Any], inertia: float, n_columns: int) -> float:
    """BIC of a k-means fit as printed by Pelleg and Moore (2000); larger is better.

    The formula is kept to the letter: the variance is not divided by ``n_columns``, and
    every cluster has its own K in R_n - K, which favours many clusters where rows are
    few. A perfect fit scores infinity.
    """
    sizes = np.unique(labels, return_counts=True)[1]
    n_rows, n_clusters = sizes.sum(), len(sizes)
    if inertia <= 0.0 or n_rows <= n_clusters:
        return np.inf
    variance = inertia / (n_rows - n_clusters)
    log_likelihood = (
        sizes @ np.log(sizes / n_rows)
        - n_rows / 2 * np.log(2 * np.pi)
        - n_rows * n_columns / 2 * np.log(variance)
        - (n_rows - n_clusters**2) / 2
    )
    n_parameters = n_clusters * (n_columns + 1)
    return float(log_likelihood - n_parameters / 2 * np.log(n_rows))


def silhouettes(X: Any, labelings: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """Mean silhouette (Euclidean) of each labeling of the rows of X, dense or sparse.

    Every distance is computed once, for all labelings. A row alone in its cluster
    scores 0; a labeling with one cluster, or with one for each row, is nan.
    """
    clusters = [np.unique(labels, return_inverse=True)[1] for labels in labelings]
    means = np.full(len(labelings), np.nan)
    scored = [i for i, own in enumerate(clusters) if 1 <= own.max() < len(own) - 1]
    if scored:
        means[scored] = _mean_scores(X, [clusters[i] for i in scored])
    return means


def _mean_scores(X: Any, clusters: list[NDArray[np.intp]]) -> NDArray[np.float64]:
    sizes = [np.bincount(own) for own in clusters]
    ends = np.cumsum([len(of_labeling) for of_labeling in sizes])
    members = sp.hstack([_one_hot(own) for own in clusters], format="csr").T
    totals = np.zeros(len(clusters))
    for rows, distances in _distance_chunks(X):
        sums = np.split(members @ distances, ends[:-1])
        for i, own in enumerate(clusters):
            totals[i] += _row_scores(sums[i], sizes[i], own[rows]).sum()
    return totals / X.shape[0]


def _one_hot(own: NDArray[np.intp]) -> sp.csr_array:
    return sp.csr_array((np.ones(len(own)), own, np.arange(len(own) + 1)))


def _distance_chunks(X: Any) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Slices of rows, and distances of all rows (down) to those of the slice."""
    sparse = sp.issparse(X)
    if sparse:
        X = sp.csr_array(X, dtype=np.float64)
        squares = X.multiply(X).sum(axis=1)
    else:
        X = X - X.mean(axis=0, dtype=np.float64)  # short rows lose fewer digits below
        squares = np.einsum("ij,ij->i", X, X)
    n_chunk = max(1, _CHUNK_BYTES // (8 * max(X.shape)))
    for start in range(0, X.shape[0], n_chunk):
        rows = slice(start, start + n_chunk)
        chunk = X[rows].T.toarray() if sparse else X[rows].T
        squared_lengths = squares[:, None] + squares[rows]
        distances = squared_lengths - 2.0 * (X @ chunk)
        distances *= distances > _ROUNDING * squared_lengths
        np.fill_diagonal(distances[rows], 0.0)
        yield rows, np.sqrt(distances, out=distances)


def _row_scores(
    sums: NDArray[np.float64], sizes: NDArray[np.intp], own: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Silhouettes from the sums of distances to each cluster (down) of each row."""
    row = np.arange(len(own))
    within = sums[own, row] / np.maximum(sizes[own] - 1, 1)
    means = sums / sizes[:, None]
    means[own, row] = np.inf
    nearest = means.min(axis=0)
    larger = np.maximum(within, nearest)
    scores = np.zeros(len(own))
    defined = (sizes[own] > 1) & (larger > 0.0)
    return np.divide(nearest - within, larger, out=scores, where=defined)
