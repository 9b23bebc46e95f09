"""CROINFO: block tables that keep the most mutual information."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._base import (
    RectangularCocluster,
    Run,
    alternate,
    best,
    random_labels,
    sum_by_cluster,
)

if TYPE_CHECKING:
    from ._base import Floats, Labels, Table


def log_ratios(blocks: Floats) -> Floats:
    """Log of each block's share over the product of its margins, floored at zeros.

    The floor lies below every positive ratio, so that an absent block never ranks above
    one that is there.
    """
    expected = np.outer(blocks.sum(axis=1), blocks.sum(axis=0) / blocks.sum())
    ratios = np.zeros_like(blocks)
    np.divide(blocks, expected, out=ratios, where=expected > 0)
    floor = min(1e-4, 0.01 * ratios[ratios > 0].min())
    return np.log(np.maximum(ratios, floor))


def mutual_information(blocks: Floats) -> float:
    """Mutual information of the row and column clusters of a block table, in nats."""
    return float((blocks * log_ratios(blocks)).sum() / blocks.sum())


def run_info(
    table: Table,
    rows: Labels,
    columns: Labels,
    n_clusters: tuple[int, int],
    max_iter: int,
    tol: float,
) -> Run:
    """Move rows, then columns, to the cluster that keeps most information."""
    n_row_clusters, n_column_clusters = n_clusters

    def sweep(rows: Labels, columns: Labels) -> tuple[Labels, Labels, float]:
        sums = table.sum_columns(columns, n_column_clusters)
        blocks = sum_by_cluster(sums, rows, n_row_clusters)
        rows = best(sums @ log_ratios(blocks).T)
        blocks = sum_by_cluster(sums, rows, n_row_clusters)
        sums = table.sum_rows(rows, n_row_clusters)
        columns = best(sums @ log_ratios(blocks))
        blocks = sum_by_cluster(sums, columns, n_column_clusters).T
        return rows, columns, mutual_information(blocks)

    return alternate(sweep, rows, columns, max_iter, tol)


class CoclustInfo(RectangularCocluster):
    """Information-theoretic co-clustering (CROINFO).

    Puts rows in K and columns in L clusters so that the K x L table of block sums keeps
    as much as it can of the mutual information of the data:

    1. draw row and column clusters at random;
    2. put every row in the cluster whose profile over the column clusters explains it
       best, then every column likewise;
    3. repeat 2 until nothing changes; keep the best of ``n_init`` such runs.

    Notes
    -----
    With P the block sums over their total, the criterion is Σ P_kl log δ_kl where δ_kl
    is ``P_kl / (P_k. P_.l)``. Row i goes to the k that maximises Σ_l A_il log δ_kl,
    A_il being its sum over column cluster l; columns are treated alike. Where δ is 0 it
    is replaced by the smaller of 0.0001 and a hundredth of the smallest positive δ. But
    for this floor, the criterion never falls. Rows and columns of zeros are left out.
    A sweep takes time O(nnz + (n + d) K L).

    References
    ----------
    G. Govaert and M. Nadif, "Mutual information, phi-squared and model-based
    co-clustering for contingency tables", 2018.

    Examples
    --------
    >>> from paper.cocluster import CoclustInfo
    >>> X = [[5, 4, 0, 1], [4, 6, 1, 0], [0, 1, 7, 5], [1, 0, 6, 4]]
    >>> model = CoclustInfo(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> round(model.criterion_, 3)
    0.391
    """

    def _run(self, table: Table, rng: np.random.Generator) -> Run:
        sizes = self._sizes(table)
        rows = random_labels(rng, table.n_rows, sizes[0])
        columns = random_labels(rng, table.n_columns, sizes[1])
        return run_info(table, rows, columns, sizes, self.max_iter, self.tol)
