"""SportA: kinds of words in sport articles, from a spreadsheet in XML."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat

import numpy as np

from .._errors import DataFormatError
from ._load import encoded, load, member
from ._registry import SOURCES

if TYPE_CHECKING:
    from pathlib import Path

    from ..table import CountTable
    from ._load import Home, Parsed

# No counts of words: names, the classes, scores and their like.
LEFT_OUT = (
    "TextID",
    "URL",
    "Label",
    "totalWordsCount",
    "sentence1st",
    "sentencelast",
    "txtcomplexity",
)


def fetch_sport_articles(
    *, data_home: Home = None, progress: bool = False
) -> CountTable:
    """Load SportA: 1000 sport articles, 55 kinds of words, 2 clusters.

    The clusters are objective and subjective articles. Columns that count no kind of
    word (total, scores of sentences and of complexity) are dropped.

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
    >>> from threecpo.datasets import fetch_sport_articles
    >>> fetch_sport_articles()  # doctest: +SKIP
    CountTable('SportA': 1000 rows x 55 columns, 2 clusters)
    """
    return load(SOURCES["sport_articles"], _parse, data_home, progress=progress)


def _parse(paths: list[Path], limit: int) -> Parsed:
    header, *rows = _first_sheet(member(paths, "features.xls", limit))
    absent = [name for name in LEFT_OUT if name not in header]
    short = next((i for i, row in enumerate(rows) if len(row) != len(header)), None)
    if absent or short is not None:
        message = f"features.xls lacks {absent or f'values in row {short}'}"
        raise DataFormatError(message)
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    kept = [name for name in header if name not in LEFT_OUT]
    counts = [[float(value) for value in columns[name]] for name in kept]
    return {
        "X": np.array(counts).T,
        "row_names": columns["TextID"],
        "column_names": kept,
        **encoded(columns["Label"]),
    }


def _first_sheet(content: bytes) -> list[list[str]]:
    """Cells of the first sheet of a SpreadsheetML file without declarations."""
    rows: list[list[str]] = []
    state = {"sheets": 0, "data": 0}

    def start(tag: str, _: dict[str, str]) -> None:
        state["sheets"] += tag == "Worksheet"
        state["data"] = tag == "Data"
        if state["sheets"] == 1 and tag == "Row":
            rows.append([])
        elif state["sheets"] == 1 and tag == "Cell":
            rows[-1].append("")

    def text(data: str) -> None:
        if state["sheets"] == 1 and state["data"]:
            rows[-1][-1] += data

    def end(_: str) -> None:
        state["data"] = False

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = _refuse
    parser.StartDoctypeDeclHandler = _refuse
    try:
        parser.Parse(content, True)  # noqa: FBT003
    except (expat.ExpatError, IndexError) as error:
        message = f"features.xls is no spreadsheet in XML ({error})"
        raise DataFormatError(message) from error
    if not rows:
        message = "features.xls has no rows"
        raise DataFormatError(message)
    return rows


def _refuse(*_: object) -> None:
    message = "features.xls declares a document type or entities, which are not read"
    raise DataFormatError(message)
