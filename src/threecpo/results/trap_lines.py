"""Traps of a table in words: one line each, with the option that mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import check_counts, looks_log_normalised
from ..table import CountTable
from ._traps import find_traps, sampled
from .steering import FEWEST_COLUMNS, FEWEST_ROWS, find_steering

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from .._core.counts import Counts

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
