"""Delimited text as blocks of whole lines, as records, and cut into fields.

A block is tidy if all lines have the same number of fields and quotes stand around
whole fields only: compiled loops cut and parse it. Whatever is not tidy, or no count,
is left to slower code that can say where and what.
"""

from __future__ import annotations

import codecs
import csv
import io
import secrets
from collections import deque
from contextlib import contextmanager, suppress
from itertools import islice, pairwise
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from .._errors import DataFormatError, parameter, refuse
from .content import EXACT, csr_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import scipy.sparse as sp
    from numpy.typing import NDArray

BLOCK = 1 << 20
LONGEST = 1 << 26
_LOOK = 1 << 18


class Lines:
    """A text file that is taken line by line or block by block, with line numbers."""

    def __init__(self, file: IO[bytes], before: int = 0) -> None:
        self._file = file
        self.number = before
        self._first = True
        self._back: deque[bytes] = deque()

    def line(self) -> bytes:
        """Return the next line with its end; nothing at the end of the file."""
        line = self._back.popleft() if self._back else self._file.readline(LONGEST)
        if len(line) >= LONGEST:
            refuse(f"line {self.number + 1} is longer than {LONGEST} bytes")
        if self._first:
            self._first = False
            line = line.removeprefix(codecs.BOM_UTF8)
        self.number += bool(line)
        return line

    def block(self) -> bytes:
        """Return the next lines, some megabytes of them; nothing at the end."""
        if self._back:
            block = b"".join(self._back)
            self._back.clear()
            return block
        block = self._file.read(BLOCK)
        return block if block.endswith(b"\n") else block + self._file.readline(LONGEST)

    def give_back(self, block: bytes) -> None:
        """Let the lines of a block be taken one by one."""
        self._back.extend(io.BytesIO(block))

    def first_records(self, delimiter: str, most: int) -> list[list[str]]:
        """Return fields of the next lines, which are not taken."""
        block = self.block()
        self.give_back(block)
        lines = block[:_LOOK].decode(errors="replace").splitlines(keepends=True)
        reader, found = csv.reader(lines, delimiter=delimiter), []
        with suppress(csv.Error):
            found = [fields for fields in islice(reader, most) if fields]
        return found

    def check_width(self, fields: list[str], width: int) -> None:
        """Refuse the record that ends here if it has not so many fields."""
        if len(fields) != width:
            refuse(f"line {self.number} has {len(fields)} fields, not {width}")

    def text(self) -> Iterator[str]:
        """Yield lines as text."""
        while line := self.line():
            yield decoded(line, self.number)

    def records(self, delimiter: str, *, block: bool = False) -> Iterator[list[str]]:
        """Yield the fields of lines; a quoted field may go over several of them.

        With ``block`` only until those that were given back are used up.
        """
        lines = self.text()
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        while self._back or not block:
            start = self.number + 1
            try:
                fields = next(reader, None)
            except csv.Error as error:
                message = f"line {start} is not a line of a csv file: {error}"
                raise DataFormatError(message) from error
            if fields is None:
                return
            # Spreadsheets write empty rows as delimiters alone.
            if any(fields):
                yield fields


@contextmanager
def long_fields() -> Iterator[None]:
    """Allow texts that are longer than the fields which csv takes by itself."""
    usual = csv.field_size_limit(LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(usual)


def field_of(value: Any, decimal: str) -> str:
    """A value as a field between tabs, empty for None; truth counts as one."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return repr(value).replace(".", decimal)
    # Line ends in texts would shift the numbers of the lines below.
    text = " ".join(str(value).splitlines())
    return quoted(text) if "\t" in text or '"' in text else text


def quoted(text: str) -> str:
    """A text as a field in quotes."""
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def decoded(line: bytes, number: int) -> str:
    """Text of a line in UTF-8."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        message = (
            f"line {number} is not in UTF-8 (byte {line[error.start]:#x}); "
            f"save the file as UTF-8, or pass {parameter('encoding')}, such as 'cp1252'"
        )
        raise DataFormatError(message) from error


