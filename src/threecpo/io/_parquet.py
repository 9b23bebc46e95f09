"""parquet: one row a line, or one count a line, as in csv files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._core.inspection import EXACT
from .._errors import DataFormatError
from .._extras import require
from .._labels import labels_of_kinds
from ._file_content import (
    FileContent,
    no_count,
    shown,
    written_labels,
    written_names,
)
from .delimited.column_roles import find_layout, not_counts
from .delimited.triples import Places, of_triples, written_triples
from .delimited.wide_rows import joined
from .limits import limit_of
from .parquet_sizes import Texts, opened_table
from .text_columns import TextPlaces, check_text_options, counted_texts, find_text

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ..table import CountTable
    from .delimited.column_roles import Layout
    from .format_options import ReadOptions, WriteOptions

_PURPOSE = "Reading and writing parquet files"
_CELLS = 1 << 22
_LOOKED_AT = 50


def read(path: Path, options: ReadOptions) -> FileContent:
    limit = limit_of(path, options.max_unpacked)
    with opened_table(path, limit) as file:
        schema = file.schema_arrow
        options = _with_index_of_pandas(schema, options)
        # As a first record of csv: numbers of some kind, or text.
        first = ["0" if _is_numeric(kind) else "text" for kind in schema.types]
        if not first:
            message = "it has no columns"
            raise DataFormatError(message)
        texts = Texts(limit)
        place = _text_place(file, options, texts)
        if place is not None:
            places = TextPlaces.find(schema.names, place, options)
            return _words(file, places, options, texts)
        check_text_options(options)
        if of_triples(schema.names, first, options):
            return _triples(file, Places.find(schema.names, options), texts)
        return _wide(file, find_layout(schema.names, first, options), texts)


def _with_index_of_pandas(schema: Any, options: ReadOptions) -> ReadOptions:
    """ReadOptions that name the index which pandas wrote as a column."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    if options.index is None and len(index) == 1 and index[0] in schema.names:
        return replace(options, index=index[0])
    return options


def _is_numeric(kind: Any) -> bool:
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def _text_place(file: Any, options: ReadOptions, texts: Texts) -> int | None:
    """Place of the column of text, by the first rows; None in a table of counts."""
    schema = file.schema_arrow
    if options.text is None and all(map(_is_numeric, schema.types)):
        return None
    batch = next(file.iter_batches(batch_size=_LOOKED_AT), None)
    if batch is None:
        return None
    columns = [texts.listed(column) for column in batch.columns]
    return find_text(schema.names, columns, options)


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


def _wide(file: Any, layout: Layout, texts: Texts) -> FileContent:
    kinds = file.schema_arrow.types
    for column, place in enumerate(layout.counted):
        if not _is_numeric(kinds[place]):
            called = layout.called(column)
            wrong = [name for name, numeric in _numeric(layout, kinds) if not numeric]
            hint = not_counts(wrong, len(layout.counted))
            message = f"{called} holds {kinds[place]}, no numbers{hint}"
            raise DataFormatError(message)
    blocks: list[sp.csr_array] = []
    names: list[str] = []
    labels: dict[str, list[Any]] = {kind: [] for kind in layout.labels}
    done = 0
    for batch in file.iter_batches(batch_size=max(1, _CELLS // layout.width)):
        blocks.append(_block(batch, layout, done))
        if layout.index is not None:
            names += _strings(texts.listed(batch.column(layout.index)), done)
        for kind, at in layout.labels.items():
            labels[kind] += texts.listed(batch.column(at))
        done += batch.num_rows
    if not blocks:
        message = "it has no rows"
        raise DataFormatError(message)
    rows = None if layout.index is None else names
    found = labels_of_kinds(labels)
    return FileContent(joined(blocks), rows, layout.names, **found)


def _numeric(layout: Layout, kinds: Any) -> list[tuple[str, bool]]:
    """Names of the columns that are counted, and whether they hold numbers."""
    numeric = [_is_numeric(kinds[place]) for place in layout.counted]
    return list(zip(layout.names or (), numeric, strict=True))


def _block(batch: Any, layout: Layout, before: int) -> sp.csr_array:
    dense = np.empty((len(layout.counted), batch.num_rows))
    for column, place in enumerate(layout.counted):
        dense[column] = _numbers(batch.column(place), layout.called(column), before)
    bad = ~((dense >= 0) & (dense < EXACT))
    if bad.any():
        row, column = np.argwhere(bad.T)[0].tolist()
        where = f"row {before + row + 1}, {layout.called(column)}"
        raise no_count(where, dense[column, row])
    return sp.csr_array(dense.T)


def _numbers(values: Any, called: str, before: int) -> NDArray[Any]:
    """Numbers of a column, of which none may be missing."""
    import pyarrow as pa

    if values.null_count:
        row = before + values.is_null().to_pylist().index(True) + 1
        message = f"row {row}, {called} is empty; fill in 0 for no count"
        raise DataFormatError(message)
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.float64(), safe=False)
    return values.to_numpy(zero_copy_only=False)


def _strings(listed: list[Any], before: int) -> list[str]:
    if None in listed:
        message = f"the name of row {before + listed.index(None) + 1} is empty"
        raise DataFormatError(message)
    return [str(value) for value in listed]


def _triples(file: Any, places: Places, texts: Texts) -> FileContent:
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
    values = _counted(counts[0], wanted[2]) if counts else np.ones(len(rows))
    shape = (len(different[0]), len(different[1]))
    X = sp.coo_array((values, tuple(codes)), shape=shape).tocsr()
    return FileContent(X, *different)


def _counted(counts: Any, name: str) -> NDArray[np.float64]:
    """Counts of a column."""
    if not _is_numeric(counts.type):
        kind = getattr(counts.type, "value_type", counts.type)
        message = f"column {shown(name)} holds {kind}, no numbers"
        raise DataFormatError(message)
    called = f"column {shown(name)}"
    values = _numbers(counts.combine_chunks(), called, 0).astype(np.float64)
    bad = ~((values >= 0) & (values < EXACT))
    if bad.any():
        at = int(np.argmax(bad))
        where = f"row {at + 1}, {called}"
        raise no_count(where, values[at])
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
