"""parquet: one row a line, or one count a line, as in csv files."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._core.counts import EXACT
from .._errors import DataFormatError
from .._extras import require
from .._labels import labels_of_kinds
from ._file_content import (
    FileContent,
    shown,
    written_labels,
    written_names,
)
from .delimited.column_roles import (
    checked_count,
    checked_counts,
    find_layout,
    is_number,
)
from .delimited.number_style import NumberStyle
from .delimited.triples import Places, of_triples, written_triples
from .isolated import gathered, isolated, parquet
from .regular_files import limits_of
from .sparse_rows import joined
from .text_columns import (
    TextPlaces,
    check_text_options,
    counted_texts,
    find_text,
    joined_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ..table import CountTable
    from ._file_content import Records
    from .delimited.column_roles import Layout
    from .format_options import ReadOptions, WriteOptions

_PURPOSE = "Writing parquet files"
_CELLS = 1 << 22
_OF_TRIPLES = 3


@dataclass(frozen=True)
class _File:
    """A file, and how much it may unpack to."""

    path: Path
    max_unpacked: int | None

    def items(
        self, reader: Callable[..., Any], **given: Any
    ) -> Generator[tuple[str, Any]]:
        limits = limits_of(self.path, self.max_unpacked)
        return isolated(reader, self.path, limits, "pyarrow", **given)

    @cached_property
    def about(self) -> dict[str, Any]:
        """Names and kinds of columns, and first values."""
        return gathered(self.items(parquet.describe))

    def columns(self, places: Sequence[int]) -> list[list[Any]]:
        """Values of columns."""
        found: list[list[Any]] = [[] for _ in places]
        for _, part in self.items(parquet.read_columns, places=list(places)):
            for values, more in zip(found, part, strict=True):
                values.extend(more)
        return found


def column_names(path: Path) -> list[str]:
    """Names of the columns of a file, of which no row is read."""
    names: list[str] = _File(path, None).about["names"]
    return names


def read(path: Path, options: ReadOptions) -> FileContent:
    file = _File(path, options.max_unpacked)
    names, first = file.about["names"], file.about["first"]
    if not names:
        message = "it has no columns"
        raise DataFormatError(message)
    if options.index is None and file.about["index"] is not None:
        options = replace(options, index=file.about["index"])
    style = NumberStyle.of(options)
    texts = find_text(names, first, options)
    if texts:
        return _words(file, TextPlaces.find(names, texts, options), options)
    check_text_options(options)
    record = _first_record(file.about, style)
    sample = _as_text(first, style)
    few = sample if len(sample) == _OF_TRIPLES else [[text] for text in record]
    if of_triples(names, few, options):
        return _triples(file, Places.find(names, options), style)
    return _wide(file, find_layout(names, record, options, sample), style)


@contextmanager
def open_records(path: Path, options: ReadOptions) -> Iterator[Records]:
    """Open a file as the names of its columns, its index first, and its rows."""
    file = _File(path, options.max_unpacked)
    names, index = file.about["names"], file.about["index"]
    order = sorted(range(len(names)), key=lambda place: names[place] != index)
    yield [names[j] for j in order], zip(*file.columns(order), strict=True)


def _first_record(about: dict[str, Any], style: NumberStyle) -> list[str]:
    """Numbers of some kind or text, as in the first record of a csv file."""
    record = ["0" if kind == "number" else "text" for kind in about["kinds"]]
    # Text in the first column names rows even if it is made of digits.
    for place, values in enumerate(about["first"][1:], 1):
        if values and isinstance(values[0], str):
            record[place] = style.plain(values[0])
    return record


def _as_text(columns: list[list[Any]], style: NumberStyle) -> list[list[str]]:
    """First values of columns as a csv file would have them."""
    return [
        ["" if value is None else style.plain(str(value)) for value in values]
        for values in columns
    ]


def _words(file: _File, places: TextPlaces, options: ReadOptions) -> FileContent:
    beside = [place for place in (places.index, places.title) if place is not None]
    wanted = dict.fromkeys([*places.text, *places.labels.values(), *beside])
    columns = dict(zip(wanted, file.columns(list(wanted)), strict=True))
    texts = list(zip(*(columns[place] for place in places.text), strict=True))
    for row, parts in enumerate(texts, 1):
        for text in parts:
            if not isinstance(text, str | None):
                message = f"row {row} holds {shown(str(text))}, which is not text"
                raise DataFormatError(message)
    names = [] if places.index is None else _names(columns[places.index])
    titles = [] if places.title is None else columns[places.title]
    kinds = {kind: columns[place] for kind, place in places.labels.items()}
    shown_as = ["" if title is None else str(title) for title in titles]
    joined_texts = list(map(joined_text, texts))
    return counted_texts(places, joined_texts, names, kinds, options, shown_as)


def _names(listed: list[Any]) -> list[str]:
    """Names of rows, which all have one."""
    if None in listed:
        message = f"the name of row {listed.index(None) + 1} is empty"
        raise DataFormatError(message)
    return [str(name) for name in listed]


def _wide(file: _File, layout: Layout, style: NumberStyle) -> FileContent:
    blocks: list[sp.csr_array] = []
    width, done = len(layout.counted), 0
    index = [] if layout.index is None else [layout.index]
    places = {"places": layout.counted, "listed": [*layout.labels.values(), *index]}
    listed: list[list[Any]] = [[] for _ in places["listed"]]
    with closing(file.items(parquet.read_counts, **places)) as items:
        while (group := _Group.next_of(items)) is not None:
            block = group.rows(width, style)
            bad = ~((block.data >= 0) & (block.data < EXACT))
            if bad.any():
                row = int(np.searchsorted(block.indptr, np.argmax(bad), "right")) - 1
                raise _wrong_row(file, layout, style, done + row)
            done += block.shape[0]
            blocks.append(block)
            for values, more in zip(listed, group.parts["values"][0], strict=True):
                values.extend(more)
    if not done:
        message = "it has no rows"
        raise DataFormatError(message)
    rows = _names(listed.pop()) if index else None
    found = labels_of_kinds(dict(zip(layout.labels, listed, strict=True)))
    return FileContent(joined(blocks), rows, layout.names, **found)


@dataclass
class _Group:
    """Columns of a group of rows, as they come."""

    parts: dict[str, list[Any]]
    n_rows: int = 0

    @classmethod
    def next_of(cls, items: Iterator[tuple[str, Any]]) -> _Group | None:
        """Receive all of a group; None at the end of the file."""
        names = ("lengths", "indices", "data", "texts", "codes", "values")
        group = cls({name: [] for name in names})
        for name, value in items:
            if name == "n_rows":
                group.n_rows = value
                return group
            group.parts[name].append(value)
        return None

    def rows(self, width: int, style: NumberStyle) -> sp.csr_array:
        """Counts by row; what is missing or no number is NaN."""
        data, indices, lengths = (
            np.concatenate(self.parts.pop(name))
            for name in ("data", "indices", "lengths")
        )
        ends = np.concatenate([[0], np.cumsum(lengths)])
        shape = (self.n_rows, width)
        found = sp.csc_array((data.astype(np.float64), indices, ends), shape).tocsr()
        texts = zip(self.parts["texts"], self.parts["codes"], strict=True)
        for (place, different), codes in texts:
            values = _parsed(different, codes, style)
            (rows,) = np.nonzero(values)
            places = (rows, np.full(len(rows), place))
            found = found + sp.coo_array((values[rows], places), shape).tocsr()
        if style.empty and np.isnan(found.data).any():
            found.data[np.isnan(found.data)] = 0
            found.eliminate_zeros()
        return found


def _parsed(
    different: list[str], codes: NDArray[np.int32], style: NumberStyle
) -> NDArray[np.float64]:
    """Counts of texts, of which each is parsed once; NaN where there is none."""
    plain = [style.plain(text) for text in different]
    # What is not a number must not become a missing one.
    parsed = [float(text) if is_number(text) else -np.inf for text in plain]
    return np.array([*parsed, np.nan])[codes]


def _wrong_row(
    file: _File, layout: Layout, style: NumberStyle, row: int
) -> DataFormatError:
    """Error about a row that holds something else than counts."""
    given = {"places": layout.counted, "row": row}
    fields = gathered(file.items(parquet.read_row, **given))["fields"]
    plain = [style.plain(text or "") for text in fields]
    try:
        checked_counts(plain, layout, f"row {row + 1}")
    except DataFormatError as error:
        return error
    return DataFormatError(f"row {row + 1} holds something else than counts")


def _triples(file: _File, places: Places, style: NumberStyle) -> FileContent:
    wanted = [place for place in places[:3] if place is not None]
    texts: list[list[str]] = []
    arrays: list[NDArray[Any]] = []
    for name, value in file.items(parquet.read_triples, places=wanted):
        (texts if name == "texts" else arrays).append(value)
    for place, codes in zip(wanted[:2], arrays, strict=False):
        empty = int(np.count_nonzero(codes < 0))
        if empty:
            name = shown(file.about["names"][place])
            message = f"column {name} has {empty} empty names"
            raise DataFormatError(message)
    counts = np.ones(len(arrays[0]))
    if places.value is not None:
        given = _parsed(texts[2], arrays[2], style) if len(texts) > 2 else arrays[2]
        counts = _counted(file, places.value, given.astype(np.float64), style)
    shape = (len(texts[0]), len(texts[1]))
    X = sp.coo_array((counts, tuple(arrays[:2])), shape=shape).tocsr()
    return FileContent(X, texts[0], texts[1])


def _counted(
    file: _File, place: int, counts: NDArray[np.float64], style: NumberStyle
) -> NDArray[np.float64]:
    """Counts of a column, or the error about the first that is none."""
    if style.empty:
        counts = np.where(np.isnan(counts), 0.0, counts)
    bad = ~((counts >= 0) & (counts < EXACT))
    if bad.any():
        row = int(np.argmax(bad))
        given = {"places": [place], "row": row}
        (field,) = gathered(file.items(parquet.read_row, **given))["fields"]
        where = f"row {row + 1}, column {shown(file.about['names'][place])}"
        checked_count(style.plain(field or ""), where)
    return counts


def write(table: CountTable, path: Path, options: WriteOptions) -> None:
    pa = require("pyarrow", "io", _PURPOSE)
    from pyarrow.parquet import ParquetWriter, write_table

    if options.triples:
        columns = [pa.array(values) for values in written_triples(table)]
        write_table(pa.table(columns, names=["row", "column", "count"]), path)
        return
    names, before = _names_and_labels(table, options)
    step = max(1, _CELLS // len(names))
    kind = np.int64 if table.counts.whole else np.float64

    def block(start: int, stop: int) -> Any:
        rows = table.counts.between(start, min(stop, table.shape[0])).matrix()
        dense = rows.toarray().T.astype(kind)
        counts = [pa.array(values) for values in dense]
        return pa.table([*(part[start:stop] for part in before), *counts], names)

    with ParquetWriter(path, block(0, 1).schema) as writer:
        for start in range(0, table.shape[0], step):
            writer.write_table(block(start, start + step))


def _names_and_labels(
    table: CountTable, options: WriteOptions
) -> tuple[list[str], list[Any]]:
    """Names of all columns; those before the counts, which are names and labels."""
    import pyarrow as pa

    names = written_names(table.column_names, table.shape[1])
    before = [pa.array(written_names(table.row_names, table.shape[0]))]
    labels = written_labels(table, options, names)
    for texts in labels.values():
        values = [text or None for text in texts]
        before.append(pa.array(values, type=pa.string()))
    return ["", *labels, *names], before
