"""The compiled loops of distances between rows and clusters: sums of X log X.

Column indices are unsigned, as in ``rows``.
"""

from __future__ import annotations

import numpy as np

from .compiling import array_type, compiled, f8, i4, i8, inlined

U = np.uint64


@inlined
def _x_log_x(count, prior, table):
    """X log X at X = count + prior, from the table where the count is in it."""
    if count < len(table) and count == np.floor(count):
        return table[U(count)]
    x = count + prior
    return x * np.log(x) if x > 0.0 else 0.0


@compiled(
    array_type(i8),
    array_type(i4),
    array_type(f8),
    f8,
    array_type(f8),
    array_type(f8, write=True),
    array_type(f8, write=True),
)
def x_log_x_sums(indptr, indices, data, prior, table, by_row, by_column):
    """Sum X log X above its value at 0 over rows and over columns."""
    at_zero = _x_log_x(0.0, prior, table)
    for i in range(U(len(by_row))):
        for t in range(U(indptr[i]), U(indptr[i + U(1)])):
            value = _x_log_x(data[t], prior, table) - at_zero
            by_row[i] += value
            by_column[U(indices[t])] += value


@compiled(
    array_type(i8),
    array_type(i4),
    array_type(f8),
    array_type(i4),
    array_type(f8),
    f8,
    array_type(f8),
    array_type(f8, write=True),
)
def add_common_columns(indptr, rows, data, row_columns, row_data, prior, table, out):
    """Add, for each row, what columns shared with one given row change.

    The matrix is stored by columns; for a column where both rows count, the change of X
    log X of the sum against the columns where only one of them does.
    """
    at_zero = _x_log_x(0.0, prior, table)
    for s in range(U(len(row_columns))):
        j = U(row_columns[s])
        alone = _x_log_x(row_data[s], prior, table) - at_zero
        for t in range(U(indptr[j]), U(indptr[j + U(1)])):
            both = _x_log_x(row_data[s] + data[t], prior, table)
            other = _x_log_x(data[t], prior, table)
            out[U(rows[t])] += (both - other) - alone


@inlined
def _union(values, priors, a, b, n_shared, near):
    """Σ f(x) - f(Σ x) over the sum of rows a and b, with f(x) = x log x.

    The last value is that of all of C0. Most counts are small and whole; their f is
    worked out once for all columns, since a column's share of the prior is the same.
    """
    prior = priors[a] + priors[b]
    for count in range(len(near)):
        near[count] = _x_log_x(count, prior, near[:0])
    first, second = values[a], values[b]
    last = U(len(first) - 1)
    above = total = 0.0
    for j in range(last):
        count = first[j] + second[j]
        above += _x_log_x(count, prior, near)
        total += count
    shared = first[last] + second[last] + n_shared * prior
    above += _x_log_x(shared, 0.0, near[:0])
    return above - _x_log_x(total + shared + last * prior, 0.0, near[:0])


@compiled(
    array_type(f8, 2),
    array_type(f8),
    i8,
    i8,
    i8,
    array_type(f8, write=True),
    array_type(f8, write=True),
    array_type(f8, 2, write=True),
)
def price_pairs(values, priors, n_shared, first, last, near, own, costs):
    """Write what it costs to join each of these rows with each row before it.

    The row after all others is empty.
    """
    n = len(own)
    for a in range(first, last):
        own[a] = _union(values, priors, a, n, n_shared, near)
        for b in range(a):
            joined = _union(values, priors, a, b, n_shared, near)
            costs[b, a] = own[a] + own[b] - joined


@compiled(
    array_type(f8, 2, write=True),
    array_type(f8, write=True),
    i8,
    i8,
    array_type(f8, write=True),
    array_type(f8, write=True),
    array_type(f8, 2, write=True),
    array_type(i8, write=True),
)
def join_cheapest(values, priors, n_shared, times, near, own, costs, into):
    """Add up the two rows of least d(a, b), in place; ties go to the first pair."""
    n = len(own)
    for _ in range(times):
        a, b = divmod(int(np.argmin(costs)), n)
        values[a] += values[b]
        priors[a] += priors[b]
        own[a] = _union(values, priors, a, n, n_shared, near)
        costs[b, :] = np.inf
        costs[:, b] = np.inf
        for other in range(n):
            if into[other] == b:
                into[other] = a
            elif into[other] == other and other != a:
                cost = own[a] + own[other]
                cost -= _union(values, priors, a, other, n_shared, near)
                costs[min(a, other), max(a, other)] = cost
