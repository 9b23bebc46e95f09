"""MatrixMarket: counts without names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

from .._errors import DataFormatError
from ._archives import opened
from ._files import created
from ._parts import Parts, check_size

if TYPE_CHECKING:
    from pathlib import Path

    from ..table import CountTable
    from ._options import Options, WriteOptions

_SMALLEST_LINE = 4
_BEST_COMPRESSION = 1100


def read(path: Path, options: Options) -> Parts:  # noqa: ARG001
    return Parts(read_matrix(path))


def read_matrix(path: Path) -> Any:
    """Return the matrix of a file, plain or compressed, as it lies there."""
    from scipy.io import mmread

    _check_header(path)
    with opened(path) as file:
        matrix = mmread(file, spmatrix=False)
    return matrix if sp.issparse(matrix) else sp.csr_array(matrix)


def _check_header(path: Path) -> None:
    """Refuse sizes that the file cannot hold, before memory is asked for."""
    from scipy.io import mminfo

    with opened(path) as file:
        rows, columns, entries, layout, field, _ = mminfo(file)
    if field == "complex":
        message = "it holds complex numbers, which are no counts"
        raise DataFormatError(message)
    if layout == "array":
        entries = rows * columns
    check_size((rows, columns), entries)
    if entries * _SMALLEST_LINE > path.stat().st_size * _BEST_COMPRESSION:
        message = f"it claims {entries} counts, more than it can hold; it is damaged"
        raise DataFormatError(message)


def write(table: CountTable, path: Path, options: WriteOptions) -> None:  # noqa: ARG001
    write_matrix(table.X, path)


def write_matrix(matrix: Any, path: Path) -> None:
    """Write a matrix, compressed if the name says so."""
    from scipy.io import mmwrite

    with created(path) as file:
        mmwrite(file, matrix, field="integer" if matrix.dtype.kind == "i" else "real")
