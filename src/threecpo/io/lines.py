"""Delimited text as blocks of whole lines, and as records where quotes need care."""

from __future__ import annotations

import codecs
import csv
import io
from collections import deque
from contextlib import contextmanager, suppress
from itertools import islice
from typing import IO, TYPE_CHECKING

from .._errors import DataFormatError, parameter

if TYPE_CHECKING:
    from collections.abc import Iterator

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
            message = f"line {self.number + 1} is longer than {LONGEST} bytes"
            raise DataFormatError(message)
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
