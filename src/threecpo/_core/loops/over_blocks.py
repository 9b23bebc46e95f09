"""Loops that only fits over blocks need: others do not compile them."""

from __future__ import annotations

import numpy as np

from .compiling import array_type, compiled, f8, i4, i8
from .records import ROWS

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


U = np.uint64


@compiled(ROWS, array_type(i4), array_type(f8, 2), f8, array_type(f8, write=True))
def misfit_rows(rows, labels, shares, noise, out):
    """Write what counts of a row are too large by, over the root of its sum.

    A count x where μ is expected is x log(x / μ) - (x - μ) nats too large; up to
    ``noise`` of these nats are left out.
    """
    weights = rows.column_weights
    weighted = len(weights) > 0
    for i in range(U(len(labels))):
        first, last = U(rows.indptr[i]), U(rows.indptr[i + U(1)])
        size = 0.0
        for t in range(first, last):
            size += rows.data[t]
        share = shares[U(labels[i])]
        total = 0.0
        for t in range(first, last):
            j = U(rows.indices[t])
            x, expected = rows.data[t], size * share[j]
            if x > expected:
                excess = x * np.log(x / expected) - (x - expected) - noise
                if excess > 0.0:
                    total += excess * weights[j] if weighted else excess
        out[i] = total / np.sqrt(size) if size > 0.0 else 0.0
