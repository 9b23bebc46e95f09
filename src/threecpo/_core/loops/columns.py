"""The compiled loops over columns: group sums, column scores, row profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..codes import NOISE, NOISE_SLOT, RELEVANT, SHARED, SHARED_SLOT
from . import array_type, compiled, f8, i1, i4, i8, inlined, record_type
from .rows import TIE

if TYPE_CHECKING:
    from ..codes import Floats


@compiled(array_type(i1), array_type(i4, write=True))
def fill_slots(groups, slots):
    """Write each column's place in a profile; return the sizes of C0 and C1."""
    n_shared = n_relevant = 0
    for j in range(len(groups)):
        if groups[j] == RELEVANT:
            slots[j] = n_relevant
            n_relevant += 1
        elif groups[j] == SHARED:
            slots[j] = SHARED_SLOT
            n_shared += 1
        else:
            slots[j] = NOISE_SLOT
    return n_shared, n_relevant


@compiled(
    *(array_type(f8, 2), array_type(f8), array_type(f8, 2), array_type(f8), f8),
    *(array_type(f8, 2, write=True), array_type(f8, write=True)),
)
def smooth(
    table, weight_sums, count_log_sizes, log_size_total, prior, out, out_log_sizes
):
    """Write sums with the prior's share in them, and u with both of its parts."""
    for k in range(len(weight_sums)):
        share = prior * weight_sums[k]
        for j in range(table.shape[1]):
            out[k, j] = table[k, j] + share
    # Not where the prior is 0: the total can be infinite then.
    rest = prior * (log_size_total[0] + log_size_total[1]) if prior > 0.0 else 0.0
    for j in range(len(count_log_sizes)):
        out_log_sizes[j] = count_log_sizes[j, 0] + count_log_sizes[j, 1] + rest


@compiled(array_type(f8, 2), array_type(i1), array_type(f8, write=True))
def own_scores(scores, groups, out):
    """Write each column's score in its own group."""
    for j in range(len(groups)):
        out[j] = scores[j, groups[j] - NOISE]


@inlined
def _group_sums(values, groups):
    """Sum one row over C0 and over C0 and C1 together."""
    shared = relevant = 0.0
    for j in range(len(values)):
        shared += values[j] if groups[j] == SHARED else 0.0
        relevant += values[j] if groups[j] == RELEVANT else 0.0
    return shared, shared + relevant


@compiled(
    array_type(f8, 2),
    array_type(f8),
    array_type(f8),
    array_type(i1),
    array_type(f8, 2, write=True),
)
def fill_scales(clusters, outliers, totals, groups, out):
    """Write row scales, sums over C0 and C1, share of C0 in them, and row factors.

    Of each cluster, and last of the outliers (scales) and of all rows (the others);
    0 / 0 is 0. Where C0 has no counts, C1 takes its place in the scales.
    """
    n_clusters = len(clusters)
    all_shared, everything = _group_sums(totals, groups)
    base = all_shared if all_shared > 0.0 else everything
    for k in range(n_clusters):
        out[0, k] = out[1, k] = 0.0
    # Clusters inside: the sum of one need not wait for that of another.
    for j in range(len(groups)):
        if groups[j] != NOISE:
            line = 0 if groups[j] == SHARED else 1
            for k in range(n_clusters):
                out[line, k] += clusters[k, j]
    for k in range(n_clusters):
        shared, in_use = out[0, k], out[0, k] + out[1, k]
        scale = (shared if all_shared > 0.0 else in_use) / base
        out[0, k] = scale
        out[1, k] = in_use
        out[2, k] = shared / in_use if in_use > 0.0 else 0.0
        out[3, k] = scale / in_use if in_use > 0.0 else 0.0
    _, in_use = _group_sums(outliers, groups)
    out[0, n_clusters] = in_use / everything
    out[1, n_clusters] = everything
    out[2, n_clusters] = all_shared / everything
    out[3, n_clusters] = 1.0 / everything


