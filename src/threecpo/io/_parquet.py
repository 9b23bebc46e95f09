"""parquet: one row a line, or one count a line, as in csv files."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._errors import DataFormatError
from .._extras import require
from .._labels import labels_of_kinds
from ._file_content import (
    FileContent,
    shown,
    written_labels,
    written_names,
)
from .delimited.column_roles import checked_count, checked_counts, find_layout
from .delimited.number_style import NumberStyle
from .delimited.triples import Places, of_triples, written_triples
from .limits import limit_of
from .parquet_columns import (
    as_one,
    counts_of,
    field_of,
    first_bad,
    is_numeric,
    rows_of,
)
from .parquet_sizes import Texts, opened_table
from .sparse_rows import joined
from .text_columns import TextPlaces, check_text_options, counted_texts, find_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from ..table import CountTable
    from ._file_content import Records
    from .delimited.column_roles import Layout
    from .format_options import ReadOptions, WriteOptions

_PURPOSE = "Reading and writing parquet files"
_CELLS = 1 << 22
_LOOKED_AT = 50
_OF_TRIPLES = 3


def read(path: Path, options: ReadOptions) -> FileContent:
    limit = limit_of(path, options.max_unpacked)
    style = NumberStyle.of(options)
    with opened_table(path, limit) as file:
        schema = file.schema_arrow
        options = _with_index_of_pandas(schema, options)
        if not schema.names:
            message = "it has no columns"
            raise DataFormatError(message)
        texts = Texts(limit)
        looked_at = _first_rows(file, schema, texts, options)
        place = find_text(schema.names, looked_at, options) if looked_at else None
        if place is not None:
            places = TextPlaces.find(schema.names, place, options)
            return _words(file, places, options, texts)
        check_text_options(options)
        first = _first_record(schema, looked_at, style)
        if of_triples(schema.names, first, options):
            return _triples(file, Places.find(schema.names, options), texts, style)
        layout = find_layout(schema.names, first, options)
        return _wide(file, layout, texts, style)


@contextmanager
def open_records(path: Path, options: ReadOptions) -> Iterator[Records]:
    """Open a file as the names of its columns, its index first, and its rows."""
    limit = limit_of(path, options.max_unpacked)
    with opened_table(path, limit) as file:
        names, texts = file.schema_arrow.names, Texts(limit)
        index = _with_index_of_pandas(file.schema_arrow, options).index
        order = sorted(range(len(names)), key=lambda place: names[place] != index)
        batches = ([batch.column(j) for j in order] for batch in file.iter_batches())
        rows = (zip(*map(texts.listed, columns), strict=True) for columns in batches)
        yield [names[j] for j in order], chain.from_iterable(rows)


def _with_index_of_pandas(schema: Any, options: ReadOptions) -> ReadOptions:
    """ReadOptions that name the index which pandas wrote as a column."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    if options.index is None and len(index) == 1 and index[0] in schema.names:
        return replace(options, index=index[0])
    return options


def _first_rows(
    file: Any, schema: Any, texts: Texts, options: ReadOptions
) -> list[list[Any]]:
    """First values of each column; nothing where all but the index are numbers.

    Of many columns of numbers nothing more than that has to be known.
    """
    numeric = list(map(is_numeric, schema.types))
    index = options.index if options.text is None else None
    fields = zip(schema.names, numeric, strict=True)
    if all(is_number or name == index for name, is_number in fields):
        return []
    known = [is_number and j >= _OF_TRIPLES for j, is_number in enumerate(numeric)]
    wanted = [j for j, is_known in enumerate(known) if not is_known]
    batches = file.iter_batches(
        batch_size=_LOOKED_AT, columns=[schema.names[j] for j in wanted]
    )
    batch = next(batches, None)
    if batch is None or batch.schema.names != [schema.names[j] for j in wanted]:
        batch = next(file.iter_batches(batch_size=_LOOKED_AT), None)
        return [] if batch is None else [texts.listed(each) for each in batch.columns]
    found = dict(zip(wanted, map(texts.listed, batch.columns), strict=True))
    return [found.get(j, [0]) for j in range(len(known))]


def _first_record(
    schema: Any, looked_at: list[list[Any]], style: NumberStyle
) -> list[str]:
    """Numbers of some kind or text, as in the first record of a csv file."""
    first = ["0" if is_numeric(kind) else "text" for kind in schema.types]
    # Text in the first column names rows even if it is made of digits.
    for place, values in enumerate(looked_at[1:], 1):
        if values and isinstance(values[0], str):
            first[place] = style.plain(values[0])
    return first


