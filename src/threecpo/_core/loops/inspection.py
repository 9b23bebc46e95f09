"""One compiled look at the arrays of a sparse matrix, before other loops trust them."""

import numpy as np

from ..inspection import EXACT, ODD_VALUES, OUTSIDE, POINTERS, UNSORTED
from .compiling import array_type, compiled, f8, i4, i8


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
