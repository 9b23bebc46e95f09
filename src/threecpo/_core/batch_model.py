"""The model with batches: μ_ij = λ^R_i λ_{j|k} β_{j|b} in C1 (docs/background).

For given labels and groups the sums by cluster, batch and column follow a log-linear
model without the interaction of all three; C0 is one more column of it. Its rates are
fitted from a fixed start: sweeps of proportional fitting are fast, and usually few are
enough; where they would converge slowly, Newton's method takes over.

In one batch rates have a closed form. So fits without batches have formulas of their
own, in ``model`` and ``rules``: with those of batches a fit takes twice the time, and
sums in another order give other bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .codes import NOISE, RELEVANT, SHARED, SHARED_SLOT, linked_parts
from .loops import balancing, batch_columns
from .loops import columns as column_loops
from .loops.records import padded_rates
from .loops.simd import WIDTH
from .model import log, ratio

if TYPE_CHECKING:
    from .codes import Floats, Groups, Ints
    from .model import BatchCells, SmoothedSums

# How far the loss may be from its minimum, in nats for each count.
TOLERANCE = 1e-12
# Sweeps, where so many are expected to be enough, and Newton steps.
MAX_SWEEPS = 32
MAX_NEWTON_STEPS = 100
# A Newton step changes the logarithm of no rate by more than this.
MAX_LOG_CHANGE = 10.0
# Relative rounding error of the loss.
ROUNDING = 1e-14
# Sweeps of the rates of a column whose row sizes are given.
MAX_COLUMN_SWEEPS = 500
# The same for columns that are only scored, which start near their end; and how far
# fitted sums may be from those of the data.
MAX_SCORED_SWEEPS = 50
SCORED_TOLERANCE = 1e-9


@dataclass(frozen=True)
class BatchRates:
    """Rates for given sums and groups, up to what cancels in every score.

    ``cell_totals`` is c_kb(U) and ``scales`` Λ_kb; ``clusters`` (λ) and ``batches`` (β)
    have a column for each of C1 and one more for all of C0 (all of C1, where C0 is
    empty). In each part of the graph of clusters and batches that share rows, β has the
    weighted geometric mean 1 over the batches.
    """

    cells: BatchCells
    groups: Groups
    cell_totals: Floats
    scales: Floats
    clusters: Floats
    batches: Floats

    @property
    def n_feeding(self) -> int:
        """Columns that row sizes are made of: the last counts if it is C0."""
        n_relevant = self.clusters.shape[1] - 1
        return n_relevant + bool((self.groups == SHARED).any())

    @property
    def sizes(self) -> Floats:
        """Z_kb, also for clusters without rows in a batch."""
        sizes = np.empty((len(self.clusters), len(self.batches)))
        rates = self.clusters, self.batches, self.n_feeding
        balancing.fill_sizes(*rates, sizes, np.empty(WIDTH))
        return sizes

    @property
    def mean_sizes(self) -> Floats:
        """Z_k of a batch whose β are the mean of all."""
        return self.clusters[:, : self.n_feeding].sum(axis=1)


def rates_of(sums: SmoothedSums, groups: Groups) -> BatchRates:
    """Fitted rates; asked for twice in an iteration, they are made once."""
    # Not kept with the cells, which rates hold: a circle would not be freed at once.
    found, key = sums.batch_rates, groups.tobytes()
    if key not in found:
        assert sums.batches is not None
        found.clear()
        found[key] = _fitted(sums.batches, groups)
    return found[key]


def _fitted(cells: BatchCells, groups: Groups) -> BatchRates:
    by_cluster, by_batch, cell_totals = _columns_in_use(cells.clusters, groups)
    batches = margin_effects(by_batch)
    clusters, scales = np.empty_like(by_cluster), cell_totals.copy()
    sides = by_cluster, by_batch, scales, clusters, batches
    if (groups == SHARED).any():
        fit_rates(by_cluster, by_batch, cell_totals, *sides[2:])
    else:  # all of C1 together does not feed the row sizes
        margins = by_cluster[:, :-1].copy(), by_batch[:, :-1].copy(), cell_totals
        fitted = clusters[:, :-1].copy(), batches[:, :-1].copy()
        fit_rates(*margins, scales, *fitted)
        clusters[:, :-1], batches[:, :-1] = fitted
        bounds = TOLERANCE * cell_totals.sum(), MAX_COLUMN_SWEEPS
        balancing.fit_columns(*sides, *bounds, np.empty(WIDTH))
    if not cell_totals.all():
        # Where all rows of a batch are outliers, any β is as good: that of its margins.
        outside = cell_totals.sum(axis=0) == 0
        batches[outside] = _margins(cells, groups)[outside]
    n_parts, of_cluster, of_batch = parts(cell_totals)
    factors = np.empty((n_parts, batches.shape[1]))
    logs, weights = log(batches), np.empty_like(factors)
    given = cells.batch_weights, of_batch, batches, logs
    batch_columns.fill_mean_logs(*given, factors, weights)
    np.exp(factors, out=factors)
    batch_columns.centre_effects(of_cluster, of_batch, factors, clusters, batches)
    return BatchRates(cells, groups, cell_totals, scales, clusters, batches)


def first_rates(sums: SmoothedSums, groups: Groups) -> BatchRates:
    """Rates with the batches' margins for β: what seeds are known by."""
    cells = sums.batches
    assert cells is not None
    batches = _margins(cells, groups)
    by_cluster, _, cell_totals = _columns_in_use(cells.clusters, groups)
    clusters = ratio(by_cluster, exposures_of(cell_totals, batches))
    return BatchRates(cells, groups, cell_totals, cell_totals, clusters, batches)


