"""What the co-clustering estimators share: checks, restarts, labels, cluster sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from threadpoolctl import threadpool_limits

from threecpo._fit.plan import check_enough_rows
from threecpo._options import (
    check_choice,
    check_integer,
    check_non_negative,
    entropy_of,
)
from threecpo._validation import check_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    Labels = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Sweep = Callable[[Labels, Labels], tuple[Labels, Labels, float]]


class BaseCocluster(ClusterMixin, BaseEstimator):
    """Validate, drop empty rows and columns, run, keep the best, number the labels.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of row clusters K. Some may end up empty.
    n_init : int, default=10
        Number of runs; that of the highest criterion is kept.
    max_iter : int, default=100
        Most sweeps of a run; no warning says that it was reached.
    tol : float, default=1e-9
        A run ends when a sweep moves nothing, or changes the criterion by no more than
        this share of it.
    random_state : int, RandomState, Generator or None, default=None
        Seed.

    Attributes
    ----------
    labels_, row_labels_ : ndarray of shape (n_rows,)
        Cluster of each row, numbered without gaps; 0 for a row of zeros.
    column_labels_ : ndarray of shape (n_columns,)
        Cluster of each column, likewise. Where row cluster k and column cluster k
        belong together they have one number, and those without rows the highest.
    n_clusters_, n_column_clusters_ : int
        Number of clusters with rows, and with columns.
    criterion_ : float
        The criterion of the kept run, in the notes of each class.
    restart_criteria_ : ndarray of shape (n_runs,)
        The criterion of every run.
    n_iter_ : int
        Sweeps of the kept run.
    n_features_in_ : int
        Number of columns.
    """

    # Whether row cluster k and column cluster k belong together.
    _diagonal = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-9,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: ArrayLike | Any, y: object = None) -> Self:  # noqa: ARG002
        """Cluster the rows and the columns of X.

        X holds counts, 0 or more, not necessarily whole. Sparse input stays sparse.
        """
        n_init = self._check_options()
        counts = check_counts(X, self)
        self._check_rows(counts.n_rows)
        matrix = counts.matrix()
        rows = np.flatnonzero(np.diff(matrix.indptr))
        columns = np.unique(matrix.indices)
        seeds = np.random.SeedSequence(entropy_of(self.random_state)).spawn(n_init)
        kept, criteria = None, []
        if len(rows):
            table = Table.of(matrix[rows][:, columns])
            # The bits of products and of k-means depend on the number of threads.
            with threadpool_limits(limits=1):
                for run in self._runs(table, seeds):
                    criteria.append(run.criterion)
                    if kept is None or run.criterion > kept.criterion:
                        kept = run
        self.row_labels_ = np.zeros(matrix.shape[0], dtype=np.int32)
        self.column_labels_ = np.zeros(matrix.shape[1], dtype=np.int32)
        if kept is not None:
            if self._diagonal:
                numbered = renumber_together(kept.rows, kept.columns)
            else:
                numbered = renumber(kept.rows), renumber(kept.columns)
            self.row_labels_[rows], self.column_labels_[columns] = numbered
        self.labels_ = self.row_labels_
        self.n_clusters_ = len(np.unique(self.row_labels_))
        self.n_column_clusters_ = len(np.unique(self.column_labels_))
        self.criterion_ = 0.0 if kept is None else kept.criterion
        self.restart_criteria_ = np.array(criteria or [0.0] * n_init)
        self.n_iter_ = 0 if kept is None else len(kept.trace)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _check_options(self) -> int:
        """Refuse bad parameters; return the number of runs."""
        for name, allowed in self._choices.items():
            check_choice(name, getattr(self, name), allowed)
        check_integer("n_clusters", self.n_clusters, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_non_negative("tol", self.tol)
        return check_integer("n_init", self.n_init, 1)

    def _check_rows(self, n_rows: int) -> None:
        check_enough_rows(self.n_clusters, n_rows)

    def _runs(self, table: Table, seeds: list[np.random.SeedSequence]) -> Iterator[Run]:
        """Run once for each seed."""
        for seed in seeds:
            yield self._run(table, np.random.default_rng(seed))

    def _run(self, table: Table, rng: np.random.Generator) -> Run:
        """Run from one random start."""
        raise NotImplementedError


class RectangularCocluster(BaseCocluster):
    """Adds a number of column clusters of its own.

    Parameters
    ----------
    n_column_clusters : int or None, default=None
        Number of column clusters L, at most that of columns that are not all zero; None
        means K.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_column_clusters: int | None = None,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-9,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
        )
        self.n_column_clusters = n_column_clusters

    def _check_options(self) -> int:
        if self.n_column_clusters is not None:
            check_integer("n_column_clusters", self.n_column_clusters, 1)
        return super()._check_options()

    def _sizes(self, table: Table) -> tuple[int, int]:
        """Numbers of row and of column clusters, the latter at most one a column."""
        wanted = self.n_column_clusters
        n_columns = self.n_clusters if wanted is None else wanted
        return self.n_clusters, min(n_columns, table.n_columns)


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
