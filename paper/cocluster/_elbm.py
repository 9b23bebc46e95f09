"""ELBM: the Poisson latent block model, by hard assignments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.special import xlogy

from ._base import (
    RectangularCocluster,
    Run,
    alternate,
    best,
    cluster_totals,
    random_labels,
    sum_by_cluster,
)

if TYPE_CHECKING:
    from ._base import Floats, Labels, Table

SMOOTHING = 1e-8


@dataclass(frozen=True)
class Likelihood:
    """Values and weights of a variant: cell (i, j) weighs r_i c_j / divisor.

    ``epsilon`` is what the code adds to rates and shares; 0 stands for the model.
    """

    table: Table
    divisor: float
    epsilon: float

    @classmethod
    def of(cls, table: Table, variant: str) -> Likelihood:
        if variant == "model":
            return cls(table, table.total, 0.0)
        rows, columns = diags_array(table.row_sums), diags_array(table.column_sums)
        weighted = replace(
            table,
            by_row=csr_array(rows @ table.by_row @ columns),
            by_column=csr_array(columns @ table.by_column @ rows),
        )
        return cls(weighted, 1.0, table.total**-2)

    def log_shares(self, labels: Labels, n_clusters: int) -> Floats:
        """Log of each cluster's share; minus infinity for an empty one of the model."""
        sizes = np.bincount(labels, minlength=n_clusters)
        with np.errstate(divide="ignore"):
            return np.log(sizes / len(labels) + self.epsilon)

    def rates(self, blocks: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Rates of the blocks and their logarithms.

        The code gives blocks of empty clusters the rate 0 and the logarithm 0.
        """
        if not self.epsilon:
            rates = (blocks + SMOOTHING) / (weights + SMOOTHING)
            return rates, np.log(rates)
        used = weights > 0
        rates, logs = np.zeros_like(blocks), np.zeros_like(blocks)
        np.divide(blocks, weights, out=rates, where=used)
        rates[used] += self.epsilon
        np.log(rates, out=logs, where=used)
        return rates, logs


def entropy_term(labels: Labels) -> float:
    """Log-likelihood of labels under their own shares."""
    sizes = np.bincount(labels)
    return float(xlogy(sizes, sizes / len(labels)).sum())


def run_elbm(
    likelihood: Likelihood,
    rows: Labels,
    columns: Labels,
    n_clusters: tuple[int, int],
    max_iter: int,
    tol: float,
) -> Run:
    """Move rows, then columns, to their likeliest cluster."""
    table, divisor = likelihood.table, likelihood.divisor
    n_row_clusters, n_column_clusters = n_clusters

    def sweep(rows: Labels, columns: Labels) -> tuple[Labels, Labels, float]:
        sums = table.sum_columns(columns, n_column_clusters)
        row_totals = cluster_totals(rows, table.row_sums, n_row_clusters)
        totals = cluster_totals(columns, table.column_sums, n_column_clusters)
        blocks = sum_by_cluster(sums, rows, n_row_clusters)
        rates, logs = likelihood.rates(blocks, np.outer(row_totals, totals / divisor))
        expected = np.outer(table.row_sums, rates @ (totals / divisor))
        shares = likelihood.log_shares(rows, n_row_clusters)
        rows = best(sums @ logs.T - expected + shares)

        row_totals = cluster_totals(rows, table.row_sums, n_row_clusters)
        blocks = sum_by_cluster(sums, rows, n_row_clusters)
        rates, logs = likelihood.rates(blocks, np.outer(row_totals, totals / divisor))
        sums = table.sum_rows(rows, n_row_clusters)
        expected = np.outer(table.column_sums, row_totals / divisor @ rates)
        shares = likelihood.log_shares(columns, n_column_clusters)
        columns = best(sums @ logs - expected + shares)

        totals = cluster_totals(columns, table.column_sums, n_column_clusters)
        blocks = sum_by_cluster(sums, columns, n_column_clusters).T
        weights = np.outer(row_totals, totals / divisor)
        rates, logs = likelihood.rates(blocks, weights)
        criterion = float((blocks * logs - weights * rates).sum())
        return rows, columns, criterion + entropy_term(rows) + entropy_term(columns)

    return alternate(sweep, rows, columns, max_iter, tol)


def equal_draws(
    rng: np.random.Generator, table: Table, sizes: tuple[int, int]
) -> tuple[Labels, Labels]:
    """Start of the code, whose rows and columns draw the same numbers."""
    draws = rng.random(max(table.n_rows, table.n_columns))
    rows = (draws[: table.n_rows] * sizes[0]).astype(np.int32)
    return rows, (draws[: table.n_columns] * sizes[1]).astype(np.int32)


class ELBM(RectangularCocluster):
    """Poisson latent block model (ELBM).

    Every block of a row cluster and a column cluster has a rate of its own; a count is
    Poisson with that rate times what the sums of its row and column make expect:

    1. draw row and column clusters at random;
    2. put every row in its likeliest cluster, then every column, with rates and shares
       of the clusters updated in between;
    3. repeat 2 until nothing changes; keep the likeliest of ``n_init`` such runs.

    Parameters
    ----------
    variant : {"model", "code"}, default="model"
        ``"model"`` is the Poisson latent block model. ``"code"`` is what the authors'
        program computes, whose numbers are the published ones: every count is weighted
        by the sums of its row and its column, so long rows and frequent columns rule.

    Notes
    -----
    With row sums r, column sums c, total N, their sums R_k and S_h over clusters, block
    sums B and cluster shares π and ρ, the criterion is
    Σ_kh (B_kh log α_kh - R_k S_h α_kh / N) + Σ_k n_k log π_k + Σ_h m_h log ρ_h,
    where α_kh = N B_kh / (R_k S_h). Row i goes to the k that maximises
    Σ_h A_ih log α_kh - r_i / N Σ_h S_h α_kh + log π_k, A_ih being its sum over column
    cluster h; columns are treated alike. 1e-8 is added above and below the fraction,
    and clusters without members stay so. The criterion never falls.

    ``"code"`` has r_i x_ij c_j in place of x_ij and 1 in place of N, adds 1/N² to rates
    and shares, lets empty clusters score log(1/N²), and starts rows and columns with
    the same random numbers. Runs are ranked by the criterion above, not by the
    program's own, which is no likelihood. Rows and columns of zeros are left out. A
    sweep takes time O(nnz + (n + d) K L).

    References
    ----------
    S. Hoseinipour et al., "A sparse exponential family latent block model for
    co-clustering", 2025.

    Examples
    --------
    >>> from paper.cocluster import ELBM
    >>> X = [[5, 4, 0, 1], [4, 6, 1, 0], [0, 1, 7, 5], [1, 0, 6, 4]]
    >>> model = ELBM(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> round(model.criterion_, 2)
    -32.94
    """

    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"variant": ("model", "code")}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_column_clusters: int | None = None,
        variant: str = "model",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-9,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            n_column_clusters=n_column_clusters,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
        )
        self.variant = variant

    def _run(self, table: Table, rng: np.random.Generator) -> Run:
        sizes = self._sizes(table)
        likelihood = Likelihood.of(table, self.variant)
        if self.variant == "code":
            start = equal_draws(rng, table, sizes)
            return run_elbm(likelihood, *start, sizes, self.max_iter, 0.0)
        rows = random_labels(rng, table.n_rows, sizes[0])
        columns = random_labels(rng, table.n_columns, sizes[1])
        return run_elbm(likelihood, rows, columns, sizes, self.max_iter, self.tol)
