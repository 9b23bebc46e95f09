"""Lines of many counts to sparse rows, some megabytes at a time.

A tidy block (no line too long or short, quotes only around whole fields) is cut at all
its delimiters at once, and only fields other than "0" are looked at. Any other block is
read record by record, which finds the line and column of what is wrong.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from .._core.counts import EXACT
from .._errors import DataFormatError
from ._layout import is_number, text_in
from ._parts import Parts, encoded, no_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ._layout import Layout
    from ._lines import Lines

_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_DIGIT = np.zeros(256, dtype=bool)
_DIGIT[list(b"0123456789")] = True
_NUMERIC = _DIGIT.copy()
_NUMERIC[list(b"+-.eE ")] = True


class WideRows:
    """Rows that were read so far."""

    def __init__(self, layout: Layout, delimiter: str) -> None:
        self._layout, self._delimiter = layout, delimiter
        self._blocks: list[sp.csr_array] = []
        self._names: list[str] = []
        self._labels: list[str | None] = []
        self._column = np.full(layout.width, -1, dtype=np.int32)
        self._column[layout.counted] = np.arange(len(layout.counted))

    def parts(self) -> Parts:
        X = sp.vstack(self._blocks, format="csr")
        labels = {} if self._layout.labels is None else encoded(self._labels)
        rows = None if self._layout.index is None else self._names
        return Parts(X, rows, self._layout.names, **labels)

    def add_block(self, block: bytes, lines: Lines) -> None:
        """Add the rows of whole lines; the last may lack its end."""
        tidy = self._add_tidy(block)
        if tidy:
            lines.number += tidy
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
        self._blocks.append(sp.csr_array(parts, shape=shape))

    def _checked(self, fields: list[str], number: int) -> NDArray[np.float64]:
        """Counts of a line, or the error that says what is wrong with it."""
        layout = self._layout
        if len(fields) != layout.width:
            message = f"line {number} has {len(fields)} fields, not {layout.width}"
            raise DataFormatError(message)
        if layout.index is not None:
            self._names.append(fields[layout.index])
        if layout.labels is not None:
            self._labels.append(fields[layout.labels].strip() or None)
        counted = [fields[place] for place in layout.counted]
        wrong = next((j for j, text in enumerate(counted) if not is_number(text)), None)
        if wrong is not None:
            raise text_in(number, layout, wrong, counted[wrong])
        values = np.array([float(text) for text in counted])
        bad = ~((values >= 0) & (values < EXACT))
        if bad.any():
            at = int(np.argmax(bad))
            where = f"line {number}, {layout.called(at)}"
            raise no_count(where, values[at])
        return values

    def _add_tidy(self, block: bytes) -> int:
        """Number of lines that were added: all or, if something is odd, none."""
        content = block.rstrip(b"\r\n") + b"\n"
        if not content.strip():
            return 0
        cut = _Cut.of(content, self._delimiter.encode(), self._layout.width)
        if cut is None:
            return 0
        values = cut.values(self._column)
        if values is None:
            return 0
        layout = self._layout
        try:
            names = [] if layout.index is None else cut.texts(layout.index)
            labels = [] if layout.labels is None else cut.texts(layout.labels)
        except UnicodeDecodeError:
            return 0
        self._names += names
        self._labels += [label.strip() or None for label in labels]
        self._blocks.append(values)
        return block.count(b"\n")


class _Cut:
    """A block with the start and end of each of its fields."""

    def __init__(
        self, content: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> None:
        self._content = content
        self._bytes = np.frombuffer(content, dtype=np.uint8)
        self._starts, self._ends = starts, ends

    @classmethod
    def of(cls, content: bytes, delimiter: bytes, width: int) -> _Cut | None:
        """Cut a block whose lines all have so many fields; None for any other."""
        if len(delimiter) != 1:
            return None
        letters = np.frombuffer(content, dtype=np.uint8)
        at_end = letters == _NEWLINE
        cuts = np.flatnonzero(at_end | (letters == delimiter[0]))
        if len(cuts) % width:
            return None
        last = at_end[cuts].reshape(-1, width)
        if not last[:, -1].all() or last[:, :-1].any():
            return None
        starts = np.concatenate([[0], cuts[:-1] + 1])
        ends = cuts.copy()
        if b"\r" in content:
            returns = letters[ends[width - 1 :: width] - 1] == _RETURN
            if np.count_nonzero(returns) != content.count(b"\r"):
                return None
            ends[width - 1 :: width] -= returns
        if b'"' in content:
            quoted = (letters[starts] == _QUOTE) & (ends > starts + 1)
            quoted &= letters[ends - 1] == _QUOTE
            if 2 * np.count_nonzero(quoted) != content.count(b'"'):
                return None
            starts, ends = starts + quoted, ends - quoted
        return cls(content, starts.reshape(-1, width), ends.reshape(-1, width))

    def texts(self, place: int) -> list[str]:
        """Fields at a place of the lines."""
        spans = zip(
            self._starts[:, place].tolist(), self._ends[:, place].tolist(), strict=True
        )
        return [self._content[start:end].decode() for start, end in spans]

    def values(self, column: NDArray[np.int32]) -> sp.csr_array | None:
        """Counts in their columns; None if some field is no count."""
        counted = column >= 0
        starts, ends = self._starts, self._ends
        zero = (ends - starts == 1) & (self._bytes[starts] == ord("0"))
        rows, places = np.nonzero(~zero & counted)
        values = self._numbers(starts[rows, places], ends[rows, places])
        if values is None or not ((values >= 0) & (values < EXACT)).all():
            return None
        indptr = np.searchsorted(rows, np.arange(len(starts) + 1))
        shape = (len(starts), int(np.count_nonzero(counted)))
        return sp.csr_array((values, column[places], indptr), shape=shape)

    def _numbers(
        self, starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Numbers between these places; None if one is none."""
        lengths = ends - starts
        if not len(starts):
            return np.zeros(0)
        if lengths.min() < 1 or lengths.max() > 40:
            return None
        values = np.zeros(len(starts))
        plain = np.ones(len(starts), dtype=bool)
        for digit in range(int(lengths.max())):
            rest = np.flatnonzero(lengths > digit)
            letters = self._bytes[starts[rest] + digit]
            plain[rest] &= _DIGIT[letters]
            if not _NUMERIC[letters].all():
                return None
            values[rest] = values[rest] * 10 + (letters - 48.0)
        # More digits would be rounded at every step.
        odd = np.flatnonzero(~plain | (lengths > 15))
        pieces = zip(starts[odd].tolist(), ends[odd].tolist(), strict=True)
        try:
            values[odd] = [float(self._content[start:end]) for start, end in pieces]
        except ValueError:
            return None
        return values
