"""Blocks of rows: how many there are, what reads them, what is known beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..._core.counts import Counts, cut_rows
from ..._core.matrices import from_dense, from_sparse
from ..._errors import DataFormatError
from ..._validation import held_counts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


@dataclass(frozen=True)
class BlockSource:
    """Readers of blocks, which lie below each other in this order.

    A reader takes nothing and reads its counts at each call: readers are sent to other
    processes, blocks are not. ``not_whole`` is the error to raise where X is taken for
    lack of a layer of counts, and holds none. ``largest`` is the number of stored
    counts of the largest block, if that is known before they are read.
    """

    readers: tuple[Callable[[], Counts], ...]
    name: str
    column_names: NDArray[np.object_] | None = None
    not_whole: str | None = None
    largest: int | None = None
    row_names: NDArray[np.object_] | None = None

    def __post_init__(self) -> None:
        if not self.readers:
            message = f"{self.name} has no blocks of rows."
            raise DataFormatError(message)


@dataclass(frozen=True)
class HeldBlock:
    """A block that is in memory."""

    counts: Counts

    def __call__(self) -> Counts:
        return self.counts


def counts_of(block: Any) -> Counts:
    """Counts of a block that is sparse, an array, a table, or counts already."""
    held = held_counts(block)
    if held is not None:
        return held
    if sp.issparse(block):
        return from_sparse(block)
    array = np.asarray(block)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        message = (
            f"a block is {array.dtype} of shape {array.shape}; it must be a table of "
            "numbers, best a scipy.sparse.csr_array"
        )
        raise DataFormatError(message)
    return from_dense(array)


def row_cuts(ends: NDArray[np.int64], block_counts: int) -> list[tuple[int, int]]:
    """Row ranges of about as many stored counts as asked for, from row pointers."""
    return cut_rows(ends, -(-int(ends[-1]) // block_counts))
