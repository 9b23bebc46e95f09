"""The compiled loops over rows: the pass, row scores, column sums.

Records and arrays in, arrays out; one call works on one row block. Row and column
indices are unsigned inside the loops, because numba otherwise tests each for being
negative.
"""

from __future__ import annotations

import numpy as np
from numba import types

from ..codes import NOWHERE, SHARED_SLOT
from . import array_type, compiled, f8, i4, i8, inlined
from .quick import QUICK, quick_label
from .records import PROFILE, RATIOS, ROWS, SUMS, WORKSPACE
from .records import Profile as Profile  # noqa: PLC0414 - for others to import
from .simd import LANES, add_products, add_to_pair

TIE = 1e-12
U = np.uint64

# Logarithms of row sizes are added up in two parts, multiples of these: whole counts
# times them add exactly, in any order, up to column totals of 2^28 or so.
COARSE = 2.0**-22
FINE = 2.0**-48

BLOCK = types.UniTuple(i8, 2)
_LABELS = array_type(i4)
_SLOTS = array_type(i4)
_OUT = array_type(f8, write=True)
_OUT_LABELS = array_type(i4, write=True)


@inlined
def row_weight(rows, row):
    """How often a row counts."""
    return rows.weights[row] if len(rows.weights) > 0 else 1.0


@inlined
def row_batch(rows, row):
    """Batch of a row, unsigned."""
    return U(rows.batches[row]) if len(rows.batches) > 0 else U(0)


@inlined
def _held(rows, row):
    """Cluster that a row is held in, below 0 for none."""
    return np.int64(rows.held[row]) if len(rows.held) > 0 else np.int64(-1)


@inlined
def _score_row(rows, row, batch, profile, log_rates, workspace):
    """Write the scores of one row; return its sums over C0 and over C0 and C1."""
    places, values, scores = workspace.places, workspace.values, workspace.scores
    width = U(len(scores))
    found = U(0)
    shared = 0.0
    size = 0.0
    for t in range(U(rows.indptr[row]), U(rows.indptr[row + U(1)])):
        slot = profile.slots[U(rows.indices[t])]
        value = rows.data[t]
        # Written always, kept only for C1: no branch to mispredict.
        places[found] = U(slot) * width
        values[found] = value * (profile.linear + profile.square * value)
        found += U(slot >= 0)
        size += value if slot >= SHARED_SLOT else 0.0
        shared += value if slot == SHARED_SLOT else 0.0
    weights = rows.column_weights
    if len(weights) > 0:  # again: a test inside of the loop would slow down all fits
        found = U(0)
        shared = 0.0
        size = 0.0
        for t in range(U(rows.indptr[row]), U(rows.indptr[row + U(1)])):
            j = U(rows.indices[t])
            slot = profile.slots[j]
            value = rows.data[t] * weights[j]
            values[found] = value * (profile.linear + profile.square * value)
            found += U(slot >= 0)
            size += value if slot >= SHARED_SLOT else 0.0
            shared += value if slot == SHARED_SLOT else 0.0
    shared += profile.prior_shared
    size += profile.prior_size
    # The row of zeros behind the last slot makes the number even.
    places[found] = U(len(log_rates)) - width
    values[found] = 0.0
    found += found % U(2)
    for lane in range(U(0), width, U(LANES)):
        add_products(log_rates, places, values, found, lane, scores)
    for k in range(U(len(profile.offsets))):
        scores[k] += profile.offsets[k] + size * profile.size_weights[batch, k]
    if shared > 0.0:
        for k in range(U(len(profile.offsets))):
            scores[k] += shared * profile.shared_weights[k]
    return shared, size


@inlined
def _choose(scores, ranks):
    """Index of the best cluster; the lowest rank wins a tie."""
    best, top = U(0), scores[0]
    for k in range(U(1), U(len(ranks))):
        score = scores[k]
        if score > top or (score == top and ranks[k] < ranks[best]):
            best, top = U(k), score
    return np.int64(best)


@inlined
def _excess(scores, best, behind, size):
    """Background score minus the best one, 0 where they differ by rounding only.

    The score of the background of the row's batch stands behind those of the clusters.
    """
    background, own = scores[behind], scores[best]
    if own == background:  # two scores of minus infinity too
        return 0.0
    excess = background - own
    rounding = TIE * (abs(background) + abs(own) + size)
    return 0.0 if abs(excess) <= rounding < np.inf else excess


@inlined
def _log_parts(size):
    """Logarithm of a row's size in two parts."""
    log_size = np.log(size)
    coarse, fine = log_size, 0.0
    if size > 0.0:
        coarse = np.rint(log_size / COARSE) * COARSE
        fine = np.rint((log_size - coarse) / FINE) * FINE
    return coarse, fine


