"""Likely problems of a table: what may not be counts, and what will dominate a fit."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import check_counts, looks_log_normalised, proportion_total
from ..table import CountTable
from .odd_columns import FEWEST, find_odd_columns, sampled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from .._core.counts import Counts

# In smaller tables every row and column has a large share.
FEWEST_ROWS, FEWEST_COLUMNS = 100, 20
# In smaller tables such patterns come by chance.
_FEWEST_FRACTIONS = 5
# Many rows of few columns are often alike.
_FEW_ROWS, _FEWEST_COPIED_COLUMNS = 100, 20
# How samples and features are called by the machines that make them.
_SAMPLES = re.compile(
    r"(?:.*[\W_])?[ACGTN]{10,}(?:[-.]\w+)?|"
    r"(?i:cells?|samples?|patient|subject|donor|plot|site|well|gsm|[des]rr|tcga)"
    r"[\W_]*\w*\d[\w.-]*"
)
_FEATURES = re.compile(r"ENS[A-Z]*G\d{6,}(?:\.\d+)?|(?i:otu|z?asv|zotu)[\W_]*\d+")
_GENES = re.compile(r"(?i:mt-\w+|rp[ls]\d+\w?)")
_NAMES_READ, _FEWEST_GENES = 2000, 3
_MOSTLY = 0.9
# The share of rows that are the deepest.
_DEEPEST = 0.05
# Shares of counts that are large on the labelled sets of the benchmarks.
_DEEP = 0.4
_LARGE, _LARGE_TOGETHER, _FEW = 0.2, 0.4, 3
# Dispersion of money and of rescaled counts, and of logarithms.
_WILD, _TAME = 20.0, 0.5
_TURNED = 2.0


def check_input(X: Any) -> list[str]:
    """Flag likely problems of a table before it is clustered.

    Looks for columns of IDs, codes, ages and years, totals of rows and columns,
    thousands that were read as fractions, proportions, duplicated rows, a transposed
    table, few rows or columns with most of the counts, and values on other scales.
    Costs a small part of a fit.

    Parameters
    ----------
    X : CountTable, array, frame or sparse matrix of shape (n_rows, n_columns)
        Counts; names are those of a table or frame.

    Returns
    -------
    list of str
        A line for each problem, with the parameter of :func:`threecpo.read_counts` or
        of the estimator that fixes it; empty if nothing was found.

    Examples
    --------
    >>> from threecpo import CountTable
    >>> from threecpo.results import check_input
    >>> X = [[3, 1, 4], [1, 5, 6], [2, 6, 8]]
    >>> check_input(CountTable(X, column_names=["ants", "bees", "Total"]))
    ["column 'Total' is the sum of all others. Exclude it with drop=['Total']."]
    """
    table = X
    if not isinstance(X, CountTable):
        names = getattr(X, "columns", None)
        named = None if names is None else list(map(str, names))
        table = CountTable(check_counts(X), column_names=named)
    facts = find_problems(table)
    return [*value_lines(facts), *problem_lines(facts)]


def find_problems(table: CountTable) -> dict[str, Any]:
    """What the lines are made from."""
    counts, names = table.counts, table.column_names
    sums, sample = counts.row_lengths(1), sampled(counts)
    odd = find_odd_columns(counts, sample, sums, names)
    return {
        **_dominance(counts, sample, sums, names, [*chain(*odd.values())]),
        **{kind: _named(names, places) for kind, places in odd.items()},
        "total_rows": _named(table.row_names, _total_rows(counts, sums)),
        "measures": [
            {"column": _named(names, [j])[0], "least": least, "most": most}
            for j, (least, most) in odd["measures"].items()
        ],
        "copied_rows": _copies(counts, sums),
        "thousands": counts.fractional and _are_thousands(counts.data),
        "transposed": _named_like_transposed(table),
        "rows": counts.n_rows,
        "columns": counts.n_columns,
        "whole": not counts.fractional,
        "most": float(counts.data.max(initial=0.0)),
        "row_sums": {
            "least": float(sums.min()),
            "most": float(sums.max()),
            "median": float(np.median(sums)),
        },
        "log_normalised": counts.fractional and looks_log_normalised(counts),
        "proportions_of": proportion_total(counts),
        "empty_rows": int((sums == 0).sum()),
    }


def _dominance(
    counts: Counts,
    sample: Counts,
    sums: NDArray[np.float64],
    names: NDArray[np.object_] | None,
    odd: list[int],
) -> dict[str, Any]:
    """What will dominate the clusters when columns that are not counts are excluded.

    ``sample`` are some of the rows, ``sums`` those of all rows. Dispersions are those
    of a table of one cluster, in the sample.
    """
    used = np.ones(counts.n_columns, dtype=bool)
    used[odd] = False
    if not used.any():
        used[:] = True
    if not used.all():
        sums, sample = counts.columns(used).row_lengths(1), sample.columns(used)
    n, total, totals = round(_DEEPEST * len(sums)), sums.sum(), _totals(sample)
    deepest = np.partition(sums, -n)[-n:].sum() / total if n and total else 0.0
    largest = np.argsort(-totals, kind="stable")[:_FEW]
    shares = totals[largest] / max(totals.sum(), np.finfo(float).tiny)
    medians = [
        float(np.median(values)) if len(values) else 0.0
        for values in dispersions_both_ways(sample)
    ]
    return {
        "deepest_rows": float(deepest),
        "largest_columns": {
            "shares": shares.tolist(),
            "columns": _named(names, np.flatnonzero(used)[largest]),
        },
        "dispersion": dict(zip(("of_columns", "of_rows"), medians, strict=True)),
    }


def dispersions_both_ways(
    counts: Counts,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Pearson's dispersion of each column and of each row that has counts."""
    sums = counts.row_lengths(1)
    totals = _totals(counts)
    rows = np.repeat(np.arange(counts.n_rows), np.diff(counts.indptr))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratios = counts.data * (sums.sum() / sums[rows]) / totals[counts.indices]
        squares = counts.data * ratios
    n_rows, n_columns = int((sums > 0).sum()), int((totals > 0).sum())
    return (
        _dispersion(counts.indices, squares, ratios, totals, n_rows),
        _dispersion(rows, squares, ratios, sums, n_columns),
    )


