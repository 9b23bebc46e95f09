"""One sheet of a workbook, xlsx or ods, as lines of tab-separated text."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._errors import DataFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    Items = Iterator[tuple[str, Any]]

# Cells that are sent at a time.
CELLS = 1 << 16


def read(path: str, limit: int, sheet: str | None, decimal: str) -> Items:  # noqa: ARG001
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
        message = f"it has no sheet {asked!r}; pass sheet= as one of {listed}"
        raise DataFormatError(message)
    for sheet in tables:
        visible = sheet.visible == SheetVisibleEnum.Visible
        if sheet.name == asked or (asked is None and visible):
            rows = _asked(book.get_sheet_by_name, sheet.name)
            if asked is not None or rows.end is not None:
                return sheet.name, rows, [name for name in names if name != sheet.name]
    message = "it has no visible sheet with anything in it"
    raise DataFormatError(message)


def _line(cells: list[Any], decimal: str) -> bytes:
    """Cells as a line; nothing but its end if all are empty."""
    fields = [
        str(int(cell))
        if type(cell) is float and cell.is_integer()
        else cell
        if type(cell) is str and cell.isalnum()
        else _field(cell, decimal)
        for cell in cells
    ]
    line = "\t".join(fields)
    if not line.strip("\t"):
        return b"\n"
    return f"{line}\n".encode("utf-8", "replace")


def _field(cell: Any, decimal: str) -> str:
    """Content of a cell as a field of one line; truth counts as one."""
    if isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, float):
        return repr(cell).replace(".", decimal)
    # Line ends in cells would shift the numbers of the rows below.
    text = " ".join(str(cell).splitlines())
    if "\t" in text or '"' in text:
        doubled = text.replace('"', '""')
        return f'"{doubled}"'
    return text


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
