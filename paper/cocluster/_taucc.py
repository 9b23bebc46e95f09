"""TauCC: row and column clusters that predict each other, as many as are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from threecpo._options import check_choice, check_integer

from ._base import (
    BaseCocluster,
    Run,
    merge_columns,
    random_labels,
    renumber,
    sum_by_cluster,
)

if TYPE_CHECKING:
    from ._base import Floats, Labels, Table

MAX_PASSES = 101
DENSE_SIZE = 1 << 23
BLOCK_SIZE = 1 << 20


def is_sparse(matrix: Any) -> bool:
    return sp.issparse(matrix)


def compact(matrix: Any) -> Any:
    """Return a matrix as an array where it is small."""
    if not is_sparse(matrix):
        return matrix
    if matrix.shape[0] * matrix.shape[1] <= DENSE_SIZE:
        return matrix.toarray()
    merged = sp.csr_array(matrix, copy=True)
    merged.sum_duplicates()
    return merged


def merged_sums(matrix: sp.csr_array, labels: Labels) -> Any:
    """Sums of each row over clusters of columns, as an array where that is small."""
    return compact(merge_columns(matrix, labels, int(labels.max()) + 1))


def nearest(sums: Any, prototypes: Any) -> tuple[Labels, Floats]:
    """Most similar prototype of each row of sums, and how similar it is.

    Similarity is Σ_l u_l v_l / t_l - (Σ u)(Σ v) / N with column totals t.
    """
    totals = np.asarray(sums.sum(axis=0))
    row_totals = np.asarray(sums.sum(axis=1))
    sizes = np.asarray(prototypes.sum(axis=1)) / totals.sum()
    if is_sparse(prototypes):
        weights = (prototypes @ sp.diags_array(1.0 / totals)).T.tocsr()
    else:
        weights = (prototypes / totals).T
    labels = np.empty(len(row_totals), dtype=np.int32)
    highest = np.empty(len(row_totals))
    step = max(1, BLOCK_SIZE // len(sizes))
    for start in range(0, len(labels), step):
        part = slice(start, start + step)
        products = sums[part] @ weights
        if is_sparse(products):
            products = products.toarray()
        similar = products - np.outer(row_totals[part], sizes)
        labels[part] = similar.argmax(axis=1)
        highest[part] = similar.max(axis=1)
    return labels, highest


def start_labels(sums: Any, n_start: int, rng: np.random.Generator) -> Labels:
    """Put rows with the nearest of some of them; those near none stand alone."""
    n_rows = sums.shape[0]
    chosen = rng.choice(n_rows, min(n_start, n_rows), replace=False)
    labels, highest = nearest(sums, sums[chosen])
    alone = highest <= 0
    labels[alone] = len(chosen) + np.arange(np.count_nonzero(alone))
    return renumber(labels)


def reassign(sums: Any, labels: Labels) -> Labels:
    """Put every row in the cluster that it is most similar to, all at once."""
    prototypes = compact(sum_by_cluster(sums, labels, int(labels.max()) + 1))
    return nearest(sums, prototypes)[0]


def phase(sums: Any, labels: Labels) -> tuple[Labels, int]:
    """Reassign until nothing moves; empty clusters vanish. Count the passes."""
    for passes in range(1, MAX_PASSES + 1):
        moved = reassign(sums, labels)
        if np.array_equal(moved, labels):
            return labels, passes
        labels = renumber(moved)
    return labels, MAX_PASSES


def tau(sums: Any, labels: Labels) -> float:
    """Goodman and Kruskal's tau: how well column clusters predict row clusters."""
    blocks = sum_by_cluster(sums, labels, int(labels.max()) + 1)
    total = blocks.sum()
    squares = blocks.multiply(blocks) if is_sparse(blocks) else blocks**2
    explained = (squares.sum(axis=0) / blocks.sum(axis=0)).sum() / total
    chance = float(((blocks.sum(axis=1) / total) ** 2).sum())
    return float((explained - chance) / (1.0 - chance)) if chance < 1.0 else 0.0


