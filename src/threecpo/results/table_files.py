"""Tables of results: typed columns, and the csv and xlsx files made from them.

A table is a dict of columns of one length. The dtype of a column is its type, decided
where the table is made: text, whole numbers, numbers or flags.
"""

from __future__ import annotations

import csv
import math
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._extras import require
from .._spreadsheets import guarded, unguarded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike

    from numpy.typing import ArrayLike, NDArray

    Table = dict[str, NDArray[Any]]
    Kind = np.dtype[Any]

TEXT, WHOLE = np.dtype(object), np.dtype(np.int64)
NUMBER, FLAG = np.dtype(np.float64), np.dtype(bool)
# What the columns of our tables are, by name; all others are text.
KINDS = {
    # Rows.
    **dict.fromkeys(("cluster", "nearest", "place", "size"), WHOLE),
    **dict.fromkeys(("margin", "outlier_score", "scale", "map_x", "map_y"), NUMBER),
    **dict.fromkeys(("weight", "confidence", "share"), NUMBER),
    # Columns.
    **dict.fromkeys(("group", "rank"), WHOLE),
    **dict.fromkeys(("here", "overall", "ratio", "evidence"), NUMBER),
    **dict.fromkeys(("effect", "least_effect"), NUMBER),
    # A path.
    **dict.fromkeys(("n_clusters", "found", "relevant"), WHOLE),
    **dict.fromkeys(("loss", "price", "v", "regained", "total"), NUMBER),
    **dict.fromkeys(("reproducibility", "seconds"), NUMBER),
    # Stability.
    **dict.fromkeys(("node", "rows"), WHOLE),
    **dict.fromkeys(("jaccard", "jaccard_sd", "gain", "expected", "z"), NUMBER),
    **dict.fromkeys(("p_value", "p_adjusted"), NUMBER),
    **dict.fromkeys(("converged", "distinct"), FLAG),
}

# Digits behind the point of large numbers, whose differences matter.
_BEHIND_POINT = 3
# Lines that are text in memory at the same time.
BATCH = 10_000
# A cell with one of these is quoted: other programs divide cells at other characters.
_SPECIAL = re.compile(r'[,;|"\t\r\n]|^\s|\s$')


def column_of(values: Iterable[Any], kind: Kind) -> NDArray[Any]:
    """Values as a column of a table."""
    if kind != TEXT:
        return np.array(list(values), dtype=kind)
    texts = [str(value) for value in values]
    column = np.empty(len(texts), dtype=object)
    column[:] = texts
    return column


def table_of(
    names: tuple[str, ...], lines: Iterable[tuple[Any, ...]], **kinds: Kind
) -> Table:
    """Table of lines that have a value for each of these columns."""
    columns = list(zip(*lines, strict=True)) or [()] * len(names)
    return {
        name: column_of(values, (KINDS | kinds).get(name, TEXT))
        for name, values in zip(names, columns, strict=True)
    }


def write_table(
    table: Mapping[str, ArrayLike] | Any, path: str | PathLike[str]
) -> None:
    """Write a table as a CSV file (UTF-8, one header line) in full precision.

    Names that a spreadsheet would take for a formula, because they start with ``=``,
    ``+``, ``-``, ``@`` (also in wide form), a tab or a line end, get an apostrophe in
    front, as do those that start with apostrophes before such a character.
    :func:`read_table` takes it away again. Names with delimiters, quotes and line
    breaks are quoted.
    """
    columns = {name: np.asarray(table[name]) for name in table}
    if len({len(values) for values in columns.values()}) > 1:
        message = "The columns of a table must have the same length."
        raise ValueError(message)
    with Path(path).open(
        "w", encoding="utf-8", errors="surrogatepass", newline=""
    ) as file:
        file.write(",".join(map(_quoted, columns)) + "\n")
        for start in range(0, max(map(len, columns.values()), default=0), BATCH):
            cells = [
                _cells(values[start : start + BATCH]) for values in columns.values()
            ]
            file.writelines(",".join(line) + "\n" for line in zip(*cells, strict=True))


def rounded_table(table: Mapping[str, ArrayLike] | Any, digits: int) -> Table:
    """Round the numbers of a table for people who look at it."""
    columns = {name: np.asarray(table[name]) for name in table}
    return {
        name: _rounded(values, digits) if values.dtype.kind == "f" else values
        for name, values in columns.items()
    }


