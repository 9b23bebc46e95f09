"""parquet: one row a line, one count a line or texts, as in csv files.

A process of its own reads the file and decides what its columns are (``read_table``);
it sends counts without their zeros.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._errors import refuse, shown
from .._extras import require
from .._labels import labels_of_kinds
from .content import EXACT, FileContent, written_labels, written_names
from .files import limits_of
from .formats import NUMBERS, ReadOptions
from .hierarchies import OF_TEXT, narrow
from .isolated import blocks_of, gathered, isolated
from .limits import check_unpacked
from .numbers import NumberStyle, is_number
from .roles import Places, checked_count, checked_counts, find_layout, of_triples
from .texts import (
    TextPlaces,
    check_text_options,
    counted_texts,
    find_text,
    row_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ..table import CountTable
    from .content import Records
    from .formats import WriteOptions
    from .isolated import Items
    from .roles import Layout

# Cells that are full at a time.
CELLS = 1 << 22
_LOOKED_AT = 50
# Of so many columns order lines have, which are told by values of all.
_FEW_COLUMNS = 40
# Bytes of a number once read.
_OF_NUMBER = 8

_ASKED = ("labels", "index", "drop", "triples", "text", *NUMBERS)


def read(path: Path, options: ReadOptions) -> FileContent:
    limits = limits_of(path, options.max_unpacked)
    given = {name: getattr(options, name) for name in _ASKED}
    with closing(isolated(read_table, path, limits, "pyarrow", options=given)) as items:
        form, about = next(items)
        if form == "texts":
            places = TextPlaces(**about)
            columns: dict[int, list[Any]] = {place: [] for place in places.wanted}
            for _, part in items:
                for values, more in zip(columns.values(), part, strict=True):
                    values.extend(more)
            return counted_texts(places, columns, options)
        check_text_options(options)
        return _counted(items, form, about)


@contextmanager
def open_records(path: Path, options: ReadOptions) -> Iterator[Records]:
    """Open a file as the names of its columns, its index first, and its rows."""
    limits = limits_of(path, options.max_unpacked)
    with closing(isolated(read_records, path, limits, "pyarrow")) as items:
        _, names = next(items)
        yield names, (row for _, part in items for row in zip(*part, strict=True))


def column_names(path: Path) -> list[str]:
    """Names of the columns of a file, of which no row is read."""
    found = gathered(isolated(read_names, path, limits_of(path), "pyarrow"))
    names: list[str] = found["names"]
    return names


def _counted(items: Items, form: str, about: dict[str, Any]) -> FileContent:
    import scipy.sparse as sp

    from .._core.counts import RowStack
    from .._core.matrices import from_sparse

    if form == "triples":
        found = gathered(items)
        places = found["row"], found["column"]
        shape = len(found["rows"]), len(found["columns"])
        counts = found.get("counts", np.ones(len(places[0]))).astype(np.float64)
        X = sp.coo_array((counts, places), shape=shape).tocsr()
        return FileContent(X, found["rows"], found["columns"])
    beside: list[list[Any]] = [[] for _ in [*about["labels"], *about["index"]]]
    stack: RowStack | None = None
    for found in blocks_of(items):
        ends = np.concatenate([[0], np.cumsum(found["lengths"])])
        columns = (found["data"].astype(np.float64), found["indices"], ends)
        shape = found["n_rows"], len(about["names"])
        rows = RowStack(from_sparse(sp.csc_array(columns, shape)))
        stack = rows if stack is None else stack.and_then(rows)
        for column, values in zip(beside, found["beside"], strict=True):
            column.extend(values)
    if stack is None or not (counted := stack.counts()).n_rows:
        refuse("it has no rows")
    names = row_names(beside.pop()) if about["index"] else None
    labels = labels_of_kinds(dict(zip(about["labels"], beside, strict=True)))
    return FileContent(counted, names, about["names"], **labels)


class _Table(NamedTuple):
    """A file with the names and kinds of its columns."""

    file: Any
    limit: int
    names: list[str]
    kinds: list[str]
    # The index that pandas wrote.
    named: str | None


def read_table(path: str, limit: int, options: dict[str, Any]) -> Items:
    """Form of a table (texts, triples or wide), how to take it, and its values."""
    asked = ReadOptions(**options)
    with _opened(path, limit) as table:
        if not table.names:
            refuse("it has no columns")
        if asked.index is None:
            asked = replace(asked, index=table.named)
        style = NumberStyle.of(asked)
        first = _first_values(table)
        found = find_text(table.names, first, asked)
        if found:
            places = TextPlaces.find(table.names, found, asked)
            yield "texts", asdict(places)
            yield from _values(table, places.wanted)
            return
        # Text in the first column names rows even if it is made of digits.
        record = ["0" if kind == "number" else "text" for kind in table.kinds]
        for place, values in enumerate(first[1:], 1):
            if values and isinstance(values[0], str):
                record[place] = _field(values[0], style)
        sample = [[_field(value, style) for value in each] for each in first]
        few = sample if len(sample) == 3 else [[text] for text in record]
        if of_triples(table.names, few, asked):
            yield from _triples(table, Places.find(table.names, asked), style)
        else:
            layout = find_layout(table.names, record, asked, sample)
            yield from _wide(table, layout, style)


def read_records(path: str, limit: int) -> Items:
    """Names of all columns, the index first, and their values some rows at a time."""
    with _opened(path, limit) as table:
        names = table.names
        order = sorted(range(len(names)), key=lambda j: names[j] != table.named)
        yield "names", [names[j] for j in order]
        yield from _values(table, order)


def read_names(path: str, limit: int) -> Items:
    """Names of all columns."""
    with _opened(path, limit) as table:
        yield "names", table.names


def _values(table: _Table, places: Sequence[int]) -> Items:
    """Values of columns, some rows at a time: lists of what JSON has, else text."""
    wanted, taken = [table.names[place] for place in places], 0
    for batch in table.file.iter_batches(columns=wanted):
        columns = batch.select(wanted).columns if wanted else []
        taken += sum(map(_size, columns))
        check_unpacked(taken, table.limit)
        yield "values", [_listed(column) for column in columns]


def _wide(table: _Table, layout: Layout, style: NumberStyle) -> Items:
    """Counts by groups of rows, column by column, without zeros.

    Of each group: ``lengths``, ``indices`` (of rows) and ``data`` of some columns at a
    time; the number of its rows, labels and names ``beside``, and ``block`` at its end.
    """
    index = [] if layout.index is None else [layout.index]
    about = {"names": layout.names, "labels": [*layout.labels], "index": index}
    yield "wide", about
    taken = done = 0
    for number in range(table.file.num_row_groups):
        n_rows = table.file.metadata.row_group(number).num_rows
        step = max(1, CELLS // max(1, n_rows))
        for start in range(0, len(layout.counted), step):
            columns = _group(table, number, layout.counted[start : start + step])
            numbers = [_numbers(column, style, table.limit) for column in columns]
            stored = [np.flatnonzero(values) for values in numbers]
            indices = np.concatenate(stored)
            pairs = zip(numbers, stored, strict=True)
            data = np.concatenate([values[rows] for values, rows in pairs])
            wrong = indices[~((data >= 0) & (data < EXACT))]
            if len(wrong):
                fields = [
                    _field(column[int(wrong.min())].as_py(), style)
                    for column in _group(table, number, layout.counted)
                ]
                checked_counts(fields, layout, f"row {done + wrong.min() + 1}")
            yield "lengths", np.array(list(map(len, stored)))
            yield "indices", indices.astype(np.int32)
            yield "data", narrow(data)
        values = _group(table, number, [*layout.labels.values(), *index])
        taken += sum(_size(chunk) for column in values for chunk in column.chunks)
        check_unpacked(taken, table.limit)
        yield "n_rows", n_rows
        yield "beside", [_listed(column) for column in values]
        yield "block", number
        done += n_rows


def _triples(table: _Table, places: Places, style: NumberStyle) -> Items:
    """Two columns of names, as numbers and different texts, and perhaps counts."""
    wanted = [place for place in places[:3] if place is not None]
    columns = _columns(table.file.read, table, wanted)
    yield "triples", {}
    for of, place, column in zip(("row", "column"), wanted, columns, strict=False):
        if column.null_count:
            name = shown(table.names[place])
            refuse(f"column {name} has {column.null_count} empty names")
        codes, texts = _encoded(column, table.limit)
        yield f"{of}s", texts
        yield of, codes
    if places.value is not None:
        counts = _numbers(columns[2], style, table.limit)
        bad = ~((counts >= 0) & (counts < EXACT))
        if bad.any():
            row = int(np.argmax(bad))
            where = f"row {row + 1}, column {shown(table.names[places.value])}"
            checked_count(_field(columns[2][row].as_py(), style), where)
        yield "counts", counts


@contextmanager
def _opened(path: str, limit: int) -> Iterator[_Table]:
    """Open a file whose columns take no more than so many bytes.

    A few bytes say "this value, a billion times"; text that the file holds once, for
    many rows, stays like that.
    """
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        metadata, unpacked = file.metadata, 0
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            claimed = _OF_NUMBER * group.num_rows * group.num_columns
            unpacked += max(group.total_byte_size, claimed)
            check_unpacked(unpacked, limit)
        schema = file.schema_arrow
    names, kinds = list(schema.names), [_kind(each) for each in schema.types]
    texts = [name for name, kind in zip(names, kinds, strict=True) if kind == "text"]
    listed = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in listed if isinstance(name, str)]
    is_column = len(index) == 1 and index[0] in names
    with parquet.ParquetFile(path, metadata=metadata, read_dictionary=texts) as file:
        yield _Table(file, limit, names, kinds, index[0] if is_column else None)


def _first_values(table: _Table) -> list[list[Any]]:
    """First values of columns; of many, numbers behind the third are not looked at."""
    if not table.file.metadata.num_rows:
        return []
    few = 3 if len(table.kinds) > _FEW_COLUMNS else len(table.kinds)
    places = [j for j, kind in enumerate(table.kinds) if j < few or kind != "number"]

    def read(columns: list[str] | None = None) -> Any:
        batches = table.file.iter_batches(batch_size=_LOOKED_AT, columns=columns)
        return next(batches)

    first: list[list[Any]] = [[0] for _ in table.kinds]
    for place, column in zip(places, _columns(read, table, places), strict=True):
        check_unpacked(_size(column), table.limit)
        first[place] = _listed(column)
    return first


@cache
def _kind(kind: Any) -> str:
    """Whether a type is one of numbers, of text or another."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return "text" if _kind(kind.value_type) == "text" else "other"
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    if any(test(kind) for test in tests):
        return "number"
    text = types.is_string(kind) or types.is_large_string(kind)
    return "text" if text or types.is_string_view(kind) else "other"