@inlined
def _add_log_size(rows, row, size, before, sums):
    """Add a row's counts times the logarithm of its size, and that logarithm.

    Of a size above 0 that it had before, the same is taken away.
    """
    coarse, fine = _log_parts(size)
    if before > 0.0:
        old_coarse, old_fine = _log_parts(before)
        coarse, fine = coarse - old_coarse, fine - old_fine
    weight = row_weight(rows, row)
    coarse, fine = weight * coarse, weight * fine
    for t in range(U(rows.indptr[row]), U(rows.indptr[row + U(1)])):
        add_to_pair(
            sums.count_log_sizes, U(rows.indices[t]), rows.data[t], coarse, fine
        )
    sums.log_size_total[0] += coarse
    sums.log_size_total[1] += fine


@inlined
def _add_row(rows, row, target, sums):
    """Add a row to the sums of a cluster."""
    target = U(target) * U(len(sums.totals)) + row_batch(rows, row)
    weight = row_weight(rows, row)
    for t in range(U(rows.indptr[row]), U(rows.indptr[row + U(1)])):
        sums.table[target, U(rows.indices[t])] += weight * rows.data[t]
    sums.members[target] += 1
    sums.weight_sums[target] += weight


@inlined
def _move_row(rows, row, old, new, sums):
    """Take a row from the sums of one cluster to those of another."""
    n_batches, batch = U(len(sums.totals)), row_batch(rows, row)
    source, target = U(old) * n_batches + batch, U(new) * n_batches + batch
    weight = row_weight(rows, row)
    for t in range(U(rows.indptr[row]), U(rows.indptr[row + U(1)])):
        j, value = U(rows.indices[t]), weight * rows.data[t]
        sums.table[source, j] -= value
        sums.table[target, j] += value
    sums.members[source] -= 1
    sums.members[target] += 1
    sums.weight_sums[source] -= weight
    sums.weight_sums[target] += weight


@compiled(
    *(ROWS, BLOCK, PROFILE, QUICK, WORKSPACE, types.boolean, types.boolean),
    *(_OUT_LABELS, _OUT, SUMS),
)
def assign_rows(
    rows, block, profile, quick, workspace, fresh, with_sizes, labels, sizes, sums
):
    """Put the rows in their best clusters and add up what follows: the one pass.

    A row that is held in a cluster goes there.

    A row whose label changes leaves the sums of its old cluster (unless ``fresh``, when
    the sums started from nothing) and joins those of its new one; outliers are the last
    row of the table. Quick scores change no label. ``sizes`` of rows, where they are
    kept, are those in the sums, NaN for none. Returns the number of rows moved.
    """
    scores = workspace.scores
    log_rates = profile.log_rates.reshape(profile.log_rates.size)
    n_clusters = len(profile.ranks)
    moved = 0
    for i in range(U(block[0]), U(block[1])):
        label, size, batch = -1, 0.0, row_batch(rows, i)
        if len(workspace.quick_scores) > 0:
            quick_scores = workspace.quick_scores
            label, size = quick_label(rows, i, batch, profile, quick, quick_scores)
        if label < 0:
            _, size = _score_row(rows, i, batch, profile, log_rates, workspace)
            label = _choose(scores, profile.ranks)
            if profile.background:
                excess = _excess(scores, label, U(n_clusters) + batch, size)
                label = n_clusters if excess > profile.threshold else label
        held = _held(rows, i)
        label = held if held >= 0 else label
        old = labels[i]
        if label != old:
            moved += 1
            labels[i] = label
        if fresh or old == NOWHERE:
            _add_row(rows, i, label, sums)
        elif label != old:
            _move_row(rows, i, old, label, sums)
        if with_sizes:
            before = sizes[i] if len(sizes) > 0 else np.nan
            if size != before:
                _add_log_size(rows, i, size, before, sums)
            if len(sizes) > 0:
                sizes[i] = size
    return moved


