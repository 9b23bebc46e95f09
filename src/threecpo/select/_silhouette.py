"""Silhouettes of several labelings of the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_CHUNK_BYTES = 2**24
# Squared distances below this share of the squared lengths are rounding.
_ROUNDING = 1e-14


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
