"""What in a table may mislead a fit, and what to say of it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import check_counts, looks_log_normalised
from ..table import CountTable
from .steering import FEWEST_COLUMNS, FEWEST_ROWS, find_steering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from .._core.counts import Counts

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


_FEW = 3
# Shares of counts that are large in docs/traps.md, where all data sets are compared.
_DEEP = 0.4
_LARGE, _LARGE_TOGETHER = 0.2, 0.4
# Dispersion of money and of rescaled counts, and of logarithms.
_WILD, _TAME = 20.0, 0.5
_TURNED = 2.0


def traps(X: Any) -> list[str]:
    """Say what in a table is no count, and what will steer its clusters.

    Looks for columns that number the rows, totals of rows and columns, ages and years,
    thousands that were read as fractions, copied rows, a table that lies on its side,
    few rows or columns with most of the counts, and values on other scales. Costs a
    small part of a fit; docs/files.md lists what fires on which data.

    Parameters
    ----------
    X : CountTable, array, frame or sparse matrix of shape (n_rows, n_columns)
        Counts; names are those of a table or frame.

    Returns
    -------
    list of str
        A line for each trap, with the parameter of :func:`threecpo.read_counts` or of
        the estimator that mends it; empty where nothing was found.

    Examples
    --------
    >>> from threecpo import CountTable
    >>> from threecpo.results import traps
    >>> X = [[3, 1, 4], [1, 5, 6], [2, 6, 8]]
    >>> traps(CountTable(X, column_names=["ants", "bees", "Total"]))
    ["column Total is the sum of all others: leave it out by drop=['Total']"]
    """
    table = X if isinstance(X, CountTable) else _named_table(X)
    facts = trap_facts(table)
    return [*value_lines(facts), *trap_lines(facts)]


def trap_facts(table: CountTable) -> dict[str, Any]:
    """What the lines are made from."""
    counts = table.counts
    sums, sample = counts.row_lengths(1), sampled(counts)
    facts, odd = find_traps(table, sample, sums)
    used = np.ones(counts.n_columns, dtype=bool)
    used[odd] = False
    facts |= _steering_facts(counts, sample, sums, used)
    names, largest = table.column_names, facts["largest_columns"]
    places = np.flatnonzero(used)[largest.pop("places")].tolist()
    largest["columns"] = [str(j + 1 if names is None else names[j]) for j in places]
    return facts | {
        "rows": counts.n_rows,
        "columns": counts.n_columns,
        "whole": not counts.fractional,
        "most": float(counts.data.max(initial=0.0)),
        "row_sums": {"least": float(sums.min()), "most": float(sums.max())},
        "log_normalised": counts.fractional and looks_log_normalised(counts),
        "empty_rows": int((sums == 0).sum()),
    }


def _steering_facts(
    counts: Counts, sample: Counts, sums: Any, used: NDArray[np.bool_]
) -> dict[str, Any]:
    """What will steer the clusters when columns that are no counts are left out."""
    if used.all() or not used.any():
        used[:] = True
        return find_steering(sample, sums)
    return find_steering(sample.columns(used), counts.columns(used).row_lengths(1))


def value_lines(facts: dict[str, Any]) -> Iterator[str]:
    """Lines about values and rows, of which a fit says what concerns it."""
    if facts["log_normalised"]:
        yield "looks log-normalised: use the raw counts instead (h5ad: layer=)"
    elif not facts["whole"]:
        yield "holds values that are not whole numbers: these are no counts"
    if empty := facts["empty_rows"]:
        yield f"{_number(empty, 'row')} with no counts: in no cluster"
    sums = facts["row_sums"]
    if facts["rows"] > 1 and sums["least"] == sums["most"] > 0:
        yield f"all rows have the sum {sums['most']:g}: looks normalised or rarefied"
    if facts["whole"] and facts["most"] == 1:
        yield "all counts are 0 or 1: presence and absence"


def trap_lines(facts: dict[str, Any]) -> Iterator[str]:
    """Lines about what is no count, and what will steer the clusters."""
    if facts["thousands"]:
        yield (
            "all fractions have three digits, and none is below 1: if 1.234 means "
            "1234, pass thousands='.'"
        )
    yield from _no_counts(facts)
    yield from _steering(facts)


def _no_counts(facts: dict[str, Any]) -> Iterator[str]:
    """What is counted, but should not be."""
    for name in facts["total_rows"]:
        yield f"row {name} is the sum of all others: remove it from the file"
    for name in facts["total_columns"]:
        yield f"column {name} is the sum of all others: leave it out by drop=[{name!r}]"
    for name in facts["id_columns"]:
        yield (
            f"column {name} looks like numbers of rows, no counts: pass "
            f"index={name!r} or drop=[{name!r}]"
        )
    for each in facts["measures"]:
        name = each["column"]
        yield (
            f"column {name} runs from {each['least']:g} to {each['most']:g} in all "
            f"rows, as years or ages do, no counts: leave it out by drop=[{name!r}]"
        )
    if copies := facts["copied_rows"]:
        yield f"{_number(copies, 'row')} the same as one above: copies, perhaps"


def _steering(facts: dict[str, Any]) -> Iterator[str]:
    """What will make the clusters other than what they are thought to show."""
    n_rows, n_columns = facts["rows"], facts["columns"]
    if n_rows < FEWEST_ROWS:
        return
    if facts["deepest_rows"] >= _DEEP:
        yield (
            f"5 % of the rows hold {facts['deepest_rows']:.0%} of the counts and will "
            "make the clusters: compare with max_row_size=5"
        )
    if n_columns >= FEWEST_COLUMNS:
        yield from _large(facts["largest_columns"])
    found = facts["dispersion"]
    if facts["whole"] and facts["most"] > 1 and 0 < found["of_columns"] < _TAME:
        yield (
            f"columns vary {found['of_columns']:.2g} times as much as counts would: "
            "these are logarithms or averages, perhaps; use the raw counts if there "
            "are any"
        )
    elif found["of_columns"] > _WILD:
        yield (
            f"columns vary {found['of_columns']:.2g} times as much as counts would: "
            "money or rescaled values, perhaps; a few large values will make the "
            "clusters: compare with --transform log1p (in Python SublinearCounts)"
        )
    elif n_columns >= FEWEST_COLUMNS and found["of_columns"] > _TURNED * max(
        found["of_rows"], 1.0
    ):
        yield (
            f"looks turned round: columns vary {found['of_columns']:.2g} times as much "
            f"as counts would, rows {found['of_rows']:.2g} times; if the columns are "
            "what is to be clustered, pass transpose=True"
        )


def _large(found: dict[str, Any]) -> Iterator[str]:
    """One or a few columns with most of the counts."""
    shares, names = found["shares"], found["columns"]
    n = 1 if shares[0] >= _LARGE else _FEW
    if n == 1 or sum(shares) >= _LARGE_TOGETHER:
        chosen = names[:n]
        are = f"column {chosen[0]} holds" if n == 1 else f"{n} columns hold"
        yield (
            f"{are} {sum(shares[:n]):.0%} of the counts: see what the clusters are "
            f"without by drop={chosen!r}"
        )


def _number(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _named_table(X: Any) -> CountTable:
    """Counts with the names of a frame's columns."""
    names = getattr(X, "columns", None)
    return CountTable(
        check_counts(X), column_names=None if names is None else list(map(str, names))
    )
