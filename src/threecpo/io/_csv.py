"""csv and tsv: one row a line, or one count a line."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._errors import DataFormatError
from ._archives import opened
from ._files import created
from ._layout import find_layout, is_number
from ._lines import Lines, decoded
from ._parts import written_labels, written_names
from ._triples import Places, of_triples, read_triples, written_triples
from ._wide import WideRows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..table import CountTable
    from ._options import Options, WriteOptions
    from ._parts import Parts

_DELIMITERS = "\t,;|"


@dataclass(frozen=True)
class _Start:
    """How a file begins: its delimiter, its names and its first record."""

    delimiter: str
    header: list[str] | None
    first: list[str]


def read(path: Path, options: Options) -> Parts:
    with opened(path) as file:
        lines = Lines(file)
        start = _begin(lines, options)
        if of_triples(start.header, start.first, options):
            return _read_triples(lines, start, options)
        return _read_wide(lines, start, options)


def _begin(lines: Lines, options: Options) -> _Start:
    line = lines.line()
    # biom-format begins its tables with a line that says so.
    while line.startswith(b"# "):
        line = lines.line()
    lines.number -= 1
    lines.give_back(line)
    delimiter = options.delimiter or _delimiter(decoded(line, lines.number + 1))
    if len(delimiter) != 1 or delimiter in '"\r\n':
        message = f"delimiter={delimiter!r} must be one character, no quote or line end"
        raise DataFormatError(message)
    records = lines.records(delimiter)
    header = next(records, None)
    if header is None:
        message = "it has no lines"
        raise DataFormatError(message)
    if _names_columns(header, options):
        first = next(records, None)
        if first is None:
            message = "it has no lines below the names of its columns"
            raise DataFormatError(message)
        return _Start(delimiter, header, first)
    return _Start(delimiter, None, header)


def _delimiter(line: str) -> str:
    """The most frequent one outside quotes; a comma if there is none."""
    bare = "".join(line.split('"')[::2])
    most = max(_DELIMITERS, key=bare.count)
    return most if most in bare else ","


def _names_columns(header: list[str], options: Options) -> bool:
    """Whether the first record is a header, which a record of numbers is not."""
    if options.header is not None:
        return options.header
    if len(header) == 3 and is_number(header[2]) and not is_number(header[1]):
        return False
    if all(is_number(field) for field in header):
        message = (
            "line 1 holds numbers only; pass header=False if it is a row, "
            "header=True if it names the columns"
        )
        raise DataFormatError(message)
    return True


def _read_triples(lines: Lines, start: _Start, options: Options) -> Parts:
    places = Places.find(start.header or start.first, options.triples)
    return read_triples(lines, start.delimiter, start.first, places)


def _read_wide(lines: Lines, start: _Start, options: Options) -> Parts:
    layout = find_layout(start.header, start.first, options)
    rows = WideRows(layout, start.delimiter)
    rows.add_records([start.first], lines)
    while block := lines.block():
        rows.add_block(block, lines)
    return rows.parts()


def write(table: CountTable, path: Path, options: WriteOptions) -> None:
    tabs = any(suffix.lower() in (".tsv", ".tab") for suffix in path.suffixes[-2:])
    with created(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, delimiter="\t" if tabs else ",", lineterminator="\n")
        rows = written_triples(table) if options.triples else _wide(table, options)
        writer.writerows(rows)
        text.detach().flush()


def _wide(table: CountTable, options: WriteOptions) -> Iterator[list[str]]:
    """Header and rows, of which one at a time is dense."""
    columns = written_names(table.column_names, table.shape[1])
    labelled = table.labels is not None
    if options.labels in columns and labelled:
        message = f"a column is called {options.labels!r}; pass another labels="
        raise DataFormatError(message)
    yield ["", *([options.labels] if labelled else []), *columns]
    labels = written_labels(table) if labelled else []
    zeros = ["0"] * table.shape[1]
    for i, name in enumerate(written_names(table.row_names, table.shape[0])):
        row = zeros.copy()
        places = slice(table.X.indptr[i], table.X.indptr[i + 1])
        counts = zip(
            table.X.indices[places].tolist(), table.X.data[places].tolist(), strict=True
        )
        for column, count in counts:
            row[column] = repr(count)
        yield [name, *labels[i : i + 1], *row]