def _group(table: _Table, number: int, places: Sequence[int]) -> list[Any]:
    """Columns of a group of rows."""
    return _columns(partial(table.file.read_row_group, number), table, places)


def _columns(
    read: Callable[..., Any], table: _Table, places: Sequence[int]
) -> list[Any]:
    """Columns of what is read; of all where names are not different, or have parts."""
    wanted = [table.names[place] for place in places]
    if not wanted:
        return []
    found = read(columns=wanted)
    names = found.schema.names
    if sorted(names) == sorted(wanted):
        at = {name: place for place, name in enumerate(names)}
        places = [at[name] for name in wanted]
    else:
        found = read()
    return [found.column(place) for place in places]


def _numbers(column: Any, style: NumberStyle, limit: int) -> NDArray[Any]:
    """Numbers of a column; NaN or infinite for what is missing or not a number."""
    import pyarrow as pa

    kind = _kind(column.type)
    if kind == "other":
        return np.full(len(column), np.nan)
    if kind == "text":
        codes, texts = _encoded(column, limit)
        plain = [style.plain(text) for text in texts]
        parsed = [float(text) if is_number(text) else -np.inf for text in plain]
        values = np.array([*parsed, np.nan])[codes]
    else:
        if column.null_count or not pa.types.is_integer(column.type):
            column = column.cast(pa.float64(), safe=False)
        values = np.asarray(column.to_numpy())
    return np.where(np.isnan(values), 0, values) if style.empty else values


