"""The compiled loops that fit rates of clusters and batches: proportional fitting.

Columns are worked on some at a time, side by side, so that all of it stays in the
nearest cache and becomes vector instructions; every sum has one order.
"""

from __future__ import annotations

import numpy as np

from . import array_type, compiled, f8, i8, inlined
from .simd import WIDTH, add_lines, sum_of, sum_of_products

_IN_TABLE = array_type(f8, 2)
_TABLE = array_type(f8, 2, write=True)
_LINE = array_type(f8, write=True)
# Added to the curvature, as a share of the sums: some rates can be changed together
# without any effect.
RIDGE = 1e-13
# Conjugate gradients of a Newton step end with this share of the squared norm of the
# residual, and those of the last step with this share of the tolerance.
MAX_GRADIENTS = 100
REDUCTION = 1e-4
LAST_NORM = 1e-12


@inlined
def _fill_exposures(scales, at, step, other, first, width, line):
    """Fill the line with what one rate of each column is multiplied by.

    It is the sum over the rates on the other side, with scales from ``at`` on.
    """
    n_others, n_columns = other.shape
    if width == WIDTH:
        add_lines(scales, at, step, n_others, other, first, n_columns, line)
    else:
        line[:] = 0.0
        for i in range(n_others):
            scale = scales.flat[at + i * step]
            for j in range(width):
                line[j] += scale * other[i, first + j]


@inlined
def _fit_clusters(sums, first, width, scales, batches, clusters, line):
    """Fit the rates of clusters to their sums, those of batches held."""
    n_batches = len(batches)
    for k in range(len(sums)):
        _fill_exposures(scales, k * n_batches, 1, batches, first, width, line)
        wanted = sums[k, first : first + width]
        rates = clusters[k, first : first + width]
        for j in range(width):
            rate = wanted[j] / line[j]
            rates[j] = rate if line[j] > 0.0 else 0.0


@inlined
def _fit_batches(sums, first, width, scales, clusters, batches, line):
    """Fit the rates of batches; return Σ (fitted - sum)² / sum as it was before."""
    off = 0.0
    for b in range(len(sums)):
        _fill_exposures(scales, b, len(sums), clusters, first, width, line)
        wanted = sums[b, first : first + width]
        rates = batches[b, first : first + width]
        for j in range(width):
            exposure = line[j]
            rate = wanted[j] / exposure
            rate = rate if exposure > 0.0 else 0.0
            change = rates[j] - rate
            rates[j] = rate
            change = change * change * exposure / rate
            line[j] = change if rate > 0.0 else 0.0
        off += sum_of(line)
    return off


@compiled(_IN_TABLE, _IN_TABLE, _TABLE, _TABLE, _TABLE, f8, i8, _LINE)
def fit_columns(by_cluster, by_batch, scales, clusters, batches, tolerance, most, line):
    """Fit the rates of each column, in cluster and batch, to its sums; scales held."""
    n_columns = by_cluster.shape[1]
    for first in range(0, n_columns, WIDTH):
        width = min(WIDTH, n_columns - first)
        for _ in range(most):
            _fit_clusters(by_cluster, first, width, scales, batches, clusters, line)
            off = _fit_batches(by_batch, first, width, scales, clusters, batches, line)
            if off <= tolerance:
                break


@inlined
def _add_products(clusters, batches, first, width, fitted, line):
    """Add the products of rates of these columns to those of each cell."""
    n_columns = clusters.shape[1]
    for k in range(len(clusters)):
        for b in range(len(batches)):
            if width == WIDTH:
                place, other_place = k * n_columns + first, b * n_columns + first
                total = sum_of_products(clusters, place, batches, other_place)
            else:
                line[:] = 0.0
                for j in range(width):
                    line[j] = clusters[k, first + j] * batches[b, first + j]
                total = sum_of(line)
            fitted[k, b] += total


@compiled(_IN_TABLE, _IN_TABLE, i8, _TABLE, _LINE)
def fill_sizes(clusters, batches, n_columns, sizes, line):
    """Write the sum of the products of rates over the first columns, of each cell."""
    sizes[:] = 0.0
    for first in range(0, n_columns, WIDTH):
        width = min(WIDTH, n_columns - first)
        _add_products(clusters, batches, first, width, sizes, line)


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
    *(_IN_TABLE, _IN_TABLE, _IN_TABLE), *(_TABLE, _TABLE, _TABLE, f8, i8, _TABLE, _LINE)
)
def fit_by_sweeps(
    by_cluster,
    by_batch,
    cell_totals,
    scales,
    clusters,
    batches,
    tolerance,
    most,
    fitted,
    line,
):
    """Fit rates and the scales of all cells in sweeps; return their number.

    It is ``most`` + 1 as soon as so many are not expected to reach the tolerance.
    ``fitted`` is workspace as large as the scales.
    """
    n_columns = by_cluster.shape[1]
    before = np.inf
    for sweep in range(1, most + 1):
        off = 0.0
        fitted[:] = 0.0
        for first in range(0, n_columns, WIDTH):
            width = min(WIDTH, n_columns - first)
            _fit_clusters(by_cluster, first, width, scales, batches, clusters, line)
            off += _fit_batches(by_batch, first, width, scales, clusters, batches, line)
            _add_products(clusters, batches, first, width, fitted, line)
        off += _fit_scales(cell_totals, fitted, scales)
        # Steps shrink by a factor: all that follow gain about off / (1 - factor).
        factor = np.sqrt(off / before) if off < before else 1.0
        enough = tolerance * (1.0 - factor)
        if sweep > 1 and off <= enough:
            return sweep
        if sweep > 2 and off * factor ** (2 * (most - sweep)) > enough:
            break
        before = off
    return most + 1