def run_taucc(table: Table, rows: Labels, columns: Labels, max_iter: int) -> Run:
    """Alternate phases of rows and of columns until neither moves anything."""
    trace: list[float] = []
    for _ in range(max_iter):
        row_sums = merged_sums(table.by_row, columns)
        rows, row_passes = phase(row_sums, rows)
        column_sums = merged_sums(table.by_column, rows)
        columns, column_passes = phase(column_sums, columns)
        row_sums = merged_sums(table.by_row, columns)
        trace.append(tau(row_sums, rows) + tau(column_sums, columns))
        if row_passes == 1 and column_passes == 1:
            break
    return Run(rows, columns, trace)


class TauCC(BaseCocluster):
    """Co-clustering by Goodman and Kruskal's tau, which finds the number of clusters.

    Row clusters predict column clusters and the other way round; clusters vanish where
    that helps:

    1. choose ``n_start`` rows and put every row with the most similar of them, or alone
       where none is similar; then columns likewise, with the rows clustered;
    2. put all rows in the cluster that they are most similar to, drop clusters that
       became empty, and repeat until no row moves; then columns likewise;
    3. repeat 2 until nothing moves.

    Parameters
    ----------
    n_clusters : int, default=8
        Ignored, here so that methods can be exchanged: the number is found.
    init : {"prototypes", "random"}, default="prototypes"
        Step 1 as above, or random clusters. The latter is the default of the authors'
        program; it ends with fewer clusters.
    n_start : int, default=30
        Number of row and of column clusters to start with, at most one a row or column.
    n_init : int, default=1
        Ignored, likewise: there is a single run, as tau does not rank runs well.
    max_iter : int, default=500
        Most rounds of step 2, which need not converge; no warning says so when it
        is reached.

    Notes
    -----
    With T the block sums over their total and t its margins, row moves raise
    ``Δ_x = Σ_kl T_kl² / t_.l - Σ_k t_k.²`` (columns fixed), column moves the same with
    the roles changed; tau of the rows is ``Δ_x / (1 - Σ_k t_k.²)``, and the criterion
    is tau of the rows plus that of the columns. Row i is similar to
    cluster k by ``Σ_l A_il T_kl / t_.l - p_i t_k.``, where A_il is its sum over column
    cluster l, p_i its whole sum, both over the total. The phases raise different
    quantities, so nothing is monotone over rounds. Rows and columns of zeros are left
    out. A phase takes time O(nnz), each of its passes O(n K L).

    References
    ----------
    E. Battaglia, F. Peiretti and R. G. Pensa, "Fast parameterless prototype-based
    co-clustering", 2024.

    Examples
    --------
    >>> from paper.cocluster import TauCC
    >>> X = [[5, 4, 0, 1], [4, 6, 1, 0], [0, 1, 7, 5], [1, 0, 6, 4]]
    >>> model = TauCC(random_state=0).fit(X)
    >>> model.n_clusters_, model.n_column_clusters_
    (2, 2)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: str = "prototypes",
        n_start: int = 30,
        n_init: int = 1,
        max_iter: int = 500,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_start = n_start
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_options(self) -> int:
        check_choice("init", self.init, ("prototypes", "random"))
        for name in ("n_clusters", "n_start", "n_init", "max_iter"):
            check_integer(name, getattr(self, name), 1)
        return 1

    def _check_rows(self, n_rows: int) -> None:
        """Any number of rows will do."""

    def _run(self, table: Table, rng: np.random.Generator) -> Run:
        if self.init == "random":
            rows = random_labels(rng, table.n_rows, self.n_start)
            columns = random_labels(rng, table.n_columns, self.n_start)
            return run_taucc(table, renumber(rows), renumber(columns), self.max_iter)
        rows = start_labels(table.by_row, self.n_start, rng)
        column_sums = merged_sums(table.by_column, rows)
        columns = start_labels(column_sums, self.n_start, rng)
        return run_taucc(table, rows, columns, self.max_iter)
