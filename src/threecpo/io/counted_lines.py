"""Lines of counts to sparse rows, some megabytes at a time.

Lines hold a row each, or a row, a column and a count. What is tidy is read as a block;
any other block is read record by record, which finds the line and column of what is
wrong.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._errors import refuse, shown
from .._labels import labels_of_kinds
from .content import FileContent, csr_rows, joined, written_names
from .limits import check_unpacked
from .lines import Cut, Names
from .numbers import NumberStyle
from .roles import checked_count, checked_counts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ..table import CountTable
    from .lines import Lines
    from .roles import Layout, Places


# Bytes of a stored count, of a row with its name, of a count with its places, and of
# a name that has a number.
_OF_COUNT, _OF_ROW = 12, 64
_OF_TRIPLE, _OF_NAME = 16, 160


class WideRows:
    """Rows that were read so far."""

    def __init__(
        self,
        layout: Layout,
        delimiter: str,
        limit: int | None = None,
        style: NumberStyle | None = None,
    ) -> None:
        self._style = style or NumberStyle()
        self._layout, self._delimiter, self._limit = layout, delimiter, limit
        self._taken = 0
        self._blocks: list[sp.csr_array] = []
        self._names: list[str] = []
        self._labels: dict[str, list[str]] = {kind: [] for kind in layout.labels}
        self._column = np.full(layout.width, -1, dtype=np.int32)
        self._column[layout.counted] = np.arange(len(layout.counted))

    def parts(self) -> FileContent:
        """Return counts that were not taken, with the names and labels of all rows."""
        rows = None if self._layout.index is None else self._names
        labels = labels_of_kinds(self._labels)
        return FileContent(self.take(), rows, self._layout.names, **labels)

    @property
    def n_waiting(self) -> int:
        """Number of counts that were not taken."""
        return sum(block.nnz for block in self._blocks)

    def take(self) -> sp.csr_array:
        """Return the counts of all rows since the last time."""
        if not self._blocks:
            return sp.csr_array((0, len(self._layout.counted)))
        return joined(self._blocks)

    def add_block(self, block: bytes, lines: Lines) -> None:
        """Add the rows of whole lines; the last may lack its end."""
        if self._style.usual and self._add_tidy(block):
            lines.number += block.count(b"\n")
            return
        lines.give_back(block)
        self.add_records(lines.records(self._delimiter, block=True), lines)

    def add_records(self, records: Iterable[list[str]], lines: Lines) -> None:
        """Add rows one by one, of which every field is checked."""
        values, columns, ends = array("d"), array("i"), [0]
        for fields in records:
            row = self._checked(fields, lines.number)
            stored = np.flatnonzero(row)
            values.frombytes(row[stored].tobytes())
            columns.frombytes(stored.astype(np.intc).tobytes())
            ends.append(len(values))
        parts = (np.asarray(values), np.asarray(columns), np.array(ends))
        shape = (len(ends) - 1, len(self._layout.counted))
        self._add(csr_rows(*parts, shape))

    def _add(self, block: sp.csr_array) -> None:
        """Add a block, unless all together would take too much memory."""
        self._blocks.append(block)
        self._taken += _OF_COUNT * block.nnz + _OF_ROW * block.shape[0]
        check_unpacked(self._taken, self._limit)

    def _checked(self, fields: list[str], number: int) -> NDArray[np.float64]:
        """Counts of a line, or the error that says what is wrong with it."""
        layout = self._layout
        if len(fields) != layout.width:
            refuse(f"line {number} has {len(fields)} fields, not {layout.width}")
        for place in layout.blank:
            if fields[place].strip():
                refuse(
                    f"line {number}, column {place + 1} has no name but holds "
                    f"{shown(fields[place])}; give it one, or clear the cell"
                )
        if layout.index is not None:
            self._names.append(fields[layout.index])
        for kind, place in layout.labels.items():
            self._labels[kind].append(fields[place])
        counted = [self._style.plain(fields[place]) for place in layout.counted]
        return checked_counts(counted, layout, f"line {number}")

    def _add_tidy(self, block: bytes) -> bool:
        """Add all lines of a block or, if something is odd, none."""
        cut = Cut.of(block, self._delimiter, self._layout.width)
        layout = self._layout
        if cut is None or not cut.are_empty(layout.blank):
            return False
        values = cut.counts(self._column)
        if values is None:
            return False
        try:
            names = [] if layout.index is None else cut.texts(layout.index)
            labels = {kind: cut.texts(at) for kind, at in layout.labels.items()}
        except UnicodeDecodeError:
            return False
        self._names += names
        for kind, texts in labels.items():
            self._labels[kind] += texts
        self._add(values)
        return True


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
        taken = _OF_TRIPLE * len(self.counts)
        for names in (self.row_names, self.column_names):
            taken += _OF_NAME * len(names) + names.n_bytes
        check_unpacked(taken, self._limit)

    def parts(self) -> FileContent:
        """Make a matrix, in which counts of the same place are added."""
        places = (np.asarray(self.rows), np.asarray(self.columns))
        shape = (len(self.row_names), len(self.column_names))
        X = sp.coo_array((np.asarray(self.counts), places), shape=shape).tocsr()
        return FileContent(X, self.row_names.texts(), self.column_names.texts())


def read_triples(
    lines: Lines,
    delimiter: str,
    first: list[list[str]],
    places: Places,
    limit: int | None,
    style: NumberStyle | None = None,
) -> FileContent:
    """Read one count per line; ``first`` are the records before the lines."""
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
            refuse(f"line {lines.number} has {len(fields)} fields, not {places.width}")
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