@inlined
def _fill_derivatives(by_cluster, shares, rates, fitted, curvature, line):
    """Write the fitted sums of cells and batches, and the diagonal of the Hessian."""
    n_clusters, n_columns = by_cluster.shape
    fitted[:] = 0.0
    curvature[:] = 0.0
    for first in range(0, n_columns, WIDTH):
        width = min(WIDTH, n_columns - first)
        own = slice(n_clusters + first, n_clusters + first + width)
        line[:] = 0.0
        for k in range(n_clusters):
            sums = by_cluster[k, first : first + width]
            share = shares[k, first : first + width]
            for b in range(len(rates)):
                scale, effects, out = rates[b, k], rates[b, own], fitted[b, own]
                for j in range(width):
                    line[j] = scale * effects[j] * share[j] * sums[j]
                for j in range(width):
                    out[j] += line[j]
                fitted[b, k] += sum_of(line)
                out = curvature[b, own]
                for j in range(width):
                    line[j] *= 1.0 - scale * effects[j] * share[j]
                for j in range(width):
                    out[j] += line[j]
                curvature[b, k] += sum_of(line)


@inlined
def _multiply_by_hessian(by_cluster, shares, rates, direction, product, line, means):
    """Write the product of the Hessian and a direction."""
    n_clusters, n_columns = by_cluster.shape
    product[:] = 0.0
    for first in range(0, n_columns, WIDTH):
        width = min(WIDTH, n_columns - first)
        own = slice(n_clusters + first, n_clusters + first + width)
        line[:] = 0.0
        for k in range(n_clusters):
            sums = by_cluster[k, first : first + width]
            share = shares[k, first : first + width]
            means[:] = 0.0
            for b in range(len(rates)):
                scale, effects = rates[b, k], rates[b, own]
                change, changes = direction[b, k], direction[b, own]
                for j in range(width):
                    means[j] += scale * effects[j] * (change + changes[j])
            for j in range(width):
                means[j] *= share[j]
            for b in range(len(rates)):
                scale, effects, out = rates[b, k], rates[b, own], product[b, own]
                change, changes = direction[b, k], direction[b, own]
                for j in range(width):
                    fitted = scale * effects[j] * share[j] * sums[j]
                    line[j] = fitted * (change + changes[j] - means[j])
                for j in range(width):
                    out[j] += line[j]
                product[b, k] += sum_of(line)


@inlined
def _dot(a, b):
    """Inner product of two tables."""
    total = 0.0
    n_wide = a.size // WIDTH * WIDTH
    for first in range(0, n_wide, WIDTH):
        total += sum_of_products(a, first, b, first)
    for i in range(n_wide, a.size):
        total += a.flat[i] * b.flat[i]
    return total


@compiled(
    *(_IN_TABLE, _IN_TABLE, _IN_TABLE, _IN_TABLE, f8),
    *(_TABLE, array_type(f8, 3, write=True), _TABLE),
)
def find_newton_step(
    by_cluster, shares, rates, weights, tolerance, step, tables, lines
):
    """Write a Newton step of the logarithms of rates; return its decrement squared.

    By conjugate gradients, preconditioned with the diagonal of the Hessian. Rates,
    weights and the step have a line for each batch: its cells, then its columns.
    ``shares`` is 1 / Σ_b Λ_kb β_bj. Tables (5) and lines (2) are workspace.
    """
    residual, inverse, scaled = tables[0], tables[1], tables[2]
    direction, product = tables[3], tables[4]
    line, means = lines[0], lines[1]
    _fill_derivatives(by_cluster, shares, rates, residual, inverse, line)
    for i in range(step.size):
        weight = weights.flat[i]
        residual.flat[i] = weight - residual.flat[i] if weight > 0.0 else 0.0
        curve = inverse.flat[i] + RIDGE * weight
        inverse.flat[i] = 1.0 / curve if weight > 0.0 else 0.0
        scaled.flat[i] = residual.flat[i] * inverse.flat[i]
        direction.flat[i] = scaled.flat[i]
        step.flat[i] = 0.0
    norm = _dot(residual, scaled)
    enough = REDUCTION * norm
    if norm <= 2.0 * tolerance:
        # This may be the last step, which directions of little curvature decide.
        enough = min(enough, LAST_NORM * tolerance)
    decrement = 0.0
    for _ in range(MAX_GRADIENTS):
        _multiply_by_hessian(by_cluster, shares, rates, direction, product, line, means)
        for i in range(step.size):
            product.flat[i] += RIDGE * weights.flat[i] * direction.flat[i]
        curve = _dot(direction, product)
        if not curve > 0.0:
            break
        length = norm / curve
        decrement += length * norm
        for i in range(step.size):
            step.flat[i] += length * direction.flat[i]
            residual.flat[i] -= length * product.flat[i]
            scaled.flat[i] = residual.flat[i] * inverse.flat[i]
        previous, norm = norm, _dot(residual, scaled)
        if norm <= enough:
            break
        for i in range(step.size):
            direction.flat[i] = scaled.flat[i] + norm / previous * direction.flat[i]
    return decrement
