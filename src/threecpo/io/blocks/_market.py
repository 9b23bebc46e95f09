"""MatrixMarket, plain or 10x: read once, line by line, into blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._errors import DataFormatError
from .. import _mtx, _tenx
from ..errors import block_errors
from ._sorting import sorted_blocks
from .store import RowStream

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from ..._core.counts import Counts
    from .store import Scratch


def of_market(path: Path, block_counts: int, scratch: Scratch) -> RowStream:
    """Blocks of rows of a file whose entries come in any order.

    The names and the orientation of 10x folders are those of ``read_counts``.
    """
    with block_errors(path):
        matrix, names = _matrix_and_names(path)
        with _mtx.open_matrix(matrix) as (header, _):
            n_blocks = -(-header.n_entries // block_counts)
            shape = header.shape if names is None else header.shape[::-1]
        if names is not None and shape[1] != len(names):
            message = f"{matrix.name} has {shape[1]} rows for {len(names)} genes"
            raise DataFormatError(message)

    def blocks() -> Generator[Counts]:
        with block_errors(path), _mtx.open_matrix(matrix) as (header, parts):
            swapped = ((columns, rows, counts) for rows, columns, counts in parts)
            entries = parts if names is None else swapped
            sizes = header.n_entries, block_counts
            yield from sorted_blocks(entries, shape, *sizes, scratch)

    columns = None if names is None else np.array(names, dtype=object)
    return RowStream(str(path), blocks(), n_blocks, columns)


def _matrix_and_names(path: Path) -> tuple[Path, list[str] | None]:
    """Path of the matrix and, if it is one of genes x cells, names of the genes."""
    if not path.is_dir() and not _tenx.is_part(path):
        return path, None
    matrix = _tenx.matrix_file(path)
    return matrix, _tenx.read_gene_names(matrix)