def exposures_of(scales: Floats, batches: Floats) -> Floats:
    """Σ_b Λ_kb β_bj, added up in the order of the batches."""
    out = np.zeros((len(scales), batches.shape[1]))
    for of_batch, effects in zip(scales.T, batches, strict=True):
        out += of_batch[:, None] * effects
    return out


def _margins(cells: BatchCells, groups: Groups) -> Floats:
    """Margins of the batches over all their rows, outliers too."""
    return margin_effects(_columns_in_use(cells.totals[None], groups)[1])


def parts(weight_sums: Floats) -> tuple[int, Ints, Ints]:
    """Number of parts that share rows; the part of each cluster and of each batch."""
    n_clusters, n_batches = weight_sums.shape
    if weight_sums.all():
        return 1, np.zeros(n_clusters, np.int32), np.zeros(n_batches, np.int32)
    linked = np.zeros((n_clusters + n_batches,) * 2, dtype=np.bool_)
    linked[:n_clusters, n_clusters:] = weight_sums > 0
    found = linked_parts(linked | linked.T)
    return int(found.max()) + 1, found[:n_clusters], found[n_clusters:]


def margin_effects(totals: Floats) -> Floats:
    """Share of each column in a batch, over that in all: its margins."""
    effects = np.empty(totals.shape)
    batch_columns.fill_margin_effects(totals, effects)
    return effects


def _columns_in_use(cells: Floats, groups: Groups) -> tuple[Floats, Floats, Floats]:
    """Sums of C1 and, last, of all of C0: by cluster, by batch, of cells."""
    n_clusters, n_batches, n_columns = cells.shape
    places = np.empty((2, n_columns), np.int64)
    n_relevant, n_shared = batch_columns.find_columns_in_use(groups, places)
    in_use, width = (places[0, :n_relevant], places[1, :n_shared]), n_relevant + 1
    by_cluster, by_batch = np.empty((n_clusters, width)), np.empty((n_batches, width))
    out = by_cluster, by_batch, np.empty((n_clusters, n_batches))
    batch_columns.sum_columns_in_use(cells, *in_use, *out)
    return out


