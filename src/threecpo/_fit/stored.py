"""Arrays of fits as files hold them, each checked before it is used.

Saved models and checkpoints share the fields. Letters of a shape stand for numbers that
the file gives once: n rows, d described rows (with those of weight 0), m columns, k
clusters, o clusters and outliers, b batches, c those in every batch, r runs, i
iterations; f, g and h as k, o and c before clusters were joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core.codes import FREE, GROUPS, NOISE, OUTLIER
from .._core.sums import Sums

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]
    Sizes = Mapping[str, int]

# Raised when the same seed and data give other bits; files carry it.
NUMERICS_VERSION = 1


class DamagedFieldError(ValueError):
    """An array or a number of a file is not what it should be."""


class Field(NamedTuple):
    """Type and shape of an array, and what its values must be."""

    dtype: str
    shape: str
    rule: str
    holds: Callable[[NDArray[Any], Sizes], bool]


def _any(_: NDArray[Any], __: Sizes) -> bool:
    return True


def _known(values: NDArray[Any], _: Sizes) -> bool:
    return not np.isnan(values).any()


def _counted(values: NDArray[Any], _: Sizes) -> bool:
    return bool((np.isfinite(values) & (values >= 0)).all())


def _all_rows(values: NDArray[Any], sizes: Sizes) -> bool:
    return bool((values >= 0).all()) and int(values.sum()) == sizes["n"]


def _weights(values: NDArray[Any], _: Sizes) -> bool:
    return bool(((values > 0) & (values <= 1)).all())


def _groups(values: NDArray[Any], _: Sizes) -> bool:
    return bool(np.isin(values, GROUPS).all())


def _ranks(values: NDArray[Any], _: Sizes) -> bool:
    return np.array_equal(np.sort(values), np.arange(len(values)))


def _labels(values: NDArray[Any], sizes: Sizes) -> bool:
    return bool(((values >= OUTLIER) & (values < sizes["k"])).all())


def _known_clusters(values: NDArray[Any], sizes: Sizes) -> bool:
    # Below FREE are those of rows that only started there.
    return bool(((values >= FREE - sizes["k"]) & (values < sizes["k"])).all())


def _nearest(values: NDArray[Any], sizes: Sizes) -> bool:
    return bool(((values >= 0) & (values < sizes["k"])).all())


def _row_batches(values: NDArray[Any], sizes: Sizes) -> bool:
    # The number after the last is that of an unknown batch.
    return bool(((values >= 0) & (values <= sizes["b"])).all())


def _shares(values: NDArray[Any], _: Sizes) -> bool:
    sums = values.sum(axis=1)
    return bool((values >= 0).all() and np.allclose(sums, 1.0, rtol=0, atol=1e-6))


def _into(values: NDArray[Any], sizes: Sizes) -> bool:
    return np.array_equal(np.unique(values), np.arange(sizes["k"]))


def _sums_of_logarithms(values: NDArray[Any], _: Sizes) -> bool:
    return bool((values < np.inf).all())


_SUMS = Field("f8", "om", "finite and 0 or more", _counted)
_MEMBERS = Field("i8", "o", "numbers of rows that add up to all of them", _all_rows)
_SCORES = Field("f8", "d", "numbers", _known)

OF_SUMS = {
    "table": _SUMS,
    "members": _MEMBERS,
    "profile_table": _SUMS,
    "profile_members": _MEMBERS,
    "log_sizes": Field("f8", "m2", "sums of logarithms", _sums_of_logarithms),
    "log_size_total": Field("f8", "2", "sums of logarithms", _sums_of_logarithms),
    "groups": Field("i1", "m", "1, 0 or -1", _groups),
}
_MASSES = Field("f8", "o", "finite and 0 or more", _counted)
_LINES = {
    "cells": Field("f8", "cm", "finite and 0 or more", _counted),
    "cell_members": _MEMBERS._replace(shape="c"),
    "cell_masses": _MASSES._replace(shape="c"),
}
# Of sums of weighted rows, and of those in several batches.
OF_WEIGHTS = {
    "masses": _MASSES,
    "profile_masses": _MASSES,
    "total_mass": _MASSES._replace(shape=""),
}
OF_BATCHES = {
    **_LINES,
    **{f"profile_{name}": field for name, field in _LINES.items()},
    "batch_totals": Field("f8", "bm", "finite and 0 or more", _counted),
    "batch_masses": _MASSES._replace(shape="b"),
}
# Of columns that are held back.
_HELD = Field("f8", "m", "above 0 and at most 1", _weights)
OF_HELD_COLUMNS = {"column_weights": _HELD}
OF_DATA = {"totals": Field("f8", "m", "finite and 0 or more", _counted)}
OF_RECORD = {
    **OF_SUMS,
    **OF_DATA,
    "ranks": Field("i4", "k", "each number from 0 once", _ranks),
    "column_scores": Field("f8", "m3", "", _any),
    "restart_losses": Field("f8", "r", "", _any),
}
# Clusters before they were joined; f of them, g with the outliers.
OF_FINE = {
    "fine_table": Field("f8", "gm", "finite and 0 or more", _counted),
    "fine_members": Field("i8", "g", _MEMBERS.rule, _all_rows),
    "fine_groups": OF_SUMS["groups"],
    "fine_ranks": Field("i4", "f", "each number from 0 once", _ranks),
    "fine_into": Field("i4", "f", "every cluster at least once, no other", _into),
}
OF_FINE_WEIGHTS = {"fine_masses": _MASSES._replace(shape="g")}
OF_FINE_BATCHES = {
    f"fine_{name}": field._replace(shape=field.shape.replace("c", "h"))
    for name, field in _LINES.items()
}
OF_CONFIDENCE = {
    "probabilities": Field("f8", "dk", "shares of 1 for each row", _shares)
}
OF_ROWS = {
    "labels": Field("i4", "d", "numbers of clusters, or -1", _labels),
    "nearest_labels": Field("i4", "d", "numbers of clusters", _nearest),
    "outlier_scores": _SCORES,
    "margins": _SCORES,
    "row_scales": _SCORES,
}
# What belongs to rows beside their counts, and weights that reduce long rows.
OF_INFO = ("weights", "batches", "known")
OF_SOME_ROWS = {
    "row_weights": _HELD._replace(shape="d"),
    "weights": _MASSES._replace(shape="d"),
    "known": Field("i4", "d", "numbers of clusters, or below 0", _known_clusters),
}
_ROW_BATCHES = Field("i4", "d", "numbers of batches", _row_batches)


def of_rows(sizes: Sizes) -> dict[str, Field]:
    """Fields of the results of rows, with batches where there are several."""
    return OF_ROWS | ({"batches": _ROW_BATCHES} if "b" in sizes else {})


def of_history(names: Sequence[str]) -> dict[str, Field]:
    """Fields of the lines of a history."""
    return {
        f"history_{name}": Field("f8" if name == "loss" else "i8", "i", "", _any)
        for name in names
    }


def finite(name: str, value: Any, least: float = -np.inf) -> float:
    """Return a number of a file, which must be one."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not np.isfinite(value) or value < least:
        message = f"{name} is {value!r}"
        raise DamagedFieldError(message)
    return float(value)


