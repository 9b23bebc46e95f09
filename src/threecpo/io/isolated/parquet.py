"""Columns of a parquet file: counts without their zeros, and values as text."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .hierarchies import OF_TEXT, check
from .matrices import narrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Items = Iterator[tuple[str, Any]]

# Cells that are full at a time.
CELLS = 1 << 22
_LOOKED_AT = 50
_OF_TRIPLES = 3
# Of so many columns order lines have, which are told by values of all.
_FEW_COLUMNS = 40
# Bytes of a number once read.
_OF_NUMBER = 8


def describe(path: str, limit: int) -> Items:
    """Names and kinds of columns, the index that pandas wrote, and first values.

    Of many columns, first values of numbers behind the third are not looked at.
    """
    with _opened(path, limit) as file:
        schema = file.schema_arrow
        kinds = [_kind(each) for each in schema.types]
        listed = (schema.pandas_metadata or {}).get("index_columns", [])
        index = [name for name in listed if isinstance(name, str)]
        yield "names", schema.names
        yield "kinds", kinds
        is_column = len(index) == 1 and index[0] in schema.names
        yield "index", index[0] if is_column else None
        few = _OF_TRIPLES if len(kinds) > _FEW_COLUMNS else len(kinds)
        wanted = {*range(min(few, len(kinds)))}
        wanted |= {j for j, kind in enumerate(kinds) if kind != "number"}
        first: list[list[Any]] = [[0] for _ in kinds]
        found = _first_rows(file, sorted(wanted))
        for j, column in zip(sorted(wanted), found, strict=False):
            check(_size(column), limit)
            first[j] = _listed(column)
        yield "first", first if found else []


def read_columns(path: str, limit: int, places: Sequence[int]) -> Items:
    """Values of columns, some rows at a time: lists of what JSON has, else text."""
    with _opened(path, limit) as file:
        names, taken = file.schema_arrow.names, 0
        wanted = [names[place] for place in places]
        for batch in file.iter_batches(columns=wanted):
            columns = batch.select(wanted).columns if wanted else []
            taken += sum(map(_size, columns))
            check(taken, limit)
            yield "values", [_listed(column) for column in columns]


def read_counts(
    path: str, limit: int, places: Sequence[int], listed: Sequence[int]
) -> Items:
    """Counts of columns by groups of rows, column by column, without zeros.

    Of each group: ``lengths``, ``indices`` (of rows) and ``data`` of some columns at a
    time, for columns of text ``texts`` (their number among all that are read, and the
    different texts) and ``codes``, -1 for none; at the end the ``values`` of what is
    ``listed`` and its ``n_rows``. What is missing is NaN.
    """
    taken = 0
    with _opened(path, limit) as file:
        names = file.schema_arrow.names
        for number in range(file.num_row_groups):
            n_rows = file.metadata.row_group(number).num_rows
            step = max(1, CELLS // max(1, n_rows))
            for start in range(0, len(places), step):
                columns = _group(file, names, number, places[start : start + step])
                found = [_stored(column, n_rows) for column in columns]
                yield "lengths", np.array([len(rows) for rows, _ in found])
                yield "indices", np.concatenate([rows for rows, _ in found])
                yield "data", narrow(np.concatenate([values for _, values in found]))
                for at, column in enumerate(columns, start):
                    if _kind(column.type) == "text":
                        codes, texts = _encoded(column, limit)
                        yield "texts", [at, texts]
                        yield "codes", codes
            values = _group(file, names, number, listed) if listed else []
            taken += sum(_size(chunk) for column in values for chunk in column.chunks)
            check(taken, limit)
            yield "values", [_listed(column) for column in values]
            yield "n_rows", n_rows


def read_triples(path: str, limit: int, places: Sequence[int]) -> Items:
    """Two columns of names and perhaps one of counts, each as ``texts`` and ``codes``.

    Counts that are numbers come as ``counts``.
    """
    with _opened(path, limit) as file:
        names = [file.schema_arrow.names[place] for place in places]
        columns = file.read(columns=names).select(names).columns
        for place, column in enumerate(columns):
            if place > 1 and _kind(column.type) == "number":
                yield "counts", _numbers(column)
            else:
                codes, texts = _encoded(column, limit)
                yield "texts", texts
                yield "codes", codes


def read_row(path: str, limit: int, places: Sequence[int], row: int) -> Items:
    """One row as text, None where there is nothing: to say what is wrong with it."""
    with _opened(path, limit) as file:
        for number in range(file.num_row_groups):
            n_rows = file.metadata.row_group(number).num_rows
            if row < n_rows:
                columns = _group(file, file.schema_arrow.names, number, places)
                values = [column[row].as_py() for column in columns]
                yield "fields", [_field(value) for value in values]
                return
            row -= n_rows


@contextmanager
def _opened(path: str, limit: int) -> Iterator[Any]:
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
            check(unpacked, limit)
        schema = file.schema_arrow
        texts = [field.name for field in schema if _kind(field.type) == "text"]
    with parquet.ParquetFile(path, metadata=metadata, read_dictionary=texts) as file:
        yield file


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


def _first_rows(file: Any, places: Sequence[int]) -> list[Any]:
    """First values of columns; nothing where there are no rows."""
    names = file.schema_arrow.names
    wanted = [names[place] for place in places]
    batch = next(file.iter_batches(batch_size=_LOOKED_AT, columns=wanted), None)
    if batch is None or batch.schema.names == wanted:
        return [] if batch is None else list(batch.columns)
    # Names that are not different, or that look like those of parts.
    batch = next(file.iter_batches(batch_size=_LOOKED_AT))
    return [batch.column(place) for place in places]


def _group(
    file: Any, names: list[str], number: int, places: Sequence[int]
) -> list[Any]:
    """Columns of a group of rows."""
    wanted = [names[place] for place in places]
    table = file.read_row_group(number, columns=wanted)
    if table.schema.names == wanted:
        return list(table.columns)
    table = file.read_row_group(number)
    return [table.column(place) for place in places]


def _stored(column: Any, n_rows: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Rows and values of what is not 0; nothing of text, NaN of anything else."""
    kind = _kind(column.type)
    if kind == "number":
        values = _numbers(column)
        rows = np.flatnonzero(values)
        return rows.astype(np.int32), values[rows]
    if kind == "text":
        return np.zeros(0, np.int32), np.zeros(0)
    return np.arange(n_rows, dtype=np.int32), np.full(n_rows, np.nan)


def _numbers(column: Any) -> NDArray[Any]:
    """Numbers of a column, NaN for those that are missing."""
    import pyarrow as pa

    if column.null_count or not pa.types.is_integer(column.type):
        column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy())


def _encoded(column: Any, limit: int) -> tuple[NDArray[np.int32], list[str]]:
    """Numbers of texts, -1 for none, and the different texts."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    one = column.unify_dictionaries().combine_chunks()
    if isinstance(one, pa.ChunkedArray):
        one = one.chunk(0) if one.num_chunks else pa.array([], column.type)
    check(OF_TEXT * len(one.dictionary) + one.dictionary.nbytes, limit)
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


def _field(value: Any) -> str | None:
    return (
        None if value is None else str(int(value) if isinstance(value, bool) else value)
    )
