"""The compiled loops that fit rates of clusters and batches: proportional fitting.

Columns are worked on some at a time, side by side, so that all of it stays in the
nearest cache and becomes vector instructions; every sum has one order.
"""

from __future__ import annotations

import numpy as np

from .compiling import array_type, compiled, f8, i8, inlined
from .simd import WIDTH, add_lines, sum_of, sum_of_products

_IN_TABLE = array_type(f8, 2)
_TABLE = array_type(f8, 2, write=True)
_ROOM = array_type(f8, write=True)


@inlined
def _fill_exposures(scales, at, step, other, first, width, room):
    """Fill the room with what one rate of each column is multiplied by.

    It is the sum over the rates on the other side, with scales from ``at`` on.
    """
    n_others, n_columns = other.shape
    if width == WIDTH:
        add_lines(scales, at, step, n_others, other, first, n_columns, room)
    else:
        room[:] = 0.0
        for i in range(n_others):
            scale = scales.flat[at + i * step]
            for j in range(width):
                room[j] += scale * other[i, first + j]


@inlined
def _fit_clusters(sums, first, width, scales, batches, clusters, room):
    """Fit the rates of clusters to their sums, those of batches held."""
    n_batches = len(batches)
    for k in range(len(sums)):
        _fill_exposures(scales, k * n_batches, 1, batches, first, width, room)
        wanted = sums[k, first : first + width]
        rates = clusters[k, first : first + width]
        for j in range(width):
            rate = wanted[j] / room[j]
            rates[j] = rate if room[j] > 0.0 else 0.0


@inlined
def _fit_batches(sums, first, width, scales, clusters, batches, room):
    """Fit the rates of batches; return Σ (fitted - sum)² / sum as it was before."""
    off = 0.0
    for b in range(len(sums)):
        _fill_exposures(scales, b, len(sums), clusters, first, width, room)
        wanted = sums[b, first : first + width]
        rates = batches[b, first : first + width]
        for j in range(width):
            exposure = room[j]
            rate = wanted[j] / exposure
            rate = rate if exposure > 0.0 else 0.0
            change = rates[j] - rate
            rates[j] = rate
            change = change * change * exposure / rate
            room[j] = change if rate > 0.0 else 0.0
        off += sum_of(room)
    return off


@compiled(_IN_TABLE, _IN_TABLE, _IN_TABLE, _TABLE, _TABLE, f8, i8, _ROOM)
def fit_columns(by_cluster, by_batch, scales, clusters, batches, tolerance, most, room):
    """Fit the rates of each column, in cluster and batch, to its sums; scales held.

    The room takes ``WIDTH`` numbers.
    """
    n_columns = by_cluster.shape[1]
    for first in range(0, n_columns, WIDTH):
        width = min(WIDTH, n_columns - first)
        for _ in range(most):
            _fit_clusters(by_cluster, first, width, scales, batches, clusters, room)
            off = _fit_batches(by_batch, first, width, scales, clusters, batches, room)
            if off <= tolerance:
                break


@inlined
def _add_products(clusters, batches, first, width, fitted, room):
    """Add the products of rates of these columns to those of each cell."""
    n_columns = clusters.shape[1]
    for k in range(len(clusters)):
        for b in range(len(batches)):
            if width == WIDTH:
                place, other_place = k * n_columns + first, b * n_columns + first
                total = sum_of_products(clusters, place, batches, other_place)
            else:
                room[:] = 0.0
                for j in range(width):
                    room[j] = clusters[k, first + j] * batches[b, first + j]
                total = sum_of(room)
            fitted[k, b] += total


@compiled(_IN_TABLE, _IN_TABLE, i8, _TABLE, _ROOM)
def fill_sizes(clusters, batches, n_columns, sizes, room):
    """Write the sum of the products of rates over the first columns, of each cell."""
    sizes[:] = 0.0
    for first in range(0, n_columns, WIDTH):
        width = min(WIDTH, n_columns - first)
        _add_products(clusters, batches, first, width, sizes, room)


