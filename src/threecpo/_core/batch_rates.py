"""The model with batches: μ_ij = λ^R_i λ_{j|k} β_{j|b} in C1 (docs/background).

For given labels and groups the sums by cluster, batch and column follow a log-linear
model without the interaction of all three; C0 is one more column of it. Its rates are
fitted from a fixed start: sweeps of proportional fitting are fast, and usually few are
enough; where they would converge slowly, Newton's method takes over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .codes import SHARED, linked_parts
from .loops import balancing, batch_columns
from .loops.simd import WIDTH
from .model import log

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
        """Z_kb, also where a cluster has no row in a batch."""
        sizes = np.empty((len(self.clusters), len(self.batches)))
        rates = self.clusters, self.batches, self.n_feeding
        balancing.fill_sizes(*rates, sizes, np.empty(WIDTH))
        return sizes

    @property
    def mean_sizes(self) -> Floats:
        """Z_k of a batch whose β are the mean of all."""
        return self.clusters[:, : self.n_feeding].sum(axis=1)


def batch_rates(sums: SmoothedSums, groups: Groups) -> BatchRates:
    """Fitted rates for these sums and groups."""
    cells = sums.batches
    assert cells is not None
    by_cluster, by_batch, cell_totals, n_feeding = _columns_in_use(cells, groups)
    batches = margin_effects(by_batch)
    clusters, scales = np.empty_like(by_cluster), cell_totals.copy()
    in_sizes = np.s_[:, :n_feeding]
    margins = by_cluster[in_sizes].copy(), by_batch[in_sizes].copy(), cell_totals
    fitted = clusters[in_sizes].copy(), batches[in_sizes].copy()
    fit_rates(*margins, scales, *fitted)
    clusters[in_sizes], batches[in_sizes] = fitted
    if n_feeding < clusters.shape[1]:
        sides = (by_cluster, by_batch, scales, clusters, batches)
        bounds = TOLERANCE * cell_totals.sum(), MAX_COLUMN_SWEEPS
        balancing.fit_columns(*sides, *bounds, np.empty(WIDTH))
    if not cell_totals.all():
        # Where all rows of a batch are outliers, any β is as good: that of its margins.
        outside = cell_totals.sum(axis=0) == 0
        batches[outside] = _margins(cells, groups)[outside]
    _centre(cells.batch_weights, cell_totals, clusters, batches)
    return BatchRates(cells, groups, cell_totals, scales, clusters, batches)


def first_rates(sums: SmoothedSums, groups: Groups) -> BatchRates:
    """Rates with the batches' margins for β: what seeds are known by."""
    cells = sums.batches
    assert cells is not None
    batches = _margins(cells, groups)
    by_cluster, _, cell_totals, _ = _columns_in_use(cells, groups)
    exposures = np.zeros_like(by_cluster)
    for b, effects in enumerate(batches):
        exposures += cell_totals[:, b, None] * effects
    clusters = np.zeros_like(by_cluster)
    np.divide(by_cluster, exposures, out=clusters, where=exposures > 0)
    rates = (cell_totals, cell_totals, clusters, batches)
    return BatchRates(cells, groups, *rates)


def _margins(cells: BatchCells, groups: Groups) -> Floats:
    """Margins of the batches over all their rows, outliers too."""
    everything = replace(cells, clusters=cells.totals[None])
    _, by_batch, _, _ = _columns_in_use(everything, groups)
    return margin_effects(by_batch)


def parts(weight_sums: Floats) -> tuple[int, Ints, Ints]:
    """Number of parts that share rows; the part of each cluster and of each batch."""
    n_clusters, n_batches = weight_sums.shape
    if weight_sums.all():
        return 1, np.zeros(n_clusters, np.int32), np.zeros(n_batches, np.int32)
    linked = np.zeros((n_clusters + n_batches,) * 2, dtype=np.bool_)
    linked[:n_clusters, n_clusters:] = weight_sums > 0
    found = linked_parts(linked | linked.T)
    return int(found.max()) + 1, found[:n_clusters], found[n_clusters:]