@compiled(
    *(ROWS, BLOCK, PROFILE, WORKSPACE, _LABELS, _OUT_LABELS, _OUT, _OUT, _OUT),
    array_type(f8, 2, write=True),
)
def describe_rows(
    rows,
    block,
    profile,
    workspace,
    clusters,
    nearest,
    row_sizes,
    margins,
    outlier_scores,
    out,
):
    """Write nearest cluster, size, margin to the second best, background excess.

    ``clusters`` names those of the profile; the second best has another name. ``out``
    takes the scores of all clusters, unless it has no columns. A row that is held in a
    cluster has that for its nearest; its margin is below 0 where another is better.
    The excess is left out if the profile has no background.
    """
    n_clusters = len(profile.ranks)
    several = False
    for k in range(n_clusters):
        several |= clusters[k] > 0
    scores = workspace.scores
    log_rates = profile.log_rates.reshape(profile.log_rates.size)
    for i in range(U(block[0]), U(block[1])):
        batch = row_batch(rows, i)
        _, size = _score_row(rows, i, batch, profile, log_rates, workspace)
        held = _held(rows, i)
        best = held if held >= 0 else _choose(scores, profile.ranks)
        second = -np.inf
        for k in range(n_clusters):
            if clusters[k] != clusters[best] and scores[k] > second:
                second = scores[k]
        nearest[i] = clusters[best]
        row_sizes[i] = size
        # Two scores of minus infinity are a tie.
        margins[i] = scores[best] - second if several else np.inf
        if several and scores[best] == second:
            margins[i] = 0.0
        if profile.background:
            outlier_scores[i] = _excess(scores, best, U(n_clusters) + batch, size)
        for k in range(out.shape[1]):
            out[i, k] = scores[k]


@compiled(ROWS, BLOCK, _LABELS, _SLOTS, f8, types.boolean, SUMS)
def sum_rows(rows, block, labels, slots, prior_size, clusters_only, sums):
    """Add up rows whose labels are known; totals and u, unless of clusters only."""
    weights = rows.column_weights
    weighted = len(weights) > 0
    for i in range(U(block[0]), U(block[1])):
        size = 0.0
        batch, weight = row_batch(rows, i), row_weight(rows, i)
        inside = labels[i] != NOWHERE
        if clusters_only:
            if inside:
                _add_row(rows, i, labels[i], sums)
            continue
        target = U(labels[i] if inside else 0) * U(len(sums.totals)) + batch
        if inside:
            sums.members[target] += 1
            sums.weight_sums[target] += weight
        for t in range(U(rows.indptr[i]), U(rows.indptr[i + U(1)])):
            j = U(rows.indices[t])
            value = weight * rows.data[t]
            sums.totals[batch, j] += value
            if inside:
                sums.table[target, j] += value
            if slots[j] >= SHARED_SLOT:
                size += rows.data[t] * weights[j] if weighted else rows.data[t]
        # The prior comes last, as in scores: the same bits.
        _add_log_size(rows, i, size + prior_size, np.nan, sums)


@compiled(ROWS, BLOCK, _LABELS, _SLOTS, f8, f8, array_type(f8, 2), RATIOS)
def add_ratios(rows, block, labels, slots, prior, prior_size, inverse_shares, out):
    """Add what stored counts put into the sums of X²/μ and X/μ of each column.

    Also adds the row and 1/r_i to its cluster's, for what X has in common everywhere.
    """
    weights = rows.column_weights
    weighted = len(weights) > 0
    for i in range(U(block[0]), U(block[1])):
        first, last = U(rows.indptr[i]), U(rows.indptr[i + U(1)])
        size = prior_size
        for t in range(first, last):
            j = U(rows.indices[t])
            if slots[j] >= SHARED_SLOT:
                size += rows.data[t] * weights[j] if weighted else rows.data[t]
        k, weight = U(labels[i]), row_weight(rows, i)
        inverse = 0.0
        if size > prior_size:
            inverse = 1.0 / size
            out.rows[k] += weight
            out.inverse_sizes[k] += weight * inverse
        else:
            out.empty_rows[k] += weight
        for t in range(first, last):
            j = U(rows.indices[t])
            factor = inverse if slots[j] >= SHARED_SLOT else 1.0
            ratio = weight * (rows.data[t] * inverse_shares[k, j] * factor)
            out.ratios[j] += ratio
            out.squares[j] += (rows.data[t] + 2.0 * prior) * ratio


@compiled(ROWS, array_type(i4), array_type(f8, 2), f8, array_type(f8, write=True))
def misfit_rows(rows, labels, shares, noise, out):
    """Write what counts of a row are too large by, over the root of its sum.

    A count x where μ is expected is x log(x / μ) - (x - μ) nats too large; up to
    ``noise`` of these nats are left out.
    """
    weights = rows.column_weights
    weighted = len(weights) > 0
    for i in range(U(len(labels))):
        first, last = U(rows.indptr[i]), U(rows.indptr[i + U(1)])
        size = 0.0
        for t in range(first, last):
            size += rows.data[t]
        share = shares[U(labels[i])]
        total = 0.0
        for t in range(first, last):
            j = U(rows.indices[t])
            x, expected = rows.data[t], size * share[j]
            if x > expected:
                excess = x * np.log(x / expected) - (x - expected) - noise
                if excess > 0.0:
                    total += excess * weights[j] if weighted else excess
        out[i] = total / np.sqrt(size) if size > 0.0 else 0.0
