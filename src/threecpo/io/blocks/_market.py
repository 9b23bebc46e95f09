"""MatrixMarket, plain or 10x: read once, line by line, into blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..._errors import DataFormatError
from .. import _mtx, _tenx
from ..errors import block_errors
from ._folder import of_files
from ._npz_blocks import save_block

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from .block_source import BlockSource

_ENTRY = np.dtype([("row", "<i4"), ("column", "<i4"), ("count", "<f8")])


def of_market(path: Path, folder: Path, block_counts: int) -> BlockSource:
    """Sort the entries of a file into blocks in this folder, and open those.

    The names and the orientation of 10x folders are those of ``read_counts``.
    """
    with block_errors(path):
        matrix, names = _matrix_and_names(path)
        with _mtx.open_matrix(matrix) as (header, parts):
            shape, turned = header.shape, names is not None
            if names is not None and shape[0] != len(names):
                message = f"{matrix.name} has {shape[0]} rows for {len(names)} genes"
                raise DataFormatError(message)
            n_rows, n_columns = shape[::-1] if turned else shape
            n_blocks = max(1, min(n_rows, -(-header.n_entries // block_counts)))
            step = -(-n_rows // n_blocks)
            for rows, columns, counts in parts:
                places = (columns, rows) if turned else (rows, columns)
                _append(folder, step, *places, counts)
        files = []
        for i, start in enumerate(range(0, n_rows, step)):
            entries = folder / f"{i:06d}.entries"
            block = _block(entries, start, (min(step, n_rows - start), n_columns))
            files.append(folder / f"{i:06d}.npz")
            save_block(block, files[-1], names)
            entries.unlink(missing_ok=True)
    return of_files(files, str(path))


def _matrix_and_names(path: Path) -> tuple[Path, list[str] | None]:
    """Path of the matrix and, if it is one of genes x cells, names of the genes."""
    if not path.is_dir() and not _tenx.is_part(path):
        return path, None
    matrix = _tenx.matrix_file(path)
    return matrix, _tenx.read_gene_names(matrix)


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