@inlined
def _fit_scales(cell_totals, fitted, scales):
    """Fit the scales of cells; return Σ (fitted - sum)² / sum as it was before."""
    off = 0.0
    for k in range(len(scales)):
        for b in range(scales.shape[1]):
            wanted, rate = cell_totals[k, b], fitted[k, b]
            if wanted > 0.0:
                off += (scales[k, b] * rate - wanted) ** 2 / wanted
            scales[k, b] = wanted / rate if rate > 0.0 else 0.0
    return off


@compiled(
    *(_IN_TABLE, _IN_TABLE, _IN_TABLE),
    *(_TABLE, _TABLE, _TABLE, f8, i8, _TABLE, _ROOM),
)
def fit_rates(
    by_cluster,
    by_batch,
    cell_totals,
    scales,
    clusters,
    batches,
    tolerance,
    most,
    fitted,
    room,
):
    """Fit rates and the scales of all cells in turns; return the number of turns.

    More turns than ``most``: the loss may still be further from its minimum than the
    tolerance. ``fitted`` is room as large as the scales.
    """
    n_columns = by_cluster.shape[1]
    before = np.inf
    for turn in range(1, most + 1):
        off = 0.0
        fitted[:] = 0.0
        for first in range(0, n_columns, WIDTH):
            width = min(WIDTH, n_columns - first)
            _fit_clusters(by_cluster, first, width, scales, batches, clusters, room)
            off += _fit_batches(by_batch, first, width, scales, clusters, batches, room)
            _add_products(clusters, batches, first, width, fitted, room)
        off += _fit_scales(cell_totals, fitted, scales)
        # Steps get shorter by a factor: all that are to come gain about off / (1 - it).
        shorter = np.sqrt(off / before) if off < before else 1.0
        if turn > 1 and off <= tolerance * (1.0 - shorter):
            return turn
        before = off
    return most + 1


@compiled(
    *(_IN_TABLE, _IN_TABLE, _IN_TABLE, _IN_TABLE, _IN_TABLE),
    *(_ROOM, _TABLE, _ROOM),
)
def fill_curvature(
    by_cluster, by_batch, cell_totals, scales, batches, slope, curve, shares
):
    """Derivatives of the loss by the logarithms of scales and of rates of batches.

    ``shares`` is room for a number of each batch.
    """
    n_batches, n_columns = by_batch.shape
    n_cells = cell_totals.size
    curve[:] = 0.0
    for k in range(len(by_cluster)):
        for b in range(n_batches):
            slope[k * n_batches + b] = -cell_totals[k, b]
    for b in range(n_batches):
        for j in range(n_columns):
            slope[n_cells + b * n_columns + j] = -by_batch[b, j]
    for k in range(len(by_cluster)):
        for j in range(n_columns):
            for b in range(n_batches):
                shares[b] = scales[k, b] * batches[b, j]
            exposure = shares.sum()
            shares *= by_cluster[k, j] / exposure if exposure > 0.0 else 0.0
            for b in range(n_batches):
                cell, rate = k * n_batches + b, n_cells + b * n_columns + j
                slope[cell] += shares[b]
                slope[rate] += shares[b]
                for other in range(n_batches if shares[b] > 0.0 else 0):
                    bend = -shares[b] * shares[other] / by_cluster[k, j]
                    bend += shares[b] if other == b else 0.0
                    other_cell = k * n_batches + other
                    other_rate = n_cells + other * n_columns + j
                    curve[cell, other_cell] += bend
                    curve[rate, other_rate] += bend
                    curve[cell, other_rate] += bend
                    curve[other_rate, cell] += bend


@compiled(_TABLE, _ROOM)
def solve_positive(matrix, right):
    """Solve for the right side in place, by Cholesky; the matrix is used up."""
    n = len(right)
    for i in range(n):
        for j in range(i + 1):
            total = matrix[i, j]
            for q in range(j):
                total -= matrix[i, q] * matrix[j, q]
            matrix[i, j] = (
                total / matrix[j, j] if j < i else np.sqrt(max(total, 1e-300))
            )
    for i in range(n):
        for q in range(i):
            right[i] -= matrix[i, q] * right[q]
        right[i] /= matrix[i, i]
    for i in range(n - 1, -1, -1):
        for q in range(i + 1, n):
            right[i] -= matrix[q, i] * right[q]
        right[i] /= matrix[i, i]
