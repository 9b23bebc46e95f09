"""Large tables of numbers as text, read a line at a time into sparse rows."""

from __future__ import annotations

import warnings
from array import array
from typing import IO, TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from .._errors import DataFormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read_number_lines(
    file: IO[bytes], separator: str
) -> tuple[list[str], list[str], sp.csr_array]:
    """Names of lines, names of columns, and values rounded to whole numbers.

    The first line names the columns; the others are a name and the values. The corner
    above the names may have a field of its own or none, as R writes it.
    """
    header = unquoted(file.readline(), separator)
    names: list[str] = []
    values, columns = array("q"), array("i")
    ends = [0]
    for line in file:
        name, _, rest = line.decode().partition(separator)
        row = _rounded(rest, separator, name)
        if not names and len(row) == len(header) - 1:
            header = header[1:]
        if len(row) != len(header):
            message = f"line {name} has {len(row)} values for {len(header)} columns"
            raise DataFormatError(message)
        stored = np.flatnonzero(row)
        columns.frombytes(stored.astype(np.intc).tobytes())
        values.frombytes(row[stored].tobytes())
        ends.append(len(values))
        names.append(name.strip().strip('"'))
    if not names:
        message = "it has no lines of values"
        raise DataFormatError(message)
    parts = (np.asarray(values), np.asarray(columns), np.array(ends))
    return names, header, sp.csr_array(parts, shape=(len(names), len(header)))


def unquoted(line: bytes, separator: str) -> list[str]:
    """Fields of a line without the quotes around them."""
    fields = line.decode("utf-8-sig").rstrip("\r\n").split(separator)
    return [field.strip('"') for field in fields]


def _rounded(text: str, separator: str, name: str) -> NDArray[np.int64]:
    with warnings.catch_warnings():
        # numpy warns where text is no number, and will raise a ValueError one day.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            values = np.rint(np.fromstring(text, sep=separator))
        except (DeprecationWarning, ValueError) as error:
            message = f"line {name} holds something that is no number"
            raise DataFormatError(message) from error
    if not np.isfinite(values).all() or (np.abs(values) > 2**53).any():
        message = f"line {name} holds a value that is no count"
        raise DataFormatError(message)
    return values.astype(np.int64)
