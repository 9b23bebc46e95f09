"""Arrays and facts of fits as files hold them, each checked before it is used.

Saved models and checkpoints share the table of fields. Letters of a shape stand for
numbers that the file gives once: n rows, d described rows (with those of weight 0), m
columns, k clusters, o clusters and outliers, b batches, c clusters and outliers in
every batch, a clusters asked for, r runs, i iterations; f, g and h: k, o and c before
clusters were joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from .._core.codes import FREE, GROUPS, NOISE, OUTLIER
from .._core.sums import Sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from .._core.codes import Floats

    Arrays = dict[str, NDArray[Any]]
    Sizes = dict[str, int]

# Raised when the same seed and data give other bits; files carry it.
NUMERICS_VERSION = 1


class DamagedFieldError(ValueError):
    """An array or a number of a file is not what it should be."""


def refuse(what: str) -> NoReturn:
    raise DamagedFieldError(what)


class Rule(NamedTuple):
    """What the values of a field must be, in words and as a check."""

    text: str
    holds: Callable[[NDArray[Any], Sizes], Any]


class Field(NamedTuple):
    """Type and shape of an array, and the rule of its values."""

    dtype: str
    shape: str
    rule: Rule


def _between(lowest: int, letter: str, beyond: int = 0) -> Callable[..., Any]:
    """Check for numbers from ``lowest`` to below a size."""
    return lambda v, sizes: ((v >= lowest) & (v < sizes[letter] + beyond)).all()


_ANY = Rule("", lambda *_: True)
_NUMBERS = Rule("numbers", lambda v, _: not np.isnan(v).any())
_COUNTED = Rule("finite and 0 or more", lambda v, _: (np.isfinite(v) & (v >= 0)).all())
_WEIGHTS = Rule("above 0 and at most 1", lambda v, _: ((v > 0) & (v <= 1)).all())
_ROWS = Rule(
    "numbers of rows that add up to all of them",
    lambda v, sizes: (v >= 0).all() and int(v.sum()) == sizes["n"],
)
_RANKS = Rule(
    "each number from 0 once", lambda v, _: (np.sort(v) == np.arange(len(v))).all()
)
_LOGARITHMS = Rule("sums of logarithms", lambda v, _: (v < np.inf).all())
_GROUPS = Rule("1, 0 or -1", lambda v, _: np.isin(v, GROUPS).all())
_INTO = Rule(
    "every cluster at least once, no other",
    lambda v, sizes: np.array_equal(np.unique(v), np.arange(sizes["k"])),
)
_SHARES = Rule(
    "shares of 1 for each row",
    lambda v, _: (v >= 0).all() and np.allclose(v.sum(axis=1), 1.0, rtol=0, atol=1e-6),
)
_LABELS = Rule("numbers of clusters, or -1", _between(OUTLIER, "k"))
_NEAREST = Rule("numbers of clusters", _between(0, "k"))
# Below FREE are those of rows that only started there.
_KNOWN = Rule(
    "numbers of clusters, or below 0",
    lambda v, sizes: ((v >= FREE - sizes["k"]) & (v < sizes["k"])).all(),
)
# The number after the last is that of an unknown batch.
_BATCHES = Rule("numbers of batches", _between(0, "b", 1))

_RISING = Rule(
    "numbers of clusters at the start, which rise",
    lambda v, sizes: v[0] >= 0 and (np.diff(v) > 0).all() and v[-1] < sizes["a"],
)

# Sums of clusters: of the fit, of the profile of its labels, and, by the letters that
# follow, before clusters were joined.
_LINES = {"table": Field("f8", "om", _COUNTED), "members": Field("i8", "o", _ROWS)}
_LINES_OF_WEIGHTS = {"masses": Field("f8", "o", _COUNTED)}
_LINES_OF_BATCHES = {
    "cells": Field("f8", "cm", _COUNTED),
    "cell_members": Field("i8", "c", _ROWS),
    "cell_masses": Field("f8", "c", _COUNTED),
}
_FINE = str.maketrans("oc", "gh")


def _twice(lines: dict[str, Field]) -> dict[str, Field]:
    return lines | {f"profile_{name}": field for name, field in lines.items()}


def _fine(lines: dict[str, Field]) -> dict[str, Field]:
    return {
        f"fine_{name}": field._replace(shape=field.shape.translate(_FINE))
        for name, field in lines.items()
    }


# Parts of files: a file has all fields of a part or none.
PARTS: dict[str, dict[str, Field]] = {
    "sums": {
        **_twice(_LINES),
        "log_sizes": Field("f8", "m2", _LOGARITHMS),
        "log_size_total": Field("f8", "2", _LOGARITHMS),
        "groups": Field("i1", "m", _GROUPS),
    },
    "weights": {**_twice(_LINES_OF_WEIGHTS), "total_mass": Field("f8", "", _COUNTED)},
    "batches": {
        **_twice(_LINES_OF_BATCHES),
        "batch_totals": Field("f8", "bm", _COUNTED),
        "batch_masses": Field("f8", "b", _COUNTED),
    },
    "column weights": {"column_weights": Field("f8", "m", _WEIGHTS)},
    "data": {"totals": Field("f8", "m", _COUNTED)},
    "run": {"numbers": Field("i8", "k", _RISING)},
    "record": {
        "ranks": Field("i4", "k", _RANKS),
        "column_scores": Field("f8", "m3", _ANY),
        "restart_losses": Field("f8", "r", _ANY),
    },
    "joined": {
        **_fine(_LINES),
        "fine_groups": Field("i1", "m", _GROUPS),
        "fine_ranks": Field("i4", "f", _RANKS),
        "fine_into": Field("i4", "f", _INTO),
    },
    "joined weights": _fine(_LINES_OF_WEIGHTS),
    "joined batches": _fine(_LINES_OF_BATCHES),
    "rows": {
        "labels": Field("i4", "d", _LABELS),
        "nearest_labels": Field("i4", "d", _NEAREST),
        **dict.fromkeys(
            ("outlier_scores", "margins", "row_scales"), Field("f8", "d", _NUMBERS)
        ),
    },
    "row batches": {"batches": Field("i4", "d", _BATCHES)},
    "row weights": {"row_weights": Field("f8", "d", _WEIGHTS)},
    "given weights": {"weights": Field("f8", "d", _COUNTED)},
    "known": {"known": Field("i4", "d", _KNOWN)},
    "probabilities": {"probabilities": Field("f8", "dk", _SHARES)},
}
# Parts of rows, which a file has for itself if it has these.
OF_ROWS = ("row weights", "given weights", "known", "probabilities")


def parts_in(arrays: Mapping[str, Any], *required: str) -> list[str]:
    """Return the parts that a file must have: these, and all that it has begun."""

    def has(part: str) -> bool:
        return part in required or any(name in arrays for name in PARTS[part])

    found = [*required]
    found += [p for p in ("weights", "batches", "column weights") if has(p)]
    if "record" in required and has("joined"):
        found += ["joined"]
        found += [f"joined {p}" for p in ("weights", "batches") if p in found]
    if "record" in required and has("rows"):
        found += ["rows", *(p for p in OF_ROWS if has(p))]
        found += ["row batches"] if "batches" in found else []
    return found


def checked(arrays: Mapping[str, Any], parts: Iterable[str], sizes: Sizes) -> Arrays:
    """Return the arrays of these parts, as loops trust them; add sizes of parts."""
    sizes["o"] = sizes["k"] + 1
    sizes["b"] = len(arrays["batch_masses"]) if "batches" in parts else 0
    sizes["f"] = len(arrays["fine_ranks"]) if "joined" in parts else 0
    sizes["g"] = sizes["f"] + 1
    sizes["c"], sizes["h"] = sizes["o"] * sizes["b"], sizes["g"] * sizes["b"]
    fields = {name: field for part in parts for name, field in PARTS[part].items()}
    return checked_fields(arrays, fields, sizes)


def checked_fields(
    arrays: Mapping[str, Any], fields: Mapping[str, Field], sizes: Sizes
) -> Arrays:
    found: Arrays = {}
    for name, field in fields.items():
        if name not in arrays:
            refuse(f"{name} is missing")
        array = arrays[name]
        shape = tuple(
            int(letter) if letter.isdigit() else sizes[letter] for letter in field.shape
        )
        if array.shape != shape or array.dtype != np.dtype(field.dtype):
            expected = f"{np.dtype(field.dtype)} {shape}"
            refuse(f"{name} is {array.dtype} {array.shape}, not {expected}")
        if not field.rule.holds(array, sizes):
            refuse(f"{name} must hold {field.rule.text}")
        found[name] = np.asarray(array, order="C")
    return found


def checked_history(
    arrays: Mapping[str, Any], names: Iterable[str], sizes: Sizes
) -> Arrays:
    fields = {
        f"history_{name}": Field("f8" if name == "loss" else "i8", "i", _ANY)
        for name in names
    }
    found = checked_fields(arrays, fields, sizes)
    return {name.removeprefix("history_"): line for name, line in found.items()}


def number(
    facts: Mapping[str, Any], name: str, least: float = -np.inf, most: float = np.inf
) -> float:
    """Return a number of a file, which must be one."""
    value = facts[name]
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not real or not np.isfinite(value) or not least <= value <= most:
        refuse(f"{name} is {value!r}")
    return float(value)


def optional(facts: Mapping[str, Any], name: str, least: float) -> float | None:
    """Return a number of a file, or None where it is not known."""
    return None if facts.get(name) is None else number(facts, name, least)


def choice(facts: Mapping[str, Any], name: str, known: Any) -> Any:
    """Return a fact of a file, one of those that are known."""
    value = facts[name]
    if value not in known or isinstance(value, bool) != (known == (True, False)):
        refuse(f"{name} is {value!r}")
    return value


def check_totals(arrays: Mapping[str, Any], totals: Floats) -> None:
    """Refuse sums of clusters and batches that do not add up to those above them."""

    def check(name: str, of: str, parts: Any, whole: Any) -> None:
        if not np.allclose(parts, whole, rtol=1e-6, atol=0):
            refuse(f"{name} does not add up to {of}")

    for name in ("table", "profile_table", "fine_table", "batch_totals"):
        if name in arrays:
            check(name, "the column totals", arrays[name].sum(axis=0), totals)
    for line, name in (("cells", "table"), ("cell_members", "members")):
        for before in ("", "profile_", "fine_"):
            if before + line in arrays:
                wanted = arrays[before + name]
                shape = len(wanted), -1, *wanted.shape[1:]
                by_batch = arrays[before + line].reshape(shape).sum(axis=1)
                check(before + line, before + name, by_batch, wanted)


def check_log_sizes(arrays: Mapping[str, Any], prior: float) -> None:
    """Refuse logarithms of row sizes that are infinite where no size can be 0.

    A row has size 0 if no column is in use, or if it has no counts there and no prior.
    """
    used = arrays["groups"] != NOISE
    if not used.any():
        return
    for name in ("log_sizes", "log_size_total"):
        values = arrays[name]
        if prior == 0:
            values = values[used] if name == "log_sizes" else values[:0]
        if np.isinf(values).any():
            refuse(f"{name} must hold finite numbers")


def sums_to_arrays(sums: Sums, profile_sums: Sums, fine: Sums | None = None) -> Arrays:
    """Sums of a run, of the profile of its labels, and before clusters were joined."""
    arrays: Arrays = {"log_sizes": sums.count_log_sizes}
    arrays["log_size_total"] = sums.log_size_total
    if sums.column_weights is not None:
        arrays["column_weights"] = sums.column_weights
    if profile_sums.sum_of_weights is not None:
        arrays["total_mass"] = np.array(profile_sums.sum_of_weights, np.float64)
    if profile_sums.n_batches > 1:
        arrays["batch_totals"] = profile_sums.batch_totals
        arrays["batch_masses"] = profile_sums.batch_weights
    for before, each in (("", sums), ("profile_", profile_sums), ("fine_", fine)):
        if each is None:
            continue
        arrays |= {f"{before}table": each.table, f"{before}members": each.members}
        if each.sum_of_weights is not None:
            arrays[f"{before}masses"] = each.weight_sums
        if each.n_batches > 1:
            arrays[f"{before}cells"] = each.cells
            arrays[f"{before}cell_members"] = each.cell_members
            arrays[f"{before}cell_masses"] = each.cell_weights
    return arrays


def sums_from_arrays(
    arrays: Mapping[str, Any], before: str, totals: Floats, n_rows: int
) -> Sums:
    """Sums of one kind, from arrays that were checked."""
    weight: float | None = None
    if "total_mass" in arrays:
        weight = float(arrays["total_mass"])
        weight = int(weight) if weight.is_integer() else weight
    cells, members, weights = "table", "members", "masses"
    if "batch_totals" in arrays:
        cells, members, weights = "cells", "cell_members", "cell_masses"
    found = arrays[before + members]
    of_all = np.array([n_rows if weight is None else weight], np.float64)
    return Sums(
        cells=arrays[before + cells],
        cell_members=found,
        cell_weights=arrays.get(before + weights, found.astype(np.float64)),
        count_log_sizes=arrays["log_sizes"],
        log_size_total=arrays["log_size_total"],
        batch_totals=arrays.get("batch_totals", totals.reshape(1, -1)),
        batch_weights=arrays.get("batch_masses", of_all),
        n_rows=n_rows,
        sum_of_weights=weight,
        column_weights=arrays.get("column_weights"),
    )
