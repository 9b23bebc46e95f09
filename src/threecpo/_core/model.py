"""Section 2 of the design as functions: sums and groups in, rates and scores out.

Notation: c_kj is the sum of X over cluster k and column j, U = C0 and C1 together,
Lambda_k the sum of the row scales of cluster k (``cluster_scales``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import kernels
from .kernels import Profile
from .statistics import column_slots

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .statistics import Statistics

    Penalty = Callable[[NDArray[np.float64], int, int], NDArray[np.float64]]

NOISE, SHARED, RELEVANT = -1, 0, 1
TIE = 1e-12


@dataclass(frozen=True)
class Scales:
    """How row sizes divide over clusters and outliers for given sums and groups.

    ``portions`` is q: the share of C0 in each cluster's counts and in the background.
    """

    cluster_scales: NDArray[np.float64]
    outlier_scale: float
    cluster_totals: NDArray[np.float64]
    total: float
    portions: NDArray[np.float64]

    @property
    def row_factors(self) -> NDArray[np.float64]:
        """λ^R_i / r_i for a row of each cluster, and for an outlier."""
        clusters = _ratio(self.cluster_scales, self.cluster_totals)
        return np.append(clusters, _ratio(1.0, self.total))


def scales(
    sums: NDArray[np.float64], totals: NDArray[np.float64], groups: NDArray[np.int8]
) -> Scales:
    """Λ_k, Λ_O, c_k(U), c(U) and q of sums and totals with the prior in them."""
    slots = column_slots(groups)
    clusters, background = np.empty((len(sums), 2)), np.empty((1, 2))
    kernels.group_sums(sums, slots, clusters)
    kernels.group_sums(totals[None], slots, background)
    in_use, total = clusters.sum(axis=1), background.sum()
    base = 0 if background[0, 0] > 0 else 1
    return Scales(
        cluster_scales=_ratio(clusters[:-1, base], background[0, base]),
        outlier_scale=float(_ratio(in_use[-1], total)),
        cluster_totals=in_use[:-1],
        total=float(total),
        portions=_ratio(
            np.append(clusters[:-1, 0], background[0, 0]), np.append(in_use[:-1], total)
        ),
    )


@dataclass(frozen=True)
class ColumnStep:
    """The three scores of every column, and the logarithms they were made of."""

    scores: NDArray[np.float64]
    groups: NDArray[np.int8]
    sums: NDArray[np.float64]
    logs: NDArray[np.float64]


def column_step(
    statistics: Statistics,
    groups: NDArray[np.int8],
    prior: float,
    penalty: Penalty,
    allowed: tuple[int, ...],
) -> ColumnStep:
    """Score every column in every group and choose its best one.

    Λ_k cancels in L_j(1), so it is left out there: a cluster without counts in C0 then
    needs no special case.
    """
    sums, totals = (
        statistics.sums_with_prior(prior),
        statistics.totals_with_prior(prior),
    )
    n_rows, n_clusters = statistics.n_rows, statistics.n_clusters
    fit = scales(sums, totals, groups)
    outliers = sums[-1]
    logs = _log(sums)
    x_log_x = totals * _log(totals)

    if fit.total > 0:
        factors = fit.row_factors
        log_scales = statistics.log_scales_with_prior(prior)
        log_totals = _log(fit.cluster_totals)
        scale_sum = float(fit.cluster_scales.sum()) + fit.outlier_scale
        outlier_scale = fit.outlier_scale
    else:  # no column has a row scale: each row has its share 1/n
        factors = np.full(n_clusters + 1, 1 / n_rows)
        log_scales = np.zeros_like(totals)
        scale_sum, outlier_scale = 1.0, statistics.sizes[-1] / n_rows
        log_totals = np.log(statistics.sizes[:-1].astype(float))
    with np.errstate(divide="ignore"):
        log_factors = np.log(factors)

    scores = np.full((len(totals), 3), -np.inf)
    scores[:, 0] = x_log_x - totals * np.log(n_rows) - totals
    shared, relevant = log_scales.copy(), log_scales.copy()
    kernels.column_terms(
        sums[:-1], logs[:-1], log_totals, log_factors[:-1], shared, relevant
    )
    if statistics.sizes[-1]:
        shared += outliers * log_factors[-1]
        relevant += outliers * (log_factors[-1] + _log(totals))
        relevant += outliers - totals * outlier_scale
    scores[:, 1] = shared + x_log_x - totals * scale_sum
    scores[:, 2] = relevant - totals - penalty(totals, n_clusters, n_rows)
    for g in (NOISE, SHARED, RELEVANT):
        if g not in allowed:
            scores[:, g + 1] = -np.inf
    tolerance = TIE * (np.abs(log_scales) + np.abs(x_log_x) + totals)
    return ColumnStep(scores, choose_groups(scores, tolerance), sums, logs)


def choose_groups(
    scores: NDArray[np.float64], tolerance: NDArray[np.float64]
) -> NDArray[np.int8]:
    """Arg-max over the groups; a tie goes to C- before C0 before C1."""
    tolerance = np.where(np.isfinite(tolerance), tolerance, 0.0)
    best = scores[:, 0].copy()
    groups = np.full(len(scores), NOISE, dtype=np.int8)
    for g in (SHARED, RELEVANT):
        better = scores[:, g + 1] > best + tolerance
        groups[better] = g
        best[better] = scores[better, g + 1]
    return groups


def loss(scores: NDArray[np.float64], groups: NDArray[np.int8]) -> float:
    """Minus the sum of each column's score in its own group."""
    return -float(scores[np.arange(len(groups)), groups + 1].sum())


