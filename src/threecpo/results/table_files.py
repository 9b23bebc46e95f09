"""Tables of results: made, rounded, and written as csv or xlsx."""

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
from ._fit_tables import cluster_table, column_table, top_table
from .fitted import column_names_of, record_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

    from numpy.typing import ArrayLike, NDArray

    from ..cluster import ThreeCPO

    Table = dict[str, NDArray[Any]]

TEXT = frozenset(
    {
        *("row", "column", "criterion", "name", "markers", "part", "title"),
        *("kind", "label", "clusters", "sure"),
    }
)
WHOLE = frozenset(
    {
        "count",
        "cluster",
        "kinship",
        "joins",
        "nearest",
        "group",
        "rank",
        "n_clusters",
        "found",
        "relevant",
        "next_n_clusters",
        "next_cluster",
        "rows",
        "size",
        "node",
        "distinct",
        "place",
    }
)

# Digits behind the point of large numbers, whose differences matter.
_BEHIND_POINT = 3
# Lines that are text in memory at the same time.
BATCH = 10_000
# A cell with one of these is quoted: other programs divide cells at other characters.
_SPECIAL = re.compile(r'[,;|"\t\r\n]|^\s|\s$')


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
                _cells(name, values[start : start + BATCH])
                for name, values in columns.items()
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


def read_table(path: str | PathLike[str]) -> Table:
    """Read a CSV file that :func:`write_table` has written."""
    try:
        with Path(path).open(
            encoding="utf-8", errors="surrogatepass", newline=""
        ) as file:
            lines = csv.reader(file, strict=True)
            header = next(lines, [])
            _check_header(header, path)
            parts = [
                [
                    _parsed(name, cells, path)
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


def _check_header(header: list[str], path: str | PathLike[str]) -> None:
    if not header or len(set(header)) < len(header) or "" in header:
        message = f"{path} is not a table by threecpo: its first line is not a header."
        raise ValueError(message)


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


def _is_text(name: str) -> bool:
    """Whether a column holds text: names, or labels of some kind."""
    return name in TEXT or name.startswith("label_")


def _cells(name: str, array: NDArray[Any]) -> list[str]:
    if _is_text(name) or array.dtype.kind not in "fiub":
        return [_quoted(guarded(text)) for text in map(str, array.tolist())]
    # str of a Python float is the shortest text that gives the same bits.
    return list(map(str, array.tolist()))


def _quoted(text: str) -> str:
    """A cell of text; the csv module would leave a lone carriage return bare."""
    if text and not _SPECIAL.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _parsed(name: str, cells: tuple[str, ...], path: str | PathLike[str]) -> Any:
    if _is_text(name):
        texts = np.empty(len(cells), dtype=object)
        texts[:] = [unguarded(cell) for cell in cells]
        return texts
    kind: Any = np.int64 if name in WHOLE else np.float64
    try:
        return np.array(list(map(int if kind is np.int64 else float, cells)), kind)
    except (ValueError, OverflowError) as error:
        message = f"{path}, column {name!r}: {error}. Write the file again."
        raise ValueError(message) from error


# What a sheet holds, its header with it, and a cell.
MOST_ROWS, MOST_COLUMNS, LONGEST = 1_048_576, 16_384, 32_767


def write_workbook(model: ThreeCPO, rows: Table, path: str | PathLike[str]) -> None:
    """Write what a fit found as an xlsx file.

    Sheets are ``rows``, ``clusters``, ``profile`` (expected counts of each column in a
    row of mean size, by cluster), ``markers`` and ``columns``. Names are text, whatever
    they look like: no cell is a formula or a link.
    """
    library = require("xlsxwriter", "io", "Writing a workbook")
    sheets = {
        "rows": rows,
        "clusters": cluster_table(model),
        "profile": _profile(model),
        "markers": top_table(model),
        "columns": column_table(model),
    }
    for name, table in sheets.items():
        _check_size(name, table)
    with library.Workbook(path, {"constant_memory": True}) as book:
        bold = book.add_format({"bold": True})
        for name, table in sheets.items():
            _write_sheet(book.add_worksheet(name), table, bold)


def _profile(model: ThreeCPO) -> dict[str, Any]:
    """Expected counts in a row of mean size, a line for each column."""
    record = record_of(model)
    expected = record.markers.expected
    of_clusters = {
        f"{k} {name}": expected.clusters[k]
        for k, name in enumerate(model.cluster_names_.tolist())
    }
    names = np.array(column_names_of(record), dtype=object)
    return {"column": names, **of_clusters, "overall": expected.overall}


def _check_size(name: str, table: Mapping[str, Any]) -> None:
    n_rows = max((len(values) for values in table.values()), default=0)
    if n_rows < MOST_ROWS and len(table) <= MOST_COLUMNS:
        return
    message = (
        f"A sheet holds {MOST_ROWS - 1} rows and {MOST_COLUMNS} columns, but {name} "
        f"has {n_rows} and {len(table)}: leave out --write xlsx and open the csv files."
    )
    raise ValueError(message)


def _write_sheet(sheet: Any, table: Mapping[str, Any], bold: Any) -> None:
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
