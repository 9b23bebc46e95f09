"""The compiled loops of distances between rows and clusters: sums of X log X.

Column indices are unsigned, as in ``rows``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import array_type, compiled, f8, i4, i8, inlined, inner, record_type
from .records import ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..codes import Floats

U = np.uint64
# Rows of a larger weight are added once, times their weight.
MOST_COPIES = 1024
_OUT = array_type(f8, write=True)


@inlined
def _x_log_x(count, prior, table):
    """X log X at X = count + prior, from the table where the count is in it."""
    if count < len(table) and count == np.floor(count):
        return table[U(count)]
    x = count + prior
    return x * np.log(x) if x > 0.0 else 0.0


@compiled(ROWS, f8, array_type(f8), _OUT, _OUT)
def x_log_x_sums(rows, prior, table, by_row, by_column):
    """Sum X log X above its value at 0 over rows and over columns.

    A row of whole weight is added as often as copies of it would be: the same bits.
    """
    at_zero = _x_log_x(0.0, prior, table)
    for i in range(U(len(by_row))):
        weight = rows.weights[i] if len(rows.weights) > 0 else 1.0
        copies = weight == np.floor(weight) and weight <= MOST_COPIES
        times, weight = (U(weight), 1.0) if copies else (U(1), weight)
        for t in range(U(rows.indptr[i]), U(rows.indptr[i + U(1)])):
            value = _x_log_x(rows.data[t], prior, table) - at_zero
            by_row[i] += value
            for _ in range(times):
                by_column[U(rows.indices[t])] += weight * value


@compiled(ROWS, array_type(i4), array_type(f8), f8, array_type(f8), _OUT)
def add_common_columns(by_column, row_columns, row_data, prior, table, out):
    """Add, for each row, what columns shared with one given row change.

    The matrix is stored by columns; for a column where both rows count, the change of X
    log X of the sum against the columns where only one of them does.
    """
    rows, data = by_column.indices, by_column.data
    at_zero = _x_log_x(0.0, prior, table)
    for s in range(U(len(row_columns))):
        j = U(row_columns[s])
        alone = _x_log_x(row_data[s], prior, table) - at_zero
        for t in range(U(by_column.indptr[j]), U(by_column.indptr[j + U(1)])):
            both = _x_log_x(row_data[s] + data[t], prior, table)
            other = _x_log_x(data[t], prior, table)
            out[U(rows[t])] += (both - other) - alone


class Merging(NamedTuple):
    """Clusters on their way to being joined, and workspace.

    ``values`` has a row of sums for each cluster, over each column of C1 and, last,
    over all of C0, and ``priors`` the prior's share of each column; the row behind the
    clusters is empty. Columns of C1 count with ``weights`` (empty: 1 each), which add
    up to ``relevant_weight``; those of C0, in whose sums they are, have
    ``shared_weight``. ``costs[a, b]`` is what it costs to join b to a before it, and
    ``into[b]`` the cluster that b has become part of. ``pairs`` and ``lost`` say which
    two were joined in each step, and what that cost.
    """

    values: Floats
    priors: Floats
    weights: Floats
    relevant_weight: float
    shared_weight: float
    near: Floats
    own: Floats
    costs: Floats
    into: NDArray[np.int64]
    pairs: NDArray[np.int64]
    lost: Floats
    apart: int


_TABLE = array_type(f8, 2, write=True)
_MERGING = record_type(
    Merging,
    *(_TABLE, _OUT, _OUT, f8, f8, _OUT, _OUT, _TABLE),
    *(array_type(i8, write=True), array_type(i8, 2, write=True), _OUT, i8),
)


@inner
def _union(merging, a, b):
    """Σ f(x) - f(Σ x) over the sum of rows a and b, with f(x) = x log x.

    Most counts are small and whole; their f is worked out once for all columns, since a
    column's share of the prior is the same.
    """
    near, values, priors = merging.near, merging.values, merging.priors
    prior = priors[a] + priors[b]
    for count in range(len(near)):
        near[count] = _x_log_x(count, prior, near[:0])
    first, second = values[a], values[b]
    last = U(len(first) - 1)
    above = total = 0.0
    weights = merging.weights
    for j in range(last):
        count = first[j] + second[j]
        weight = weights[j] if len(weights) > 0 else 1.0
        above += weight * _x_log_x(count, prior, near)
        total += weight * count
    shared = first[last] + second[last] + merging.shared_weight * prior
    above += _x_log_x(shared, 0.0, near[:0])
    whole = total + shared + merging.relevant_weight * prior
    return above - _x_log_x(whole, 0.0, near[:0])


@compiled(_MERGING, i8, i8)
def price_pairs(merging, first, last):
    """Write what it costs to join each of these rows with each row before it."""
    own = merging.own
    empty = len(own)
    for a in range(first, last):
        own[a] = _union(merging, a, empty)
        for b in range(a):
            if a >= merging.apart:
                joined = _union(merging, a, b)
                merging.costs[b, a] = own[a] + own[b] - joined


@compiled(_MERGING, i8, i8)
def join_cheapest(merging, start, end):
    """Add up the two rows of least d(a, b), in place; ties go to the first pair.

    Plain loops: expressions of arrays take seconds to compile.
    """
    values, own, costs, into = merging.values, merging.own, merging.costs, merging.into
    empty = n = len(own)
    for step in range(start, end):
        a, b = i8(0), i8(1)  # a literal would compile _union again
        for first in range(n):
            for second in range(first + 1, n):
                if costs[first, second] < costs[a, b]:
                    a, b = first, second
        merging.pairs[step, 0], merging.pairs[step, 1] = a, b
        merging.lost[step] = costs[a, b]
        for j in range(values.shape[1]):
            values[a, j] += values[b, j]
        merging.priors[a] += merging.priors[b]
        own[a] = _union(merging, a, empty)
        for other in range(n):
            costs[b, other] = costs[other, b] = np.inf
        for other in range(n):
            if into[other] == b:
                into[other] = a
            elif into[other] == other and other != a and max(a, other) >= merging.apart:
                cost = own[a] + own[other]
                cost -= _union(merging, a, other)
                costs[min(a, other), max(a, other)] = cost