def longest_row(value: Any) -> float | None:
    """Return the size of the longest row of a file, if rows were held back."""
    least = np.finfo(np.float64).tiny
    return None if value is None else finite("longest_row", value, least)


def shares(name: str, values: Any) -> tuple[float, ...]:
    """Return parts of 1 of a file."""
    found = tuple(finite(name, value, 0.0) for value in values)
    if any(value > 1 for value in found):
        message = f"{name} is {values!r}"
        raise DamagedFieldError(message)
    return found


def checked(
    arrays: Mapping[str, Any], fields: Mapping[str, Field], sizes: Sizes
) -> Arrays:
    """Return the arrays of these fields as compiled loops take them: row after row.

    Those that are not what they should be are refused, as the loops trust them.
    """
    found: Arrays = {}
    for name, field in fields.items():
        if name not in arrays:
            message = f"{name} is missing"
            raise DamagedFieldError(message)
        array = arrays[name]
        shape = tuple(
            int(letter) if letter.isdigit() else sizes[letter] for letter in field.shape
        )
        if array.shape != shape or array.dtype != np.dtype(field.dtype):
            expected = f"{np.dtype(field.dtype)} {shape}"
            message = f"{name} is {array.dtype} {array.shape}, not {expected}"
            raise DamagedFieldError(message)
        if not field.holds(array, sizes):
            message = f"{name} must hold {field.rule}"
            raise DamagedFieldError(message)
        found[name] = np.asarray(array, order="C")
    return found


