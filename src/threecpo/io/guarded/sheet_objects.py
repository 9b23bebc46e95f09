"""Sheets of a workbook, xlsx or ods, as lines of tab-separated text.

A file is a group of sheets by number; a sheet is a group of two arrays of the same
lines, with decimal points and with decimal commas in its numbers.
"""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import python_calamine as calamine

from .fences import RefusedError, timed
from .pieces import Values

if TYPE_CHECKING:
    from numpy.typing import NDArray

LINES = {"point": ".", "comma": ","}
# XML is slower to read than what other libraries unpack.
SLOWER = 5
CELLS = 1 << 16


class Workbook:
    """A workbook, how many bytes its parts claim to have, and the sheet looked at."""

    def __init__(self, book: Any, unpacked: int) -> None:
        self.book, self._unpacked = book, unpacked
        self._number, self._rows = -1, None

    def rows(self, number: int) -> Any:
        """Rows of a sheet; those of one sheet are kept."""
        if number != self._number:
            self._number, self._rows = -1, None
            with timed(SLOWER * self._unpacked):
                self._rows = _asked(self.book.get_sheet_by_index, number)
            self._number = number
        return self._rows


class Sheet(NamedTuple):
    """A sheet, and what stands before fractions; nothing if that is still open."""

    rows: Any
    decimal: str = ""


def open_file(path: str) -> Workbook:
    """Open a workbook, which is looked at by its content, not by its name."""
    with open(path, "rb") as file:  # noqa: PTH123
        content = io.BytesIO(file.read())
    with zipfile.ZipFile(content) as archive:
        unpacked = sum(part.file_size for part in archive.infolist())
    content.seek(0)
    with timed(SLOWER * unpacked):
        return Workbook(_asked(calamine.load_workbook, content), unpacked)


def found(file: Workbook, path: str) -> Any:
    """Workbook, sheet by number, or lines of a sheet."""
    names = [name for name in path.split("/") if name]
    if not names:
        return file
    return Sheet(file.rows(int(names[0])), *(LINES[name] for name in names[1:]))


def described(item: Any, path: str) -> dict[str, Any]:  # noqa: ARG001
    """What there is, without its cells."""
    if isinstance(item, Workbook):
        sheets = [_described_sheet(about) for about in item.book.sheets_metadata]
        numbers = [str(i) for i in range(len(sheets))]
        return {"names": numbers, "attributes": {"sheets": sheets}}
    n_rows, n_columns = _height(item), item.rows.width
    if not item.decimal:
        return {"names": list(LINES), "attributes": {"shape": [n_rows, n_columns]}}
    return {
        "shape": [n_rows],
        "kind": "text",
        "fields": None,
        "itemsize": n_columns,
        "chunk": 0,
        "stored": None,
        "attributes": {},
    }


def _described_sheet(about: Any) -> dict[str, Any]:
    table = about.typ == calamine.SheetTypeEnum.WorkSheet
    shown = about.visible == calamine.SheetVisibleEnum.Visible
    return {"name": about.name, "table": table, "visible": shown}


def values_of(item: Sheet, field: str | None) -> Values:  # noqa: ARG001
    """Lines of a sheet, which are read from the first to the last."""
    shape = (_height(item),)
    step = max(1, CELLS // max(1, item.rows.width))
    return Values(_Lines(item), "text", shape, 1, (1,), step)


def _height(sheet: Sheet) -> int:
    """Number of rows, with empty ones above the first that is not."""
    return 0 if sheet.rows.end is None else int(sheet.rows.end[0]) + 1


class _Lines:
    """Lines in their order, some at a time."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet, self._rows, self._at = sheet, iter(()), -1

    def __getitem__(self, part: slice) -> NDArray[np.object_]:
        if part.start != self._at:
            self._rows = _asked(self._sheet.rows.iter_rows)
            for _ in range(part.start):
                next(self._rows)
        self._at = part.stop
        lines = np.empty(part.stop - part.start, dtype=object)
        for i in range(len(lines)):
            lines[i] = _line(_asked(next, self._rows), self._sheet.decimal)
        return lines


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
    """Result of the library; its panics are no ``Exception``."""
    try:
        return function(*given)
    except (MemoryError, StopIteration):
        raise
    except calamine.PasswordError as error:
        message = "it is protected by a password; save it without"
        raise RefusedError(message) from error
    except BaseException as error:
        message = f"it cannot be read, it is damaged: {error}"
        raise RefusedError(message) from error
