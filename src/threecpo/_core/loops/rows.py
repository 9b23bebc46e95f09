"""The compiled loops over rows: the pass, row scores, column sums.

Arrays in, arrays out; one call works on one row block. Row and column indices are
unsigned inside the loops, because numba otherwise tests each for being negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import types

from ..codes import NOWHERE, SHARED_SLOT
from .compiling import array_type, compiled, f8, i4, i8, inlined
from .simd import LANES, add_products, add_to_pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

TIE = 1e-12
U = np.uint64

# Logarithms of row sizes are added up in two parts, multiples of these: whole counts
# times them add exactly, in any order, up to column totals of 2^28 or so.
COARSE = 2.0**-22
FINE = 2.0**-48


class Profile(NamedTuple):
    """What scores a row, whichever assignment rule it stands for.

    The score of row i in cluster k is the sum over C1 of Y_ij (``linear`` + ``square``
    Y_ij) ``log_rates[slot, k]``, plus ``offsets[k]`` for the prior's share of it, plus
    ``shared_weights[k]`` times the row's sum over C0, plus ``size_weights[k]`` r_i.
    One more profile than there are ``ranks`` is the background's. The last row of
    ``log_rates`` is zeros.
    """

    slots: NDArray[np.int32]
    log_rates: NDArray[np.float64]
    offsets: NDArray[np.float64]
    shared_weights: NDArray[np.float64]
    size_weights: NDArray[np.float64]
    ranks: NDArray[np.int32]
    prior_shared: float
    prior_size: float
    threshold: float
    linear: float = 1.0
    square: float = 0.0


def empty_log_rates(n_relevant: int, n_profiles: int) -> NDArray[np.float64]:
    """Zeros for a profile: one more row, whole vectors, none across cache lines."""
    width = -(-n_profiles // LANES) * LANES
    size = (n_relevant + 1) * width
    room = np.zeros(size + LANES)
    start = -room.ctypes.data % (8 * LANES) // 8
    return room[start : start + size].reshape(n_relevant + 1, width)


def owned(profile: Profile) -> Profile:
    """Return a profile in memory of its own, as loops want it: pickling loses that."""
    rates = profile.log_rates
    if rates.flags.writeable and rates.ctypes.data % (8 * LANES) == 0:
        return profile
    log_rates = empty_log_rates(len(rates) - 1, rates.shape[1])
    log_rates[:] = rates
    copies: dict[str, Any] = {
        name: value.copy()
        for name, value in profile._asdict().items()
        if isinstance(value, np.ndarray)
    }
    return profile._replace(**copies | {"log_rates": log_rates})


_ROWS = (array_type(i8), array_type(i4), array_type(f8), i8, i8)
_OWN = array_type(f8, write=True)
_PROFILE = types.NamedTuple(
    (
        array_type(i4, write=True),
        array_type(f8, 2, write=True),
        *(_OWN, _OWN, _OWN),
        array_type(i4, write=True),
        *(f8, f8, f8, f8, f8),
    ),
    Profile,
)


@inlined
def _score_row(indptr, indices, data, row, profile, log_rates, places, values, scores):
    """Write the scores of one row; return its sums over C0 and over C0 and C1."""
    width = U(len(scores))
    found = U(0)
    shared = 0.0
    size = 0.0
    for t in range(U(indptr[row]), U(indptr[row + U(1)])):
        slot = profile.slots[U(indices[t])]
        value = data[t]
        # Written always, kept only for C1: no branch to mispredict.
        places[found] = U(slot) * width
        values[found] = value * (profile.linear + profile.square * value)
        found += U(slot >= 0)
        size += value if slot >= SHARED_SLOT else 0.0
        shared += value if slot == SHARED_SLOT else 0.0
    shared += profile.prior_shared
    size += profile.prior_size
    # The last, empty row of the profile makes the number even.
    places[found] = U(len(log_rates)) - width
    values[found] = 0.0
    found += found % U(2)
    for lane in range(U(0), width, U(LANES)):
        add_products(log_rates, places, values, found, lane, scores)
    for k in range(U(len(profile.offsets))):
        scores[k] += profile.offsets[k] + size * profile.size_weights[k]
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
def _excess(scores, best, n_clusters, size):
    """Background score minus the best one, 0 where they differ by rounding only."""
    background, own = scores[n_clusters], scores[best]
    if own == background:  # two scores of minus infinity too
        return 0.0
    excess = background - own
    rounding = TIE * (abs(background) + abs(own) + size)
    return 0.0 if abs(excess) <= rounding < np.inf else excess


@inlined
def _buffers(indptr, start, stop, width):
    longest = 0
    for i in range(start, stop):
        longest = max(longest, indptr[i + 1] - indptr[i])
    return (
        np.empty(longest + 1, np.uint64),
        np.empty(longest + 1, np.float64),
        np.empty(width, np.float64),
    )


@inlined
def _add_log_size(indptr, indices, data, row, size, log_sizes, log_size_total):
    """Add a row's counts times the logarithm of its size, and that logarithm."""
    log_size = np.log(size)
    coarse, fine = log_size, 0.0
    if size > 0.0:
        coarse = np.rint(log_size / COARSE) * COARSE
        fine = np.rint((log_size - coarse) / FINE) * FINE
    for t in range(U(indptr[row]), U(indptr[row + U(1)])):
        add_to_pair(log_sizes, U(indices[t]), data[t], coarse, fine)
    log_size_total[0] += coarse
    log_size_total[1] += fine


@inlined
def _add_row(indptr, indices, data, row, target, sign, table, members):
    target = U(target)
    for t in range(U(indptr[row]), U(indptr[row + U(1)])):
        table[target, U(indices[t])] += sign * data[t]
    members[target] += np.int64(sign)