def _centre(
    batch_weights: Floats, cell_totals: Floats, clusters: Floats, batches: Floats
) -> None:
    """Give β the weighted geometric mean 1 over the batches of a part, in place."""
    n_parts, of_cluster, of_batch = parts(cell_totals)
    factors = np.empty((n_parts, batches.shape[1]))
    rates = of_batch, batches, log(batches)
    batch_columns.fill_mean_logs(batch_weights, *rates, factors, np.empty_like(factors))
    np.exp(factors, out=factors)
    batch_columns.centre_effects(of_cluster, of_batch, factors, clusters, batches)


def margin_effects(totals: Floats) -> Floats:
    """Share of each column in a batch, over that in all: its margins."""
    effects = np.empty(totals.shape)
    batch_columns.fill_margin_effects(totals, effects)
    return effects


def _columns_in_use(
    cells: BatchCells, groups: Groups
) -> tuple[Floats, Floats, Floats, int]:
    """Sums of C1 and, last, of all of C0: by cluster, by batch, of cells."""
    n_clusters, n_batches, n_columns = cells.clusters.shape
    places = np.empty((2, n_columns), np.int64)
    n_relevant, n_shared = batch_columns.find_columns_in_use(groups, *places)
    by_cluster = np.empty((n_clusters, n_relevant + 1))
    by_batch = np.empty((n_batches, n_relevant + 1))
    cell_totals = np.empty((n_clusters, n_batches))
    out = by_cluster, by_batch, cell_totals
    in_use = places[0, :n_relevant], places[1, :n_shared]
    batch_columns.sum_columns_in_use(cells.clusters, *in_use, *out)
    return *out, n_relevant + bool(n_shared)


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
    n_steps = _descend(*sums, scales, batches, tolerance)
    balancing.fit_by_sweeps(*sums, *rates, 0.0, 1, *workspace)
    return n_sweeps + n_steps


def _descend(
    by_cluster: Floats,
    by_batch: Floats,
    cell_totals: Floats,
    scales: Floats,
    batches: Floats,
    tolerance: float,
) -> int:
    """Fit scales and batches by Newton's method, in their logarithms."""
    n_clusters = len(by_cluster)
    # Of a single column hstack would make arrays in the order of columns.
    weights = np.ascontiguousarray(np.hstack([cell_totals.T, by_batch]))
    logs = np.ascontiguousarray(log(np.hstack([scales.T, batches])))
    rates, exposures = np.empty_like(weights), np.empty_like(by_cluster)

    def move_to(logs: Floats) -> float:
        """Set rates and exposures; return the loss up to a constant."""
        np.multiply(np.exp(logs), weights > 0, out=rates)
        sides = rates[:, :n_clusters], rates[:, n_clusters:]
        np.einsum("bk,bj->kj", *sides, out=exposures)
        return float((by_cluster * log(exposures)).sum() - (weights * logs).sum())

    step = np.empty_like(weights)
    workspace = np.empty((5, *weights.shape)), np.empty((2, WIDTH))
    tiny, n_steps = np.finfo(float).tiny, 0
    with np.errstate(over="ignore", invalid="ignore"):
        loss = move_to(logs)
        while n_steps < MAX_NEWTON_STEPS:
            n_steps += 1
            shares = np.zeros_like(exposures)
            np.divide(1.0, exposures, out=shares, where=exposures > tiny)
            given = by_cluster, shares, rates, weights, tolerance
            if not balancing.find_newton_step(*given, step, *workspace) > tolerance:
                break
            np.clip(step, -MAX_LOG_CHANGE, MAX_LOG_CHANGE, out=step)
            while not (lower := move_to(logs + step)) <= loss + ROUNDING * abs(loss):
                step /= 4
            logs += step
            loss = min(loss, lower)
    scales[:], batches[:] = rates[:, :n_clusters].T, rates[:, n_clusters:]
    return n_steps
