"""xlsx and ods: one sheet of a workbook, read as the lines of a csv file are.

A process of its own makes lines of tab-separated text of it (``read_sheet``).
"""

from __future__ import annotations

import io
import zipfile
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import DataFormatError, parameter, refuse, shown
from .files import check_members, limits_of, open_regular, stream_of
from .isolated import isolated
from .lines import Lines, field_of, long_fields
from .numbers import NumberStyle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .content import FileContent, Records
    from .formats import ReadOptions
    from .isolated import Items

_MOST_PARTS = 10_000


def read(path: Path, options: ReadOptions) -> FileContent:
    from .delimited import read_lines

    with _opened(path, options) as (lines, bounded, name, others):
        try:
            content = read_lines(lines, bounded)
        except DataFormatError as error:
            if options.sheet is not None or not others:
                raise
            other = f"{parameter('sheet')} takes another: {others}"
            message = f"{error.marked} (sheet {shown(name)}; {other})"
            raise DataFormatError(message) from error
    taken = f"sheet {shown(name)}" if others else ""
    described = "; ".join(filter(None, (taken, content.description)))
    return replace(content, description=described)


@contextmanager
def open_records(path: Path, options: ReadOptions) -> Iterator[Records]:
    """Open a sheet as the names of its columns, and its rows as text."""
    from .delimited import records_of

    with _opened(path, options) as (lines, bounded, *_):
        yield records_of(lines, bounded)


@contextmanager
def _opened(
    path: Path, options: ReadOptions
) -> Iterator[tuple[Lines, ReadOptions, str, str]]:
    """Lines of a sheet, the options to read them by, its name and those of others."""
    limits = limits_of(path, options.max_unpacked)
    _check_archive(path, limits.unpacked)
    given = {"sheet": options.sheet, "decimal": NumberStyle.of(options).decimal}
    items = isolated(read_sheet, path, limits, "python_calamine", **given)
    with closing(items), long_fields():
        (_, name), (_, others) = next(items), next(items)
        lines = Lines(stream_of(bytes(piece) for _, piece in items))
        bounded = replace(options, max_unpacked=limits.unpacked, delimiter="\t")
        yield lines, bounded, name, ", ".join(map(shown, others))


def _check_archive(path: Path, limit: int) -> None:
    """Refuse archives with more in them than any workbook has."""
    with open_regular(path) as file:
        if not zipfile.is_zipfile(file):
            refuse(
                "it is not an xlsx or ods file, or is protected by a password; save it "
                "again as xlsx without one"
            )
        with zipfile.ZipFile(file) as archive:
            parts = archive.infolist()
    if len(parts) > _MOST_PARTS:
        refuse(f"it is an archive of {len(parts)} files, which no workbook has")
    check_members(parts, limit)


# Cells that are sent at a time.
CELLS = 1 << 16


def read_sheet(path: str, limit: int, sheet: str | None, decimal: str) -> Items:  # noqa: ARG001
    """Name of the sheet, names of the ``others``, and its ``lines`` piece by piece.

    It is the one that is asked for, or the first that is visible and holds something.
    """
    import python_calamine as calamine

    with open(path, "rb") as file:  # noqa: PTH123
        # Its content tells of which kind it is, not its name.
        book = _asked(calamine.load_workbook, io.BytesIO(file.read()))
    name, rows, others = _chosen(book, sheet)
    yield "name", name
    yield "others", others
    lines: list[bytes] = []
    most = max(1, CELLS // max(1, rows.width))
    cells = _asked(rows.iter_rows)
    # Empty rows above the first that is not are rows, too.
    for _ in range(0 if rows.end is None else int(rows.end[0]) + 1):
        lines.append(_line(_asked(next, cells), decimal))
        if len(lines) == most:
            yield "lines", np.frombuffer(b"".join(lines), np.uint8)
            lines.clear()
    yield "lines", np.frombuffer(b"".join(lines), np.uint8)


def _chosen(book: Any, asked: str | None) -> tuple[str, Any, list[str]]:
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    table = SheetTypeEnum.WorkSheet
    tables = [sheet for sheet in book.sheets_metadata if sheet.typ == table]
    names = [sheet.name for sheet in tables]
    if asked is not None and asked not in names:
        listed = ", ".join(map(repr, names)) or "none"
        advice = f"pass {parameter('sheet')} as one of {listed}"
        refuse(f"it has no sheet {asked!r}; {advice}")
    for sheet in tables:
        visible = sheet.visible == SheetVisibleEnum.Visible
        if sheet.name == asked or (asked is None and visible):
            rows = _asked(book.get_sheet_by_name, sheet.name)
            if asked is not None or rows.end is not None:
                return sheet.name, rows, [name for name in names if name != sheet.name]
    refuse("it has no visible sheet with anything in it")


def _line(cells: list[Any], decimal: str) -> bytes:
    """Cells as a line; nothing but its end if all are empty."""
    fields = [
        str(int(cell))
        if type(cell) is float and cell.is_integer()
        else cell
        if type(cell) is str and cell.isalnum()
        else field_of(cell, decimal)
        for cell in cells
    ]
    line = "\t".join(fields)
    if not line.strip("\t"):
        return b"\n"
    return f"{line}\n".encode("utf-8", "replace")


def _asked(function: Any, *given: Any) -> Any:
    """Result of the library; its panics are not an ``Exception``."""
    from python_calamine import PasswordError

    try:
        return function(*given)
    except (MemoryError, StopIteration):
        raise
    except PasswordError as error:
        message = "it is protected by a password; save it without"
        raise DataFormatError(message) from error
    except BaseException as error:
        message = f"it cannot be read, it is damaged: {error}"
        raise DataFormatError(message) from error
