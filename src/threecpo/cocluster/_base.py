"""What the co-clustering estimators share: checks, restarts, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from threadpoolctl import threadpool_limits

from .._options import (
    check_choice,
    check_enough_rows,
    check_integer,
    check_non_negative,
    restart_seeds,
)
from .._validation import check_counts
from ._cluster_sums import Table, renumber, renumber_together

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from numpy.typing import ArrayLike

    from ._cluster_sums import Run


class BaseCocluster(ClusterMixin, BaseEstimator):
    """Validate, drop empty rows and columns, run, keep the best, number the labels."""

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

        Parameters
        ----------
        X : CountTable, array-like, frame or sparse matrix, (n_rows, n_columns)
            Counts, 0 or more, not necessarily whole. Sparse input stays sparse; X is
            never changed.
        y : None
            Not used; here for scikit-learn's conventions.

        Returns
        -------
        BaseCocluster
            The fitted estimator itself.
        """
        n_init = self._check_options()
        counts = check_counts(X, self)
        self._check_rows(counts.n_rows)
        matrix = counts.matrix()
        rows = np.flatnonzero(np.diff(matrix.indptr))
        columns = np.unique(matrix.indices)
        seeds = restart_seeds(self.random_state, n_init)
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
    """Adds a number of column clusters of its own."""

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
