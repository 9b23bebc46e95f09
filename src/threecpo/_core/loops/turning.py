"""Columns of a full table to the stored counts of its rows.

It stands alone, as only readers of tables by columns need it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from ..inspection import EXACT
from .compiling import array_type, compiled, f8, i1, i4, i8, inlined, u4, u8

i2, u1, u2 = types.int16, types.uint8, types.uint16

# Types of numbers in columns, and the numbers by which loops know them.
_SIZES = (8, 16, 32, 64)
_NAMES = [*(f"int{n}" for n in _SIZES), *(f"uint{n}" for n in _SIZES), "float64"]
KINDS = {np.dtype(name): number for number, name in enumerate(_NAMES)}


@intrinsic  # type: ignore[untyped-decorator]
def _number_at(_typing: Any, kind: Any, address: Any, place: Any) -> Any:
    """Return a number of this type from an array that starts at this address."""

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        stored = context.get_data_type(kind.dtype).as_pointer()
        start = builder.inttoptr(args[1], stored)
        value = builder.load(builder.gep(start, [args[2]]), align=1)
        return context.cast(builder, value, kind.dtype, types.float64)

    return types.float64(kind, address, place), generate


@inlined
def _copy(kind, address, start, line):
    for i in range(len(line)):
        line[i] = _number_at(kind, address, start + i)


@inlined
def _copy_numbers(kind, address, start, line):
    """Copy numbers of a column, from this row on, to a line of float64."""
    if kind == 0:
        _copy(i1, address, start, line)
    elif kind == 1:
        _copy(i2, address, start, line)
    elif kind == 2:
        _copy(i4, address, start, line)
    elif kind == 3:
        _copy(i8, address, start, line)
    elif kind == 4:
        _copy(u1, address, start, line)
    elif kind == 5:
        _copy(u2, address, start, line)
    elif kind == 6:
        _copy(u4, address, start, line)
    elif kind == 7:
        _copy(u8, address, start, line)
    else:
        _copy(f8, address, start, line)


@compiled(array_type(f8))
def are_counts(values):
    """Whether all values are counts."""
    bad = False
    for p in range(len(values)):
        bad |= not (0.0 <= values[p] < EXACT)
    return not bad


@compiled(
    *(array_type(i8), array_type(i8)),
    *(array_type(f8, 2, write=True), array_type(i8, write=True)),
    *(array_type(i4, write=True), array_type(f8, write=True)),
)
def fill_rows(addresses, kinds, part, ends, indices, data):
    """Fill in row pointers, columns and values of what is not 0.

    Columns are read from where they lie in memory, as a call for each takes longer than
    the copy: each must have as many numbers as there are rows. ``part`` holds a few
    rows of all columns, few enough to stay near the processor. Every value is written
    to the next place, and the place moves on from those that are not 0; so there must
    be one place more than such values.
    """
    n_columns, n_rows, place = len(addresses), len(ends) - 1, 0
    for start in range(0, n_rows, part.shape[1]):
        n_copied = min(part.shape[1], n_rows - start)
        for j in range(n_columns):
            _copy_numbers(kinds[j], addresses[j], start, part[j, :n_copied])
        for i in range(n_copied):
            for j in range(n_columns):
                value = part[j, i]
                indices[place] = j
                data[place] = value
                place += value != 0.0
            ends[start + i + 1] = place
