"""What is in a table of counts that is no count: totals, ids, measures, copies.

Columns are suspected in a sample of the rows, and only what is suspected is looked up
in all rows: this must cost little beside a fit.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from ..table import CountTable

# In smaller tables such patterns come by chance.
_FEWEST = 3
_FEWEST_IDS = 30
_FEWEST_FOLLOWING = 10
_FEWEST_FRACTIONS = 5
# Many rows of few columns are often alike.
_FEW_ROWS, _FEWEST_COLUMNS = 100, 20
# About so many stored counts are in a sample of rows, and at least so many rows.
SAMPLE = 50_000
SAMPLE_ROWS = 30
# What people measure and do not count is found by name, with values it can have.
_MEASURES = (
    (re.compile(r"age|alter|âge|edad|età|leeftijd", re.I), 0, 120),
    (re.compile(r"year|jahr|année|año|anno|yob", re.I), 1800, 2100),
)
_MEASURE = re.compile("|".join(kind.pattern for kind, *_ in _MEASURES), re.I)
_YEARS = (1800, 2100)


def find_traps(
    table: CountTable, sample: Counts, sums: Any
) -> tuple[dict[str, Any], list[int]]:
    """Names of rows and columns that are no counts, and how many rows are copies.

    ``sample`` are some of the rows, ``sums`` those of all rows. Returns also the places
    of the columns that are no counts.
    """
    counts, names = table.counts, table.column_names
    means = _means(sample)
    ids = _ids(counts, sample, means)
    columns = _total_columns(counts, sample, sums, ids)
    rows = _total_rows(counts, sums)
    measures = _measures(counts, means, names, {*ids, *columns})
    return {
        "total_rows": _named(table.row_names, rows),
        "total_columns": _named(names, columns),
        "id_columns": _named(names, ids),
        "measures": [
            {"column": _named(names, [j])[0], "least": least, "most": most}
            for j, least, most in measures
        ],
        "copied_rows": _copies(counts, sums),
        "thousands": counts.fractional and _are_thousands(counts.data),
    }, [*ids, *columns, *(j for j, *_ in measures)]


def sampled(counts: Counts) -> Counts:
    """Rows at even distances, with a bounded number of stored counts."""
    step = min(-(-len(counts.data) // SAMPLE), counts.n_rows // SAMPLE_ROWS)
    if step < 2:
        return counts
    return counts.rows(np.arange(0, counts.n_rows, step))


def _named(names: NDArray[np.object_] | None, places: list[int]) -> list[str]:
    return [str(place + 1 if names is None else names[place]) for place in places]


def _columns(counts: Counts, places: list[int]) -> Any:
    """Some columns, as a scipy array by column."""
    mask = np.zeros(counts.n_columns, dtype=bool)
    mask[places] = True
    return counts.columns(mask).matrix().tocsc()


def _stored(columns: Any, place: int) -> NDArray[np.float64]:
    """Stored values of a column, in the order of the rows."""
    values: NDArray[np.float64]
    values = columns.data[columns.indptr[place] : columns.indptr[place + 1]]
    return values


def _chosen(counts: Counts, places: list[int], holds: Callable[..., bool]) -> list[int]:
    """Columns of which this holds, by their stored values."""
    if not places:
        return []
    columns = _columns(counts, places)
    return [j for at, j in enumerate(places) if holds(_stored(columns, at))]


def _means(sample: Counts) -> NDArray[np.float64]:
    """Mean of each column that has counts in all rows but one, perhaps; else NaN."""
    stored = np.bincount(sample.indices, minlength=sample.n_columns)
    totals = np.bincount(sample.indices, sample.data, sample.n_columns)
    full = stored >= max(1, sample.n_rows - 1)
    return np.divide(totals, stored, out=np.full(len(stored), np.nan), where=full)


def _total_rows(counts: Counts, sums: NDArray[np.float64]) -> list[int]:
    """Rows that are the sum of all others."""
    total = sums.sum()
    if min(counts.shape) < _FEWEST or not total:
        return []
    found = []
    for i in np.flatnonzero(2 * sums == total).tolist():
        row = counts.between(i, i + 1).matrix().toarray()[0]
        others = np.bincount(counts.indices, counts.data, counts.n_columns)
        if (2 * row == others).all():
            found.append(i)
    return found


def _total_columns(
    counts: Counts, sample: Counts, sums: NDArray[np.float64], ids: list[int]
) -> list[int]:
    """Columns that are the sum of all others but ids."""
    if min(counts.shape) < _FEWEST or not len(counts.data):
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
    if counts.n_rows < _FEWEST or counts.n_columns < 2:
        return []
    # The mean of different whole numbers is at least this.
    likely = np.flatnonzero(means >= (sample.n_rows - 2) / 2).tolist()
    if sample is not counts:
        likely = _chosen(sample, likely, _may_be_ids)
    return _chosen(counts, likely, partial(_are_ids, counts.n_rows))


def _may_be_ids(values: NDArray[np.float64]) -> bool:
    return _all_differ(values) and (_have_no_tail(values) or _are_of_one_length(values))


def _are_ids(n_rows: int, values: NDArray[np.float64]) -> bool:
    if len(values) < n_rows - 1 or not _all_differ(values):
        return False
    spread = values.max() - values.min()
    if n_rows >= _FEWEST_FOLLOWING and spread == len(values) - 1:
        return True
    rising = bool((np.diff(values) > 0).all()) and _have_no_tail(values)
    return n_rows >= _FEWEST_IDS and (rising or _are_of_one_length(values))


def _have_no_tail(values: NDArray[np.float64]) -> bool:
    """Whether the largest numbers are not far above the others, as counts often are."""
    return bool(values.max() <= 4 * np.median(values))


def _are_of_one_length(values: NDArray[np.float64]) -> bool:
    return len(str(int(values.max()))) == len(str(int(values.min())))


def _all_differ(values: NDArray[np.float64]) -> bool:
    whole = bool((values == np.rint(values)).all())
    return whole and len(np.unique(values)) == len(values)


def _measures(
    counts: Counts, means: NDArray[np.float64], names: Any, odd: set[int]
) -> list[tuple[int, float, float]]:
    """Columns of years or ages, with their range."""
    if counts.n_rows < _FEWEST_FOLLOWING or counts.n_columns < 2:
        return []
    likely = [
        j
        for j in np.flatnonzero(~np.isnan(means)).tolist()
        if j not in odd and _is_measure(_words(names, j), means[j], means[j])
    ]
    if not likely:
        return []
    columns, found = _columns(counts, likely), []
    for at, j in enumerate(likely):
        values = _stored(columns, at)
        if len(values) < counts.n_rows - 1:
            continue
        least, most = float(values.min()), float(values.max())
        if _is_measure(_words(names, j), least, most):
            found.append((j, least, most))
    return found


def _words(names: Any, place: int) -> list[str]:
    """Words of a name such as ``AgeAtVisit`` or ``birth_year``."""
    if names is None or not _MEASURE.search(names[place]):
        return []
    apart = re.sub(r"(?<=[a-zà-ÿ])(?=[A-Z])", " ", names[place])
    return [word for word in re.split(r"[\W\d_]+", apart) if word]


def _is_measure(words: list[str], least: float, most: float) -> bool:
    if _YEARS[0] <= least and most <= _YEARS[1]:
        return True
    return any(
        kind.fullmatch(word) and low <= least and most <= high
        for kind, low, high in _MEASURES
        for word in words
    )


def _copies(counts: Counts, sums: NDArray[np.float64]) -> int:
    """Number of rows that are the same as one above them, and hardly by chance."""
    n_rows, n_columns = counts.shape
    if n_rows < 2 or (n_rows > _FEW_ROWS and n_columns < _FEWEST_COLUMNS):
        return 0
    # Equal rows have equal sums and as many counts, and of those that do few are equal.
    keys = sums + np.pi * np.diff(counts.indptr)
    _, same, times = np.unique(keys, return_inverse=True, return_counts=True)
    alike = counts.rows(np.flatnonzero((times[same] > 1) & (sums > 0)))
    # A Poisson count is about so many decimal digits of chance.
    digits = replace(alike, data=np.log10(2 * math.pi * math.e * alike.data) / 2)
    needed = 2 * np.log10(n_rows) + 2
    long = alike.rows(np.flatnonzero(digits.row_lengths(1) > needed))
    # Equal rows have equal products, and others hardly ever.
    weights = np.random.default_rng(0).random(n_columns)
    return long.n_rows - len(np.unique(long.matrix() @ weights))


def _are_thousands(values: NDArray[np.float64]) -> bool:
    """Whether fractions look like 1.234 for 1234: three digits, none below 1."""
    fractions = values[values != np.rint(values)]
    if len(fractions) < _FEWEST_FRACTIONS or values.max() >= 1000:
        return False
    thousandths = fractions * 1000
    exact = np.abs(thousandths - np.rint(thousandths)) < 1e-6
    # Measures with fewer digits are many, and with three digits some lie below 1.
    three = np.rint(thousandths) % 10 != 0
    return bool(exact.all() and fractions.min() >= 1 and three.mean() > 0.5)
