"""Tables of one count a line: row, column, count."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._errors import DataFormatError
from .._file_content import FileContent, written_names
from ..limits import check_unpacked
from .column_roles import checked_count, is_number, place_of
from .cut_blocks import Cut, Names
from .number_style import NumberStyle, is_censored, may_be_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from ...table import CountTable
    from ..format_options import ReadOptions
    from .lines import Lines


CALLED_COUNTS = ("count", "counts", "n", "quantity", "qty", "menge", "anzahl")
# Bytes of a count with its places, and of a name that has a number.
_OF_COUNT = 16
_OF_NAME = 160


class Places(NamedTuple):
    """Where in a line row, column and count stand, of how many fields.

    Pairs have no count: each line counts one.
    """

    row: int
    column: int
    value: int | None
    width: int

    @classmethod
    def find(cls, header: list[str], options: ReadOptions) -> Places:
        """Find the columns that are named, or take all of two or three."""
        triples = options.triples
        for name in options.drop:
            place_of(header, name, "drop")
        if isinstance(triples, bool | None):
            left = [j for j, name in enumerate(header) if name not in options.drop]
            if len(left) not in (2, 3):
                message = (
                    f"triples= needs three columns, but there are {len(left)}. Pass "
                    "the names of the columns of rows, columns and counts"
                )
                raise DataFormatError(message)
        else:
            names = (triples,) if isinstance(triples, str) else tuple(triples)
            if len(names) not in (2, 3):
                message = (
                    f"triples={triples!r} must be three column names (rows, columns, "
                    "counts), or two if each line counts one"
                )
                raise DataFormatError(message)
            left = [place_of(header, str(name), "triples") for name in names]
        row, column, *count = left
        return cls(row, column, count[0] if count else None, len(header))


class Triples:
    """Counts with numbered names of rows and columns, in order of appearance."""

    def __init__(
        self, limit: int | None = None, style: NumberStyle | None = None
    ) -> None:
        self._limit, self.style = limit, style or NumberStyle()
        self.row_names, self.column_names = Names(), Names()
        self.rows, self.columns, self.counts = array("i"), array("i"), array("d")

    def check_size(self) -> None:
        """Refuse more than may be in memory."""
        taken = _OF_COUNT * len(self.counts)
        for names in (self.row_names, self.column_names):
            taken += _OF_NAME * len(names) + names.n_bytes
        if self._limit is not None:
            check_unpacked(taken, self._limit)

    def parts(self) -> FileContent:
        """Make a matrix, in which counts of the same place are added."""
        places = (np.asarray(self.rows), np.asarray(self.columns))
        shape = (len(self.row_names), len(self.column_names))
        X = sp.coo_array((np.asarray(self.counts), places), shape=shape).tocsr()
        return FileContent(X, self.row_names.texts(), self.column_names.texts())


def of_triples(
    header: list[str] | None, columns: Sequence[Sequence[str]], options: ReadOptions
) -> bool:
    """Whether a table is one of triples, as asked, or by names and first values."""
    wide = bool(options.labels) or options.index is not None
    if options.triples is not None:
        asked = options.triples is not False
        if asked and wide:
            message = "triples= cannot be combined with labels= or index="
            raise DataFormatError(message)
        return asked
    if wide or options.drop or len(columns) != 3:
        return False
    rows, names, counts = columns
    if not (any(map(is_number, counts)) and _mostly(may_be_count, counts)):
        return False
    called = header[2].strip().lower() if header and len(header) == 3 else ""
    # A wide table may have a cell of text among its counts, but no column.
    named = _mostly(lambda text: not (may_be_count(text) or is_censored(text)), names)
    again = len(set(rows)) < len(rows) and called in CALLED_COUNTS
    return named or again or called in ("count", "counts")


def _mostly(holds: Callable[[str], bool], values: Sequence[str]) -> bool:
    return 2 * sum(map(holds, values)) > len(values)


def read_triples(
    lines: Lines,
    delimiter: str,
    first: list[list[str]],
    places: Places,
    limit: int | None,
    style: NumberStyle | None = None,
) -> FileContent:
    """Read a count a line; ``first`` are the records before the lines."""
    found = Triples(limit, style)
    _add_records(found, first, lines, places)
    while block := lines.block():
        usual = found.style.usual
        if not (usual and _add_tidy(found, block, delimiter, places)):
            lines.give_back(block)
            records = lines.records(delimiter, block=True)
            _add_records(found, records, lines, places)
        else:
            lines.number += block.count(b"\n")
        found.check_size()
    return found.parts()


def _add_tidy(found: Triples, block: bytes, delimiter: str, places: Places) -> bool:
    """Add all lines of a block or, if something is odd, none."""
    cut = Cut.of(block, delimiter, places.width)
    if cut is None:
        return False
    counts: NDArray[np.float64] | None = np.ones(cut.n_lines)
    if places.value is not None:
        counts = cut.numbers(places.value)
    if counts is None or not cut.is_text:
        return False
    found.rows.frombytes(found.row_names.numbers(cut, places.row).tobytes())
    found.columns.frombytes(found.column_names.numbers(cut, places.column).tobytes())
    found.counts.frombytes(counts.tobytes())
    return True


def _add_records(
    found: Triples, records: Iterable[list[str]], lines: Lines, places: Places
) -> None:
    """Add lines one by one, of which every field is checked."""
    for fields in records:
        if len(fields) != places.width:
            message = (
                f"line {lines.number} has {len(fields)} fields, not {places.width}"
            )
            raise DataFormatError(message)
        count = 1.0
        if places.value is not None:
            where = f"line {lines.number}, column {places.value + 1}"
            count = checked_count(found.style.plain(fields[places.value]), where)
        found.rows.append(found.row_names.number(fields[places.row]))
        found.columns.append(found.column_names.number(fields[places.column]))
        found.counts.append(count)


def written_triples(
    table: CountTable,
) -> tuple[NDArray[np.object_], NDArray[np.object_], NDArray[Any]]:
    """Names of rows, of columns, and counts; what has no count has one of 0."""
    rows = np.array(written_names(table.row_names, table.shape[0]), dtype=object)
    columns = np.array(written_names(table.column_names, table.shape[1]), dtype=object)
    stored, values = table.counts, table.counts.values()
    lengths = np.diff(stored.indptr)
    empty_rows = np.flatnonzero(lengths == 0)
    empty_columns = np.setdiff1d(np.arange(table.shape[1]), stored.indices)
    at_row = np.repeat(np.arange(table.shape[0]), lengths)
    at_row = np.concatenate([at_row, empty_rows, np.zeros_like(empty_columns)])
    at_column = np.concatenate(
        [stored.indices, np.zeros_like(empty_rows), empty_columns]
    )
    zeros = np.zeros(len(at_row) - len(values), dtype=values.dtype)
    counts = np.concatenate([values, zeros])
    order = np.argsort(at_row, kind="stable")
    return rows[at_row[order]], columns[at_column[order]], counts[order]