def fit_rates(
    by_cluster: Floats,
    by_batch: Floats,
    cell_totals: Floats,
    scales: Floats,
    clusters: Floats,
    batches: Floats,
) -> int:
    """Fit scales, clusters and batches to the sums, in place; return the steps."""
    sums, rates = (by_cluster, by_batch, cell_totals), (scales, clusters, batches)
    workspace = np.empty_like(scales), np.empty(WIDTH)
    tolerance = TOLERANCE * cell_totals.sum()
    bounds = tolerance, MAX_SWEEPS
    n_sweeps = int(balancing.fit_by_sweeps(*sums, *rates, *bounds, *workspace))
    if n_sweeps <= MAX_SWEEPS:
        return n_sweeps
    # Newton's method, in the logarithms of scales and batches.
    n_clusters = len(by_cluster)
    # Of a single column hstack would make arrays in the order of columns.
    weights = np.ascontiguousarray(np.hstack([cell_totals.T, by_batch]))
    logs = np.ascontiguousarray(log(np.hstack([scales.T, batches])))
    moved, exposures = np.empty_like(weights), np.empty_like(by_cluster)

    def move_to(logs: Floats) -> float:
        """Set scales, batches and exposures; return the loss up to a constant."""
        np.multiply(np.exp(logs), weights > 0, out=moved)
        sides = moved[:, :n_clusters], moved[:, n_clusters:]
        np.einsum("bk,bj->kj", *sides, out=exposures)
        return float((by_cluster * log(exposures)).sum() - (weights * logs).sum())

    step = np.empty_like(weights)
    tables, lines = np.empty((5, *weights.shape)), np.empty((2, WIDTH))
    tiny, n_steps = np.finfo(float).tiny, 0
    with np.errstate(over="ignore", invalid="ignore"):
        loss = move_to(logs)
        while n_steps < MAX_NEWTON_STEPS:
            n_steps += 1
            shares = np.zeros_like(exposures)
            np.divide(1.0, exposures, out=shares, where=exposures > tiny)
            given = by_cluster, shares, moved, weights, tolerance
            if not balancing.find_newton_step(*given, step, tables, lines) > tolerance:
                break
            np.clip(step, -MAX_LOG_CHANGE, MAX_LOG_CHANGE, out=step)
            while not (lower := move_to(logs + step)) <= loss + ROUNDING * abs(loss):
                step /= 4
            logs += step
            loss = min(loss, lower)
    scales[:], batches[:] = moved[:, :n_clusters].T, moved[:, n_clusters:]
    balancing.fit_by_sweeps(*sums, *rates, 0.0, 1, *workspace)
    return n_sweeps + n_steps


@dataclass(frozen=True)
class BatchScales:
    """How row sizes divide over clusters and batches, and the background of a batch.

    ``base`` is c_b(C0), or c_b(C1) without C0; ``in_use`` is c_b(U) and ``overall``
    the same of all rows. ``log_shared`` is log λ^R_i / r_i for a row of each cluster
    and batch, ``log_factors`` that without the rates of C0.
    """

    rates: BatchRates
    base: Floats
    in_use: Floats
    overall: float
    shared_scales: Floats
    outlier_scales: Floats
    log_factors: Floats
    log_shared: Floats

    @classmethod
    def of(cls, sums: SmoothedSums, groups: Groups) -> BatchScales:
        rates = rates_of(sums, groups)
        cells, n_batches = rates.cells, len(rates.batches)
        of_batches = np.empty((3, n_batches))
        of_cells = np.empty((3, *rates.scales.shape))
        sides = rates.cell_totals, rates.scales, rates.clusters, rates.batches
        given = cells.totals, cells.outliers, groups, *sides
        batch_columns.fill_scales(*given, of_batches, of_cells)
        base, in_use, outlier_scales = of_batches
        shared_scales, log_factors, log_shared = of_cells
        if not in_use.any() and not (groups != NOISE).any():
            # No column has a row scale: every row has its share 1/n.
            log_factors[:] = log_shared[:] = -log(cells.batch_weights)
            shared_scales[:] = np.exp(log_factors) * cells.weight_sums
            outlier_scales = 1.0 - shared_scales.sum(axis=0)
        of_rows = shared_scales, outlier_scales, log_factors, log_shared
        return cls(rates, base, in_use, float(in_use.sum()), *of_rows)

    @property
    def row_factors(self) -> Floats:
        """λ^R_i / r_i by cluster (last: outliers) and batch (last: an unknown one)."""
        rates, n_batches = self.rates, len(self.in_use)
        batch_weights = rates.cells.batch_weights
        out = np.zeros((len(self.log_shared) + 1, n_batches + 1))
        if self.overall == 0:
            out[:, :-1] = np.exp(self.log_factors[0])
            out[:, -1] = 1 / batch_weights.sum()
            return out
        mean_base = np.exp((batch_weights / batch_weights.sum()) @ log(self.base))
        with np.errstate(divide="ignore", invalid="ignore"):
            of_batches = rates.batches[:, -1] / self.base
            known = rates.clusters[:, -1:] * of_batches / rates.sizes
            unknown = rates.clusters[:, -1] / (rates.mean_sizes * mean_base)
            out[:-1] = np.nan_to_num(np.column_stack([known, unknown]))
            out[-1] = 1 / np.append(self.in_use, self.overall / n_batches)
        return out

    def all_columns(
        self, sums: SmoothedSums, in_clusters: Floats
    ) -> tuple[Floats, Floats]:
        """Rates of every column as one of C1, row sizes held."""
        rates, held = self.rates, self.rates.scales
        if self.overall == 0:
            held = np.exp(self.log_factors) * rates.cells.weight_sums
        clusters = np.empty_like(sums.clusters)
        batches = margin_effects(in_clusters)
        batches[:, rates.groups == RELEVANT] = rates.batches[:, :-1]
        balancing.fit_columns(
            *(sums.clusters, in_clusters, held, clusters, batches),
            *(SCORED_TOLERANCE, MAX_SCORED_SWEEPS, np.empty(WIDTH)),
        )
        return clusters, batches


