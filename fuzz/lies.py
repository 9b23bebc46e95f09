"""Sparse matrices whose arrays contradict each other, their shape, or what counts are.

scipy checks arrays when a matrix is made, so they are changed afterwards, as a careless
program, a foreign library or a file may leave them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

N_ROWS, N_COLUMNS = 30, 8
FAR = 50_000_000
WIDTHS = {"32": ("i4", "i4"), "64": ("i8", "i8"), "64/32": ("i8", "i4")}
WIDTHS |= {"32/64": ("i4", "i8")}

Array = NDArray[Any]
Change = Callable[[Array], Array]
Lies = dict[str, dict[str, Change]]


def sound() -> NDArray[np.float64]:
    """Counts of two clusters, in which every row has several columns."""
    rng = np.random.default_rng(0)
    rates = np.where(np.arange(N_ROWS)[:, None] % 2 == np.arange(N_COLUMNS) % 2, 9, 1)
    return rng.poisson(rates) + 1.0 * (rng.random((N_ROWS, N_COLUMNS)) < 0.5)


def put(at: int | slice, value: float) -> Change:
    """Change one entry of an array, or several."""

    def change(array: Array) -> Array:
        out = array.copy()
        out[at] = value
        return out

    return change


def cut(length: int) -> Change:
    """Leave out the end of an array."""
    return lambda array: array[:length]


def typed(dtype: str) -> Change:
    """Give an array another type."""
    return lambda array: array.astype(dtype)


def column(array: Array) -> Array:
    """Give an array another dimension."""
    return array[:, None]


def far_then_zero(array: Array) -> Array:
    """Pointers that lie in the middle; scipy checks nothing where they end in 0."""
    return np.r_[0, FAR, 0 * array[2:]].astype(array.dtype)


def with_text(array: Array) -> Array:
    """Values of which one is no number."""
    return np.array([*array[1:], "x"], dtype=object)


POINTERS: Lies = {
    "pointers fall": {"indptr": put(3, 200)},
    "pointers fall below 0": {"indptr": put(3, -7)},
    "pointers start at 2": {"indptr": put(0, 2)},
    "pointers start below 0": {"indptr": put(0, -5)},
    "pointers end one beyond": {"indptr": lambda p: put(-1, p[-1] + 1)(p)},
    "pointers end far beyond": {"indptr": put(-1, FAR)},
    "pointers end below 0": {"indptr": put(-1, -1)},
    "pointers end in 0": {"indptr": put(slice(4, None), 0)},
    "pointers lie far out and end in 0": {"indptr": far_then_zero},
    "pointers lie below 0 and end in 0": {"indptr": put(slice(1, -1), -3)},
    "one pointer too few": {"indptr": cut(-1)},
    "one pointer too many": {"indptr": lambda p: np.append(p, p[-1:])},
    "no pointers": {"indptr": cut(0)},
    "pointers of two dimensions": {"indptr": column},
    "pointers that are fractions": {"indptr": typed("f8")},
    "pointers fall in the last row": {"indptr": lambda p: put(-2, p[-1] + 5)(p)},
}
INDICES: Lies = {
    "an index of -1": {"indices": put(5, -1)},
    "an index far below 0": {"indices": put(5, -FAR)},
    "an index one too large": {"indices": put(5, N_ROWS)},
    "an index far too large": {"indices": put(5, FAR)},
    "the first index too large": {"indices": put(0, FAR)},
    "the last index too large": {"indices": put(-1, FAR)},
    "the largest index": {"indices": put(5, (1 << 31) - 1)},
    "all indices too large": {"indices": put(slice(None), FAR)},
    "too few indices": {"indices": cut(10)},
    "no indices": {"indices": cut(0)},
    "indices of two dimensions": {"indices": column},
    "indices that are fractions": {"indices": typed("f8")},
}
WIDE_INDICES: Lies = {
    "an index that wraps to 1": {"indices": put(5, (1 << 32) + 1)},
    "an index that wraps from below": {"indices": put(5, 1 - (1 << 32))},
    "the smallest wide index": {"indices": put(5, -(1 << 63))},
    "all indices wrap": {"indices": lambda array: array + (1 << 32)},
}
VALUES: Lies = {
    "too few values": {"data": cut(10)},
    "no values": {"data": cut(0)},
    "NaN": {"data": put(7, np.nan)},
    "infinity": {"data": put(7, np.inf)},
    "minus infinity": {"data": put(7, -np.inf)},
    "a negative value": {"data": put(7, -3.0)},
    "complex values": {"data": typed("c16")},
    "values that are text": {"data": with_text},
}
ENTRIES: Lies = {
    "a row of -1": {"row": put(5, -1)},
    "a row far below 0": {"row": put(5, -FAR)},
    "a row one too large": {"row": put(5, N_ROWS)},
    "a row far too large": {"row": put(5, FAR)},
    "a column of -1": {"col": put(5, -1)},
    "a column one too large": {"col": put(5, N_COLUMNS)},
    "a column far too large": {"col": put(5, FAR)},
    "too few rows": {"row": cut(20)},
    "too few columns": {"col": cut(20)},
    "no entries but values": {"row": cut(0), "col": cut(0)},
    "rows that are fractions": {"row": typed("f8")},
    "columns of two dimensions": {"col": column},
    **VALUES,
}
WIDE_ENTRIES: Lies = {
    "a place that wraps to 1": {"row": put(5, (1 << 32) + 1)},
    "a column that wraps to 1": {"col": put(5, (1 << 32) + 1)},
    "a column that wraps from below": {"col": put(5, 1 - (1 << 32))},
}
SHAPES = {
    "fewer columns than it says": (N_ROWS, 2),
    "fewer rows than it says": (4, N_COLUMNS),
    "more rows than it says": (1000 * N_ROWS, N_COLUMNS),
}
# A matrix by columns may have empty rows at its end.
SHAPES_BY_COLUMN = {
    "fewer columns than it says": (N_ROWS, 2),
    "fewer rows than it says": (4, N_COLUMNS),
    "more columns than it says": (N_ROWS, 1000 * N_COLUMNS),
}


def compressed(kind: Any, widths: tuple[str, str], changes: dict[str, Change]) -> Any:
    """A matrix by rows, by columns or by blocks with some of its arrays changed."""
    matrix = kind(sound())
    given = {"indptr": matrix.indptr, "indices": matrix.indices}
    arrays: dict[str, Array] = {
        name: array.astype(dtype)
        for (name, array), dtype in zip(given.items(), widths, strict=True)
    }
    arrays["data"] = matrix.data.copy()
    for name, array in arrays.items():
        setattr(matrix, name, changes[name](array) if name in changes else array)
    return matrix


def of_entries(kind: Any, widths: tuple[str, str], changes: dict[str, Change]) -> Any:
    """A matrix of single entries with some of its arrays changed."""
    matrix = kind(sound())
    places = []
    for name, array, width in zip(("row", "col"), matrix.coords, widths, strict=True):
        array = array.astype(width)  # noqa: PLW2901
        places.append(changes[name](array) if name in changes else array)
    matrix.coords = tuple(places)
    if "data" in changes:
        matrix.data = changes["data"](matrix.data)
    return matrix


def with_shape(kind: Any, shape: tuple[int, int]) -> Any:
    """A matrix whose shape is not that of its arrays."""
    matrix = kind(sound())
    matrix._shape = shape
    return matrix


def compressed_lies() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Matrices by rows, columns and blocks, each as array and as matrix."""
    blocks = {"bsr_array": sp.bsr_array, "bsr_matrix": sp.bsr_matrix}
    kinds: dict[str, Any] = {"csr_array": sp.csr_array, "csr_matrix": sp.csr_matrix}
    kinds |= {"csc_array": sp.csc_array, "csc_matrix": sp.csc_matrix}
    kinds |= {name: partial(kind, blocksize=(2, 2)) for name, kind in blocks.items()}
    for name, kind in kinds.items():
        for bits, widths in WIDTHS.items():
            wide = WIDE_INDICES if widths[1] == "i8" else {}
            values = {**VALUES} if widths[0] == widths[1] else {}
            if name in blocks:
                # What blocks hold has three dimensions.
                values = {
                    k: v for k, v in values.items() if k.startswith(("too", "no"))
                }
            for lie, changes in {**POINTERS, **INDICES, **wide, **values}.items():
                make = partial(compressed, kind, widths, changes)
                yield f"{name} of {bits} bits: {lie}", make
        shapes = SHAPES_BY_COLUMN if name.startswith("csc") else SHAPES
        for lie, shape in shapes.items():
            yield f"{name}: {lie}", partial(with_shape, kind, shape)


