"""The model as functions: sums and groups in, rates and scores out.

The formulas are those of docs/background/method.md.

Notation: c_kj is the sum of X over cluster k and column j, U = C0 and C1 together,
Λ_k the sum of the row scales of cluster k (``cluster_scales``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .codes import GROUPS, NOISE, RELEVANT
from .loops import columns as column_loops

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .batch_model import BatchRates
    from .codes import Floats, Groups, Price


@dataclass(frozen=True)
class BatchCells:
    """Sums by batch with the prior in them: c_kbj, c_Obj, c_bj.

    ``weight_sums`` is the number of rows of each cluster in each batch, and
    ``batch_weights`` that of all rows of each batch.
    """

    clusters: Floats
    outliers: Floats
    totals: Floats
    weight_sums: Floats
    batch_weights: Floats

    def weighted(self, weights: Floats) -> BatchCells:
        """Return sums with columns multiplied by these weights."""
        return replace(
            self,
            clusters=self.clusters * weights,
            outliers=self.outliers * weights,
            totals=self.totals * weights,
        )


@dataclass(frozen=True)
class SmoothedSums:
    """The sums with the prior in them: c_kj, c_Oj, c_j and u_j (``count_log_sizes``).

    ``weight_sums`` is the number of rows in each cluster and, last, of outliers, and
    ``n_rows`` that of all, each row as often as its weight says. ``batches`` has the
    sums by batch where there are several. ``column_weights`` are in all sums: a
    likelihood times w is that of counts times w, up to w X log w (``weight_terms``).
    """

    clusters: Floats
    outliers: Floats
    totals: Floats
    count_log_sizes: Floats
    weight_sums: Floats
    n_rows: float
    prior: float
    batches: BatchCells | None = None
    column_weights: Floats | None = None

    @property
    def n_clusters(self) -> int:
        return len(self.clusters)

    def weighted(self, weights: Floats) -> SmoothedSums:
        """Return sums with columns multiplied by these weights."""
        return replace(
            self,
            clusters=self.clusters * weights,
            outliers=self.outliers * weights,
            totals=self.totals * weights,
            count_log_sizes=self.count_log_sizes * weights,
            batches=None if self.batches is None else self.batches.weighted(weights),
            column_weights=weights,
        )

    @property
    def cells(self) -> Floats:
        """Sums by cluster (the last: outliers), batch and column."""
        if self.batches is None:
            return np.vstack([self.clusters, self.outliers])[:, None]
        return np.concatenate([self.batches.clusters, self.batches.outliers[None]])

    @property
    def batch_weights(self) -> Floats:
        """Number of rows of each batch, each as often as its weight says."""
        if self.batches is None:
            return np.array([self.n_rows], dtype=np.float64)
        return self.batches.batch_weights

    @property
    def weight_terms(self) -> Floats:
        """What the weights add to the likelihood of each column in any group."""
        if self.column_weights is None:
            return np.zeros(len(self.totals))
        return self.totals * np.log(self.column_weights)

    @cached_property
    def logs(self) -> Floats:
        return log(self.clusters)

    @cached_property
    def scales(self) -> dict[bytes, Scales]:
        """Scales by the groups that they were asked for."""
        return {}

    @cached_property
    def batch_rates(self) -> dict[bytes, BatchRates]:
        """Rates of clusters and batches for the groups that were asked for last."""
        return {}


def weight_of(weights: Floats | None, inside: NDArray[np.bool_]) -> float:
    """Weight of these columns, 1 each where there are none."""
    if weights is None:
        return int(np.count_nonzero(inside))
    return float(weights[inside].sum())


class Scales(NamedTuple):
    """How row sizes divide over clusters and outliers for given sums and groups.

    ``portions`` is q, the share of C0 in each cluster's counts and in all counts;
    ``row_factors`` is λ^R_i / r_i for a row of each cluster and for an outlier.
    """

    cluster_scales: Floats
    outlier_scale: float
    cluster_totals: Floats
    total: float
    portions: Floats
    row_factors: Floats

    @classmethod
    def of(cls, sums: SmoothedSums, groups: Groups) -> Scales:
        key = groups.tobytes()
        if key in sums.scales:
            return sums.scales[key]
        out = np.empty((4, sums.n_clusters + 1))
        column_loops.fill_scales(sums.clusters, sums.outliers, sums.totals, groups, out)
        scales, totals, portions, factors = out
        if totals[-1] == 0:  # no column has a row scale: every row has its share 1/n
            scales, totals = sums.weight_sums / sums.n_rows, sums.weight_sums.copy()
            totals[-1] = 0.0
            portions = np.zeros_like(totals)
            factors = np.full(len(totals), 1 / sums.n_rows)
        of_clusters = scales[:-1], float(scales[-1]), totals[:-1], float(totals[-1])
        sums.scales[key] = cls(*of_clusters, portions, factors)
        return sums.scales[key]


@dataclass(frozen=True)
class ColumnStep:
    """Scores of every column in C-, C0 and C1, its best group, and the sums used."""

    sums: SmoothedSums
    scores: Floats
    groups: Groups


def column_step(
    sums: SmoothedSums,
    groups: Groups,
    price: Price,
    allowed: tuple[int, ...],
    fixed: tuple[tuple[int, int], ...] = (),
) -> ColumnStep:
    """Score every column in every group and choose its best one.

    ``allowed`` are the groups that columns may take, ``fixed`` columns with the only
    group that each may take. Λ_k cancels in L_j(1), so it is left out there: a
    cluster without counts in C0 then needs no special case.
    """
    if sums.batches is not None:
        from .batch_model import column_scores

        prices = price(sums.totals, sums.n_clusters, sums.n_rows)
        scores, tolerance = column_scores(sums, groups, prices)
    else:
        scores, tolerance = _scores(sums, groups, price)
    if sums.column_weights is not None:
        scores -= sums.weight_terms[:, None]
    for group in set(GROUPS).difference(allowed):
        scores[:, group - NOISE] = -np.inf
    if fixed:
        columns, held = np.array(fixed).T
        kept = scores[columns, held - NOISE]
        scores[columns] = -np.inf
        scores[columns, held - NOISE] = kept
    return ColumnStep(sums, scores, choose_groups(scores, tolerance))


def _scores(sums: SmoothedSums, groups: Groups, price: Price) -> tuple[Floats, Floats]:
    """Scores of every column in every group, and when they are tied."""
    scales = Scales.of(sums, groups)
    n_columns, n_rows = len(groups), sums.n_rows
    scores, tolerance = np.empty((n_columns, 3)), np.empty(n_columns)
    with np.errstate(divide="ignore"):
        log_factors = np.log(scales.row_factors)
    terms = column_loops.ColumnTerms(
        clusters=sums.clusters,
        logs=sums.logs,
        outliers=sums.outliers,
        totals=sums.totals,
        log_totals=log(sums.totals),
        count_log_sizes=sums.count_log_sizes
        if scales.total > 0
        else np.zeros(n_columns),
        log_cluster_totals=log(scales.cluster_totals),
        log_factors=log_factors,
        prices=price(sums.totals, sums.n_clusters, n_rows),
        scale_sum=float(scales.cluster_scales.sum()) + scales.outlier_scale,
        outlier_scale=scales.outlier_scale,
        log_n_rows=float(np.log(n_rows)),
    )
    workspace = np.empty((2, n_columns))
    column_loops.score_columns(terms, scores, tolerance, workspace)
    return scores, tolerance


def choose_groups(scores: Floats, tolerance: Floats) -> Groups:
    """Arg-max over the groups; a tie goes to C- before C0 before C1."""
    groups = np.empty(len(scores), dtype=np.int8)
    column_loops.choose_groups(scores, tolerance, groups)
    return groups


def loss(scores: Floats, groups: Groups) -> float:
    """Minus the sum of each column's score in its own group."""
    own = np.empty(len(groups))
    column_loops.own_scores(scores, groups, own)
    return -float(own.sum())


