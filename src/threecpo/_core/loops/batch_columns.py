"""The compiled loops over columns of clusters and batches: sums in use, scores.

Inner loops go over columns that lie side by side, so that they become vector
instructions; every sum has one order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..codes import NOISE, RELEVANT, SHARED
from . import array_type, compiled, f8, i1, i4, i8, inlined, record_type
from .rows import TIE

if TYPE_CHECKING:
    from ..codes import Floats

_LINE, _TABLE, _CELLS = (array_type(f8, n) for n in (1, 2, 3))
_OUT, _OUT_TABLE, _OUT_CELLS = (array_type(f8, n, write=True) for n in (1, 2, 3))
_PLACES, _PARTS = array_type(i8), array_type(i4)


@inlined
def _sum_at(line, places):
    """Sum of a line at these places: four sums, none of which waits for another."""
    n_fours = len(places) // 4 * 4
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for i in range(0, n_fours, 4):
        a += line[places[i]]
        b += line[places[i + 1]]
        c += line[places[i + 2]]
        d += line[places[i + 3]]
    for i in range(n_fours, len(places)):
        a += line[places[i]]
    return (a + b) + (c + d)


@compiled(array_type(i1), array_type(i8, 2, write=True))
def find_columns_in_use(groups, places):
    """Write the columns of C1 and of C0; return how many there are of each."""
    n_relevant, n_shared = 0, 0
    for j in range(len(groups)):
        if groups[j] == RELEVANT:
            places[0, n_relevant] = j
            n_relevant += 1
        elif groups[j] == SHARED:
            places[1, n_shared] = j
            n_shared += 1
    return n_relevant, n_shared


@compiled(_CELLS, _PLACES, _PLACES, _OUT_TABLE, _OUT_TABLE, _OUT_TABLE)
def sum_columns_in_use(cells, relevant, shared, by_cluster, by_batch, cell_totals):
    """Write sums of C1 and, last, of C0 or all C1: by cluster, by batch, of cells."""
    n_relevant = len(relevant)
    by_cluster[:] = 0.0
    by_batch[:] = 0.0
    for k in range(len(cells)):
        for b in range(len(by_batch)):
            line = cells[k, b]
            for i in range(n_relevant):
                value = line[relevant[i]]
                by_cluster[k, i] += value
                by_batch[b, i] += value
            behind = _sum_at(line, shared)
            total = _sum_at(line, relevant) + behind
            cell_totals[k, b] = total
            behind = behind if len(shared) > 0 else total
            by_cluster[k, n_relevant] += behind
            by_batch[b, n_relevant] += behind


@inlined
def _sum_line(line):
    """Sum of a line: four sums, none of which waits for another."""
    n_fours = len(line) // 4 * 4
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for j in range(0, n_fours, 4):
        a += line[j]
        b += line[j + 1]
        c += line[j + 2]
        d += line[j + 3]
    for j in range(n_fours, len(line)):
        a += line[j]
    return (a + b) + (c + d)


@compiled(_TABLE, _OUT_TABLE)
def fill_margin_effects(by_batch, effects):
    """Write the share of each column in a batch, over that in all; 0 / 0 is 0."""
    n_batches, n_columns = by_batch.shape
    # The last line holds the sums over batches, until it is written itself.
    sums = effects[n_batches - 1]
    sums[:] = 0.0
    for b in range(n_batches):
        for j in range(n_columns):
            sums[j] += by_batch[b, j]
    overall = _sum_line(sums)
    for b in range(n_batches):
        total = _sum_line(by_batch[b])
        times = overall / total if total > 0.0 else 0.0
        for j in range(n_columns):
            effect = times * by_batch[b, j] / sums[j]
            effects[b, j] = effect if sums[j] > 0.0 else 0.0


@compiled(_LINE, _PARTS, _TABLE, _TABLE, _OUT_TABLE, _OUT_TABLE)
def fill_mean_logs(batch_weights, of_batch, batches, logs, means, weights):
    """Write the weighted mean of the logarithms of the rates of batches, by part.

    Rates of 0, whose logarithms are 0 here, are left out; without any other the mean is
    0. ``weights`` is workspace as large as the means.
    """
    means[:] = 0.0
    weights[:] = 0.0
    for b in range(len(batches)):
        mass, mean, weight = batch_weights[b], means[of_batch[b]], weights[of_batch[b]]
        for j in range(len(mean)):
            mean[j] += mass * logs[b, j]
            weight[j] += mass if batches[b, j] > 0.0 else 0.0
    for part in range(len(means)):
        for j in range(means.shape[1]):
            weight = weights[part, j]
            mean = means[part, j] / weight
            means[part, j] = mean if weight > 0.0 else 0.0


@compiled(_PARTS, _PARTS, _TABLE, _OUT_TABLE, _OUT_TABLE)
def centre_effects(of_cluster, of_batch, factors, clusters, batches):
    """Take the factor of each part and column from rates of batches to clusters."""
    for b in range(len(batches)):
        of_part = factors[of_batch[b]]
        for j in range(batches.shape[1]):
            batches[b, j] /= of_part[j]
    for k in range(len(clusters)):
        of_part = factors[of_cluster[k]]
        for j in range(clusters.shape[1]):
            clusters[k, j] *= of_part[j]


@compiled(
    *(_TABLE, _TABLE, array_type(i1), _TABLE, _TABLE, _TABLE, _TABLE),
    *(_OUT_TABLE, _OUT_CELLS),
)
def fill_scales(
    totals,
    outliers,
    groups,
    cell_totals,
    scales,
    clusters,
    batches,
    of_batches,
    of_cells,
):
    """Write what row sizes are made of, by batch and by cluster and batch.

    Of batches: c_b(C0), or c_b(C1) without C0; c_b(U); and the share of outliers in it.
    Of cells: Λ_kb times the rates of C0; log λ^R_i / r_i without these, and with them.
    The last rates are those of C0, or of all of C1 without C0. 0 / 0 is 0.
    """
    last = clusters.shape[1] - 1
    n_shared = 0
    for j in range(len(groups)):
        n_shared += groups[j] == SHARED
    for b in range(len(totals)):
        shared, in_use, outside = 0.0, 0.0, 0.0
        for j in range(len(groups)):
            total = totals[b, j]
            shared += total if groups[j] == SHARED else 0.0
            in_use += total if groups[j] != NOISE else 0.0
            outside += outliers[b, j] if groups[j] != NOISE else 0.0
        base = shared if n_shared > 0 else in_use
        of_batches[0, b], of_batches[1, b] = base, in_use
        of_batches[2, b] = outside / in_use if in_use > 0.0 else 0.0
        effect = batches[b, last] / base if base > 0.0 else 0.0
        for k in range(len(scales)):
            rate, scale = clusters[k, last] * effect, scales[k, b]
            there = cell_totals[k, b] > 0.0
            factor = scale / cell_totals[k, b]
            of_cells[0, k, b] = scale * rate
            of_cells[1, k, b] = np.log(factor) if there else 0.0
            of_cells[2, k, b] = np.log(factor) + np.log(rate) if there else 0.0


class BatchTerms(NamedTuple):
    """What scores of columns are made of: sums, rates as logarithms, and scales."""

    cells: Floats
    clusters: Floats
    in_clusters: Floats
    outliers: Floats
    totals: Floats
    log_totals: Floats
    log_clusters: Floats
    log_batches: Floats
    count_log_sizes: Floats
    log_factors: Floats
    log_shared: Floats
    log_in_use: Floats
    log_batch_weights: Floats
    outlier_scales: Floats
    shared_scales: Floats
    prices: Floats


# Their arrays are new in every step, thus writeable.
_TERMS = record_type(
    *(BatchTerms, _OUT_CELLS, *(_OUT_TABLE,) * 7, _OUT, _OUT_TABLE, _OUT_TABLE),
    *(_OUT,) * 5,
)


@inlined
def _add_cells(terms, shared, relevant):
    """Add what cells have of L_j(0) and L_j(1) beside rates of columns."""
    for k in range(len(terms.cells)):
        for b in range(len(terms.totals)):
            line = terms.cells[k, b]
            in_shared = terms.log_shared[k, b]
            in_relevant = terms.log_factors[k, b] - 1.0
            if np.isfinite(in_shared):
                for j in range(len(line)):
                    shared[j] += line[j] * in_shared
                    relevant[j] += line[j] * in_relevant
            else:  # nothing times infinity is nothing
                for j in range(len(line)):
                    shared[j] = -np.inf if line[j] > 0.0 else shared[j]
                    relevant[j] += line[j] * in_relevant


@compiled(_TERMS, _OUT_TABLE, _OUT, _OUT_TABLE)
def score_columns(terms, scores, ties, workspace):
    """Write L_j(-), L_j(0) and L_j(1), and below what difference they are tied.

    ``workspace`` has four lines. Few arrays are read and written together, so
    that the loop is vectorised.
    """
    noise, shared = workspace[0], workspace[1]
    relevant, sizes = workspace[2], workspace[3]
    n_columns = len(ties)
    workspace[:] = 0.0
    for b in range(len(terms.totals)):
        totals, logs = terms.totals[b], terms.log_totals[b]
        mass, scale = terms.log_batch_weights[b] + 1.0, terms.outlier_scales[b]
        for j in range(n_columns):
            noise[j] += totals[j] * (logs[j] - mass)
            sizes[j] += totals[j] * (abs(logs[j]) + 1.0)
        share = scale + terms.shared_scales[b]
        for j in range(n_columns):
            shared[j] -= share * totals[j]
            relevant[j] -= scale * totals[j]
        outliers, behind = terms.outliers[b], terms.log_in_use[b]
        for j in range(n_columns):
            background = outliers[j] * (logs[j] - behind)
            shared[j] += background
            relevant[j] += background
        inside, effects = terms.in_clusters[b], terms.log_batches[b]
        for j in range(n_columns):
            shared[j] += inside[j] * logs[j]
        for j in range(n_columns):
            relevant[j] += inside[j] * effects[j]
    for k in range(len(terms.clusters)):
        inside, logs = terms.clusters[k], terms.log_clusters[k]
        for j in range(n_columns):
            relevant[j] += inside[j] * logs[j]
    _add_cells(terms, shared, relevant)
    for j in range(n_columns):
        size = terms.count_log_sizes[j]
        scores[j, 0] = noise[j]
        scores[j, 1] = shared[j] + size
        scores[j, 2] = relevant[j] + size - terms.prices[j]
        ties[j] = 10.0 * TIE * (abs(size) + sizes[j])