def _words(
    file: Any, places: TextPlaces, options: ReadOptions, values: Texts
) -> FileContent:
    texts: list[str] = []
    names: list[str] = []
    labels: dict[str, list[Any]] = {kind: [] for kind in places.labels}
    for batch in file.iter_batches():
        for text in values.listed(batch.column(places.text)):
            if not isinstance(text, str | None):
                message = f"row {len(texts) + 1} holds {shown(str(text))}, no text"
                raise DataFormatError(message)
            texts.append(text or "")
        if places.index is not None:
            names += _strings(values.listed(batch.column(places.index)), len(names))
        for kind, at in places.labels.items():
            labels[kind] += values.listed(batch.column(at))
    return counted_texts(places, texts, names, labels, options)


def _wide(file: Any, layout: Layout, texts: Texts, style: NumberStyle) -> FileContent:
    blocks: list[sp.csr_array] = []
    names: list[str] = []
    labels: dict[str, list[Any]] = {kind: [] for kind in layout.labels}
    done = 0
    for number in range(file.num_row_groups):
        # Groups are read faster as a whole than in parts.
        group = file.read_row_group(number)
        columns = [as_one(group.column(place)) for place in layout.counted]
        blocks.append(_rows(columns, layout, done, style))
        if layout.index is not None:
            names += _strings(texts.listed(group.column(layout.index)), done)
        for kind, at in layout.labels.items():
            labels[kind] += texts.listed(group.column(at))
        done += group.num_rows
    if not done:
        message = "it has no rows"
        raise DataFormatError(message)
    rows = None if layout.index is None else names
    found = labels_of_kinds(labels)
    return FileContent(joined(blocks), rows, layout.names, **found)


def _rows(
    columns: list[Any], layout: Layout, before: int, style: NumberStyle
) -> sp.csr_array:
    """Sparse rows of columns, or the error about the first that holds no counts."""
    counts = [counts_of(values, style) for values in columns]
    found = rows_of(counts)
    if found is not None:
        return found
    bad = (first_bad(values) for values in counts)
    row = min(at for at in bad if at is not None)
    fields = [field_of(values, row, style) for values in columns]
    # This row is the one that holds no counts.
    return sp.csr_array(checked_counts(fields, layout, f"row {before + row + 1}"))


def _strings(listed: list[Any], before: int) -> list[str]:
    if None in listed:
        message = f"the name of row {before + listed.index(None) + 1} is empty"
        raise DataFormatError(message)
    return listed if {*map(type, listed)} == {str} else [str(each) for each in listed]


def _triples(
    file: Any, places: Places, texts: Texts, style: NumberStyle
) -> FileContent:
    import pyarrow as pa
    from pyarrow import compute

    names = file.schema_arrow.names
    wanted = [names[place] for place in places[:3] if place is not None]
    rows, columns, *counts = file.read(columns=wanted).select(wanted).columns
    codes, different = [], []
    for values, name in ((rows, wanted[0]), (columns, wanted[1])):
        if values.null_count:
            message = f"column {shown(name)} has {values.null_count} empty names"
            raise DataFormatError(message)
        texts.check(values)
        text = values.cast(pa.string())
        unique = compute.unique(text)
        codes.append(compute.index_in(text, value_set=unique).to_numpy())
        different.append(unique.to_pylist())
    values = _counted(counts[0], wanted[2], style) if counts else np.ones(len(rows))
    shape = (len(different[0]), len(different[1]))
    X = sp.coo_array((values, tuple(codes)), shape=shape).tocsr()
    return FileContent(X, *different)


def _counted(counts: Any, name: str, style: NumberStyle) -> NDArray[np.float64]:
    """Counts of a column."""
    counts = as_one(counts)
    values = counts_of(counts, style).astype(np.float64, copy=False)
    bad = first_bad(values)
    if bad is not None:
        where = f"row {bad + 1}, column {shown(name)}"
        checked_count(field_of(counts, bad, style), where)
    return values


def write(table: CountTable, path: Path, options: WriteOptions) -> None:
    pa = require("pyarrow", "io", _PURPOSE)
    from pyarrow import parquet

    if options.triples:
        columns = [pa.array(values) for values in written_triples(table)]
        parquet.write_table(pa.table(columns, names=["row", "column", "count"]), path)
        return
    names, before = _names_and_labels(table, options)
    step = max(1, _CELLS // len(names))
    kind = np.int64 if table.counts.whole else np.float64

    def block(start: int, stop: int) -> Any:
        rows = table.counts.between(start, min(stop, table.shape[0])).matrix()
        dense = rows.toarray().T.astype(kind)
        counts = [pa.array(values) for values in dense]
        return pa.table([*(part[start:stop] for part in before), *counts], names)

    with parquet.ParquetWriter(path, block(0, 1).schema) as writer:
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
