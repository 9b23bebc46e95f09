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
    from .formats import ReadOptions
    from .lines import Lines
    from .roles import Layout, Places

# Bytes of a stored count, of a row with its name, of a count with its places, and of
# a name that has a number.
_OF_COUNT, _OF_ROW = 12, 64
_OF_TRIPLE, _OF_NAME = 16, 160


class Counted:
    """Counts of the lines that were read so far."""

    def __init__(self, options: ReadOptions, delimiter: str, width: int) -> None:
        self._style, self._limit = NumberStyle.of(options), options.max_unpacked
        self._delimiter, self._width = delimiter, width

    def add_block(self, block: bytes, lines: Lines) -> None:
        """Add the rows of whole lines; the last may lack its end."""
        if self._style.usual:
            cut = Cut.of(block, self._delimiter, self._width)
            if cut is not None and self._add_tidy(cut):
                lines.number += block.count(b"\n")
                return
        lines.give_back(block)
        self.add_records(lines.records(self._delimiter, block=True), lines)

    def add_records(self, records: Iterable[list[str]], lines: Lines) -> None:
        """Add lines one by one, of which every field is checked."""
        raise NotImplementedError

    def _add_tidy(self, cut: Cut) -> bool:
        """Add all lines of a block or, if something is odd, none."""
        raise NotImplementedError

    def _check_width(self, fields: list[str], lines: Lines) -> None:
        if len(fields) != self._width:
            refuse(f"line {lines.number} has {len(fields)} fields, not {self._width}")


class WideRows(Counted):
    """A row a line."""

    def __init__(self, layout: Layout, options: ReadOptions, delimiter: str) -> None:
        super().__init__(options, delimiter, layout.width)
        self._layout = layout
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

    def add_records(self, records: Iterable[list[str]], lines: Lines) -> None:
        values, columns, ends = array("d"), array("i"), [0]
        for fields in records:
            row = self._checked(fields, lines)
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

    def _checked(self, fields: list[str], lines: Lines) -> NDArray[np.float64]:
        """Counts of a line, or the error that says what is wrong with it."""
        layout = self._layout
        self._check_width(fields, lines)
        for place in layout.blank:
            if fields[place].strip():
                refuse(
                    f"line {lines.number}, column {place + 1} has no name but holds "
                    f"{shown(fields[place])}; give it one, or clear the cell"
                )
        if layout.index is not None:
            self._names.append(fields[layout.index])
        for kind, place in layout.labels.items():
            self._labels[kind].append(fields[place])
        counted = [self._style.plain(fields[place]) for place in layout.counted]
        return checked_counts(counted, layout, f"line {lines.number}")

    def _add_tidy(self, cut: Cut) -> bool:
        layout = self._layout
        values = cut.counts(self._column) if cut.are_empty(layout.blank) else None
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


class Triples(Counted):
    """A count a line; names of rows and columns are numbered as they appear."""

    def __init__(self, places: Places, options: ReadOptions, delimiter: str) -> None:
        super().__init__(options, delimiter, places.width)
        self._places = places
        self._row_names, self._column_names = Names(), Names()
        self._rows, self._columns, self._counts = array("i"), array("i"), array("d")

    def parts(self) -> FileContent:
        """Make a matrix, in which counts of the same place are added."""
        places = (np.asarray(self._rows), np.asarray(self._columns))
        shape = (len(self._row_names), len(self._column_names))
        X = sp.coo_array((np.asarray(self._counts), places), shape=shape).tocsr()
        return FileContent(X, self._row_names.texts(), self._column_names.texts())

    def add_block(self, block: bytes, lines: Lines) -> None:
        super().add_block(block, lines)
        taken = _OF_TRIPLE * len(self._counts)
        for names in (self._row_names, self._column_names):
            taken += _OF_NAME * len(names) + names.n_bytes
        check_unpacked(taken, self._limit)

    def add_records(self, records: Iterable[list[str]], lines: Lines) -> None:
        places = self._places
        for fields in records:
            self._check_width(fields, lines)
            count = 1.0
            if places.value is not None:
                where = f"line {lines.number}, column {places.value + 1}"
                count = checked_count(self._style.plain(fields[places.value]), where)
            self._rows.append(self._row_names.number(fields[places.row]))
            self._columns.append(self._column_names.number(fields[places.column]))
            self._counts.append(count)

    def _add_tidy(self, cut: Cut) -> bool:
        row, column, value, _ = self._places
        counts = np.ones(cut.n_lines) if value is None else cut.numbers(value)
        if counts is None or not cut.is_text:
            return False
        self._rows.frombytes(self._row_names.numbers(cut, row).tobytes())
        self._columns.frombytes(self._column_names.numbers(cut, column).tobytes())
        self._counts.frombytes(counts.tobytes())
        return True


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
