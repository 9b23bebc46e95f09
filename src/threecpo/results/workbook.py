"""A fit as a workbook that spreadsheets open: rows, profiles, markers, columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._extras import require
from ._cluster_tables import cluster_table
from ._fit_tables import column_table, top_table
from .fitted import column_names_of, record_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from ..cluster import ThreeCPO
    from ._csv_tables import Table

# What a sheet holds, its header with it, and a cell.
MOST_ROWS, MOST_COLUMNS, LONGEST = 1_048_576, 16_384, 32_767


def write_workbook(model: ThreeCPO, rows: Table, path: str | PathLike[str]) -> None:
    """Write what a fit found as an xlsx file.

    Sheets are ``rows``, ``clusters``, ``profile`` (expected counts of each column in a
    row of mean size, by cluster), ``markers`` and ``columns``. Names are text, whatever
    they look like: no cell is a formula or a link.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    rows : dict of str to ndarray
        What :func:`row_table` returns.
    path : str or path-like
        File to write.
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
        f"has {n_rows} and {len(table)}: leave out --xlsx and open the csv files."
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
