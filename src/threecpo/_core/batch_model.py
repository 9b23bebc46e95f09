"""What follows from rates of clusters and batches: scores, profiles, shares.

In one batch rates have a closed form. So fits without batches have formulas of their
own, in ``model`` and ``rules``: with those of batches a fit takes twice the time, and
sums in another order give other bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .batch_rates import BatchRates, batch_rates, margin_effects
from .codes import NOISE, RELEVANT, SHARED, SHARED_SLOT
from .loops import balancing, batch_columns
from .loops import columns as column_loops
from .loops.records import Profile, frozen, padded_rates
from .loops.simd import WIDTH
from .model import log

if TYPE_CHECKING:
    from .codes import Floats, Groups, Ints
    from .model import SmoothedSums

# Rates of one column, with row sizes held, start near their end: the number of sweeps,
# and how far fitted sums may be from those of the data.
MAX_COLUMN_SWEEPS = 50
COLUMN_TOLERANCE = 1e-9


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
        rates, cells = rates_of(sums, groups), sums.batches
        assert cells is not None
        n_clusters, n_batches = rates.scales.shape
        of_batches = np.empty((3, n_batches))
        of_cells = np.empty((3, n_clusters, n_batches))
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
        return cls(
            rates=rates,
            base=base,
            in_use=in_use,
            overall=float(in_use.sum()),
            shared_scales=shared_scales,
            outlier_scales=outlier_scales,
            log_factors=log_factors,
            log_shared=log_shared,
        )

    @property
    def row_factors(self) -> Floats:
        """λ^R_i / r_i by cluster (last: outliers) and batch (last: an unknown one)."""
        rates, n_batches = self.rates, len(self.in_use)
        out = np.zeros((len(self.log_shared) + 1, n_batches + 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            of_batches = rates.batches[:, -1] / self.base
            factors = rates.clusters[:, -1:] * of_batches / rates.sizes
        out[:-1, :-1] = np.nan_to_num(factors)
        if self.overall == 0:
            out[:, :-1] = np.exp(self.log_factors[0])
            out[:, -1] = 1 / rates.cells.batch_weights.sum()
            return out
        weights = rates.cells.batch_weights / rates.cells.batch_weights.sum()
        mean_base = np.exp(weights @ log(self.base))
        with np.errstate(divide="ignore", invalid="ignore"):
            unknown = rates.clusters[:, -1] / (rates.mean_sizes * mean_base)
            out[:-1, -1] = np.nan_to_num(unknown)
            out[-1] = 1 / np.append(self.in_use, self.overall / n_batches)
        return out


def rates_of(sums: SmoothedSums, groups: Groups) -> BatchRates:
    """Fitted rates; asked for twice in an iteration, they are made once."""
    # Not kept with the cells, which rates hold: a circle would not be freed at once.
    found, key = sums.batch_rates, groups.tobytes()
    if key not in found:
        found.clear()
        found[key] = batch_rates(sums, groups)
    return found[key]


def column_scores(
    sums: SmoothedSums, groups: Groups, prices: Floats
) -> tuple[Floats, Floats]:
    """L_j(-), L_j(0), L_j(1), and below what difference they are tied."""
    scales, cells = BatchScales.of(sums, groups), sums.batches
    assert cells is not None
    n_columns = len(groups)
    in_clusters = cells.clusters.sum(axis=0)
    clusters, batches = _all_columns(sums, scales, in_clusters)
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


def _all_columns(
    sums: SmoothedSums, scales: BatchScales, in_clusters: Floats
) -> tuple[Floats, Floats]:
    """Rates of every column as one of C1, row sizes held."""
    rates = scales.rates
    held = rates.scales
    if scales.overall == 0:
        held = np.exp(scales.log_factors) * rates.cells.weight_sums
    clusters = np.empty_like(sums.clusters)
    batches = margin_effects(in_clusters)
    batch_columns.put_relevant(rates.groups, rates.batches, batches)
    balancing.fit_columns(
        *(sums.clusters, in_clusters, held, clusters, batches),
        *(COLUMN_TOLERANCE, MAX_COLUMN_SWEEPS, np.empty(WIDTH)),
    )
    return clusters, batches


def batch_profile(
    rates: BatchRates,
    sums: SmoothedSums,
    *,
    background: bool,
    threshold: float,
    ranks: Ints,
) -> Profile:
    """Profile with a weight for each cluster and batch, perhaps with backgrounds."""
    groups = rates.groups
    slots = np.empty(len(groups), dtype=np.int32)
    n_shared, n_relevant = column_loops.fill_slots(groups, slots)
    found, sizes = _with_background(rates) if background else _of_clusters(rates)
    width = len(found)
    log_rates, inner = padded_rates(n_relevant, width)
    sums_of_rates, shared_weights = np.zeros(width), np.zeros(width)
    size_weights = np.zeros((len(sizes), width))
    if n_relevant:
        with np.errstate(divide="ignore"):
            logs = np.log(found, order="C")
        # Columns of C1 have the places of their slots, the last of all none.
        places = np.append(np.arange(n_relevant, dtype=np.int32), np.int32(SHARED_SLOT))
        out = places, log_rates, sums_of_rates, 0
        column_loops.fill_profile(logs, np.zeros(width), *out)
        size_weights[:] = -log(sizes)
        if n_shared:
            shared_weights[:] = logs[:, -1]
    if sums.column_weights is not None:
        weights = sums.column_weights[groups == RELEVANT]
        sums_of_rates = (inner * weights[:, None]).sum(axis=0)
    assert rates.cells is sums.batches
    profile = Profile(
        slots=slots,
        log_rates=log_rates,
        offsets=sums.prior * sums_of_rates if sums.prior else np.zeros(width),
        shared_weights=shared_weights,
        size_weights=size_weights,
        ranks=ranks,
        background=background,
        prior_shared=sums.prior_in(groups == SHARED),
        prior_size=sums.prior_in(groups != NOISE),
        threshold=threshold,
    )
    return frozen(profile)


def _of_clusters(rates: BatchRates) -> tuple[Floats, Floats]:
    """λ by cluster, and Z by batch (the last: an unknown one) and cluster."""
    return rates.clusters, np.vstack([rates.sizes.T, rates.mean_sizes])


def _with_background(rates: BatchRates) -> tuple[Floats, Floats]:
    """The same with the background of each batch behind the clusters.

    It is c_bj / β_jb in C1 and, last, in C0, and c_b(U) instead of Z.
    """
    groups, totals = rates.groups, rates.cells.totals
    totals = np.vstack([totals, totals.sum(axis=0)])
    effects = np.vstack([rates.batches, np.ones(rates.batches.shape[1])])
    shared = totals[:, groups == SHARED].sum(axis=1, keepdims=True)
    behind = np.hstack([totals[:, groups == RELEVANT], shared])
    # What only outliers of a batch have, no cluster there expects.
    with np.errstate(divide="ignore"):
        behind = np.divide(behind, effects, out=behind, where=behind > 0)
    in_use = totals[:, groups != NOISE].sum(axis=1, keepdims=True)
    clusters, sizes = _of_clusters(rates)
    sizes = np.hstack([sizes, np.tile(in_use, len(totals))])
    return np.vstack([clusters, behind]), sizes


def batch_shares(sums: SmoothedSums, groups: Groups) -> Floats:
    """μ_ij / r_i (in C-: μ_ij) by cluster, batch and column.

    Behind the clusters are the outliers, behind the batches an unknown one.
    """
    rates, cells = rates_of(sums, groups), sums.batches
    assert cells is not None
    noise, shared, relevant = (groups == g for g in (NOISE, SHARED, RELEVANT))
    totals = np.vstack([cells.totals, sums.totals])
    in_use = totals[:, ~noise].sum(axis=1, keepdims=True)
    n_rows = np.append(cells.batch_weights, sums.n_rows)[:, None]
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
    cells = sums.batches
    assert cells is not None
    clusters, batches = _all_columns(sums, scales, cells.clusters.sum(axis=0))
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
    cells = sums.batches
    assert cells is not None
    scales = BatchScales.of(sums, groups)
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