class Cut:
    """A block with the start and end of each of its fields."""

    def __init__(
        self, content: bytes, starts: NDArray[np.int32], ends: NDArray[np.int32]
    ) -> None:
        self.content = content
        self._starts, self._ends = starts, ends
        self.n_lines, self.width = starts.shape
        text = np.frombuffer(content, dtype=np.uint8)
        self.fields = (text, starts.reshape(-1), ends.reshape(-1))

    @classmethod
    def of(cls, block: bytes, delimiter: str, width: int) -> Cut | None:
        """Cut a block whose lines all have so many fields; None for any other."""
        from .._core.loops.text import find_fields

        content = block.rstrip(b"\r\n") + b"\n"
        if len(content) == 1 or not delimiter.isascii():
            return None
        n_lines = content.count(b"\n")
        starts, ends = np.empty((2, n_lines * width), dtype=np.int32)
        text = np.frombuffer(content, dtype=np.uint8)
        if find_fields(text, ord(delimiter), width, starts, ends) != n_lines:
            return None
        return cls(content, starts.reshape(-1, width), ends.reshape(-1, width))

    @property
    def is_text(self) -> bool:
        """Whether all of it is in UTF-8."""
        try:
            return self.content.isascii() or bool(self.content.decode())
        except UnicodeDecodeError:
            return False

    def are_empty(self, places: tuple[int, ...]) -> bool:
        """Whether nothing stands at these places."""
        at = list(places)
        return bool((self._starts[:, at] == self._ends[:, at]).all())

    def texts(self, place: int) -> list[str]:
        """Fields at a place of the lines."""
        spans = zip(
            self._starts[:, place].tolist(), self._ends[:, place].tolist(), strict=True
        )
        return [self.content[start:end].decode() for start, end in spans]

    def numbers(self, place: int) -> NDArray[np.float64] | None:
        """Counts at a place of the lines; None if some field is not one."""
        from .._core.loops.text import parse_column

        data, odd = np.empty(self.n_lines), np.empty(2 * self.n_lines, np.int32)
        n_odd = parse_column(*self.fields, self.width, place, data, odd)
        return self._checked(data, odd, n_odd)

    def counts(self, column: NDArray[np.int32]) -> sp.csr_array | None:
        """Counts of places in the columns that are given for them, from 0 up.

        None if one of them is not a count.
        """
        from .._core.loops.text import parse_rows

        indptr = np.zeros(self.n_lines + 1, dtype=np.int64)
        n_fields = self.n_lines * int(np.count_nonzero(column >= 0))
        indices, data = np.empty(n_fields, dtype=np.int32), np.empty(n_fields)
        odd = np.empty(2 * n_fields, dtype=np.int32)
        n_odd = parse_rows(*self.fields, column, indptr, indices, data, odd)
        stored = int(indptr[-1])
        values = self._checked(data[:stored].copy(), odd, n_odd)
        if values is None:
            return None
        shape = (self.n_lines, int(column.max()) + 1)
        rows = csr_rows(values, indices[:stored].copy(), indptr, shape)
        if n_odd:
            rows.eliminate_zeros()
        return rows

    def _checked(
        self, data: NDArray[np.float64], odd: NDArray[np.int32], n_odd: int
    ) -> NDArray[np.float64] | None:
        """Numbers with those that were left open; None if one is not a count."""
        if n_odd < 0:
            return None
        _, starts, ends = self.fields
        for place, field in odd[: 2 * n_odd].reshape(-1, 2).tolist():
            try:
                data[place] = float(self.content[starts[field] : ends[field]])
            except ValueError:
                return None
        return data if ((data >= 0) & (data < EXACT)).all() else None


class Names:
    """Names by number, in order of appearance."""

    def __init__(self) -> None:
        # A hash table of numbers; letters of all names, where each ends, its hash.
        self._slots = np.full(1 << 12, -1, dtype=np.int32)
        self._letters = np.empty(1 << 16, dtype=np.uint8)
        self._ends = np.zeros(1 << 11, dtype=np.int64)
        self._codes = np.empty(1 << 11, dtype=np.uint64)
        self._n_names = 0
        # Nobody can write names that all have the same place.
        self._seed = np.uint64(secrets.randbits(64))

    def __len__(self) -> int:
        return self._n_names

    @property
    def n_bytes(self) -> int:
        """Bytes of all letters."""
        return int(self._ends[self._n_names])

    def numbers(self, cut: Cut, place: int) -> NDArray[np.int32]:
        """Numbers of the names at a place of the lines."""
        from .._core.loops.text import number_names

        numbers, line = np.empty(cut.n_lines, dtype=np.int32), 0
        while True:
            state = (self._n_names, self._seed)
            tables = (self._slots, self._letters, self._ends, self._codes)
            line, self._n_names = number_names(
                *cut.fields, cut.width, place, line, numbers, *tables, *state
            )
            if line == cut.n_lines:
                return numbers
            self._grow(len(cut.content))

    def number(self, name: str) -> int:
        """Return the number of one name."""
        content = name.encode()
        span = np.array([[[0]], [[len(content)]]], dtype=np.int32)
        return int(self.numbers(Cut(content, *span), 0)[0])

    def texts(self) -> list[str]:
        """Return names in the order of their numbers."""
        content = self._letters[: self.n_bytes].tobytes()
        ends = self._ends[: self._n_names + 1].tolist()
        return [content[start:end].decode() for start, end in pairwise(ends)]

    def _grow(self, n_letters: int) -> None:
        """Make room for more names, of so many letters at least."""
        from .._core.loops.text import fill_slots

        self._letters = _longer(self._letters, len(self._letters) + n_letters)
        self._ends = _longer(self._ends, len(self._ends))
        self._codes = _longer(self._codes, len(self._codes))
        self._slots = np.full(2 * len(self._slots), -1, dtype=np.int32)
        fill_slots(self._codes, self._n_names, self._slots)


def _longer(array: NDArray[Any], by: int) -> NDArray[Any]:
    return np.concatenate([array, np.empty(by, array.dtype)])
