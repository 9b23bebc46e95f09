"""MatrixMarket, plain or 10x: read once, line by line, into blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._errors import DataFormatError
from .. import _mtx, _tenx
from ..errors import block_errors
from ._folder import of_files
from ._sorting import sorted_blocks

if TYPE_CHECKING:
    from pathlib import Path

    from .block_source import BlockSource


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
            entries = (
                (columns, rows, counts) if turned else (rows, columns, counts)
                for rows, columns, counts in parts
            )
            n_blocks = -(-header.n_entries // block_counts)
            files = sorted_blocks(entries, (n_rows, n_columns), n_blocks, folder, names)
    return of_files(files, str(path))


def _matrix_and_names(path: Path) -> tuple[Path, list[str] | None]:
    """Path of the matrix and, if it is one of genes x cells, names of the genes."""
    if not path.is_dir() and not _tenx.is_part(path):
        return path, None
    matrix = _tenx.matrix_file(path)
    return matrix, _tenx.read_gene_names(matrix)
