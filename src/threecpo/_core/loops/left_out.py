"""The compiled loop over rows that scores each in its own cluster without itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..codes import SHARED_SLOT
from ..rows import read_only
from . import array_type, compiled, f8, i4, inlined, record_type
from .records import ROWS
from .rows import BLOCK, row_batch, row_weight

if TYPE_CHECKING:
    from ..codes import Floats, Ints

U = np.uint64


class LeftOut(NamedTuple):
    """Sums of each cluster in C1 and C0, and what a row without counts leaves of them.

    ``weights`` are those of the columns, in all sums and so in counts and prior here;
    ``used_weight`` is that of C1 and C0, ``shared_weight`` that of C0 alone.
    ``sums`` has a column for each slot of C1 and, last, for all of C0, prior included.
    A row of weight 1 takes its prior with it: numerators without it have logarithms
    which are, times the prior, ``terms``; ``above`` is their sum and ``totals`` that
    of the numerators, by cluster and batch. Of a row of less weight the prior stays,
    and what it leaves is in ``lighter_above`` and ``lighter_totals``. ``floor`` is the
    least numerator. With batches a numerator times ``rates`` is the rate of a column,
    and times ``effects``, by batch, what is expected of it; without, both are empty.
    """

    slots: Ints
    weights: Floats
    sums: Floats
    terms: Floats
    above: Floats
    totals: Floats
    lighter_above: Floats
    lighter_totals: Floats
    rates: Floats
    effects: Floats
    prior: float
    used_weight: float
    shared_weight: float
    floor: float

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, tuple(self)


def _unpickled(*fields: Any) -> LeftOut:
    """Sums from another process, read-only again, as the loop takes them."""
    made = (read_only(x) if isinstance(x, np.ndarray) else x for x in fields)
    return LeftOut._make(made)


_IN, _TABLE = array_type(f8), array_type(f8, 2)
_LEFT_OUT = record_type(
    LeftOut,
    *(array_type(i4), _IN, _TABLE, _TABLE, _IN, _TABLE, _IN, _TABLE, _TABLE, _TABLE),
    *(f8, f8, f8, f8),
)


@inlined
def _rival(scores, row, own):
    """Best cluster but one's own, the first of equals."""
    best = 1 if own == 0 else 0
    for k in range(best + 1, scores.shape[1]):
        if k != own and scores[row, k] > scores[row, best]:
            best = k
    return best


@compiled(
    *(ROWS, BLOCK, array_type(i4), _LEFT_OUT, array_type(f8, 2, write=True)),
    *(array_type(i4, write=True), array_type(f8, write=True)),
)
def score_left_out(rows, block, labels, sums, scores, rivals, sizes):
    """Score each row in its own cluster without it; write its rival and its size.

    ``scores`` has those of all clusters, and gets the new one in its place: at least
    that of the best other cluster, the rival. Labels below 0 have no cluster, and their
    scores stay.
    """
    n_relevant, n_clusters = sums.sums.shape[1] - 1, scores.shape[1]
    batched = len(sums.effects) > 0
    for i in range(U(block[0]), U(block[1])):
        k, batch, weight = labels[i], row_batch(rows, i), row_weight(rows, i)
        prior, shared_weight = sums.prior, sums.shared_weight
        shared, size = 0.0, prior * sums.used_weight
        light = weight < 1.0
        gone, share = (0.0, weight) if light else (prior, 1.0)
        floor, least = share * sums.floor, 0.0 if light else sums.floor
        above = total = 0.0
        if k >= 0:
            above = sums.lighter_above[k] if light else sums.above[k]
            total = (sums.lighter_totals if light else sums.totals)[k, batch]
        for t in range(U(rows.indptr[i]), U(rows.indptr[i + U(1)])):
            column = U(rows.indices[t])
            slot, column_weight = sums.slots[column], sums.weights[column]
            value = column_weight * rows.data[t]
            if slot >= SHARED_SLOT:
                size += value
            if slot == SHARED_SLOT:
                shared += value
            elif slot >= 0 and k >= 0:
                own_prior = column_weight * prior
                whole_left = sums.sums[k, slot] - column_weight * gone
                without = max(whole_left, column_weight * least)
                left = max(whole_left - share * value, column_weight * floor)
                term = sums.terms[k, slot]
                if light:
                    term = own_prior * np.log(without) if prior > 0.0 else 0.0
                above += (own_prior + value) * np.log(left) - term
                change = left - without
                if batched:
                    above += value * np.log(sums.rates[k, slot])
                    change *= sums.rates[k, slot] * sums.effects[batch, slot]
                total += change
        sizes[i] = size
        if k < 0:
            continue
        if shared_weight > 0.0:
            left = sums.sums[k, n_relevant] - gone * shared_weight - share * shared
            rate, effect = 1.0, 1.0
            if batched:
                rate, effect = (
                    sums.rates[k, n_relevant],
                    sums.effects[batch, n_relevant],
                )
            # As in C1, nothing is raised to the floor that a light row took nothing of.
            left = max(left, floor if shared > 0.0 else least) * rate
            above += (
                (prior * shared_weight + shared) * np.log(left) if left > 0.0 else 0.0
            )
            total += left * effect
        own = above - size * np.log(total) if total > 0.0 and n_relevant > 0 else 0.0
        rivals[i] = _rival(scores, i, k)
        scores[i, U(k)] = own
        if n_clusters > 1:
            scores[i, U(k)] = max(own, scores[i, U(rivals[i])])