class ColumnTerms(NamedTuple):
    """What column scores are made of; see ``model.Scales`` for the names."""

    clusters: Floats
    logs: Floats
    outliers: Floats
    totals: Floats
    count_log_sizes: Floats
    log_cluster_totals: Floats
    log_factors: Floats
    prices: Floats
    scale_sum: float
    outlier_scale: float
    log_n_rows: float


# Their arrays are new in every step, thus writeable.
_TERMS = record_type(
    ColumnTerms,
    *(array_type(f8, 2, write=True),) * 2,
    *(array_type(f8, write=True),) * 6,
    *(f8,) * 3,
)


@compiled(
    _TERMS,
    array_type(f8, 2, write=True),
    array_type(f8, write=True),
    array_type(f8, 2, write=True),
)
def score_columns(terms, scores, tolerance, workspace):
    """Write L_j(-), L_j(0), L_j(1), and below what difference they are tied.

    With a prior of 0, a column that a cluster lacks adds nothing, whatever the factor.
    The factor behind those of the clusters is the outliers'. ``workspace`` has two
    lines, in which clusters are added up for several columns at once.
    """
    n_clusters = len(terms.clusters)
    log_factors = terms.log_factors
    for j in range(len(terms.totals)):
        workspace[0, j] = workspace[1, j] = terms.count_log_sizes[j]
    for k in range(n_clusters):
        log_factor, log_cluster_total = log_factors[k], terms.log_cluster_totals[k]
        for j in range(len(terms.totals)):
            c, shared, relevant = terms.clusters[k, j], workspace[0, j], workspace[1, j]
            more = c * (terms.logs[k, j] - log_cluster_total)
            workspace[0, j] = shared + c * log_factor if c > 0.0 else shared
            workspace[1, j] = relevant + more if c > 0.0 else relevant
    for j in range(len(terms.totals)):
        total, outlier = terms.totals[j], terms.outliers[j]
        log_total = np.log(total) if total > 0.0 else 0.0
        shared, relevant = workspace[0, j], workspace[1, j]
        if outlier > 0.0:
            shared += outlier * log_factors[n_clusters]
            relevant += outlier * (log_factors[n_clusters] + log_total + 1.0)
        relevant -= total * (1.0 + terms.outlier_scale)
        scores[j, 0] = total * (log_total - terms.log_n_rows - 1.0)
        scores[j, 1] = shared + total * (log_total - terms.scale_sum)
        scores[j, 2] = relevant - terms.prices[j]
        size_of_terms = abs(terms.count_log_sizes[j]) + total * abs(log_total) + total
        tolerance[j] = TIE * size_of_terms


@compiled(array_type(f8, 2), array_type(f8), array_type(i1, write=True))
def choose_groups(scores, tolerance, groups):
    """Write the arg-max over the groups; a tie goes to C- before C0 before C1."""
    for j in range(len(groups)):
        margin = tolerance[j] if np.isfinite(tolerance[j]) else 0.0
        best = scores[j, 0]
        groups[j] = NOISE
        for group in range(SHARED, RELEVANT + 1):
            if scores[j, group - NOISE] > best + margin:
                best = scores[j, group - NOISE]
                groups[j] = group


@compiled(
    array_type(f8, 2),
    array_type(f8),
    array_type(i4),
    array_type(f8, 2, write=True),
    array_type(f8, write=True),
    i8,
)
def fill_profile(logs, log_totals, slots, log_rates, log_rate_sums, first):
    """Write log(c_kj / c_k(U)) to the slots of C1, profile ``first`` on, and sums."""
    for k in range(logs.shape[0]):
        total = 0.0
        for j in range(logs.shape[1]):
            if slots[j] > SHARED_SLOT:
                value = logs[k, j] - log_totals[k]
                log_rates[slots[j], first + k] = value
                total += value
        log_rate_sums[first + k] = total