def column_scores(
    sums: SmoothedSums, groups: Groups, prices: Floats
) -> tuple[Floats, Floats]:
    """L_j(-), L_j(0), L_j(1), and below what difference they are tied."""
    scales = BatchScales.of(sums, groups)
    cells, n_columns = scales.rates.cells, len(groups)
    in_clusters = cells.clusters.sum(axis=0)
    clusters, batches = scales.all_columns(sums, in_clusters)
    terms = batch_columns.BatchTerms(
        cells=cells.clusters,
        clusters=sums.clusters,
        in_clusters=in_clusters,
        outliers=cells.outliers,
        totals=cells.totals,
        log_totals=log(cells.totals),
        log_clusters=log(clusters),
        log_batches=log(batches),
        count_log_sizes=sums.count_log_sizes
        if scales.overall > 0
        else np.zeros(n_columns),
        log_factors=scales.log_factors,
        log_shared=scales.log_shared,
        log_in_use=log(scales.in_use),
        log_batch_weights=log(cells.batch_weights),
        outlier_scales=scales.outlier_scales,
        shared_scales=scales.shared_scales.sum(axis=0),
        prices=prices,
    )
    scores, ties = np.empty((n_columns, 3)), np.empty(n_columns)
    batch_columns.score_columns(terms, scores, ties, np.empty((4, n_columns)))
    return scores, ties


def profile_terms(
    rates: BatchRates, *, background: bool
) -> tuple[Floats, Floats, Floats, Floats]:
    """Log rates of a profile and their sums, and weights of C0 and of row sizes.

    A profile has a size weight for each cluster and batch, last an unknown one.
    """
    found, sizes = _scored(rates, background=background)
    width, n_relevant = len(found), found.shape[1] - 1
    log_rates, _ = padded_rates(n_relevant, width)
    rate_sums, shared_weights = np.zeros(width), np.zeros(width)
    size_weights = np.zeros((len(sizes), width))
    if n_relevant:
        with np.errstate(divide="ignore"):
            logs = np.log(found, order="C")
        # Columns of C1 have the places of their slots, the last of all none.
        places = np.append(np.arange(n_relevant, dtype=np.int32), np.int32(SHARED_SLOT))
        out = places, log_rates, rate_sums, 0
        column_loops.fill_profile(logs, np.zeros(width), *out)
        size_weights[:] = -log(sizes)
        if (rates.groups == SHARED).any():
            shared_weights[:] = logs[:, -1]
    return log_rates, rate_sums, shared_weights, size_weights