def entry_lies() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Matrices of single entries."""
    for kind in (sp.coo_array, sp.coo_matrix):
        for bits, widths in WIDTHS.items():
            wide = WIDE_ENTRIES if widths == WIDTHS["64"] else {}
            for lie, changes in {**ENTRIES, **wide}.items():
                make = partial(of_entries, kind, widths, changes)
                yield f"{kind.__name__} of {bits} bits: {lie}", make
        shape = (N_ROWS, 2)
        yield f"{kind.__name__}: fewer columns", partial(with_shape, kind, shape)


WRAPS = (1 << 32) + 1


def _list_column(matrix: Any, value: int) -> None:
    matrix.rows[2][0] = value


def _list_value(matrix: Any, value: Any) -> None:
    matrix.data[2][0] = value


def _longer_values(matrix: Any) -> None:
    matrix.data[2] = [*matrix.data[2], 1.0, 2.0]


def _shorter_values(matrix: Any) -> None:
    matrix.data[2] = matrix.data[2][:1]


def _fewer_lists(matrix: Any) -> None:
    matrix.rows, matrix.data = matrix.rows[:9], matrix.data[:9]


def _fewer_value_lists(matrix: Any) -> None:
    matrix.data = matrix.data[:9]


def _narrow(matrix: Any) -> None:
    matrix._shape = (N_ROWS, 2)


def _key(matrix: Any, place: tuple[int, int]) -> None:
    matrix._dict[place] = 3.0


def _value(matrix: Any, value: Any) -> None:
    matrix._dict[2, 3] = value


def _diagonal_value(matrix: Any, value: float) -> None:
    matrix.data[0, 2] = value


def _fewer_diagonals(matrix: Any) -> None:
    matrix.data = matrix.data[:1]


def _more_diagonals(matrix: Any) -> None:
    matrix.offsets = matrix.offsets[:1]


def _offsets_of_two_dimensions(matrix: Any) -> None:
    matrix.offsets = matrix.offsets[:, None]


def _flat_diagonals(matrix: Any) -> None:
    matrix.data = matrix.data[0]


_NO_COUNTS = {"NaN": np.nan, "infinity": np.inf, "a negative value": -3.0}
_LISTS: dict[str, Callable[[Any], None]] = {
    "a column of -1": partial(_list_column, value=-1),
    "a column far below 0": partial(_list_column, value=-FAR),
    "a column one too large": partial(_list_column, value=N_COLUMNS),
    "a column far too large": partial(_list_column, value=FAR),
    "a column that wraps to 1": partial(_list_column, value=WRAPS),
    "more values than columns": _longer_values,
    "fewer values than columns": _shorter_values,
    "fewer rows than it says": _fewer_lists,
    "fewer rows of values": _fewer_value_lists,
    "fewer columns": _narrow,
    **{name: partial(_list_value, value=value) for name, value in _NO_COUNTS.items()},
}
_DICTS: dict[str, Callable[[Any], None]] = {
    "a row of -1": partial(_key, place=(-1, 2)),
    "a row far too large": partial(_key, place=(FAR, 2)),
    "a row that wraps to 1": partial(_key, place=(WRAPS, 2)),
    "a column of -1": partial(_key, place=(2, -1)),
    "a column one too large": partial(_key, place=(2, N_COLUMNS)),
    "a column far too large": partial(_key, place=(2, FAR)),
    "a column that wraps to 1": partial(_key, place=(2, WRAPS)),
    "fewer columns": _narrow,
    **{name: partial(_value, value=value) for name, value in _NO_COUNTS.items()},
}
_DIAGONALS: dict[str, Callable[[Any], None]] = {
    "fewer diagonals than offsets": _fewer_diagonals,
    "more diagonals than offsets": _more_diagonals,
    "offsets of two dimensions": _offsets_of_two_dimensions,
    "diagonals of one dimension": _flat_diagonals,
    **{name: partial(_diagonal_value, value=v) for name, v in _NO_COUNTS.items()},
}


def _banded(kind: Any) -> Any:
    """Counts near the diagonal: of other matrices nearly all of it is stored."""
    rows = np.arange(1.0, N_COLUMNS + 1)
    return kind((np.array([rows, rows, rows]), [0, -1, -20]), shape=(N_ROWS, N_COLUMNS))


def _lying(make: Callable[[], Any], lie: Callable[[Any], None]) -> Any:
    matrix = make()
    lie(matrix)
    return matrix


def odd_lies() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Matrices of lists, dicts and diagonals, each as array and as matrix."""
    plain: dict[Any, dict[str, Callable[[Any], None]]] = {
        sp.lil_array: _LISTS,
        sp.lil_matrix: _LISTS,
        sp.dok_array: _DICTS,
        sp.dok_matrix: _DICTS,
    }
    for kind, lies in plain.items():
        for name, lie in lies.items():
            make = partial(kind, sound())
            yield f"{kind.__name__}: {name}", partial(_lying, make, lie)
    for kind in (sp.dia_array, sp.dia_matrix):
        for name, lie in _DIAGONALS.items():
            yield (
                f"{kind.__name__}: {name}",
                partial(_lying, partial(_banded, kind), lie),
            )
