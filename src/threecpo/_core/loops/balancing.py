"""The compiled loops that fit rates of clusters and batches: proportional fitting.

Columns are worked on some at a time, side by side, so that all of it stays in the
nearest cache and becomes vector instructions; every sum has one order.
"""

from __future__ import annotations

from .compiling import array_type, compiled, f8, i8, inlined

WIDTH = 64
_IN_TABLE = array_type(f8, 2)
_TABLE = array_type(f8, 2, write=True)
_ROOM = array_type(f8, write=True)


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


@compiled(
    *(_IN_TABLE, _IN_TABLE, _IN_TABLE, i8),
    *(_TABLE, _TABLE, _TABLE, _TABLE, f8, i8, _ROOM),
)
def fit_rates(
    by_cluster,
    by_batch,
    cell_totals,
    n_feeding,
    scales,
    clusters,
    batches,
    fitted,
    tolerance,
    most,
    room,
):
    """Fit rates and the scales of all cells in turns; return the number of turns.

    Scales follow from the first ``n_feeding`` columns. ``fitted`` is room for Z.
    """
    n_columns = by_cluster.shape[1]
    turned = scales.T
    turns = 0
    while turns < most:
        turns += 1
        off = 0.0
        fitted[:] = 0.0
        for first in range(0, n_columns, WIDTH):
            width = min(WIDTH, n_columns - first)
            _fit_side(by_cluster, first, width, scales, batches, clusters, room)
            off += _fit_side(by_batch, first, width, turned, clusters, batches, room)
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
        if turns > 1 and off <= tolerance:
            break
    return turns