def _scored(rates: BatchRates, *, background: bool) -> tuple[Floats, Floats]:
    """λ by cluster, and Z by batch (the last: an unknown one) and cluster.

    Behind the clusters may be the background of each batch: c_bj / β_jb in C1 and,
    last, in C0, and c_b(U) instead of Z.
    """
    clusters, sizes = rates.clusters, np.vstack([rates.sizes.T, rates.mean_sizes])
    if not background:
        return clusters, sizes
    groups, totals = rates.groups, rates.cells.totals
    totals = np.vstack([totals, totals.sum(axis=0)])
    effects = np.vstack([rates.batches, np.ones(rates.batches.shape[1])])
    shared = totals[:, groups == SHARED].sum(axis=1, keepdims=True)
    behind = np.hstack([totals[:, groups == RELEVANT], shared])
    # What only outliers of a batch have, no cluster there expects.
    with np.errstate(divide="ignore"):
        behind = np.divide(behind, effects, out=behind, where=behind > 0)
    in_use = totals[:, groups != NOISE].sum(axis=1, keepdims=True)
    sizes = np.hstack([sizes, np.tile(in_use, len(totals))])
    return np.vstack([clusters, behind]), sizes


def batch_shares(sums: SmoothedSums, groups: Groups) -> Floats:
    """μ_ij / r_i (in C-: μ_ij) by cluster, batch and column.

    Behind the clusters are the outliers, behind the batches an unknown one.
    """
    rates = rates_of(sums, groups)
    noise, shared, relevant = (groups == g for g in (NOISE, SHARED, RELEVANT))
    totals = np.vstack([rates.cells.totals, sums.totals])
    in_use = totals[:, ~noise].sum(axis=1, keepdims=True)
    n_rows = np.append(rates.cells.batch_weights, sums.n_rows)[:, None]
    sizes = np.column_stack([rates.sizes, rates.mean_sizes])[:, :, None]
    effects = np.vstack([rates.batches, np.ones(rates.batches.shape[1])])
    tiny = np.finfo(float).tiny
    out = np.empty((len(rates.clusters) + 1, *totals.shape))
    out[:] = totals / np.where(in_use > 0, in_use, 1.0)
    rows = rates.clusters[:, None, :] * effects / np.maximum(sizes, tiny)
    out[:-1, :, relevant] = rows[:, :, :-1]
    of_shared = totals[:, shared]
    portions = of_shared / np.maximum(of_shared.sum(axis=1, keepdims=True), tiny)
    out[:-1, :, shared] = rows[:, :, -1:] * portions
    out[:, :, noise] = totals[:, noise] / np.maximum(n_rows, tiny)
    return out


def batch_cluster_rates(sums: SmoothedSums, groups: Groups) -> Floats:
    """λ^C of every column in each cluster, in a batch whose β are the mean of all."""
    scales = BatchScales.of(sums, groups)
    cells = scales.rates.cells
    clusters, batches = scales.all_columns(sums, cells.clusters.sum(axis=0))
    weights = cells.batch_weights[:, None] * (batches > 0)
    weights = weights / np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
    means = np.exp((weights * log(batches)).sum(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return clusters * means / scales.rates.clusters[:, -1:] * scales.base.sum()


def batch_effects(sums: SmoothedSums, groups: Groups) -> Floats:
    """How many times more each batch has of each column than a mean batch.

    Each batch has the weighted geometric mean 1 over the columns in use, each column
    over the batches.
    """
    scales = BatchScales.of(sums, groups)
    cells = scales.rates.cells
    relevant, noise = groups == RELEVANT, groups == NOISE
    logs = log(cells.totals) - log(cells.batch_weights)[:, None]
    if relevant.any():
        logs[:, relevant] = log(scales.rates.batches[:, :-1])
        shared = groups == SHARED
        logs[:, shared] = log(cells.totals[:, shared])
        logs[:, shared] += log(scales.rates.batches[:, -1:] / scales.base[:, None])
    weights = cells.batch_weights / cells.batch_weights.sum()
    logs -= weights @ logs
    used = sums.totals * ~noise
    if used.any():
        logs[:, ~noise] -= (logs @ used / used.sum())[:, None]
    return np.exp(logs)