def _rounded(values: NDArray[Any], digits: int) -> NDArray[np.float64]:
    from_here = 10.0 ** (digits - _BEHIND_POINT)
    texts = (
        f"{value:.{digits}g}"
        if abs(value) < from_here
        else f"{value:.{_BEHIND_POINT}f}"
        for value in values.tolist()
    )
    return np.array([float(text) for text in texts])


def read_table(path: str | PathLike[str], kinds: Mapping[str, Kind] = KINDS) -> Table:
    """Read a CSV file that :func:`write_table` has written.

    ``kinds`` are the types of its columns; those without one are text.
    """
    try:
        with Path(path).open(
            encoding="utf-8", errors="surrogatepass", newline=""
        ) as file:
            lines = csv.reader(file, strict=True)
            header = next(lines, [])
            if not header or len(set(header)) < len(header) or "" in header:
                message = (
                    f"{path} is not a table by threecpo: its first line is not a "
                    "header."
                )
                raise ValueError(message)
            parts = [
                [
                    _parsed(name, cells, kinds.get(name, TEXT), path)
                    for name, cells in zip(header, part, strict=True)
                ]
                for part in _batches(lines, len(header), path)
            ]
    except (csv.Error, UnicodeDecodeError) as error:
        message = f"{path} is not a table written by threecpo: {error}."
        raise ValueError(message) from error
    return {
        name: np.concatenate(arrays)
        for name, *arrays in zip(header, *parts, strict=True)
    }


def _batches(
    lines: Any, width: int, path: str | PathLike[str]
) -> Iterator[list[tuple[str, ...]]]:
    """Cells by column, some thousand lines at a time; an odd line is refused."""
    while True:
        batch = []
        for line in islice(lines, BATCH):
            if len(line) != width:
                message = (
                    f"{path}, line {lines.line_num}: {len(line)} cells where the "
                    f"header has {width}. Write the file again."
                )
                raise ValueError(message)
            batch.append(line)
        yield list(zip(*batch, strict=True)) or [()] * width
        if len(batch) < BATCH:
            return


def _cells(values: NDArray[Any]) -> list[str]:
    if values.dtype.kind == "b":
        values = values.astype(WHOLE)
    if values.dtype.kind not in "fiu":
        return [_quoted(guarded(text)) for text in map(str, values.tolist())]
    # str of a Python float is the shortest text that gives the same bits.
    return list(map(str, values.tolist()))


def _quoted(text: str) -> str:
    """A cell of text; the csv module would leave a lone carriage return bare."""
    if text and not _SPECIAL.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _parsed(
    name: str, cells: tuple[str, ...], kind: Kind, path: str | PathLike[str]
) -> NDArray[Any]:
    if kind == TEXT:
        return column_of(map(unguarded, cells), TEXT)
    try:
        return column_of(map(float if kind == NUMBER else int, cells), kind)
    except (ValueError, OverflowError) as error:
        message = f"{path}, column {name!r}: {error}. Write the file again."
        raise ValueError(message) from error


# What a sheet holds, its header with it, and a cell.
MOST_ROWS, MOST_COLUMNS, LONGEST = 1_048_576, 16_384, 32_767


def write_workbook(sheets: Mapping[str, Table], path: str | PathLike[str]) -> None:
    """Write tables as the sheets of an xlsx file.

    Names are text, whatever they look like: no cell is a formula or a link.
    """
    library = require("xlsxwriter", "io", "Writing a workbook")
    for name, table in sheets.items():
        n_rows = max((len(values) for values in table.values()), default=0)
        if n_rows >= MOST_ROWS or len(table) > MOST_COLUMNS:
            message = (
                f"A sheet holds {MOST_ROWS - 1} rows and {MOST_COLUMNS} columns, but "
                f"{name} has {n_rows} and {len(table)}: leave out --write xlsx and "
                "open the csv files."
            )
            raise ValueError(message)
    with library.Workbook(path, {"constant_memory": True}) as book:
        bold = book.add_format({"bold": True})
        for name, table in sheets.items():
            _write_sheet(book.add_worksheet(name), table, bold)


def _write_sheet(sheet: Any, table: Table, bold: Any) -> None:
    sheet.freeze_panes(1, 1)
    for place, name in enumerate(table):
        sheet.write_string(0, place, name[:LONGEST], bold)
    columns = [np.asarray(values).tolist() for values in table.values()]
    for line, cells in enumerate(zip(*columns, strict=True), start=1):
        for place, value in enumerate(cells):
            if not isinstance(value, int | float):
                sheet.write_string(line, place, str(value)[:LONGEST])
            elif math.isfinite(value):
                sheet.write_number(line, place, value)
            elif not math.isnan(value):
                sheet.write_string(line, place, str(value))
