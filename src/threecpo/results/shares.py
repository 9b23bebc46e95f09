"""Clusters' shares of parts of the rows."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._labels import is_missing
from .._options import check_integer
from .fitted import record_of, rows_of, shown_labels
from .table_files import TEXT, column_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ..cluster import ThreeCPO
    from .table_files import Table

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
        message = f"bins={bins!r} is a unit of dates, but by does not contain dates."
        raise ValueError(message)
    if values.dtype.kind in "iuf":
        return _of_numbers(values.astype(np.float64), bins)
    listed = [None if _is_missing(value) else str(value) for value in values.tolist()]
    names = sorted({name for name in listed if name is not None})
    number = {name: i for i, name in enumerate(names)}
    of_rows = [-1 if name is None else number[name] for name in listed]
    return Parts(np.array(of_rows, dtype=np.int64), names, ordered=False)


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
    if not len(different) or (bins is None and len(different) <= MOST_NUMBERS):
        numbers = np.where(known, np.searchsorted(different, values), -1)
        return Parts(numbers, [f"{value:g}" for value in different], ordered=True)
    n_bins = check_integer("bins", USUAL_BINS if bins is None else bins, 1)
    edges = np.linspace(different[0], different[-1], n_bins + 1)
    numbers = np.full(len(values), -1)
    numbers[known] = np.clip(
        np.searchsorted(edges, values[known], "right") - 1, 0, n_bins - 1
    )
    names = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
    return Parts(numbers, names, ordered=True)


def _is_missing(value: Any) -> bool:
    return is_missing(value) or str(value) == "NaT"


def share_table(
    model: ThreeCPO, by: Iterable[Any], *, bins: int | str | None = None
) -> Table:
    """Table of the share of each cluster in classes of rows or over time.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    by : sequence with a value for each row of the fit
        Names of classes, numbers, or dates (``datetime64``, a column of pandas).
        Rows without one (None, NaN, NaT) are left out.
    bins : int, "year", "month", "day" or None, default=None
        Parts of numbers: how many of equal width; None takes ten, or each number for
        itself where there are no more than 20 different ones. Parts of dates: the unit;
        None takes one by how long the time is.

    Returns
    -------
    dict of str to ndarray
        A line for each part and cluster: ``part``, its number of ``rows``, ``cluster``
        (-1 for outliers, -2 for rows without counts in relevant or shared columns,
        where there are any), ``count`` of rows in both, and ``share`` of the part's
        rows (NaN for a part without rows).

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import share_table
    >>> X = [[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]]
    >>> model = ThreeCPO(2, random_state=0).fit(X)
    >>> table = share_table(model, ["new", "old", "old", "old"])
    >>> table["part"].tolist()
    ['new', 'new', 'old', 'old']
    >>> table["rows"].tolist()
    [1, 1, 3, 3]
    >>> float(table["share"].sum())
    2.0
    """
    record = record_of(model)
    labels, _ = shown_labels(record, rows_of(record))
    parts = parts_of(by, record.n_rows, bins)
    others = sorted(set(labels[labels < 0].tolist()), reverse=True)
    clusters = [*range(record.n_clusters), *others]
    known, n_parts = parts.of_rows >= 0, len(parts.names)
    counts = np.array(
        [
            np.bincount(parts.of_rows[known & (labels == cluster)], minlength=n_parts)
            for cluster in clusters
        ]
    ).T
    rows = counts.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        shares = counts / rows
    names = column_of(parts.names, TEXT)
    return {
        "part": np.repeat(names, len(clusters)),
        "rows": np.repeat(rows[:, 0], len(clusters)),
        "cluster": np.tile(np.array(clusters, dtype=np.int64), len(names)),
        "count": counts.ravel(),
        "share": shares.ravel(),
    }
