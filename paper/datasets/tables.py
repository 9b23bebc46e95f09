"""Parsers of the paper's tables: counts with names and classes."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING
from xml.parsers import expat

import numpy as np

from threecpo.io import DataFormatError
from threecpo.io.delimited import read_lines
from threecpo.io.formats import ReadOptions
from threecpo.io.lines import Lines

from .archives import members

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from .files import Parsed

WHOLESALE_CHANNELS = ("Horeca", "Retail")
# No counts of words: names, the classes, scores and their like.
SPORT_LEFT_OUT = (
    "TextID",
    "URL",
    "Label",
    "totalWordsCount",
    "sentence1st",
    "sentencelast",
    "txtcomplexity",
)


def wholesales(paths: list[Path], limit: int) -> Parsed:
    """Yearly spending; Channel is the class, Region is dropped."""
    content = _member(paths, "Wholesale customers data.csv", limit)
    header, *lines = content.decode("utf-8-sig").splitlines()
    names = header.split(",")
    if names[:2] != ["Channel", "Region"]:
        message = f"its first line is {header[:60]!r}, not Channel, Region, ..."
        raise DataFormatError(message)
    values = _whole_numbers(lines, len(names))
    return {
        "X": values[:, 2:],
        "column_names": names[2:],
        "labels": values[:, 0] - 1,
        "label_names": WHOLESALE_CHANNELS,
    }


def optdigits(paths: list[Path], limit: int) -> Parsed:
    """Pixels set in blocks of 4 x 4; digits for training, then those for testing."""
    values = np.concatenate(
        [
            _whole_numbers(_member(paths, name, limit).decode().splitlines(), 65)
            for name in ("optdigits.tra", "optdigits.tes")
        ]
    )
    return {
        "X": values[:, :64],
        "column_names": [
            f"px_{row}_{column}" for row in range(8) for column in range(8)
        ],
        "labels": values[:, 64],
        "label_names": [str(digit) for digit in range(10)],
    }


def sport_articles(paths: list[Path], limit: int) -> Parsed:
    """Kinds of words; columns that count no kind of word are dropped."""
    header, *rows = _first_sheet(_member(paths, "features.xls", limit))
    absent = [name for name in SPORT_LEFT_OUT if name not in header]
    short = next((i for i, row in enumerate(rows) if len(row) != len(header)), None)
    if absent or short is not None:
        message = f"features.xls lacks {absent or f'values in row {short}'}"
        raise DataFormatError(message)
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    kept = [name for name in header if name not in SPORT_LEFT_OUT]
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
    parser.EntityDeclHandler = _refuse_declarations
    parser.StartDoctypeDeclHandler = _refuse_declarations
    try:
        parser.Parse(content, True)  # noqa: FBT003
    except (expat.ExpatError, IndexError) as error:
        message = f"features.xls is no spreadsheet in XML ({error})"
        raise DataFormatError(message) from error
    if not rows:
        message = "features.xls has no rows"
        raise DataFormatError(message)
    return rows


def _refuse_declarations(*_: object) -> None:
    message = "features.xls declares a document type or entities, which are not read"
    raise DataFormatError(message)


def gene_expression(paths: list[Path], limit: int) -> Parsed:
    """Tumours and their genes, rounded."""
    table = kinds = None
    with members(paths[0], limit) as each:
        for name, file in each:
            if name.endswith("/data.csv"):
                table = _read_number_lines(file, ",")
            elif name.endswith("/labels.csv"):
                kinds = dict(_unquoted(line, ",")[:2] for line in file if b"," in line)
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


def human_dendritic(paths: list[Path], limit: int) -> Parsed:
    """Human dendritic cells and their genes, rounded."""
    return _cells(paths, limit, "celltype")


def mouse_atlas(paths: list[Path], limit: int) -> Parsed:
    """Mouse cells and their genes, rounded."""
    return _cells(paths, limit, "ct")


def _cells(paths: list[Path], limit: int, column: str) -> Parsed:
    counts, samples = paths
    types = _types(samples, limit, column)
    with members(counts, limit) as each:
        for _, file in each:
            genes, cells, X = _read_number_lines(file, "\t")
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
        rows = [_unquoted(line, "\t") for _, file in each for line in file]
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


def encoded(names: Iterable[str]) -> Parsed:
    """Labels of classes given by name, numbered in alphabetical order."""
    label_names, labels = np.unique(np.array(list(names)), return_inverse=True)
    return {"labels": labels, "label_names": label_names.tolist()}


def _member(paths: Iterable[Path], name: str, limit: int) -> bytes:
    """Content of the first member, in or beside an archive, of that file name."""
    for path in paths:
        with members(path, limit) as each:
            for full, file in each:
                if full.rpartition("/")[2] == name:
                    return file.read()
    message = f"it holds no {name}"
    raise DataFormatError(message)


def _whole_numbers(lines: list[str], width: int) -> NDArray[np.int64]:
    """A comma-separated table of so many whole numbers a line."""
    rows = [line.split(",") for line in lines if line.strip()]
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            message = f"row {number} has {len(row)} values, not {width}"
            raise DataFormatError(message)
    return np.array([[int(value) for value in row] for row in rows], dtype=np.int64)


def _read_number_lines(
    file: IO[bytes], separator: str
) -> tuple[Sequence[str], Sequence[str], sp.csr_array]:
    """Names of lines, names of columns, and values rounded to whole numbers.

    The first line names the columns; the others are a name and the values. The corner
    above the names may have a field of its own or none, as R writes it.
    """
    options = ReadOptions(index=0, header=True, delimiter=separator, triples=False)
    parts = read_lines(Lines(file), options)
    X = np.rint(parts.X.matrix()).astype(np.int64)
    X.eliminate_zeros()
    return parts.row_names or [], parts.column_names or [], X


def _unquoted(line: bytes, separator: str) -> list[str]:
    """Fields of a line without the quotes around them."""
    fields = line.decode("utf-8-sig").rstrip("\r\n").split(separator)
    return [field.strip('"') for field in fields]
