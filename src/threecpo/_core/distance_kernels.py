"""The compiled loops of distances between rows: sums of X log X.

Column indices are unsigned, as in ``kernels``.
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
