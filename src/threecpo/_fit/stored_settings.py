"""Settings of a fit as files hold them: names of prices and rules, and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import prices, rules
from .._core.codes import GROUPS, RELEVANT
from .._core.run import Settings
from .stored import DamagedFieldError, finite

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from .._core.prices import Price


def settings_to_facts(settings: Settings) -> dict[str, Any]:
    """Settings by the names of prices and rules."""
    return {
        "n_clusters": settings.n_clusters,
        "max_iter": settings.max_iter,
        "price": prices.named(settings.price),
        "groups": list(settings.groups),
        "rule": settings.rule.name,
        "outliers": settings.outliers,
        "threshold": settings.threshold,
        "prior": settings.prior,
        "n_known": settings.n_known,
        "fixed_groups": [list(pair) for pair in settings.fixed_groups],
    }


def settings_from_facts(
    facts: Mapping[str, Any], column_groups: NDArray[np.int8]
) -> Settings:
    """Settings of a fit with these groups again; what is none is refused."""
    known: dict[str, Price] = {
        prices.named(price): price for price in prices.NAMED.values()
    }
    known[prices.CUSTOM] = lost_price
    choices: dict[str, Any] = {
        "price": known,
        "rule": rules.NAMED,
        "outliers": {None: None, "iterative": "iterative", "final": "final"},
    }
    chosen = {}
    for name, named in choices.items():
        if facts[name] not in named:
            message = f"{name} is {facts[name]!r}"
            raise DamagedFieldError(message)
        chosen[name] = named[facts[name]]
    groups = tuple(facts["groups"])
    if RELEVANT not in groups or any(group not in GROUPS for group in groups):
        message = f"groups is {groups}"
        raise DamagedFieldError(message)
    numbers = {
        name: finite(name, facts[name], least)
        for name, least in (
            ("n_clusters", 1),
            ("n_known", 0),
            ("max_iter", 1),
            ("threshold", 0),
            ("prior", 0),
        )
    }
    return Settings(
        n_clusters=int(numbers["n_clusters"]),
        n_known=int(numbers["n_known"]),
        max_iter=int(numbers["max_iter"]),
        groups=groups,
        threshold=numbers["threshold"],
        prior=numbers["prior"],
        fixed_groups=_fixed_groups(facts["fixed_groups"], column_groups),
        **chosen,
    )


def _fixed_groups(
    pairs: Any, column_groups: NDArray[np.int8]
) -> tuple[tuple[int, int], ...]:
    """Columns whose groups were given, each in its group."""
    found = []
    for column, group in pairs:
        there = type(column) is int and 0 <= column < len(column_groups)
        if not there or column_groups[column] != group:
            message = f"fixed_groups has column {column!r} in {group!r}"
            raise DamagedFieldError(message)
        found.append((column, int(group)))
    return tuple(found)


def lost_price(*_: Any) -> NDArray[np.float64]:
    message = (
        "The price of a relevant column was a function of the user's, which model "
        "files do not hold; fit again."
    )
    raise ValueError(message)
