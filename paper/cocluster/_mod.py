"""CoclustMod: diagonal blocks of the highest modularity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._base import (
    BaseCocluster,
    Run,
    alternate,
    best,
    cluster_totals,
    random_labels,
)

if TYPE_CHECKING:
    from ._base import Floats, Labels, Table


def excess(sums: Floats, own: Floats, others: Floats) -> Floats:
    """Sums over clusters beyond what the margins make expect."""
    return sums - np.outer(own, others / others.sum())


def rows_by_modularity(table: Table, columns: Labels, n_clusters: int) -> Labels:
    """Row clusters of the highest modularity for given column clusters."""
    sums = table.sum_columns(columns, n_clusters)
    sizes = cluster_totals(columns, table.column_sums, n_clusters)
    return best(excess(sums, table.row_sums, sizes))


def run_mod(
    table: Table, columns: Labels, n_clusters: int, max_iter: int, tol: float
) -> Run:
    """Move rows, then columns, to the cluster where they add most modularity."""

    def sweep(_: Labels, columns: Labels) -> tuple[Labels, Labels, float]:
        rows = rows_by_modularity(table, columns, n_clusters)
        sizes = cluster_totals(rows, table.row_sums, n_clusters)
        scores = excess(table.sum_rows(rows, n_clusters), table.column_sums, sizes)
        modularity = float(scores.max(axis=1).sum() / table.total)
        return rows, best(scores), modularity

    rows = np.zeros(table.n_rows, dtype=np.int32)
    return alternate(sweep, rows, columns, max_iter, tol)


class CoclustMod(BaseCocluster):
    """Co-clustering by modularity (CoclustMod).

    Row cluster k and column cluster k form a block; the blocks hold as much more than
    the margins make expect as can be:

    1. draw column clusters at random;
    2. put every row in the cluster where it adds most modularity, then every column;
    3. repeat 2 until nothing changes; keep the best of ``n_init`` such runs.

    Notes
    -----
    With row sums r, column sums c and total N, the criterion is
    Q = 1/N Σ_ij (x_ij - r_i c_j / N) [z_i = w_j]. Row i goes to the k that maximises
    Σ_{j: w_j = k} x_ij - r_i S_k / N, S_k being the sum of column cluster k; columns
    are treated alike. Q never falls, and is taken after the columns have moved. Rows
    and columns of zeros are left out. A sweep takes time O(nnz + (n + d) K).

    References
    ----------
    M. Ailem, F. Role and M. Nadif, "Co-clustering document-term matrices by direct
    maximization of graph modularity", 2015.

    Examples
    --------
    >>> from paper.cocluster import CoclustMod
    >>> X = [[5, 4, 0, 1], [4, 6, 1, 0], [0, 1, 7, 5], [1, 0, 6, 4]]
    >>> model = CoclustMod(n_clusters=2, random_state=0).fit(X)
    >>> bool((model.column_labels_ == model.row_labels_).all())
    True
    >>> round(model.criterion_, 3)
    0.409
    """

    _diagonal = True

    def _run(self, table: Table, rng: np.random.Generator) -> Run:
        columns = random_labels(rng, table.n_columns, self.n_clusters)
        return run_mod(table, columns, self.n_clusters, self.max_iter, self.tol)
