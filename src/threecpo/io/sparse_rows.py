"""Sparse rows made of arrays and of each other, without a second copy of all counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from numpy.typing import NDArray


def csr_rows(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    shape: tuple[int, int],
) -> sp.csr_array:
    """Rows in the memory of these arrays; scipy copies what is not as wide as another.

    Nobody has looked at the pointers yet.
    """
    narrow = indptr.astype(indices.dtype)
    small = np.array_equal(narrow, indptr)
    return sp.csr_array((data, indices, narrow if small else indptr), shape=shape)


def joined(blocks: list[sp.csr_array]) -> sp.csr_array:
    """Rows of blocks below each other; the list is emptied.

    Each block is freed once it is copied, so that there is never a second copy of all.
    """
    if len(blocks) == 1:
        return blocks.pop()
    stored = sum(block.nnz for block in blocks)
    n_rows, n_columns = sum(block.shape[0] for block in blocks), blocks[0].shape[1]
    data, indices = np.empty(stored), np.empty(stored, dtype=np.int32)
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    row, end = n_rows, stored
    while blocks:
        block = blocks.pop()
        start = end - block.nnz
        data[start:end], indices[start:end] = block.data, block.indices
        indptr[row - block.shape[0] + 1 : row + 1] = (
            block.indptr[1:].astype(int) + start
        )
        row, end = row - block.shape[0], start
    return csr_rows(data, indices, indptr, (n_rows, n_columns))
