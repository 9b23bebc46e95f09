"""parquet: numbers of columns, which may be text as people write numbers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.inspection import EXACT
from .._errors import DataFormatError
from .delimited.column_roles import is_number
from .sparse_rows import csr_rows

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from .delimited.number_style import NumberStyle


# So many rows and cells are full at a time, few enough to stay near the processor.
_ROWS, _CELLS = 72, 1 << 16


@cache
def is_numeric(kind: Any) -> bool:
    """Whether columns of this type hold numbers."""
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


@cache
def _is_whole(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind))


def as_one(values: Any) -> Any:
    """A column as one array."""
    if values.num_chunks == 1:
        return values.chunk(0)
    return values.unify_dictionaries().combine_chunks()


def counts_of(values: Any, style: NumberStyle) -> NDArray[Any]:
    """Counts of a column; NaN where something is missing or is none."""
    found = _numbers(values, style)
    if style.empty:
        missing = values.is_null().to_numpy(zero_copy_only=False)
        if is_numeric(values.type):
            missing |= np.isnan(found)
        found = np.where(missing, 0.0, found)
    return found


def rows_of(counts: list[NDArray[Any]]) -> sp.csr_array | None:
    """Sparse rows of columns; None if something in them is no count."""
    from .._core.loops.turning import KINDS, are_counts, fill_rows

    n_rows, n_columns = len(counts[0]), len(counts)
    counts = [np.ascontiguousarray(values) for values in counts]
    if any(values.shape != (n_rows,) for values in counts):
        message = "it has columns of different lengths"
        raise DataFormatError(message)
    stored = sum(int(np.count_nonzero(values)) for values in counts)
    ends = np.zeros(n_rows + 1, dtype=np.int64)
    indices, data = np.empty(stored + 1, dtype=np.int32), np.empty(stored + 1)
    addresses = [values.__array_interface__["data"][0] for values in counts]
    kinds = [KINDS[values.dtype] for values in counts]
    part = np.empty((n_columns, max(1, min(n_rows, _ROWS, _CELLS // n_columns))))
    fill_rows(np.array(addresses), np.array(kinds), part, ends, indices, data)
    data, indices = data[:stored], indices[:stored]
    if not are_counts(data):
        return None
    return csr_rows(data, indices, ends, (n_rows, n_columns))


def first_bad(counts: NDArray[Any]) -> int | None:
    """Place of the first that is no count, None if all are."""
    bad = ~((counts >= 0) & (counts < EXACT))
    return int(np.argmax(bad)) if bad.any() else None


def field_of(values: Any, row: int, style: NumberStyle) -> str:
    """A value as a csv file would have it."""
    value = values[row].as_py()
    if isinstance(value, str):
        return style.plain(value)
    if isinstance(value, bool):
        value = int(value)
    return "" if value is None else str(value)


def _numbers(values: Any, style: NumberStyle) -> NDArray[Any]:
    import pyarrow as pa

    kind = values.type
    if is_numeric(kind):
        if values.null_count or not _is_whole(kind):
            values = values.cast(pa.float64(), safe=False)
        numbers: NDArray[Any] = values.to_numpy(zero_copy_only=False)
        return numbers
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        values = values.dictionary_encode()
    if not _is_text(values.type):
        return np.full(len(values), np.nan)
    # Each text is parsed once, however often it occurs; the last stands for none.
    parsed = [_number(text, style) for text in values.dictionary.to_pylist()]
    places = values.indices.fill_null(len(parsed)).to_numpy(zero_copy_only=False)
    return np.array([*parsed, np.nan])[places]


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return types.is_dictionary(kind) and (
        types.is_string(kind.value_type) or types.is_large_string(kind.value_type)
    )


def _number(text: str | None, style: NumberStyle) -> float:
    plain = "" if text is None else style.plain(text)
    return float(plain) if is_number(plain) else np.nan