@compiled(
    *_ROWS,
    _PROFILE,
    types.boolean,
    types.boolean,
    array_type(i4, write=True),
    array_type(f8, 2, write=True),
    array_type(i8, write=True),
    array_type(f8, 2, write=True),
    array_type(f8, write=True),
)
def assign_rows(
    indptr,
    indices,
    data,
    start,
    stop,
    profile,
    fresh,
    with_sizes,
    labels,
    table,
    members,
    log_sizes,
    log_size_total,
):
    """Put the rows in their best clusters and add up what follows: the one pass.

    A row whose label changes leaves the sums of its old cluster (unless ``fresh``, when
    the sums started from nothing) and joins those of its new one; outliers are the last
    row of the sums. Returns the number of rows moved.
    """
    places, values, scores = _buffers(indptr, start, stop, profile.log_rates.shape[1])
    log_rates = profile.log_rates.reshape(profile.log_rates.size)
    outlier = len(profile.ranks)
    background = len(profile.offsets) > outlier
    moved = 0
    for i in range(U(start), U(stop)):
        _, size = _score_row(
            indptr, indices, data, i, profile, log_rates, places, values, scores
        )
        label = _choose(scores, profile.ranks)
        if background and _excess(scores, label, outlier, size) > profile.threshold:
            label = outlier
        old = labels[i]
        if label != old:
            moved += 1
            labels[i] = label
        if fresh or label != old:
            if not fresh and old != NOWHERE:
                _add_row(indptr, indices, data, i, old, -1.0, table, members)
            _add_row(indptr, indices, data, i, label, 1.0, table, members)
        if with_sizes:
            _add_log_size(indptr, indices, data, i, size, log_sizes, log_size_total)
    return moved


@compiled(
    *_ROWS,
    _PROFILE,
    array_type(i4, write=True),
    array_type(f8, write=True),
    array_type(f8, write=True),
    array_type(f8, write=True),
)
def describe_rows(
    indptr, indices, data, start, stop, profile, nearest, row_sizes, margins, excess
):
    """Write nearest cluster, size, margin to the second best, background excess."""
    n_clusters = len(profile.ranks)
    places, values, scores = _buffers(indptr, start, stop, profile.log_rates.shape[1])
    log_rates = profile.log_rates.reshape(profile.log_rates.size)
    for i in range(U(start), U(stop)):
        _, size = _score_row(
            indptr, indices, data, i, profile, log_rates, places, values, scores
        )
        best = _choose(scores, profile.ranks)
        second = -np.inf
        for k in range(n_clusters):
            if k != best and scores[k] > second:
                second = scores[k]
        nearest[i] = best
        row_sizes[i] = size
        # Two scores of minus infinity are a tie.
        margins[i] = scores[best] - second if n_clusters > 1 else np.inf
        if n_clusters > 1 and scores[best] == second:
            margins[i] = 0.0
        excess[i] = _excess(scores, best, n_clusters, size)


@compiled(*_ROWS, _PROFILE, array_type(f8, 2, write=True))
def score_rows(indptr, indices, data, start, stop, profile, out):
    """Write the score of every row in every cluster."""
    places, values, scores = _buffers(indptr, start, stop, profile.log_rates.shape[1])
    log_rates = profile.log_rates.reshape(profile.log_rates.size)
    for i in range(U(start), U(stop)):
        _score_row(indptr, indices, data, i, profile, log_rates, places, values, scores)
        for k in range(out.shape[1]):
            out[i, k] = scores[k]


@compiled(
    *_ROWS,
    array_type(i4),
    array_type(i4),
    f8,
    array_type(f8, 2, write=True),
    array_type(i8, write=True),
    array_type(f8, 2, write=True),
    array_type(f8, write=True),
    array_type(f8, write=True),
)
def sum_rows(
    indptr,
    indices,
    data,
    start,
    stop,
    labels,
    slots,
    prior_size,
    table,
    members,
    log_sizes,
    log_size_total,
    totals,
):
    """Add up rows whose labels are known."""
    for i in range(U(start), U(stop)):
        if labels[i] != NOWHERE:
            _add_row(indptr, indices, data, i, labels[i], 1.0, table, members)
        size = prior_size
        for t in range(U(indptr[i]), U(indptr[i + U(1)])):
            j = U(indices[t])
            totals[j] += data[t]
            if slots[j] >= SHARED_SLOT:
                size += data[t]
        _add_log_size(indptr, indices, data, i, size, log_sizes, log_size_total)


@compiled(
    *_ROWS,
    array_type(i4),
    array_type(i4),
    f8,
    f8,
    array_type(f8, 2),
    array_type(f8, write=True),
    array_type(f8, write=True),
    array_type(f8, write=True),
)
def add_ratios(
    indptr,
    indices,
    data,
    start,
    stop,
    labels,
    slots,
    prior,
    prior_size,
    inverse_shares,
    squares,
    ratios,
    inverse_sizes,
):
    """Add what stored counts put into the sums of X²/μ and X/μ of each column.

    Also adds 1/r_i to its cluster's sum, for what X has in common everywhere.
    """
    for i in range(U(start), U(stop)):
        first, last = U(indptr[i]), U(indptr[i + U(1)])
        size = prior_size
        for t in range(first, last):
            if slots[U(indices[t])] >= SHARED_SLOT:
                size += data[t]
        k = U(labels[i])
        inverse = 1.0 / size if size > 0.0 else 0.0
        inverse_sizes[k] += inverse
        for t in range(first, last):
            j = U(indices[t])
            scale = inverse if slots[j] >= SHARED_SLOT else 1.0
            ratio = data[t] * inverse_shares[k, j] * scale
            ratios[j] += ratio
            squares[j] += (data[t] + 2.0 * prior) * ratio
