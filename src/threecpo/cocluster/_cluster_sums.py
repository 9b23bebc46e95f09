"""Tables of counts, their sums over clusters, and sweeps until nothing changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Labels = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Sweep = Callable[[Labels, Labels], tuple[Labels, Labels, float]]


@dataclass(frozen=True)
class Table:
    """Values by row and by column, with the sums of the counts they come from."""

    by_row: sp.csr_array
    by_column: sp.csr_array
    row_sums: Floats
    column_sums: Floats

    @classmethod
    def of(cls, matrix: sp.csr_array) -> Table:
        transposed = matrix.T.tocsr()
        sums: list[Floats] = [np.asarray(matrix.sum(axis=axis)) for axis in (1, 0)]
        return cls(matrix, transposed, *sums)

    @property
    def total(self) -> float:
        """Sum of all counts."""
        return float(self.row_sums.sum())

    @property
    def n_rows(self) -> int:
        return len(self.row_sums)

    @property
    def n_columns(self) -> int:
        return len(self.column_sums)

    def sum_columns(self, columns: Labels, n_clusters: int) -> Floats:
        """Sum of each row over each column cluster."""
        return merge_columns(self.by_row, columns, n_clusters).toarray()

    def sum_rows(self, rows: Labels, n_clusters: int) -> Floats:
        """Sum of each column over each row cluster."""
        return merge_columns(self.by_column, rows, n_clusters).toarray()


@dataclass(frozen=True)
class Run:
    """Labels where one start led, and the criterion after each sweep."""

    rows: Labels
    columns: Labels
    trace: list[float]

    @property
    def criterion(self) -> float:
        return self.trace[-1]


def merge_columns(
    matrix: sp.csr_array, labels: Labels, n_clusters: int
) -> sp.csr_array:
    """Write each entry under its column's cluster; entries of one place add up."""
    parts = (matrix.data, labels[matrix.indices], matrix.indptr)
    return sp.csr_array(parts, shape=(matrix.shape[0], n_clusters))


def sum_by_cluster(sums: Any, labels: Labels, n_clusters: int) -> Any:
    """Sum of the rows of each cluster, dense or sparse as the rows are."""
    parts = (np.ones(len(labels)), labels, np.arange(len(labels) + 1))
    members = sp.csr_array(parts, shape=(len(labels), n_clusters))
    return members.T @ sums


def cluster_totals(labels: Labels, weights: Floats, n_clusters: int) -> Floats:
    """Sum of the weights of each cluster."""
    totals = np.bincount(labels, weights=weights, minlength=n_clusters)
    return totals.astype(np.float64, copy=False)


def best(scores: Floats) -> Labels:
    """Cluster of the highest score of each row, the first of equals."""
    return scores.argmax(axis=1).astype(np.int32)


def random_labels(rng: np.random.Generator, size: int, n_clusters: int) -> Labels:
    """Draw labels, all equally likely."""
    return rng.integers(n_clusters, size=size, dtype=np.int32)


def alternate(
    sweep: Sweep, rows: Labels, columns: Labels, max_iter: int, tol: float
) -> Run:
    """Sweep until the labels repeat or the criterion hardly changes."""
    trace: list[float] = []
    for _ in range(max_iter):
        old = rows, columns
        rows, columns, criterion = sweep(rows, columns)
        trace.append(criterion)
        if np.array_equal(old[0], rows) and np.array_equal(old[1], columns):
            break
        if len(trace) > 1 and abs(criterion - trace[-2]) <= tol * abs(criterion):
            break
    return Run(rows, columns, trace)


def renumber(labels: Labels) -> Labels:
    """Number clusters from 0 without gaps, in their order."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def renumber_together(rows: Labels, columns: Labels) -> tuple[Labels, Labels]:
    """Number clusters of both from 0 without gaps, those with rows first."""
    with_rows = np.unique(rows)
    order = np.concatenate([with_rows, np.setdiff1d(columns, with_rows)])
    numbers = np.empty(order.max() + 1, dtype=np.int32)
    numbers[order] = np.arange(len(order))
    return numbers[rows], numbers[columns]