def check_totals(arrays: Mapping[str, Any], totals: NDArray[np.float64]) -> None:
    """Refuse sums of clusters that do not add up to those of all rows."""
    for name in ("table", "profile_table", "fine_table"):
        if name in arrays and not np.allclose(
            arrays[name].sum(axis=0), totals, rtol=1e-6, atol=0
        ):
            message = f"{name} does not add up to the column totals"
            raise DamagedFieldError(message)
    for line, name in (("cells", "table"), ("cell_members", "members")):
        for before in ("", "profile_", "fine_"):
            if f"{before}{line}" not in arrays:
                continue
            wanted, lines = arrays[before + name], arrays[before + line]
            by_batch = lines.reshape(len(wanted), -1, *wanted.shape[1:])
            if not np.allclose(by_batch.sum(axis=1), wanted, rtol=1e-6, atol=0):
                message = f"{before}{line} does not add up to {before}{name}"
                raise DamagedFieldError(message)
    batch_totals = arrays.get("batch_totals")
    if batch_totals is not None and not np.allclose(
        batch_totals.sum(axis=0), totals, rtol=1e-6, atol=0
    ):
        message = "batch_totals does not add up to the column totals"
        raise DamagedFieldError(message)


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
            message = f"{name} must hold finite numbers"
            raise DamagedFieldError(message)


def sums_to_arrays(sums: Sums, profile_sums: Sums, groups: NDArray[np.int8]) -> Arrays:
    """Sums of a run and of the profile of its labels, by the names of the fields."""
    more: Arrays = {}
    if sums.column_weights is not None:
        more["column_weights"] = sums.column_weights
    for before, each in (("", sums), ("profile_", profile_sums)):
        if each.sum_of_weights is not None:
            more[f"{before}masses"] = each.weight_sums
            more["total_mass"] = np.array(each.sum_of_weights, np.float64)
        if each.n_batches > 1:
            more[f"{before}cells"] = each.cells
            more[f"{before}cell_members"] = each.cell_members
            more[f"{before}cell_masses"] = each.cell_weights
            more["batch_totals"] = each.batch_totals
            more["batch_masses"] = each.batch_weights
    return more | {
        "table": sums.table,
        "members": sums.members,
        "log_sizes": sums.count_log_sizes,
        "log_size_total": sums.log_size_total,
        "profile_table": profile_sums.table,
        "profile_members": profile_sums.members,
        "groups": groups,
    }


def sums_from_arrays(
    arrays: Mapping[str, Any], totals: NDArray[np.float64], n_rows: int
) -> tuple[Sums, Sums]:
    """Sums of a run and of its profile, from arrays that were checked."""
    weight = float(arrays["total_mass"]) if "total_mass" in arrays else None
    sums, profile_sums = (
        Sums(
            **lines_from_arrays(arrays, before),
            count_log_sizes=arrays["log_sizes"],
            log_size_total=arrays["log_size_total"],
            batch_totals=arrays.get("batch_totals", totals.reshape(1, -1)),
            batch_weights=arrays.get(
                "batch_masses", np.array([n_rows if weight is None else weight], float)
            ),
            n_rows=n_rows,
            sum_of_weights=int(weight)
            if weight is not None and weight.is_integer()
            else weight,
            column_weights=arrays.get("column_weights"),
        )
        for before in ("", "profile_")
    )
    return sums, profile_sums


def lines_from_arrays(arrays: Mapping[str, Any], before: str) -> dict[str, Any]:
    """Sums of the clusters, in each batch where there are several."""
    if f"{before}cells" in arrays:
        cells, members, weights = "cells", "cell_members", "cell_masses"
    else:
        cells, members, weights = "table", "members", "masses"
    found = arrays[before + members]
    return {
        "cells": arrays[before + cells],
        "cell_members": found,
        "cell_weights": arrays.get(before + weights, found.astype(np.float64)),
    }


def fields_of_rows(
    arrays: Mapping[str, Any], sizes: dict[str, int]
) -> dict[str, Field]:
    """Fields of weights and batches, if there are any; adds sizes of batches."""
    fields = dict(OF_WEIGHTS) if "total_mass" in arrays else {}
    fields |= OF_HELD_COLUMNS if "column_weights" in arrays else {}
    if "batch_masses" in arrays:
        sizes["b"] = len(arrays["batch_masses"])
        sizes["c"] = sizes["o"] * sizes["b"]
        fields |= OF_BATCHES
    return fields
