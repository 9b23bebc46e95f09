"""xlsx and ods: one sheet of a workbook, read as the lines of a csv file are.

A guarded process opens the workbook and sends the sheet as lines of text.
"""

from __future__ import annotations

import zipfile
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from .._errors import DataFormatError
from ._file_content import shown
from .archives import check_members
from .byte_streams import stream_of
from .delimited import read_table, records_of
from .delimited.lines import Lines, long_fields
from .guarded import open_sheets
from .limits import limit_of
from .regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ._file_content import FileContent, Records
    from .format_options import ReadOptions
    from .guarded import Array, Group

_CELLS = 1 << 18
_MOST_PARTS = 10_000


class _Sheet(NamedTuple):
    """Lines of a sheet, the options to read them by, and what it is called."""

    lines: IO[bytes]
    options: ReadOptions
    name: str
    others: str


def read(path: Path, options: ReadOptions) -> FileContent:
    with _opened(path, options) as sheet:
        try:
            content = read_table(sheet.lines, sheet.options, usual="\t")
        except DataFormatError as error:
            if options.sheet is not None or not sheet.others:
                raise
            message = (
                f"{error} (sheet {shown(sheet.name)}; sheet= takes another: "
                f"{sheet.others})"
            )
            raise DataFormatError(message) from error
    taken = f"sheet {shown(sheet.name)}" if sheet.others else ""
    described = "; ".join(filter(None, (taken, content.description)))
    return replace(content, description=described)


@contextmanager
def open_records(path: Path, options: ReadOptions) -> Iterator[Records]:
    """Open a sheet as the names of its columns, and its rows as text."""
    with _opened(path, options) as sheet:
        yield records_of(Lines(sheet.lines), sheet.options, usual="\t")


@contextmanager
def _opened(path: Path, options: ReadOptions) -> Iterator[_Sheet]:
    limit = limit_of(path, options.max_unpacked)
    _check_archive(path, limit)
    with open_sheets(path, limit) as book, long_fields():
        number, name, others = _chosen(book, options.sheet)
        sheet = book[number]
        comma = options.decimal == "," or (
            options.decimal is None and options.thousands == "."
        )
        width = max(1, sheet.attrs["shape"][1])
        written = sheet["comma" if comma else "point"]
        lines = stream_of(_pieces(written, _CELLS // width + 1))
        bounded = replace(options, max_unpacked=limit, delimiter="\t", encoding=None)
        yield _Sheet(lines, bounded, name, others)


def _check_archive(path: Path, limit: int) -> None:
    """Refuse archives with more in them than any workbook has."""
    with open_regular(path) as file:
        if not zipfile.is_zipfile(file):
            message = (
                "it is no xlsx or ods file, or is protected by a password; save it "
                "anew as xlsx without one"
            )
            raise DataFormatError(message)
        with zipfile.ZipFile(file) as archive:
            parts = archive.infolist()
    if len(parts) > _MOST_PARTS:
        message = f"it is an archive of {len(parts)} files, which no workbook has"
        raise DataFormatError(message)
    check_members(parts, limit)


def _chosen(book: Group, asked: str | None) -> tuple[str, str, str]:
    """Number and name of a sheet, and the names of the others.

    It is the one that is asked for, or the first that is visible and holds something.
    """
    sheets: list[dict[str, Any]] = book.attrs["sheets"]
    tables = [number for number in book if sheets[int(number)]["table"]]
    names = {number: sheets[int(number)]["name"] for number in tables}
    if asked is not None:
        found = [number for number in tables if names[number] == asked]
        if not found:
            listed = ", ".join(map(shown, names.values())) or "none"
            message = f"it has no sheet {asked!r}; pass sheet= as one of {listed}"
            raise DataFormatError(message)
    else:
        visible = (number for number in tables if sheets[int(number)]["visible"])
        full = (number for number in visible if book[number].attrs["shape"][0])
        found = [first for first in [next(full, None)] if first is not None]
        if not found:
            message = "it has no visible sheet with anything in it"
            raise DataFormatError(message)
    others = ", ".join(shown(names[number]) for number in tables if number != found[0])
    return found[0], names[found[0]], others


def _pieces(lines: Array, step: int) -> Iterator[bytes]:
    """Lines of a sheet, so many at a time."""
    for start in range(0, lines.shape[0], step):
        yield "".join(lines[start : start + step]).encode()
