"""Lies of the containers that hold lists, a dict or diagonals."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .lies import FAR, N_COLUMNS, N_ROWS, sound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