def profile(
    statistics: Statistics,
    groups: NDArray[np.int8],
    prior: float,
    *,
    exact: bool = True,
    background: bool = False,
    threshold: float = 0.0,
    ranks: NDArray[np.int32] | None = None,
    logs: NDArray[np.float64] | None = None,
) -> Profile:
    """Row profile of these sums; ``background`` adds one more for the outliers."""
    sums, totals = (
        statistics.sums_with_prior(prior),
        statistics.totals_with_prior(prior),
    )
    logs = _log(sums) if logs is None else logs
    fit = scales(sums, totals, groups)
    n_clusters = statistics.n_clusters
    width = n_clusters + background
    relevant = np.flatnonzero(groups == RELEVANT)
    padded = kernels.REGISTERS if width <= kernels.REGISTERS else width
    log_rates = np.zeros((len(relevant), padded))
    log_rates[:, :n_clusters] = logs[:-1, relevant].T - _log(fit.cluster_totals)
    if prior == 0:
        log_rates[:, :n_clusters][sums[:-1, relevant].T == 0] = -np.inf
    if background:
        log_rates[:, n_clusters] = _log(totals[relevant]) - _log(np.array([fit.total]))
    nothing, portions = np.zeros(width), fit.portions[:width]
    n_shared = np.count_nonzero(groups == SHARED)
    with np.errstate(divide="ignore"):
        log_portions = np.log(portions) if n_shared else nothing
    return Profile(
        slots=column_slots(groups),
        log_rates=log_rates,
        offsets=prior * log_rates.sum(axis=0)[:width] if prior else nothing,
        shared_weights=log_portions if exact else nothing,
        scale_weights=nothing if exact else portions - 1.0,
        ranks=np.arange(n_clusters, dtype=np.int32) if ranks is None else ranks,
        prior_shared=prior * n_shared,
        prior_scale=prior * (n_shared + len(relevant)),
        threshold=threshold,
    )


@dataclass(frozen=True)
class Rates:
    """λ^C of every column in every role; ``row_factors`` times r_i gives λ^R_i."""

    cluster: NDArray[np.float64]
    shared: NDArray[np.float64]
    noise: NDArray[np.float64]
    row_factors: NDArray[np.float64]


def rates(statistics: Statistics, groups: NDArray[np.int8], prior: float) -> Rates:
    """Closed-form rates of these sums; without C0 and C1 every row has scale 1/n."""
    sums, totals = (
        statistics.sums_with_prior(prior),
        statistics.totals_with_prior(prior),
    )
    fit = scales(sums, totals, groups)
    cluster_scales = fit.cluster_scales
    if not fit.total > 0:
        cluster_scales = statistics.sizes[:-1] / statistics.n_rows
    return Rates(
        cluster=_ratio(sums[:-1], cluster_scales[:, None]),
        shared=totals,
        noise=totals / statistics.n_rows,
        row_factors=fit.row_factors,
    )


def log_likelihood(
    statistics: Statistics, groups: NDArray[np.int8], prior: float, fitted: Rates
) -> float:
    """Likelihood of other rows' sums under fitted rates, row scales re-fitted."""
    sums, totals = (
        statistics.sums_with_prior(prior),
        statistics.totals_with_prior(prior),
    )
    noise, shared, relevant = (groups == g for g in (NOISE, SHARED, RELEVANT))
    used = ~noise
    value = float(
        _times_log(totals[noise], fitted.noise[noise]).sum()
        - statistics.n_rows * fitted.noise[noise].sum()
        + _times_log(totals[shared], fitted.shared[shared]).sum()
        + _times_log(sums[:-1, relevant], fitted.cluster[:, relevant]).sum()
        + _times_log(sums[-1, relevant], fitted.shared[relevant]).sum()
    )
    if used.any():
        profile_sums = (
            fitted.cluster[:, relevant].sum(axis=1) + fitted.shared[shared].sum()
        )
        profile_sums = np.append(profile_sums, fitted.shared[used].sum())
        by_cluster = sums[:, used].sum(axis=1)
        value += float(
            statistics.log_scales_with_prior(prior)[used].sum()
            - _times_log(by_cluster, profile_sums).sum()
            - totals[used].sum()
        )
    return value


def _times_log(
    factor: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Factor times the logarithm of values, with 0 log 0 = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(factor > 0, factor * np.log(values), 0.0)


def _log(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm with log 0 = 0, for products with values that are 0 themselves."""
    positive = values > 0
    if positive.all():
        return np.log(values)
    return np.log(values, out=np.zeros_like(values), where=positive)


def _ratio(top: object, bottom: object) -> NDArray[np.float64]:
    """Quotient with 0 / 0 = 0."""
    top, bottom = np.broadcast_arrays(np.asarray(top, float), np.asarray(bottom, float))
    return np.divide(top, bottom, out=np.zeros(top.shape), where=bottom != 0)
