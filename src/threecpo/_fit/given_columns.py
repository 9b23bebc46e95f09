"""Columns that a user names: by their names, or by their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

from numpy.typing import NDArray

from .._core.codes import GROUPS, RELEVANT

# Names of columns.
Names = Sequence[Any] | NDArray[Any]
# Groups of columns by number or name, as they are given.
Fixed = Mapping[Any, int]
# Columns of clusters, by name or number, as they are given; and by number.
GivenSeeds = Mapping[str, Sequence[Any]]
SeedColumns = tuple[tuple[str, tuple[int, ...]], ...]
_MOST_NAMED = 5


class ColumnFinder:
    """Finds columns of X for a parameter; what is no column is an error.

    A whole number is that of a column. A text is a name, or where no column has that
    name and it is a number, as in files, a number.
    """

    def __init__(self, parameter: str, names: Names | None, n_columns: int) -> None:
        self._parameter = parameter
        self._n_columns = n_columns
        self._named = names is not None
        listed = [] if names is None else [str(name) for name in names]
        self._numbers = {name: j for j, name in enumerate(listed)}
        self._times = Counter(listed)

    def number(self, given: Any) -> int:
        """Return the number of a column."""
        if isinstance(given, str) and given in self._numbers:
            if self._times[given] > 1:
                self._refuse(f"{given!r} is the name of {self._times[given]} columns")
            return self._numbers[given]
        text_number = isinstance(given, str) and given.isdecimal()
        whole = isinstance(given, Integral) and not isinstance(given, bool)
        if text_number or whole:
            number = int(given)
            if 0 <= number < self._n_columns:
                return number
            last = self._n_columns - 1
            self._refuse(f"{given!r} is no column; they are numbered from 0 to {last}")
        if isinstance(given, str) and not self._named:
            self._refuse(f"{given!r} is a name, but the columns of X have none")
        if isinstance(given, str):
            self._refuse(f"{given!r} is no column of X; {self._known()}")
        self._refuse(f"{given!r} is neither the name nor the number of a column")
        raise AssertionError

    def _known(self) -> str:
        first = ", ".join(map(repr, list(self._numbers)[:_MOST_NAMED]))
        more = ", …" if len(self._numbers) > _MOST_NAMED else ""
        return f"its columns are {first}{more}"

    def _refuse(self, what: str) -> None:
        message = f"{self._parameter}: {what}."
        raise ValueError(message)


def check_fixed(given: Any, allowed: tuple[int, ...]) -> Fixed | None:
    """Refuse groups of columns that are none, or that ``groups`` does not allow."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        message = (
            "fixed_groups must be a dict from columns (names or numbers) to groups "
            f"(1, 0 or -1), not {type(given).__name__}."
        )
        raise ValueError(message)
    for column, group in given.items():
        if isinstance(group, bool) or group not in GROUPS:
            message = f"fixed_groups: {column!r} is in {group!r}, not in 1, 0 or -1."
            raise ValueError(message)
        if group not in allowed:
            message = (
                f"fixed_groups: {column!r} is in {group}, which groups={allowed!r} "
                "does not allow."
            )
            raise ValueError(message)
    return given


def fixed_pairs(
    given: Fixed | None, names: Names | None, n_columns: int
) -> tuple[tuple[int, int], ...]:
    """Return columns and their groups, by number."""
    if not given:
        return ()
    find = ColumnFinder("fixed_groups", names, n_columns)
    found: dict[int, int] = {}
    for column, group in given.items():
        number = find.number(column)
        if found.setdefault(number, int(group)) != int(group):
            message = (
                f"fixed_groups: column {number} is in {found[number]} and, as "
                f"{column!r}, in {int(group)}."
            )
            raise ValueError(message)
    if len(found) == n_columns and RELEVANT not in found.values():
        message = (
            "fixed_groups: no column is left that may be relevant (1); without one no "
            "clusters can be told apart."
        )
        raise ValueError(message)
    return tuple(sorted(found.items()))


def check_seeds(given: Any) -> GivenSeeds | None:
    """Refuse what are no columns of clusters."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        message = (
            "seed_columns must be a dict from names of clusters to lists of columns, "
            f"not {type(given).__name__}."
        )
        raise ValueError(message)
    for name, columns in given.items():
        listed = isinstance(columns, Iterable) and not isinstance(columns, str)
        if not listed or not list(columns):
            message = (
                f"seed_columns: {name!r} needs a list of columns, not {columns!r}."
            )
            raise ValueError(message)
    return {str(name): list(columns) for name, columns in given.items()}


def seed_numbers(
    given: GivenSeeds | None, names: Names | None, n_columns: int
) -> SeedColumns:
    """Return columns of clusters by number; no column may be in two clusters."""
    if not given:
        return ()
    find = ColumnFinder("seed_columns", names, n_columns)
    owners: dict[int, str] = {}
    for cluster, columns in given.items():
        for column in columns:
            owner = owners.setdefault(find.number(column), cluster)
            if owner != cluster:
                message = (
                    f"seed_columns: {column!r} is in {owner!r} and in {cluster!r}."
                )
                raise ValueError(message)
    return tuple(
        (cluster, tuple(j for j, owner in owners.items() if owner == cluster))
        for cluster in given
    )
