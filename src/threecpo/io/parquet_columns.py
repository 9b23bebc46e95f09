"""parquet: numbers of columns, which may be text as people write numbers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.inspection import EXACT
from .delimited.column_roles import is_number
from .sparse_rows import csr_rows

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from .delimited.number_style import NumberStyle


# So many are full at a time, few enough to stay near the processor.
_CELLS = 1 << 19


@cache
def is_numeric(kind: Any) -> bool:
    """Whether columns of this type hold numbers."""
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


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
    from .._core.loops.turning import are_counts, fill_rows

    n_rows = len(counts[0])
    stored = sum(int(np.count_nonzero(values)) for values in counts)
    ends = np.zeros(n_rows + 1, dtype=np.int64)
    indices, data = np.empty(stored + 1, dtype=np.int32), np.empty(stored + 1)
    step = min(n_rows, max(1, _CELLS // len(counts)))
    # The same memory again and again, as new memory takes as long as the rest.
    table = np.empty((len(counts), step))
    for start in range(0, n_rows, max(1, step)):
        stop = min(start + step, n_rows)
        if stop - start < step:
            table = np.empty((len(counts), stop - start))
        for line, values in zip(table, counts, strict=True):
            line[:] = values[start:stop]
        if not are_counts(table):
            return None
        fill_rows(table, ends[start : stop + 1], indices, data)
    shape = (n_rows, len(counts))
    return csr_rows(data[:stored], indices[:stored], ends, shape)


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
        if values.null_count or not pa.types.is_integer(kind):
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
