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
        relevant = groups[j] == RELEVANT
        other = NOISE_SLOT + (SHARED_SLOT - NOISE_SLOT) * (groups[j] == SHARED)
        slots[j] = n_relevant if relevant else other
        n_relevant += relevant
        n_shared += groups[j] == SHARED
    return n_shared, n_relevant


@compiled(array_type(i1), array_type(i1), array_type(i8, 2, write=True))
def count_moves(before, groups, out):
    """Add columns to a table of the groups that they were in and are in."""
    for j in range(len(groups)):
        out[before[j] - NOISE, groups[j] - NOISE] += 1


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
        shared += values[j] * (groups[j] == SHARED)
        relevant += values[j] * (groups[j] == RELEVANT)
    return shared, shared + relevant


@inlined
def _add_four(clusters, first, groups, out):
    """Write sums of four clusters over C0 and over C1; beyond the last, it again.

    The sum of one need not wait for that of another. Factors of 0 and 1 replace
    branches, which are often mispredicted.
    """
    last = len(clusters) - 1
    second, third = min(first + 1, last), min(first + 2, last)
    fourth = min(first + 3, last)
    one, two = clusters[first], clusters[second]
    three, four = clusters[third], clusters[fourth]
    a = b = c = d = e = f = g = h = 0.0
    for j in range(len(groups)):
        shared = np.float64(groups[j] == SHARED)
        relevant = np.float64(groups[j] == RELEVANT)
        a += shared * one[j]
        b += shared * two[j]
        c += shared * three[j]
        d += shared * four[j]
        e += relevant * one[j]
        f += relevant * two[j]
        g += relevant * three[j]
        h += relevant * four[j]
    out[0, first], out[0, second], out[0, third], out[0, fourth] = a, b, c, d
    out[1, first], out[1, second], out[1, third], out[1, fourth] = e, f, g, h


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
    for k in range(0, n_clusters, 4):
        _add_four(clusters, k, groups, out)
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
    log_totals: Floats
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
    *(array_type(f8, write=True),) * 7,
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
    in_shared, in_relevant = workspace[0], workspace[1]
    for j in range(len(terms.totals)):
        in_shared[j] = in_relevant[j] = terms.count_log_sizes[j]
    for k in range(n_clusters):
        log_factor, log_cluster_total = log_factors[k], terms.log_cluster_totals[k]
        line, logs = terms.clusters[k], terms.logs[k]
        # Two loops: LLVM makes vector instructions where few arrays may overlap.
        for j in range(len(line)):
            in_shared[j] += line[j] * log_factor if line[j] > 0.0 else 0.0
        for j in range(len(line)):
            more = line[j] * (logs[j] - log_cluster_total)
            in_relevant[j] += more if line[j] > 0.0 else 0.0
    for j in range(len(terms.totals)):
        total, log_total = terms.totals[j], terms.log_totals[j]
        outlier = terms.outliers[j]
        shared, relevant = in_shared[j], in_relevant[j]
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
        noise, shared, relevant = scores[j, 0], scores[j, 1], scores[j, 2]
        above = shared > noise + margin
        best = shared if above else noise
        # Conditions as numbers replace branches, which are often mispredicted.
        group = NOISE + (SHARED - NOISE) * above
        groups[j] = group + (RELEVANT - group) * (relevant > best + margin)


@compiled(
    array_type(f8, 2),
    array_type(f8),
    array_type(i4),
    array_type(f8, 2, write=True),
    array_type(f8, write=True),
    i8,
)
def fill_profile(logs, log_totals, slots, log_rates, log_rate_sums, first):
    """Write log(c_kj / c_k(U)) to the slots of C1, profile ``first`` on, and sums.

    Columns outside C1 write 0 to the last row, which no slot uses: this saves a branch.
    """
    last = len(log_rates) - 1
    for k in range(logs.shape[0]):
        total = 0.0
        for j in range(logs.shape[1]):
            slot, value = slots[j], logs[k, j] - log_totals[k]
            value = value if slot > SHARED_SLOT else 0.0
            log_rates[slot if slot > SHARED_SLOT else last, first + k] = value
            total += value
        log_rate_sums[first + k] = total
