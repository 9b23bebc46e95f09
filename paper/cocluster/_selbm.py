"""SELBM: the Poisson latent block model with one rate outside the diagonal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ._base import (
    BaseCocluster,
    Run,
    alternate,
    best,
    cluster_totals,
    random_labels,
)
from ._elbm import SMOOTHING, Likelihood, entropy_term, equal_draws
from ._mod import rows_by_modularity

if TYPE_CHECKING:
    from ._base import Floats, Labels, Table

OFFSET = 0.2


@dataclass(frozen=True)
class Diagonal:
    """Sums of the diagonal blocks and of the whole table, values and weights."""

    values: Floats
    weights: Floats
    whole: tuple[float, float]
    epsilon: float

    def rates(self) -> tuple[Floats, float]:
        """Rates of the diagonal blocks, and the one of all others."""
        values, weights = self.values, self.weights
        # Rounding may leave a little less than nothing.
        rest = max(self.whole[0] - float(values.sum()), 0.0)
        rest_weight = max(self.whole[1] - float(weights.sum()), 0.0)
        if not self.epsilon:
            rates = (values + SMOOTHING) / (weights + SMOOTHING)
            return rates, (rest + SMOOTHING) / (rest_weight + SMOOTHING)
        rates = np.zeros_like(values)
        np.divide(values, weights, out=rates, where=weights > 0)
        background = rest / rest_weight if rest_weight else 0.0
        return rates + OFFSET + self.epsilon, background + self.epsilon

    def contrasts(self) -> tuple[Floats, Floats]:
        """Diagonal rates against the background: logs of ratios, and differences."""
        rates, background = self.rates()
        logs = np.log(rates / background)
        if self.epsilon and logs.any():
            logs[logs == 0] = 1e-8 * logs[logs != 0].min()
        return logs, rates - background

    def log_likelihood(self) -> float:
        """Log-likelihood of all values, up to what labels do not change."""
        _, background = self.rates()
        logs, differences = self.contrasts()
        inside = self.values @ logs - self.weights @ differences
        return float(
            inside + self.whole[0] * np.log(background) - self.whole[1] * background
        )


def run_selbm(
    likelihood: Likelihood,
    rows: Labels,
    columns: Labels,
    n_clusters: int,
    max_iter: int,
    tol: float,
) -> Run:
    """Move rows, then columns, to the cluster whose diagonal block fits them best."""
    table, divisor = likelihood.table, likelihood.divisor
    whole = float(table.by_row.sum()), table.total * (table.total / divisor)

    def fit(sums: Floats, own: Floats, others: Floats, labels: Labels) -> Diagonal:
        values = np.take_along_axis(sums, labels[:, None], axis=1)[:, 0]
        weights = cluster_totals(labels, own, n_clusters) * others
        return Diagonal(
            cluster_totals(labels, values, n_clusters),
            weights,
            whole,
            likelihood.epsilon,
        )

    def move(sums: Floats, own: Floats, others: Floats, labels: Labels) -> Labels:
        logs, differences = fit(sums, own, others, labels).contrasts()
        shares = likelihood.log_shares(labels, n_clusters)
        return best(sums * logs - np.outer(own, differences * others) + shares)

    def sweep(rows: Labels, columns: Labels) -> tuple[Labels, Labels, float]:
        sums = table.sum_columns(columns, n_clusters)
        others = cluster_totals(columns, table.column_sums, n_clusters) / divisor
        rows = move(sums, table.row_sums, others, rows)
        sums = table.sum_rows(rows, n_clusters)
        others = cluster_totals(rows, table.row_sums, n_clusters) / divisor
        columns = move(sums, table.column_sums, others, columns)
        value = fit(sums, table.column_sums, others, columns).log_likelihood()
        return rows, columns, value + entropy_term(rows) + entropy_term(columns)

    return alternate(sweep, rows, columns, max_iter, tol)


class SELBM(BaseCocluster):
    """Sparse Poisson latent block model (SELBM).

    Row cluster k and column cluster k form a block with a rate of its own; all that
    lies outside these blocks shares one rate:

    1. draw column clusters at random, and put rows where they add most modularity, so
       that the blocks are denser than the rest from the start;
    2. put every row in its likeliest cluster, then every column, with rates and shares
       of the clusters updated in between;
    3. repeat 2 until nothing changes; keep the likeliest of ``n_init`` such runs.

    Parameters
    ----------
    variant : {"model", "code"}, default="model"
        ``"model"`` is the Poisson latent block model. ``"code"`` is what the authors'
        program computes, whose numbers are the published ones: every count is weighted
        by the sums of its row and its column, 0.2 is added to the rates of the blocks,
        and rows start at random too. It may run in circles, and loses clusters.

    Notes
    -----
    With D_k the sum of diagonal block k, R_k and S_k the sums of its rows and columns,
    N the total and E_k = R_k S_k / N, the rates are α_k = D_k / E_k and
    α = (N - Σ D_k) / (N - Σ E_k), 1e-8 being added above and below. The criterion is
    Σ_k (D_k log(α_k / α) - E_k (α_k - α)) + N log α - N α + Σ_k n_k log π_k +
    Σ_k m_k log ρ_k with shares π and ρ of the clusters, and never falls. Row i goes to
    the k that maximises A_ik log(α_k / α) - r_i S_k (α_k - α) / N + log π_k, r_i being
    its sum and A_ik that over column cluster k; columns are treated alike.

    ``"code"`` has r_i x_ij c_j in place of x_ij, N² in place of the last two N, and no
    division by N. Runs are ranked by the criterion above, not by the program's own,
    which is no likelihood. Rows and columns of zeros are left out. A sweep takes time
    O(nnz + (n + d) K).

    References
    ----------
    S. Hoseinipour et al., "A sparse exponential family latent block model for
    co-clustering", 2025.

    Examples
    --------
    >>> from paper.cocluster import SELBM
    >>> X = [[5, 4, 0, 1], [4, 6, 1, 0], [0, 1, 7, 5], [1, 0, 6, 4]]
    >>> model = SELBM(n_clusters=2, random_state=0).fit(X)
    >>> bool((model.column_labels_ == model.row_labels_).all())
    True
    >>> round(model.criterion_, 2)
    -32.94
    """

    _diagonal = True

    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"variant": ("model", "code")}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        variant: str = "model",
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
        self.variant = variant

    def _run(self, table: Table, rng: np.random.Generator) -> Run:
        size = self.n_clusters
        likelihood = Likelihood.of(table, self.variant)
        if self.variant == "code":
            start = equal_draws(rng, table, (size, size))
            return run_selbm(likelihood, *start, size, self.max_iter, 0.0)
        columns = random_labels(rng, table.n_columns, size)
        rows = rows_by_modularity(table, columns, size)
        return run_selbm(likelihood, rows, columns, size, self.max_iter, self.tol)
