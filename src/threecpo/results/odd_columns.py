"""Columns of a table that may not be counts: IDs, totals, codes, ages and years."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.counts import Counts

# In smaller tables such patterns come by chance.
FEWEST = 3
_FEWEST_IDS = 30
_FEWEST_FOLLOWING = 10
# About so many stored counts are in a sample of rows, and at least so many rows.
_SAMPLE, _SAMPLE_ROWS = 50_000, 30
# What people measure and do not count is found by name, with values it can have.
_MEASURES = (
    (re.compile(r"age|alter|âge|edad|età|leeftijd", re.I), 0, 120),
    (re.compile(r"year|jahr|année|año|anno|yob", re.I), 1800, 2100),
)
_YEARS = (1800, 2100)
# Codes are few, and chance hardly keeps as many counts of their mean above 0.
_MOST_CODES, _LARGEST_CODE, _BY_CHANCE = 6, 20, 1e-6
# Among more columns some words or genes are in every row, too.
_MOST_COLUMNS = 60


def sampled(counts: Counts) -> Counts:
    """Rows at even distances, with a bounded number of stored counts."""
    step = min(-(-len(counts.data) // _SAMPLE), counts.n_rows // _SAMPLE_ROWS)
    if step < 2:
        return counts
    return counts.rows(np.arange(0, counts.n_rows, step))


def find_odd_columns(
    counts: Counts, sample: Counts, sums: NDArray[np.float64], names: Any
) -> dict[str, dict[int, Any]]:
    """Places of such columns by kind; those of measures with their range.

    ``sample`` are some of the rows, ``sums`` those of all rows.
    """
    means = _means(sample)
    ids = _ids(counts, sample, means)
    found: dict[str, dict[int, Any]] = {
        "id_columns": dict.fromkeys(ids),
        "total_columns": dict.fromkeys(_total_columns(counts, sample, sums, ids)),
        "code_columns": dict.fromkeys(_codes(counts, means)),
    }
    odd = {place for kind in found.values() for place in kind}
    return found | {"measures": _measures(counts, means, names, odd)}


def _columns(counts: Counts, places: Any) -> Any:
    """Some columns, as a scipy array by column."""
    mask = np.zeros(counts.n_columns, dtype=bool)
    mask[places] = True
    return counts.columns(mask).matrix().tocsc()


def _values(counts: Counts, places: Any) -> dict[int, NDArray[np.float64]]:
    """Stored values of some columns, each in the order of rows."""
    if not len(places):
        return {}
    columns = _columns(counts, places)
    parts = np.split(columns.data, columns.indptr[1:-1])
    return dict(zip(np.asarray(places).tolist(), parts, strict=True))


def _means(sample: Counts) -> NDArray[np.float64]:
    """Mean of each column that has counts in all rows but one, perhaps; else NaN."""
    stored = np.bincount(sample.indices, minlength=sample.n_columns)
    totals = np.bincount(sample.indices, sample.data, sample.n_columns)
    full = stored >= max(1, sample.n_rows - 1)
    return np.divide(totals, stored, out=np.full(len(stored), np.nan), where=full)


def _total_columns(
    counts: Counts, sample: Counts, sums: NDArray[np.float64], ids: list[int]
) -> list[int]:
    """Columns that are the sum of all others but ids."""
    if min(counts.shape) < FEWEST or not len(counts.data):
        return []
    used = ~np.isin(sample.indices, ids)
    totals = np.bincount(sample.indices[used], sample.data[used], counts.n_columns)
    likely = np.flatnonzero(2 * totals == totals.sum()).tolist()
    if not likely:
        return []
    if ids:
        sums = sums - _columns(counts, ids).sum(axis=1)
    columns = _columns(counts, likely).toarray()
    return [j for at, j in enumerate(likely) if (2 * columns[:, at] == sums).all()]


def _ids(counts: Counts, sample: Counts, means: NDArray[np.float64]) -> list[int]:
    """Columns of numbers that follow each other, or that all differ as ids do."""
    n_rows = counts.n_rows
    if n_rows < FEWEST or counts.n_columns < 2:
        return []
    # The mean of different whole numbers is at least this.
    likely = np.flatnonzero(means >= (sample.n_rows - 2) / 2).tolist()
    if sample is not counts:
        likely = [
            j
            for j, values in _values(sample, likely).items()
            if _all_differ(values) and (_no_tail(values) or _one_length(values))
        ]
    found = _values(counts, likely).items()
    return [j for j, values in found if _are_ids(n_rows, values)]


def _are_ids(n_rows: int, values: NDArray[np.float64]) -> bool:
    if len(values) < n_rows - 1 or not _all_differ(values):
        return False
    spread = values.max() - values.min()
    if n_rows >= _FEWEST_FOLLOWING and spread == len(values) - 1:
        return True
    rising = bool((np.diff(values) > 0).all()) and _no_tail(values)
    return n_rows >= _FEWEST_IDS and (rising or _one_length(values))


def _no_tail(values: NDArray[np.float64]) -> bool:
    """Whether the largest numbers are not far above the others, as counts often are."""
    return bool(values.max() <= 4 * np.median(values))


def _one_length(values: NDArray[np.float64]) -> bool:
    return len(str(int(values.max()))) == len(str(int(values.min())))


def _are_whole(values: NDArray[np.float64]) -> bool:
    return bool((values == np.rint(values)).all())


def _all_differ(values: NDArray[np.float64]) -> bool:
    return _are_whole(values) and len(np.unique(values)) == len(values)


def _codes(counts: Counts, means: NDArray[np.float64]) -> list[int]:
    """Columns of few small whole numbers from 1, in more rows than counts would be."""
    n_rows, n_columns = counts.shape
    if n_rows < _FEWEST_IDS or not 2 <= n_columns <= _MOST_COLUMNS:
        return []
    likely = np.flatnonzero(means <= _LARGEST_CODE)
    codes = [
        j for j, values in _values(counts, likely).items() if _are_codes(n_rows, values)
    ]
    # Where most columns look so, this is how the table counts.
    return codes if 2 * len(codes) < n_columns else []


def _are_codes(n_rows: int, values: NDArray[np.float64]) -> bool:
    found = np.unique(values)
    few = len(values) == n_rows and found[0] == 1 and 1 < len(found) <= _MOST_CODES
    if not few or found[-1] > _LARGEST_CODE or not _are_whole(found):
        return False
    # Of as many Poisson counts of this mean some would be 0.
    return n_rows * math.log(-math.expm1(-values.mean())) < math.log(_BY_CHANCE)


def _measures(
    counts: Counts, means: NDArray[np.float64], names: Any, odd: set[int]
) -> dict[int, tuple[float, float]]:
    """Columns of years or ages, with their range."""
    n_rows = counts.n_rows
    if n_rows < _FEWEST_FOLLOWING or counts.n_columns < 2:
        return {}
    likely = [
        j
        for j in np.flatnonzero(~np.isnan(means)).tolist()
        if j not in odd and _is_measure(names, j, means[j], means[j])
    ]
    ranges = {
        j: (float(values.min()), float(values.max()))
        for j, values in _values(counts, likely).items()
        if len(values) >= n_rows - 1
    }
    return {j: each for j, each in ranges.items() if _is_measure(names, j, *each)}


def _is_measure(names: Any, place: int, least: float, most: float) -> bool:
    if _YEARS[0] <= least and most <= _YEARS[1]:
        return True
    if names is None or most > _YEARS[1]:
        return False
    # Words of a name such as AgeAtVisit or birth_year.
    apart = re.sub(r"(?<=[a-zà-ÿ])(?=[A-Z])", " ", names[place])
    return any(
        kind.fullmatch(word) and low <= least and most <= high
        for kind, low, high in _MEASURES
        for word in re.split(r"[\W\d_]+", apart)
    )
