"""A folder of npz or parquet files, one block of rows each, in the order of names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..._errors import DataFormatError
from .. import _npz, _parquet
from ..errors import block_errors
from ..format_options import ReadOptions
from ..npz_arrays import open_npz
from .block_source import BlockSource, counts_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..._core.counts import Counts

SUFFIXES = (".npz", ".parquet", ".pq")
# A block has whole rows; triples would have parts of them.
_WIDE = ReadOptions(triples=False)


@dataclass(frozen=True)
class BlockFile:
    """Reads the block that is in a file."""

    path: Path

    def __call__(self) -> Counts:
        with block_errors(self.path):
            if self.path.suffix != ".npz":
                return counts_of(_parquet.read(self.path, _WIDE).X)
            with open_npz(self.path) as arrays:
                return counts_of(_npz.matrix_of(arrays))


def files_of(folder: Path) -> list[Path]:
    """Blocks of a folder; numbers in their names count as numbers."""
    found = [path for path in folder.iterdir() if path.suffix in SUFFIXES]
    if len({path.suffix == ".npz" for path in found}) > 1:
        message = f"{folder} holds both npz and parquet files; keep one kind there."
        raise DataFormatError(message)
    return sorted(found, key=_natural)


def of_files(paths: Sequence[Path], name: str) -> BlockSource:
    """Open files, all of which have the same columns."""
    first, *others = paths
    header = _header(first)
    for path in others:
        if _header(path) != header:
            message = f"{path} has other column names than {first.name}."
            raise DataFormatError(message)
    names = header
    if header is not None and first.suffix != ".npz":
        with block_errors(first):
            names = _parquet.read(first, _WIDE).column_names
    return BlockSource(
        tuple(BlockFile(path) for path in paths),
        name,
        None if names is None else np.array(list(names), dtype=object),
        largest=_largest(paths),
    )


def _largest(paths: Sequence[Path]) -> int | None:
    """Stored counts of the largest file, by the headers of its arrays."""
    if paths[0].suffix != ".npz":
        return None
    largest = 0
    for path in paths:
        with block_errors(path), open_npz(path) as arrays:
            largest = max(largest, *arrays.shape("data"))
    return largest


def _header(path: Path) -> Sequence[str] | None:
    """Column names of a file, before its rows are read."""
    with block_errors(path):
        if path.suffix != ".npz":
            return _parquet.column_names(path)
        with open_npz(path) as arrays:
            return _npz.names_of(arrays, "feature_names")


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """Sort block-2 before block-10."""
    return [
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in re.split(r"(\d+)", path.name)
        if part
    ]
