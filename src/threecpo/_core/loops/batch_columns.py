"""The compiled loops over columns of clusters and batches: sums in use, scores.

Inner loops go over columns that lie side by side, so that they become vector
instructions; every sum has one order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..codes import RELEVANT, SHARED
from .compiling import array_type, compiled, f8, i1, i4, i8, inlined, record_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

# So many columns are added up before they join the sum of all.
BLOCK = 64
_LINE, _TABLE, _CELLS = (array_type(f8, n) for n in (1, 2, 3))
_OUT, _OUT_TABLE = array_type(f8, write=True), array_type(f8, 2, write=True)
_PLACES, _PARTS = array_type(i8), array_type(i4)
_OUT_PLACES = array_type(i8, write=True)


@inlined
def _sum_at(line, places):
    """Sum of a line at these places."""
    total = 0.0
    for first in range(0, len(places), BLOCK):
        part = 0.0
        for i in range(first, min(first + BLOCK, len(places))):
            part += line[places[i]]
        total += part
    return total


@compiled(array_type(i1), _OUT_PLACES, _OUT_PLACES)
def find_columns_in_use(groups, relevant, shared):
    """Write the columns of C1 and of C0; return how many there are of each."""
    n_relevant, n_shared = 0, 0
    for j in range(len(groups)):
        if groups[j] == RELEVANT:
            relevant[n_relevant] = j
            n_relevant += 1
        elif groups[j] == SHARED:
            shared[n_shared] = j
            n_shared += 1
    return n_relevant, n_shared


@compiled(_CELLS, _PLACES, _PLACES, _OUT_TABLE, _OUT_TABLE, _OUT_TABLE)
def sum_columns_in_use(cells, relevant, shared, by_cluster, by_batch, cell_totals):
    """Write the sums of C1 and, last, of all of C0: by cluster, by batch, of cells.

    Without C0, the last is the sum of C1.
    """
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


@compiled(_TABLE, _OUT_TABLE)
def fill_margin_effects(by_batch, effects):
    """Write the share of each column in a batch, over that in all; 0 / 0 is 0."""
    n_batches, n_columns = by_batch.shape
    overall = 0.0
    for b in range(n_batches):
        overall += by_batch[b].sum()
    overall = max(overall, np.finfo(np.float64).tiny)
    for b in range(n_batches):
        total = by_batch[b].sum()
        for j in range(n_columns):
            effects[b, j] = by_batch[b, j] / total if total > 0.0 else 0.0
    for j in range(n_columns):
        share = 0.0
        for b in range(n_batches):
            share += by_batch[b, j]
        share /= overall
        for b in range(n_batches):
            effects[b, j] = effects[b, j] / share if share > 0.0 else 0.0


@compiled(_LINE, _PARTS, _PARTS, _OUT_TABLE, _OUT_TABLE)
def centre_effects(row_masses, of_cluster, of_batch, clusters, batches):
    """Give rates of batches the weighted geometric mean 1 over those of each part."""
    last = 0
    for b in range(len(of_batch)):
        last = max(last, of_batch[b])
    for part in range(last + 1):
        for j in range(batches.shape[1]):
            mean, weight = 0.0, 0.0
            for b in range(len(batches)):
                if of_batch[b] == part and batches[b, j] > 0.0:
                    mean += row_masses[b] * np.log(batches[b, j])
                    weight += row_masses[b]
            factor = np.exp(mean / weight) if weight > 0.0 else 1.0
            for b in range(len(batches)):
                if of_batch[b] == part:
                    batches[b, j] /= factor
            for k in range(len(clusters)):
                if of_cluster[k] == part:
                    clusters[k, j] *= factor


class BatchTerms(NamedTuple):
    """What scores of columns are made of: sums, rates as logarithms, and scales."""

    cells: NDArray[np.float64]
    outliers: NDArray[np.float64]
    totals: NDArray[np.float64]
    log_totals: NDArray[np.float64]
    log_clusters: NDArray[np.float64]
    log_batches: NDArray[np.float64]
    log_sizes: NDArray[np.float64]
    log_factors: NDArray[np.float64]
    log_shared: NDArray[np.float64]
    log_in_use: NDArray[np.float64]
    log_row_masses: NDArray[np.float64]
    outlier_scales: NDArray[np.float64]
    shared_scales: NDArray[np.float64]
    prices: NDArray[np.float64]


BATCH_TERMS = record_type(
    *(BatchTerms, _CELLS, _TABLE, _TABLE, _TABLE, _TABLE, _TABLE, _LINE),
    *(_TABLE, _TABLE, _LINE, _LINE, _LINE, _LINE, _LINE),
)


@inlined
def _add_weighed(line, weight, out):
    """Add a line times a weight; nothing times infinity is nothing."""
    if np.isfinite(weight):
        for j in range(len(line)):
            out[j] += line[j] * weight
    else:
        for j in range(len(line)):
            out[j] = -np.inf if line[j] > 0.0 else out[j]


@compiled(BATCH_TERMS, _OUT_TABLE, _OUT)
def score_columns(terms, scores, sizes_of_terms):
    """Write L_j(-), L_j(0) and L_j(1), a line each, and how large their terms are."""
    noise, shared, relevant = scores[0], scores[1], scores[2]
    n_columns = len(noise)
    noise[:] = 0.0
    sizes_of_terms[:] = 0.0
    for j in range(n_columns):
        shared[j] = terms.log_sizes[j]
        relevant[j] = terms.log_sizes[j] - terms.prices[j]
    for b in range(len(terms.totals)):
        totals, logs, outliers = terms.totals[b], terms.log_totals[b], terms.outliers[b]
        behind, mass = terms.log_in_use[b], terms.log_row_masses[b]
        scale, share = terms.outlier_scales[b], terms.shared_scales[b]
        for j in range(n_columns):
            total, log_total = totals[j], logs[j]
            background = outliers[j] * (log_total - behind) - scale * total
            noise[j] += total * (log_total - mass - 1.0)
            shared[j] += background - share * total
            relevant[j] += background
            sizes_of_terms[j] += total * (abs(log_total) + 1.0)
    for k in range(len(terms.cells)):
        own = terms.log_clusters[k]
        for b in range(len(terms.totals)):
            line = terms.cells[k, b]
            logs, effects = terms.log_totals[b], terms.log_batches[b]
            for j in range(n_columns):
                shared[j] += line[j] * logs[j]
                relevant[j] += line[j] * (own[j] + effects[j] - 1.0)
            _add_weighed(line, terms.log_shared[k, b], shared)
            _add_weighed(line, terms.log_factors[k, b], relevant)
