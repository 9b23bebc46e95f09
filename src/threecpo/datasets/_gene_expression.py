"""GeneExp: tumours and the expression of their genes."""

from __future__ import annotations

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


def fetch_gene_expression(
    *, data_home: Home = None, progress: bool = False
) -> CountTable:
    """Load GeneExp: 801 tumours, 20 531 genes, 5 kinds of tumours.

    Values are rounded to the nearest whole number.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder with the file, or to download it to. By default the one that the
        environment variable ``THREECPO_DATA`` names, or a folder of the user's cache.
    progress : bool, default=False
        Show a progress bar while downloading.

    Returns
    -------
    CountTable
        Counts, names, true labels and provenance.

    Examples
    --------
    >>> from threecpo.datasets import fetch_gene_expression
    >>> fetch_gene_expression()  # doctest: +SKIP
    CountTable('GeneExp': 801 rows x 20531 columns, 5 clusters)
    """
    return load(SOURCES["gene_expression"], _parse, data_home, progress=progress)


def _parse(paths: list[Path], limit: int) -> Parsed:
    table = kinds = None
    with members(paths[0], limit) as each:
        for name, file in each:
            if name.endswith("/data.csv"):
                table = read_number_lines(file, ",")
            elif name.endswith("/labels.csv"):
                kinds = dict(unquoted(line, ",")[:2] for line in file if b"," in line)
    if table is None or kinds is None:
        message = "it lacks data.csv or labels.csv"
        raise DataFormatError(message)
    tumours, genes, X = table
    absent = [tumour for tumour in tumours if tumour not in kinds]
    if absent:
        message = f"labels.csv has no line for {absent[0]}"
        raise DataFormatError(message)
    labels = encoded(kinds[tumour] for tumour in tumours)
    return {"X": X, "row_names": tumours, "column_names": genes, **labels}