def _dispersion(
    places: NDArray[Any],
    squares: NDArray[np.float64],
    ratios: NDArray[np.float64],
    totals: NDArray[np.float64],
    n: int,
) -> NDArray[np.float64]:
    """Pearson's statistic over its degrees of freedom, as in ``_core.dispersion``."""
    filled, n_places = totals > 0, len(totals)
    if n < 2:
        return np.zeros(0)
    pearson = (np.bincount(places, squares, n_places) - totals)[filled] / (n - 1)
    return pearson / (np.bincount(places, ratios, n_places)[filled] / n)


def _totals(counts: Counts) -> NDArray[np.float64]:
    totals = np.bincount(counts.indices, counts.data, counts.n_columns)
    return totals.astype(np.float64)  # of no counts, numpy's are whole numbers


def _named(names: NDArray[np.object_] | None, places: Iterable[int]) -> list[str]:
    return [str(place + 1 if names is None else names[place]) for place in places]


def _total_rows(counts: Counts, sums: NDArray[np.float64]) -> list[int]:
    """Rows that are the sum of all others."""
    total = sums.sum()
    if min(counts.shape) < FEWEST or not total:
        return []
    found = []
    for i in np.flatnonzero(2 * sums == total).tolist():
        row = counts.between(i, i + 1).matrix().toarray()[0]
        others = np.bincount(counts.indices, counts.data, counts.n_columns)
        if (2 * row == others).all():
            found.append(i)
    return found


def _copies(counts: Counts, sums: NDArray[np.float64]) -> int:
    """Number of rows that are the same as one above them, and hardly by chance."""
    n_rows, n_columns = counts.shape
    if n_rows < 2 or (n_rows > _FEW_ROWS and n_columns < _FEWEST_COPIED_COLUMNS):
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


def _named_like_transposed(table: CountTable) -> bool:
    """Whether rows are named as genes or species are, or columns as cells are."""
    rows, columns = table.row_names, table.column_names
    if rows is None or columns is None or len(rows) < 2 or len(columns) < 2:
        return False
    if _match(rows, _FEATURES) or _have_genes(rows):
        return not (_match(columns, _FEATURES) or _have_genes(columns))
    more = len(columns) > len(rows)
    return more and _match(columns, _SAMPLES) and not _match(rows, _SAMPLES)


def _match(names: NDArray[np.object_], pattern: re.Pattern[str]) -> bool:
    """Whether nearly all of the first names are of a pattern."""
    first = names[:_NAMES_READ]
    return sum(bool(pattern.fullmatch(name)) for name in first) >= _MOSTLY * len(first)


def _have_genes(names: NDArray[np.object_]) -> bool:
    """Whether genes that every cell has are among the names."""
    return sum(bool(_GENES.fullmatch(name)) for name in names) >= _FEWEST_GENES


