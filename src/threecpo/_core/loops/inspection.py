"""Loops over the arrays of sparse matrices: inspection before use, checksums."""

from __future__ import annotations

import numpy as np

from ..counts import EXACT
from . import array_type, compiled, f8, i4, i8

# What ``inspect`` may find; several of them are added up.
POINTERS, OUTSIDE, UNSORTED, ODD_VALUES = 1, 2, 4, 8


@compiled(array_type(i8), array_type(i4), array_type(f8), i8)
def inspect(indptr, indices, data, n_indexed):
    """Sum of the flags of what is not as it is in canonical whole counts.

    Nothing is read outside the arrays, whatever they hold. Loops go over slices and
    without branches, which makes vector instructions of them.
    """
    n_pointed, stored = len(indptr) - 1, min(len(indices), len(data))
    if n_pointed < 0 or indptr[0] != 0 or indptr[n_pointed] > stored:
        return POINTERS
    for i in range(n_pointed):
        if indptr[i + 1] < indptr[i]:
            return POINTERS
    outside = unsorted = odd = np.int32(0)
    for i in range(n_pointed):
        row = indices[indptr[i] : indptr[i + 1]]
        if len(row) > 0:
            # Of sorted indices the first is the smallest and the last the largest.
            outside |= np.int32((row[0] < 0) | (row[len(row) - 1] >= n_indexed))
        for p in range(1, len(row)):
            unsorted |= np.int32(row[p] <= row[p - 1])
    for p in range(indptr[n_pointed]):
        value = data[p]
        plain = (value > 0.0) & (value < EXACT) & (value == np.floor(value))
        odd |= np.int32(not plain)
    return OUTSIDE * outside + UNSORTED * unsorted + ODD_VALUES * odd


ROW_FACTOR = 0x5851F42D4C957F2D


@compiled(array_type(i8), array_type(i4), array_type(i8))
def checksum(indptr, indices, bits):
    """Sum over rows of the sum of their entries, each times a number of its own.

    ``bits`` are the values as whole numbers. Both halves of a value and its column are
    mixed into 32 bits, whose products with 32 bits are vector instructions; the sum
    wraps round at 64 bits. That of rows below each other follows from those of both
    parts: see ``chained_checksum``.
    """
    half = np.int64(0xFFFFFFFF)
    total = np.int64(0)
    for i in range(len(indptr) - 1):
        first, last = indptr[i], indptr[i + 1]
        row = last - first + 1
        for p in range(first, last):
            entry = bits[p] ^ (bits[p] >> 32) ^ (np.int64(indices[p]) << 3)
            row += (entry & half) * ((2 * (p - first) + 1) & half)
        total = total * np.int64(ROW_FACTOR) + (row ^ (row >> 29))
    return total


def chained_checksum(first: int, second: int, n_second: int) -> int:
    """Checksum of rows and so many others below them: the same for any cut."""
    wrapped = first * pow(ROW_FACTOR, n_second, 1 << 64) + second
    return wrapped % (1 << 64)