def _encoded(column: Any, limit: int) -> tuple[NDArray[np.int32], list[str]]:
    """Numbers of texts, -1 for none, and the different texts."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    one = column.unify_dictionaries().combine_chunks()
    if isinstance(one, pa.ChunkedArray):
        one = one.chunk(0) if one.num_chunks else pa.array([], column.type)
    check_unpacked(OF_TEXT * len(one.dictionary) + one.dictionary.nbytes, limit)
    codes = one.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return codes.astype(np.int32), one.dictionary.to_pylist()


def _listed(column: Any) -> list[Any]:
    """Values as JSON has them, anything else as text."""
    plain = (str, int, float, bool, type(None))
    values = column.to_pylist()
    return [value if isinstance(value, plain) else str(value) for value in values]


def _size(values: Any) -> int:
    """Bytes of the values of an array, each text as often as it occurs."""
    import pyarrow as pa
    from pyarrow import compute

    letters = int(values.nbytes)
    if pa.types.is_dictionary(values.type) and _kind(values.type) == "text":
        lengths = compute.binary_length(values.dictionary)
        letters = compute.sum(lengths.take(values.indices)).as_py() or 0
    return OF_TEXT * len(values) + letters


def _field(value: Any, style: NumberStyle) -> str:
    """A value as a csv file would have it, its number as Python writes it."""
    if value is None:
        return style.plain("")
    return style.plain(str(int(value) if isinstance(value, bool) else value))


def write(table: CountTable, path: Path, options: WriteOptions) -> None:
    from .delimited import written_triples

    pa = require("pyarrow", "io", "Writing parquet files")
    from pyarrow.parquet import ParquetWriter, write_table

    if options.triples:
        columns = [pa.array(values) for values in written_triples(table)]
        write_table(pa.table(columns, names=["row", "column", "count"]), path)
        return
    counted = written_names(table.column_names, table.shape[1])
    labels = written_labels(table, options, counted)
    names = ["", *labels, *counted]
    texts = [[text or None for text in each] for each in labels.values()]
    texts.insert(0, [*written_names(table.row_names, table.shape[0])])
    before = [pa.array(each, type=pa.string()) for each in texts]
    step = max(1, CELLS // len(names))
    kind = np.int64 if table.counts.whole else np.float64

    def block(start: int, stop: int) -> Any:
        rows = table.counts.between(start, min(stop, table.shape[0])).matrix()
        dense = rows.toarray().T.astype(kind)
        counts = [pa.array(values) for values in dense]
        return pa.table([*(part[start:stop] for part in before), *counts], names)

    with ParquetWriter(path, block(0, 1).schema) as writer:
        for start in range(0, table.shape[0], step):
            writer.write_table(block(start, start + step))
