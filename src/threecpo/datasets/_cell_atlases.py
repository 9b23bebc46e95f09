"""HDendritic and MouseAtlas: cells and the expression of their genes."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from .._errors import DataFormatError
from ..io.archives import members
from ._load import encoded, load
from ._number_lines import read_number_lines, unquoted
from ._registry import SOURCES

if TYPE_CHECKING:
    from pathlib import Path

    from ..table import CountTable
    from ._load import Home, Parsed


def fetch_human_dendritic(
    *, data_home: Home = None, progress: bool = False
) -> CountTable:
    """Load HDendritic: 576 human dendritic cells, 26 593 genes, 4 types of cells.

    Values are rounded to the nearest whole number.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder with the files, or to download them to. By default the one that the
        environment variable ``THREECPO_DATA`` names, or a folder of the user's cache.
    progress : bool, default=False
        Show a progress bar while downloading.

    Returns
    -------
    CountTable
        Counts, names, true labels and provenance.

    Examples
    --------
    >>> from threecpo.datasets import fetch_human_dendritic
    >>> fetch_human_dendritic()  # doctest: +SKIP
    CountTable('HDendritic': 576 rows x 26593 columns, 4 clusters)
    """
    parse = partial(_parse, column="celltype")
    return load(SOURCES["human_dendritic"], parse, data_home, progress=progress)


def fetch_mouse_atlas(*, data_home: Home = None, progress: bool = False) -> CountTable:
    """Load MouseAtlas: 6954 mouse cells, 15 006 genes, 11 types of cells.

    Values are rounded to the nearest whole number.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder with the files, or to download them to. By default the one that the
        environment variable ``THREECPO_DATA`` names, or a folder of the user's cache.
    progress : bool, default=False
        Show a progress bar while downloading.

    Returns
    -------
    CountTable
        Counts, names, true labels and provenance.

    Examples
    --------
    >>> from threecpo.datasets import fetch_mouse_atlas
    >>> fetch_mouse_atlas()  # doctest: +SKIP
    CountTable('MouseAtlas': 6954 rows x 15006 columns, 11 clusters)
    """
    parse = partial(_parse, column="ct")
    return load(SOURCES["mouse_atlas"], parse, data_home, progress=progress)


def _parse(paths: list[Path], limit: int, *, column: str) -> Parsed:
    counts, samples = paths
    types = _types(samples, limit, column)
    with members(counts, limit) as each:
        for _, file in each:
            genes, cells, X = read_number_lines(file, "\t")
    absent = [cell for cell in cells if _key(cell) not in types]
    if absent:
        message = f"{samples.name} has no line for the cell {absent[0]}"
        raise DataFormatError(message)
    if len(types) != len(cells):
        message = f"{samples.name} has {len(types)} cells, the counts {len(cells)}"
        raise DataFormatError(message)
    labels = encoded(types[_key(cell)] for cell in cells)
    return {"X": X.T, "row_names": cells, "column_names": genes, **labels}


def _types(path: Path, limit: int, column: str) -> dict[str, str]:
    """Type of each cell, from a table whose lines start with the cell's name."""
    with members(path, limit) as each:
        rows = [unquoted(line, "\t") for _, file in each for line in file]
    header, *rows = rows
    # R leaves out the name of the first column.
    first = 1 if rows and len(rows[0]) == len(header) + 1 else 0
    wide = [len(row) == len(header) + first for row in rows]
    if column not in header or not all(wide):
        message = f"{path.name} is no table with a column {column}"
        raise DataFormatError(message)
    at = header.index(column) + first
    return {_key(row[0]): row[at] for row in rows}


def _key(cell: str) -> str:
    """The name as R spells it in a header, where marks become dots."""
    return re.sub(r"\W", ".", cell)
