"""Entries in any order, sorted into blocks of rows in one reading."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..._core.matrices import from_sparse
from .store import PackedFile

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from ..._core.counts import Counts
    from .store import Scratch

    # Rows, columns and counts of some entries.
    Entries = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]

# Bytes of an entry until it is sorted, rather too many.
_OF_ENTRY = 4


def sorted_blocks(
    parts: Iterable[Entries],
    shape: tuple[int, int],
    n_entries: int,
    block_counts: int,
    scratch: Scratch,
) -> Generator[Counts]:
    """Rows of a matrix of this shape, about so many counts at a time.

    A part is sorted into rows in memory; what it has for each block waits in a file.
    """
    n_rows, n_columns = shape
    n_blocks = max(1, min(n_rows, -(-n_entries // block_counts)))
    step = max(1, -(-n_rows // n_blocks))
    scratch.check_room(n_entries * _OF_ENTRY, "all entries")
    starts = range(0, n_rows, step)
    waiting: list[list[Any]] = [[] for _ in starts]
    with closing(PackedFile(scratch._replace(shared=False))) as file:
        for part in _gathered(parts, block_counts):
            rows, columns, values = part
            counts = from_sparse(sp.coo_array((values, (rows, columns)), shape=shape))
            for start, chunks in zip(starts, waiting, strict=True):
                chunk = counts.between(start, min(n_rows, start + step))
                if len(chunk.data):
                    chunks.append(file.add(chunk))
        for start, chunks in zip(starts, waiting, strict=True):
            block_shape = min(n_rows, start + step) - start, n_columns
            yield _added([read() for read in chunks], block_shape)


def _gathered(parts: Iterable[Entries], n_wanted: int) -> Iterator[Entries]:
    """Entries of several parts at a time, about as many as a block has."""
    begun: list[Entries] = []
    n_begun = 0
    for part in parts:
        begun.append(part)
        n_begun += len(part[0])
        if n_begun >= n_wanted:
            yield _together(begun)
            begun, n_begun = [], 0
    if begun:
        yield _together(begun)


def _together(parts: Sequence[Entries]) -> Entries:
    rows, columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
    return rows, columns, values


def _added(chunks: Sequence[Counts], shape: tuple[int, int]) -> Counts:
    """Counts of chunks of the same rows; those of the same place are added."""
    if len(chunks) == 1:
        return chunks[0]
    rows = [np.repeat(np.arange(shape[0]), np.diff(chunk.indptr)) for chunk in chunks]
    none: Any = np.empty(0, np.int32)
    places = tuple(
        np.concatenate([none, *each]).astype(np.int32)
        for each in (rows, [chunk.indices for chunk in chunks])
    )
    values = np.concatenate([np.empty(0), *(chunk.data for chunk in chunks)])
    return from_sparse(sp.coo_array((values, places), shape=shape))
