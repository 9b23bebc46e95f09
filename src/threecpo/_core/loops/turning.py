"""Columns of a full table to the stored counts of its rows.

It stands alone, as only readers of tables by columns need it.
"""

from ..inspection import EXACT
from .compiling import array_type, compiled, f8, i4, i8


@compiled(array_type(f8, 2))
def are_counts(columns):
    """Whether all values are counts."""
    bad = False
    for j in range(columns.shape[0]):
        column = columns[j]
        for i in range(len(column)):
            bad |= not (0.0 <= column[i] < EXACT)
    return not bad


@compiled(
    array_type(f8, 2),
    array_type(i8, write=True),
    array_type(i4, write=True),
    array_type(f8, write=True),
)
def fill_rows(columns, ends, indices, data):
    """Fill in row pointers, columns and values of what is not 0.

    It goes on from the first pointer. Every value is written to the next place, and the
    place moves on from those that are not 0; so there must be one place more than such
    values.
    """
    n_columns, n_rows = columns.shape
    place = ends[0]
    for i in range(n_rows):
        for j in range(n_columns):
            value = columns[j, i]
            indices[place] = j
            data[place] = value
            place += value != 0.0
        ends[i + 1] = place