@dataclass(frozen=True)
class Rates:
    """λ^C of every column in every role."""

    cluster: Floats
    shared: Floats
    noise: Floats


def rates(sums: SmoothedSums, groups: Groups) -> Rates:
    """Rates; those of a cluster that has no row scale are not finite."""
    if sums.batches is not None:
        from .batch_model import batch_cluster_rates

        cluster = batch_cluster_rates(sums, groups)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            cluster = sums.clusters / Scales.of(sums, groups).cluster_scales[:, None]
    cluster[sums.clusters == 0] = 0.0
    weights = 1.0 if sums.column_weights is None else sums.column_weights
    totals = sums.totals
    return Rates(cluster / weights, totals / weights, totals / sums.n_rows / weights)


def expected_shares(sums: SmoothedSums, groups: Groups) -> Floats:
    """μ_ij / r_i (in C-: μ_ij) by cluster (the last: outliers), batch and column.

    Behind several batches is an unknown one. Shares stay finite where a cluster has no
    counts in C0 (its rates grow and its row scales fall without limit).
    """
    if sums.batches is not None:
        from .batch_model import batch_shares

        return batch_shares(sums, groups)
    scales = Scales.of(sums, groups)
    shares = scales.row_factors[:, None] * sums.totals
    totals = np.maximum(scales.cluster_totals, np.finfo(float).tiny)[:, None]
    relevant, noise = groups == RELEVANT, groups == NOISE
    shares[:-1, relevant] = sums.clusters[:, relevant] / totals
    shares[:, noise] = sums.totals[noise] / sums.n_rows
    return shares[:, None]


def log_likelihood(sums: SmoothedSums, groups: Groups, fitted: SmoothedSums) -> float:
    """Likelihood of rows under the rates of fitted sums, row scales re-fitted."""
    cells, used = sums.cells, groups != NOISE
    shares = expected_shares(fitted, groups)[:, : cells.shape[1]]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(cells > 0, cells * np.log(shares), 0.0).sum()
    if used.any():
        value += sums.count_log_sizes[used].sum() - sums.totals[used].sum()
    expected = (sums.batch_weights[:, None] * shares[0])[:, ~used]
    return float(value - expected.sum() - sums.weight_terms.sum())


def ratio(top: Floats | float, bottom: Floats, otherwise: float = 0.0) -> Floats:
    """Quotient, with another value where the divisor is not above 0."""
    out = np.full(np.broadcast_shapes(np.shape(top), bottom.shape), otherwise)
    return np.divide(top, bottom, out=out, where=bottom > 0)


def log(values: Floats) -> Floats:
    """Logarithm of values of 0 or more with log 0 = 0, for products with them."""
    if values.min(initial=1.0) > 0:
        return np.log(values)
    return np.log(values, out=np.zeros_like(values), where=values > 0)
