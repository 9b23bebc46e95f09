"""The compiled loop that lays out rows in a plane."""

from __future__ import annotations

import numpy as np

from .compiling import array_type, compiled, f8, i4, i8, inlined

# No row moves further than this in one step, for a rate of 1.
_FURTHEST = 4.0
# Rows at the same place push each other with a finite force.
_TINY = 1e-3


@inlined
def _bounded(step, rate):
    return min(max(step, -_FURTHEST * rate), _FURTHEST * rate)


@compiled(array_type(f8, 2, write=True), array_type(i4, 2), array_type(f8), i8, i8)
def lay_out(places, neighbours, rates, n_repelled, seed):
    """Pull rows to their neighbours and push them from rows drawn at random.

    One thread goes through the rows in their order, once for every rate. The kernel of
    nearness is 1 / (1 + d^2), and the draws come from a generator of 64 bits.
    """
    state = np.uint64(seed)
    for rate in rates:
        for i in range(len(neighbours)):
            for t in range(neighbours.shape[1]):
                j = neighbours[i, t]
                x, y = places[i, 0] - places[j, 0], places[i, 1] - places[j, 1]
                pull = 2.0 * rate / (1.0 + x * x + y * y)
                step_x, step_y = _bounded(pull * x, rate), _bounded(pull * y, rate)
                places[i, 0] -= step_x
                places[i, 1] -= step_y
                places[j, 0] += step_x
                places[j, 1] += step_y
                for _ in range(n_repelled):
                    state = state * np.uint64(6364136223846793005) + np.uint64(
                        1442695040888963407
                    )
                    other = (state >> np.uint64(33)) % np.uint64(len(places))
                    x, y = (
                        places[i, 0] - places[other, 0],
                        places[i, 1] - places[other, 1],
                    )
                    away = x * x + y * y
                    push = 2.0 * rate / ((_TINY + away) * (1.0 + away))
                    places[i, 0] += _bounded(push * x, rate)
                    places[i, 1] += _bounded(push * y, rate)
