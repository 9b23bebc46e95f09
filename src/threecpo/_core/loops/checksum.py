"""A number that tells whether a block of rows still holds the same counts.

It stands alone, as only fits over blocks need it: others do not compile it.
"""

import numpy as np

from .compiling import array_type, compiled, i4, i8


@compiled(array_type(i8), array_type(i4), array_type(i8))
def checksum(indptr, indices, bits):
    """Sum of all entries and row pointers, each times a number of its own.

    ``bits`` are the values as whole numbers. Both halves of a value and its column are
    mixed into 32 bits, whose products with 32 bits are vector instructions; the sum
    wraps round at 64 bits.
    """
    half = np.int64(0xFFFFFFFF)
    total = np.int64(len(bits))
    for p in range(len(bits)):
        entry = bits[p] ^ (bits[p] >> 32) ^ (np.int64(indices[p]) << 3)
        total += (entry & half) * ((2 * p + 1) & half)
    for pointer in indptr:
        total = 31 * total + pointer
    return total
