"""Blocks of delimited text, cut at all their delimiters at once.

A block is tidy if all lines have the same number of fields and quotes stand around
whole fields only. Whatever is not tidy, or no count, is left to slower code that can
say where and what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._core.counts import EXACT
from ..sparse_rows import csr_rows

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

_LONGEST = 40
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_DIGIT = np.zeros(256, dtype=bool)
_DIGIT[list(b"0123456789")] = True
_NUMERIC = _DIGIT.copy()
_NUMERIC[list(b"+-.eE ")] = True


class Cut:
    """A block with the start and end of each of its fields."""

    def __init__(
        self, content: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> None:
        self._content = content
        self._bytes = np.frombuffer(content, dtype=np.uint8)
        self._starts, self._ends = starts, ends

    @classmethod
    def of(cls, block: bytes, delimiter: str, width: int) -> Cut | None:
        """Cut a block whose lines all have so many fields; None for any other."""
        content = block.rstrip(b"\r\n") + b"\n"
        if len(content) == 1 or not delimiter.isascii():
            return None
        letters = np.frombuffer(content, dtype=np.uint8)
        at_end = letters == _NEWLINE
        cuts = np.flatnonzero(at_end | (letters == ord(delimiter)))
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

    def are_empty(self, places: tuple[int, ...]) -> bool:
        """Whether nothing stands at these places."""
        at = list(places)
        return bool((self._starts[:, at] == self._ends[:, at]).all())

    def texts(self, place: int) -> list[str]:
        """Fields at a place of the lines."""
        spans = zip(
            self._starts[:, place].tolist(), self._ends[:, place].tolist(), strict=True
        )
        return [self._content[start:end].decode() for start, end in spans]

    def numbers(self, place: int) -> NDArray[np.float64] | None:
        """Counts at a place of the lines; None if some field is none."""
        return self._counts(self._starts[:, place], self._ends[:, place])

    def counts(self, column: NDArray[np.int32]) -> sp.csr_array | None:
        """Counts of places in the columns that are given for them, from 0 up.

        Only fields other than "0" are looked at. None if one of them is no count.
        """
        counted = column >= 0
        starts, ends = self._starts, self._ends
        if b".0" in self._content:
            ends = ends - 2 * self._end_in_dot_zero()
        zero = (ends - starts == 1) & (self._bytes[starts] == ord("0"))
        rows, places = np.nonzero(~zero & counted)
        values = self._counts(starts[rows, places], ends[rows, places])
        if values is None:
            return None
        indptr = np.searchsorted(rows, np.arange(len(starts) + 1))
        shape = (len(starts), int(np.count_nonzero(counted)))
        return csr_rows(values, column[places], indptr, shape)

    def _end_in_dot_zero(self) -> NDArray[np.bool_]:
        """Whether fields are whole numbers that are written as "3.0"."""
        long = self._ends - self._starts > 2
        zero = self._bytes[self._ends - 1] == ord("0")
        return long & zero & (self._bytes[self._ends - 2] == ord("."))

    def _counts(
        self, starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Counts between these places; None if one is none."""
        lengths = ends - starts
        if not len(starts):
            return np.zeros(0)
        if lengths.min() < 1 or lengths.max() > _LONGEST:
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
        # Digits alone are exact here, as counts are below 2**53.
        odd = np.flatnonzero(~plain)
        pieces = zip(starts[odd].tolist(), ends[odd].tolist(), strict=True)
        try:
            values[odd] = [float(self._content[start:end]) for start, end in pieces]
        except ValueError:
            return None
        return values if ((values >= 0) & (values < EXACT)).all() else None
