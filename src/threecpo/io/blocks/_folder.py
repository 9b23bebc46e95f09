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
from .store import RowStream

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..._core.counts import Counts
    from .store import Scratch

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


def of_files(
    paths: Sequence[Path], name: str, block_counts: int, scratch: Scratch
) -> BlockSource | RowStream:
    """Open files, all of which have the same columns.

    What takes time to unpack comes once, unless many processes share the work, or a
    file is too large to be cut into blocks.
    """
    first, *others = paths
    header = _header(first)
    for path in others:
        if _header(path) != header:
            message = f"{path} has other column names than {first.name}."
            raise DataFormatError(message)
    largest, compressed = _facts(paths)
    with block_errors(first):
        if first.suffix != ".npz":
            header = _parquet.read(first, _WIDE).column_names
    columns = None if header is None else np.array(list(header), dtype=object)
    readers = [BlockFile(path) for path in paths]
    if scratch.shared or not compressed or (largest or 0) > 2 * block_counts:
        return BlockSource(tuple(readers), name, columns, largest=largest)
    sizes = [path.stat().st_size for path in paths]
    n_blocks = sum(sizes) / max(1, sizes[0])
    return RowStream(name, (read() for read in readers), n_blocks, columns)


def _facts(paths: Sequence[Path]) -> tuple[int | None, bool]:
    """Stored counts of the largest file, if known; whether one is compressed."""
    if paths[0].suffix != ".npz":
        return None, True
    largest, compressed = 0, False
    for path in paths:
        with block_errors(path), open_npz(path) as arrays:
            largest = max(largest, *arrays.shape("data"))
            compressed = compressed or arrays.compressed
    return largest, compressed


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
