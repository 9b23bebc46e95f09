"""The compiled loops that fit rates of clusters and batches: proportional fitting.

Columns are worked on some at a time, side by side, so that all of it stays in the
nearest cache and becomes vector instructions; every sum has one order.
"""

from __future__ import annotations

import numpy as np
from numba import types

from .compiling import array_type, compiled, f8, i8, inlined

WIDTH = 64
_IN_TABLE = array_type(f8, 2)
_TABLE = array_type(f8, 2, write=True)
_ROOM = array_type(f8, write=True)
_DATA = types.UniTuple(_IN_TABLE, 3)


@inlined
def _fit_side(sums, first, width, scales, other, own, room):
    """Fit one side's rates to its sums with the other held; return how far they were.

    ``scales`` has a line for each rate of that side; what is returned is
    Σ (fitted - sum)² / sum.
    """
    off = 0.0
    for a in range(len(sums)):
        for j in range(width):
            room[j] = 0.0
        for b in range(len(other)):
            scale = scales[a, b]
            for j in range(width):
                room[j] += scale * other[b, first + j]
        for j in range(width):
            wanted, exposure = sums[a, first + j], room[j]
            before = exposure * own[a, first + j]
            rate = wanted / exposure if exposure > 0.0 else 0.0
            own[a, first + j] = rate
            room[j] = (before - wanted) ** 2 / wanted if wanted > 0.0 else 0.0
        for j in range(width):
            off += room[j]
    return off


@compiled(_IN_TABLE, _IN_TABLE, _IN_TABLE, _TABLE, _TABLE, f8, i8, _ROOM)
def fit_columns(by_cluster, by_batch, scales, clusters, batches, tolerance, most, room):
    """Fit the rates of each column, in cluster and batch, to its sums; scales held."""
    n_columns = by_cluster.shape[1]
    turned = scales.T
    for first in range(0, n_columns, WIDTH):
        width = min(WIDTH, n_columns - first)
        for _ in range(most):
            _fit_side(by_cluster, first, width, scales, batches, clusters, room)
            off = _fit_side(by_batch, first, width, turned, clusters, batches, room)
            if off * n_columns <= tolerance * width:
                break


@compiled(_DATA, i8, *(_TABLE,) * 4, _ROOM)
def _turn(data, n_feeding, scales, clusters, batches, fitted, room):
    """Fit rates of clusters, of batches, and scales; return how far they were."""
    by_cluster, by_batch, cell_totals = data
    n_columns = by_cluster.shape[1]
    off = 0.0
    fitted[:] = 0.0
    for first in range(0, n_columns, WIDTH):
        width = min(WIDTH, n_columns - first)
        _fit_side(by_cluster, first, width, scales, batches, clusters, room)
        off += _fit_side(by_batch, first, width, scales.T, clusters, batches, room)
        last = min(first + width, n_feeding)
        for k in range(len(clusters)):
            for b in range(len(batches)):
                total = 0.0
                for j in range(first, last):
                    total += clusters[k, j] * batches[b, j]
                fitted[k, b] += total
    for k in range(len(clusters)):
        for b in range(len(batches)):
            wanted, rate = cell_totals[k, b], fitted[k, b]
            if wanted > 0.0:
                off += (scales[k, b] * rate - wanted) ** 2 / wanted
            scales[k, b] = wanted / rate if rate > 0.0 else 0.0
    return off


@compiled(_TABLE, _TABLE)
def _keep_logs(values, logs):
    """Write logarithms, 0 of what is 0."""
    for a in range(values.shape[0]):
        for j in range(values.shape[1]):
            logs[a, j] = np.log(values[a, j]) if values[a, j] > 0.0 else 0.0


@compiled(_TABLE, _TABLE, _TABLE, f8, i8)
def _leap(start, middle, values, longest, step):
    """Go on where two turns lead, so many columns as one; values in, out.

    With r and v the first and second differences of logarithms, to start + 2 a r + a²
    v with a = |r| / |v|, at least 1, which is where the turns are, and not too large.
    """
    n_lines, n_columns = values.shape
    for first in range(0, n_columns, step):
        squared_r = squared_v = 0.0
        for a in range(n_lines):
            for j in range(first, first + step):
                if values[a, j] > 0.0:
                    r = middle[a, j] - start[a, j]
                    v = np.log(values[a, j]) - middle[a, j] - r
                    squared_r += r * r
                    squared_v += v * v
        if squared_v == 0.0 or squared_r <= squared_v:
            continue
        length = min(np.sqrt(squared_r / squared_v), longest)
        for a in range(n_lines):
            for j in range(first, first + step):
                if values[a, j] > 0.0:
                    r = middle[a, j] - start[a, j]
                    v = np.log(values[a, j]) - middle[a, j] - r
                    new = start[a, j] + 2.0 * length * r + length * length * v
                    values[a, j] = np.exp(new)


@compiled(
    _DATA,
    i8,
    *(_TABLE,) * 4,
    types.UniTuple(_TABLE, 6),
    *(f8, i8, _ROOM),
)
def fit_rates(
    data, n_feeding, scales, clusters, batches, fitted, kept, tolerance, most, room
):
    """Fit rates and the scales of all cells in turns; return the number of turns.

    ``data`` are the sums by cluster and by batch and those of the cells. Scales follow
    from the first ``n_feeding`` columns. ``fitted`` is room for Z, ``kept`` for two
    earlier states and the last that was not leapt to. After two turns comes a leap; one
    that leads away from the sums is taken back.
    """
    b0, b1, b2, s0, s1, s2 = kept
    turns, longest, before = 0, 4.0, np.inf
    while turns < most:
        _keep_logs(batches, b0)
        _keep_logs(scales, s0)
        turns += 1
        off = _turn(data, n_feeding, scales, clusters, batches, fitted, room)
        if turns > 1 and off <= tolerance:
            break
        if turns > 1 and off > before:
            batches[:] = b2
            scales[:] = s2
            longest, before = max(1.0, longest / 4.0), np.inf
            continue
        longest *= 2.0
        _keep_logs(batches, b1)
        _keep_logs(scales, s1)
        turns += 1
        off = _turn(data, n_feeding, scales, clusters, batches, fitted, room)
        if off <= tolerance or turns >= most:
            break
        before = off
        b2[:] = batches
        s2[:] = scales
        _leap(b0, b1, batches, longest, 1)
        _leap(s0, s1, scales, longest, scales.shape[1])
    return turns
