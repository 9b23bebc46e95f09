"""Blocks of rows: how many there are, what reads them, what is known beforehand."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..._core.counts import Counts, cut_rows, from_dense, from_sparse
from ..._errors import DataFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Source:
    """Readers of blocks, which lie below each other in this order.

    A reader takes nothing and returns counts, each time anew: readers are sent to other
    processes, blocks are not. ``not_whole`` is what to tell where X is taken because
    nothing better is there, and holds no counts. ``largest`` is the number of stored
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


def counts_of(block: Any) -> Counts:
    """Counts of a block that is sparse, an array, or counts already."""
    if isinstance(block, Counts):
        return block
    if sp.issparse(block):
        matrix: Any = block
        if matrix.format in ("csr", "csc"):
            # Loops trust indices, but files may hold any.
            matrix.check_format(full_check=True)
        return from_sparse(matrix)
    array = np.asarray(block)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        message = (
            f"a block is {array.dtype} of shape {array.shape}; it must be a table of "
            "numbers, best a scipy.sparse.csr_array"
        )
        raise DataFormatError(message)
    return from_dense(array)


@contextmanager
def problems_of(path: Path | str) -> Iterator[None]:
    """Give whatever a block makes libraries raise as one error that names it.

    Unlike that of whole files this leaves warnings alone: it runs in many threads.
    """
    try:
        yield
    except (ImportError, MemoryError):
        raise
    except DataFormatError as error:
        if str(error).startswith(str(path)):
            raise
        message = f"{path}: {error}."
        raise DataFormatError(message) from error
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        message = f"{path} cannot be read, it is damaged or of another kind: {reason}."
        raise DataFormatError(message) from error


def largest_of(ends: NDArray[np.int64], cuts: list[tuple[int, int]]) -> int:
    """Stored counts of the largest block."""
    return max(int(ends[stop] - ends[start]) for start, stop in cuts)


def row_cuts(ends: NDArray[np.int64], block_counts: int) -> list[tuple[int, int]]:
    """Row ranges of about as many stored counts as asked for, from row pointers."""
    return cut_rows(ends, -(-int(ends[-1]) // block_counts))
