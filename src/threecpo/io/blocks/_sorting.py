"""Entries in any order, sorted into blocks of rows in one reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ._npz_blocks import save_block

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    # Rows, columns and counts of some entries.
    Entries = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]

_ENTRY = np.dtype([("row", "<i4"), ("column", "<i4"), ("count", "<f8")])


def sorted_blocks(
    parts: Iterable[Entries],
    shape: tuple[int, int],
    n_blocks: int,
    folder: Path,
    names: Sequence[str] | None,
) -> list[Path]:
    """Write entries of a matrix of this shape to files of a folder, a block each."""
    n_rows, n_columns = shape
    step = -(-n_rows // max(1, min(n_rows, n_blocks)))
    for rows, columns, counts in parts:
        _append(folder, step, rows, columns, counts)
    files = []
    for i, start in enumerate(range(0, n_rows, step)):
        entries = folder / f"{i:06d}.entries"
        block = _block(entries, start, (min(step, n_rows - start), n_columns))
        files.append(folder / f"{i:06d}.npz")
        save_block(block, files[-1], names)
        entries.unlink(missing_ok=True)
    return files


def _append(
    folder: Path,
    step: int,
    rows: NDArray[np.int32],
    columns: NDArray[np.int32],
    counts: NDArray[np.float64],
) -> None:
    """Add every entry to the file of its block."""
    entries = np.empty(len(rows), dtype=_ENTRY)
    entries["row"], entries["column"], entries["count"] = rows, columns, counts
    blocks = rows // step
    order = np.argsort(blocks, kind="stable")
    numbers, starts = np.unique(blocks[order], return_index=True)
    chosen: Iterable[Any] = np.split(order, starts[1:]) if len(rows) else ()
    for number, part in zip(numbers, chosen, strict=True):
        with (folder / f"{number:06d}.entries").open("ab") as file:
            entries[part].tofile(file)


def _block(path: Path, start: int, shape: tuple[int, int]) -> sp.csr_array:
    entries = np.fromfile(path, dtype=_ENTRY) if path.exists() else np.empty(0, _ENTRY)
    places = (entries["row"] - start, entries["column"])
    return sp.coo_array((entries["count"], places), shape=shape).tocsr()
