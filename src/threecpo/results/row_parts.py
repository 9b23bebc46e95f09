"""Parts of the rows of a fit: classes, ranges of numbers, times."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._options import check_integer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["Parts", "parts_of"]

# As many different numbers, such as years, are parts of their own.
MOST_NUMBERS = 20
USUAL_BINS = 10
UNITS = {"year": "Y", "month": "M", "day": "D"}
# Longer times than so many days make parts of the larger unit.
_DAYS_OF_UNITS = ((6 * 365, "year"), (90, "month"), (0, "day"))


class Parts(NamedTuple):
    """Part of each row or -1, names of the parts, whether they follow each other."""

    of_rows: NDArray[np.int64]
    names: list[str]
    ordered: bool


def parts_of(by: Iterable[Any], n_rows: int, bins: int | str | None) -> Parts:
    """Part that each row belongs to."""
    values = np.asarray(by if hasattr(by, "__array__") else list(by))
    if values.shape != (n_rows,):
        message = f"by has shape {values.shape}, but the model has {n_rows} rows."
        raise ValueError(message)
    if values.dtype.kind == "O":
        values = _as_dates(values)
    if values.dtype.kind == "M":
        return _of_dates(values, bins)
    if isinstance(bins, str):
        message = f"bins={bins!r} is a unit of dates, but by holds none."
        raise ValueError(message)
    if values.dtype.kind in "iuf":
        return _of_numbers(values.astype(np.float64), bins)
    listed = [None if _is_missing(value) else str(value) for value in values.tolist()]
    names = sorted({name for name in listed if name is not None})
    return _named(listed, names, ordered=False)


def _as_dates(values: NDArray[Any]) -> NDArray[Any]:
    """Dates of Python as those of numpy; other objects as they are."""
    known = [value for value in values if not _is_missing(value)]
    if not known or not all(isinstance(value, dt.date) for value in known):
        return values
    return np.array(
        ["NaT" if _is_missing(value) else value for value in values],
        dtype="datetime64[D]",
    )


def _of_dates(values: NDArray[Any], bins: int | str | None) -> Parts:
    known = values[~np.isnat(values)]
    if not len(known):
        return Parts(np.full(len(values), -1), [], ordered=True)
    if bins is None:
        days = (known.max() - known.min()) / np.timedelta64(1, "D")
        bins = next(unit for least, unit in _DAYS_OF_UNITS if days >= least)
    if bins not in UNITS:
        message = f"bins={bins!r} must be one of {', '.join(UNITS)} for dates."
        raise ValueError(message)
    units = values.astype(f"datetime64[{UNITS[str(bins)]}]")
    first, last = (edge(units[~np.isnat(units)]) for edge in (np.min, np.max))
    names = [str(unit) for unit in np.arange(first, last + 1)]
    numbers = np.where(np.isnat(units), -1, (units - first).astype(np.int64))
    return Parts(numbers, names, ordered=True)


def _of_numbers(values: NDArray[np.float64], bins: int | str | None) -> Parts:
    known = np.isfinite(values)
    different = np.unique(values[known])
    if bins is None and len(different) <= MOST_NUMBERS:
        listed = [
            value if there else None for value, there in zip(values, known, strict=True)
        ]
        return _named(listed, different.tolist(), ordered=True)
    n_bins = check_integer("bins", USUAL_BINS if bins is None else bins, 1)
    edges = np.linspace(different[0], different[-1], n_bins + 1)
    numbers = np.full(len(values), -1)
    numbers[known] = np.clip(
        np.searchsorted(edges, values[known], "right") - 1, 0, n_bins - 1
    )
    names = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
    return Parts(numbers, names, ordered=True)


def _named(listed: list[Any], names: list[Any], *, ordered: bool) -> Parts:
    number = {name: i for i, name in enumerate(names)} | {None: -1}
    of_rows = np.array([number[value] for value in listed], dtype=np.int64)
    shown = [f"{name:g}" if isinstance(name, float) else name for name in names]
    return Parts(of_rows, shown, ordered=ordered)


def _is_missing(value: Any) -> bool:
    return value is None or value != value or str(value) == "NaT"  # noqa: PLR0124
