"""Columns of a table in the order of a model's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from .._column_places import find_columns
from .._validation import check_counts
from .fitted import names_array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..table import CountTable


class MatchedColumns(NamedTuple):
    """A table of the wanted columns, names that it lacked, and names left out."""

    table: CountTable
    missing: list[str]
    extra: list[str]


def match_columns(names: Iterable[str], table: CountTable) -> MatchedColumns:
    """Put the columns of a table in the order of these names.

    Parameters
    ----------
    names : sequence of str
        Names of the wanted columns, such as those of a model.
    table : CountTable
        Counts with names of columns.

    Returns
    -------
    MatchedColumns
        ``table`` with the wanted columns, of zeros where the given table lacks them;
        the ``missing`` names; and the ``extra`` ones, which were left out.

    Examples
    --------
    >>> from threecpo import CountTable
    >>> from threecpo.results import match_columns
    >>> table = CountTable([[3, 5]], column_names=["bees", "ants"])
    >>> matched = match_columns(["ants", "wasps"], table)
    >>> matched.table.X.toarray()
    array([[5., 0.]])
    >>> matched.missing, matched.extra
    (['wasps'], ['bees'])
    """
    wanted, held = list(names), _names(table)
    if held == wanted:
        return MatchedColumns(table, [], [])
    found = find_columns(wanted, held)
    called = names_array("names", wanted, len(wanted))
    counts = check_counts(found.taken(table.X))
    matched = replace(table, counts=counts, column_names=called)
    return MatchedColumns(matched, found.missing, found.extra)


def _names(table: CountTable) -> list[Any]:
    if table.column_names is None:
        message = "The table has no column names to match columns by."
        raise ValueError(message)
    return table.column_names.tolist()
