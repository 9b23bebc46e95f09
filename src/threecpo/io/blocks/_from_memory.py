"""Counts in memory, cut into blocks that share it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._validation import check_counts
from ...table import CountTable
from ..errors import block_errors
from .block_source import BlockSource, HeldBlock, counts_of, largest_of, row_cuts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..._core.counts import Counts


@dataclass(frozen=True)
class _Called:
    """What a function of the user returns, as counts."""

    number: int
    read: Callable[[], Any]

    def __call__(self) -> Counts:
        block = self.read()
        with block_errors(f"Block {self.number}"):
            return counts_of(block)


def in_memory(X: Any, block_counts: int) -> BlockSource:
    named = isinstance(X, CountTable)
    names = X.column_names if named else getattr(X, "columns", None)
    counts = check_counts(X)
    cuts = row_cuts(counts.indptr, block_counts)
    if names is not None and not all(isinstance(name, str) for name in names):
        names = None
    return BlockSource(
        tuple(HeldBlock(counts.between(*cut)) for cut in cuts),
        "X",
        None if names is None else np.array(list(names), dtype=object),
        largest=largest_of(counts.indptr, cuts),
        row_names=X.row_names if named else None,
    )


def of_readers(readers: Sequence[Callable[[], Any]]) -> BlockSource:
    return BlockSource(
        tuple(_Called(i, read) for i, read in enumerate(readers)), "blocks"
    )
