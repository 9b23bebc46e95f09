"""Large tables of numbers as text, rounded to whole numbers."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import numpy as np

from ..io.delimited import read_table
from ..io.format_options import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import scipy.sparse as sp


def read_number_lines(
    file: IO[bytes], separator: str
) -> tuple[Sequence[str], Sequence[str], sp.csr_array]:
    """Names of lines, names of columns, and values rounded to whole numbers.

    The first line names the columns; the others are a name and the values. The corner
    above the names may have a field of its own or none, as R writes it.
    """
    options = ReadOptions(index=0, header=True, delimiter=separator, triples=False)
    parts = read_table(file, options, usual=separator)
    X = np.rint(parts.X).astype(np.int64)
    X.eliminate_zeros()
    return parts.row_names or [], parts.column_names or [], X


def unquoted(line: bytes, separator: str) -> list[str]:
    """Fields of a line without the quotes around them."""
    fields = line.decode("utf-8-sig").rstrip("\r\n").split(separator)
    return [field.strip('"') for field in fields]
