"""Tables of one count a line: row, column, count."""

from __future__ import annotations

from array import array
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._core.counts import EXACT
from .._errors import DataFormatError
from ._layout import is_number
from ._parts import Parts, no_count, shown, written_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..table import CountTable
    from ._lines import Lines
    from ._options import Options


class Places(NamedTuple):
    """Where in a line row, column and count stand, of how many fields."""

    row: int
    column: int
    value: int
    width: int

    @classmethod
    def find(cls, header: list[str], triples: Any) -> Places:
        """Find the columns that are named, or take the first three of three."""
        if triples is None or triples is True:
            if len(header) != 3:
                message = (
                    f"it has {len(header)} columns, not the three of triples; pass "
                    "triples=(row, column, count) with the names of those to read"
                )
                raise DataFormatError(message)
            return cls(0, 1, 2, 3)
        names = (triples,) if isinstance(triples, str) else tuple(triples)
        if len(names) != 3:
            message = f"triples={triples!r} must be three names: row, column, count"
            raise DataFormatError(message)
        for name in names:
            if name not in header:
                message = f"it has no column {shown(str(name))} for triples="
                raise DataFormatError(message)
        row, column, count = (header.index(name) for name in names)
        return cls(row, column, count, len(header))


class Triples:
    """Counts with numbered names of rows and columns, in order of appearance."""

    def __init__(self) -> None:
        self.row_number: defaultdict[str, int] = defaultdict()
        self.column_number: defaultdict[str, int] = defaultdict()
        self.row_number.default_factory = self.row_number.__len__
        self.column_number.default_factory = self.column_number.__len__
        self.rows, self.columns, self.counts = array("i"), array("i"), array("d")

    def parts(self) -> Parts:
        """Make a matrix, in which counts of the same place are added."""
        places = (np.asarray(self.rows), np.asarray(self.columns))
        shape = (len(self.row_number), len(self.column_number))
        X = sp.coo_array((np.asarray(self.counts), places), shape=shape).tocsr()
        return Parts(X, list(self.row_number), list(self.column_number))


def of_triples(header: list[str] | None, first: list[str], options: Options) -> bool:
    """Whether a table is one of triples, as told or by its names and first record."""
    wide = options.labels is not None or options.index is not None or bool(options.drop)
    if options.triples is not None:
        asked = options.triples is not False
        if asked and wide:
            message = "triples= goes with none of labels=, index= and drop="
            raise DataFormatError(message)
        return asked
    if wide or len(first) != 3 or not is_number(first[2]):
        return False
    # With text in the second column no wide table is possible.
    called = header[2].strip().lower() if header and len(header) == 3 else ""
    return called in ("count", "counts") or not is_number(first[1])


def read_triples(
    lines: Lines, delimiter: str, first: list[str], places: Places
) -> Parts:
    """Read a count a line; ``first`` is the record before the lines."""
    found = Triples()
    rows, columns = found.row_number, found.column_number
    at_row, at_column, at_count, width = places
    for fields in _all_records(lines, delimiter, first):
        try:
            if len(fields) != width:
                raise ValueError
            count = float(fields[at_count])
            if not 0 <= count < EXACT or "_" in fields[at_count]:
                raise ValueError
        except ValueError:
            raise _wrong(fields, lines.number, places) from None
        found.rows.append(rows[fields[at_row]])
        found.columns.append(columns[fields[at_column]])
        found.counts.append(count)
    return found.parts()


def _all_records(lines: Lines, delimiter: str, first: list[str]) -> Iterator[list[str]]:
    yield first
    yield from lines.records(delimiter)


def _wrong(fields: list[str], number: int, places: Places) -> DataFormatError:
    if len(fields) != places.width:
        return DataFormatError(
            f"line {number} has {len(fields)} fields, not {places.width}"
        )
    text = fields[places.value]
    where = f"line {number}, column {places.value + 1}"
    if not is_number(text):
        return DataFormatError(f"{where} holds {shown(text)}, which is no count")
    return no_count(where, float(text))


def written_triples(table: CountTable) -> Iterator[list[str]]:
    """Header and counts; a row or column without any has one count of 0."""
    rows = written_names(table.row_names, table.shape[0])
    columns = written_names(table.column_names, table.shape[1])
    yield ["row", "column", "count"]
    used = np.zeros(len(columns), dtype=bool)
    used[table.X.indices] = True
    for i, row in enumerate(rows):
        places = slice(table.X.indptr[i], table.X.indptr[i + 1])
        found = table.X.indices[places].tolist()
        if not found:
            yield [row, columns[0], "0"]
            used[0] = True
        for column, count in zip(found, table.X.data[places].tolist(), strict=True):
            yield [row, columns[column], repr(count)]
    for column in np.flatnonzero(~used).tolist():
        yield [rows[0], columns[column], "0"]
