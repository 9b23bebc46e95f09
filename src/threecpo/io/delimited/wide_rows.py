"""Lines of many counts to sparse rows, some megabytes at a time.

What is tidy is read as a block; any other block is read record by record, which finds
the line and column of what is wrong.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from ..._errors import DataFormatError
from ..._labels import labels_of_kinds
from .._file_content import FileContent, shown
from ..limits import check_unpacked
from ..sparse_rows import csr_rows, joined
from .column_roles import checked_counts
from .cut_blocks import Cut
from .number_style import NumberStyle

if TYPE_CHECKING:
    from collections.abc import Iterable

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from .column_roles import Layout
    from .lines import Lines


# Bytes of a stored count, and of a row with its name.
_OF_COUNT = 12
_OF_ROW = 64


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
        X = joined(self._blocks)
        rows = None if self._layout.index is None else self._names
        labels = labels_of_kinds(self._labels)
        return FileContent(X, rows, self._layout.names, **labels)

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
        if self._limit is not None:
            check_unpacked(self._taken, self._limit)

    def _checked(self, fields: list[str], number: int) -> NDArray[np.float64]:
        """Counts of a line, or the error that says what is wrong with it."""
        layout = self._layout
        if len(fields) != layout.width:
            message = f"line {number} has {len(fields)} fields, not {layout.width}"
            raise DataFormatError(message)
        for place in layout.blank:
            if fields[place].strip():
                message = (
                    f"line {number}, column {place + 1} has no name but holds "
                    f"{shown(fields[place])}; give it one, or clear the cell"
                )
                raise DataFormatError(message)
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