def value_lines(facts: dict[str, Any]) -> Iterator[str]:
    """Lines about values and rows, of which a fit says what concerns it."""
    if facts["log_normalised"]:
        yield "values look log-normalised. Use the raw counts (h5ad: layer=)."
    elif total := facts["proportions_of"]:
        yield f"rows sum to {total}: these are proportions. Use the original counts."
    elif not facts["whole"]:
        yield "some values are not integers. The model expects counts."
    if empty := facts["empty_rows"]:
        have = "row has" if empty == 1 else "rows have"
        yield f"{empty} {have} no counts and will be in no cluster."
    sums = facts["row_sums"]
    if facts["rows"] > 1 and sums["least"] == sums["most"] > 0 and facts["whole"]:
        yield f"all rows sum to {sums['most']:g}, so they look normalised or rarefied."
    if facts["whole"] and facts["most"] == 1:
        yield "all counts are 0 or 1 (presence and absence)."


def problem_lines(facts: dict[str, Any]) -> Iterator[str]:
    """Lines about what may not be counts, and what will dominate the clusters."""
    if facts["thousands"]:
        yield (
            "all fractions have three digits. If 1.234 means 1234, pass thousands='.'."
        )
    for name in facts["total_rows"]:
        yield f"row {name!r} is the sum of all others. Remove it from the file."
    for name in facts["total_columns"]:
        what = f"column {name!r} is the sum of all others"
        yield f"{what}. Exclude it with drop=[{name!r}]."
    for name in facts["id_columns"]:
        yield (
            f"column {name!r} looks like an ID, not a count. Use it as row names with "
            f"index={name!r}, or exclude it with drop=[{name!r}]."
        )
    if names := facts["code_columns"]:
        *first, last = map(repr, names)
        who = f"column {last} has"
        look, what, them = "it looks like a code", "a count", "it"
        if first:
            who = f"columns {', '.join(first)} and {last} have"
            look, what, them = "they look like codes", "counts", "them"
        yield (
            f"{who} few small values and no 0, so {look}, not {what}. Compare clusters "
            f"with {them} by labels={names!r}, or exclude {them} with drop={names!r}."
        )
    for each in facts["measures"]:
        name = each["column"]
        yield (
            f"column {name!r} ranges from {each['least']:g} to {each['most']:g} in all "
            f"rows, like ages or years. Exclude it with drop=[{name!r}]."
        )
    if copies := facts["copied_rows"]:
        are = "row is" if copies == 1 else "rows are"
        yield f"{copies} {are} identical to an earlier row. Check for duplicates."
    yield from _dominant(facts)


def _dominant(facts: dict[str, Any]) -> Iterator[str]:
    """What will make the clusters other than what they are thought to show."""
    n_rows, n_columns = facts["rows"], facts["columns"]
    if facts["transposed"]:
        yield (
            "the table looks transposed, by the names of its rows and columns. "
            "Pass transpose=True to cluster what are columns now."
        )
    if n_rows < FEWEST_ROWS:
        return
    if facts["deepest_rows"] >= _DEEP:
        share = f"{100 * facts['deepest_rows']:.0f} %"
        yield (
            f"5 % of the rows contain {share} of all counts and will "
            "dominate the clusters. Compare with robust=True."
        )
    largest = facts["largest_columns"]
    shares, names = largest["shares"], largest["columns"]
    n = 1 if shares[0] >= _LARGE else _FEW
    if n_columns >= FEWEST_COLUMNS and (n == 1 or sum(shares) >= _LARGE_TOGETHER):
        have = f"column {names[0]!r} contains" if n == 1 else f"{n} columns contain"
        yield (
            f"{have} {100 * sum(shares[:n]):.0f} % of all counts. Compare with a fit "
            f"without by drop={names[:n]!r}."
        )
    found = facts["dispersion"]
    if facts["whole"] and facts["most"] > 1 and 0 < found["of_columns"] < _TAME:
        yield (
            "values vary less than counts would (logarithms or averages?). Use the raw "
            "counts if you have them."
        )
    elif found["of_columns"] > _WILD:
        rounded = float(f"{found['of_columns']:.2g}")
        times = f"{rounded:,.0f}".replace(",", " ")
        yield (
            f"values vary about {times} times more than counts (money?), so a few "
            "large ones will dominate. Compare with --transform log1p (in Python "
            "SublinearCounts)."
        )
    elif (
        n_columns >= FEWEST_COLUMNS
        and found["of_columns"] > _TURNED * max(found["of_rows"], 1.0)
        and not facts["transposed"]
    ):
        yield (
            "the table looks transposed, as columns vary much more than rows do. If "
            "the columns are what you want to cluster, pass transpose=True."
        )
