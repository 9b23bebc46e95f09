"""Checks of row weights, batches and known labels.

A value that cannot be used is refused with its row and the parameter's name.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ._core.codes import starting_code
from ._core.rows import NOTHING, RowInfo
from ._errors import Given, ParameterError
from ._labels import is_missing

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Weights and numbers beyond this are no longer exact.
LARGEST = float(1 << 53)
_WHOLE_AS_FRACTION = re.compile(r"(-?(?:0|[1-9]\d*))\.0+")


def row_info(
    n_rows: int,
    *,
    sample_weight: Any = None,
    batch: Any = None,
    known_labels: Any = None,
    first_names: tuple[str, ...] = (),
    beside: RowInfo = NOTHING,
) -> RowInfo:
    """Return what is given of so many rows, checked, in place of what they carry."""
    found = beside
    if sample_weight is not None:
        found = replace(found, weights=check_weights(sample_weight, n_rows))
    if batch is not None:
        codes, names = check_batches(batch, n_rows)
        found = replace(found, batches=codes, batch_names=names)
    if known_labels is not None:
        known = check_known(known_labels, n_rows, first_names) or (None, ())
        found = replace(found, known=known[0], known_names=known[1])
    return found


def info_of_fit(
    n_rows: int,
    *,
    hold_labels: Any = True,
    first_names: tuple[str, ...] = (),
    **given: Any,
) -> RowInfo:
    """Return what a fit makes of what is given of its rows, as for ``row_info``.

    One batch alone has no effect. Rows that are not held only start in
    their known clusters; clusters of ``first_names`` come before the other known ones.
    """
    info = row_info(n_rows, **given, first_names=first_names)
    if not isinstance(hold_labels, bool | np.bool_):
        wrong = Given("hold_labels", hold_labels)
        raise ParameterError(wrong, " must be True or False.")
    if info.n_batches == 1:
        info = replace(info, batches=None)
    if info.known is None:
        return info
    codes, names = info.known, info.known_names
    if first_names and names[: len(first_names)] != first_names:
        others = tuple(name for name in names if name not in first_names)
        ordered = (*first_names, *others)
        new = [ordered.index(name) for name in names]
        codes = np.where(codes < 0, codes, np.array(new, np.int32)[codes])
        names = ordered
    if not hold_labels:
        codes = np.where(codes < 0, codes, starting_code(codes))
    return replace(info, known=codes.astype(np.int32), known_names=names)


def check_weights(given: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return weights of 0 or more, one for each row; None where all are 1."""
    values = np.asarray(given)
    if values.ndim == 0:
        values = np.full(n_rows, values[()])
    if values.ndim != 1:
        message = (
            f"Sample weights must be 1D array or scalar, got {values.ndim}D array."
        )
        raise ValueError(message)
    if len(values) != n_rows:
        message = (
            f"sample_weight.shape == {values.shape}, expected {(n_rows,)}: one weight "
            "for each row."
        )
        raise ValueError(message)
    try:
        weights = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        weights = np.array([_number(value) for value in values.tolist()])
    bad = np.flatnonzero(~((weights >= 0) & (weights <= LARGEST)))
    if len(bad):
        message = (
            f"sample_weight of row {bad[0]} is {values[bad[0]]!s}; weights must be "
            "numbers from 0 to 2**53."
        )
        raise ValueError(message)
    if not weights.any():
        message = "All sample weights are zero; at least one row must count."
        raise ValueError(message)
    return None if (weights == 1).all() else weights


def _number(value: Any) -> float:
    """Return a number; nan for anything else."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def check_batches(given: Any, n_rows: int) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Return the number of each row's batch, and the names of the batches, sorted."""
    values = _one_per_row("batch", given, n_rows, "one batch")
    names = [_batch_name(row, value) for row, value in enumerate(values)]
    found, codes = np.unique(np.array(names, dtype=str), return_inverse=True)
    return codes.astype(np.int32), tuple(found.tolist())


def _batch_name(row: int, value: Any) -> str:
    """Name of a batch; 1, 1.0, "1" and "1.0" are one, as tables mix them up."""
    if is_missing(value) or (isinstance(value, str) and not value):
        message = f"batch of row {row} is missing; give every row a batch."
        raise ValueError(message)
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, float | np.floating):
        value = float(value)
        if not abs(value) <= LARGEST:
            message = f"batch of row {row} is {value}; a batch is a name or a number."
            raise ValueError(message)
        value = int(value) if value == int(value) else value
    text = str(value)
    whole = _WHOLE_AS_FRACTION.fullmatch(text)
    return whole[1] if whole else text


def check_known(
    given: Any, n_rows: int, first: tuple[str, ...] = ()
) -> tuple[NDArray[np.int32], tuple[str, ...]] | None:
    """Return the known cluster of each row, -1 for none, and the clusters' names.

    Numbers are those of clusters, without names; names are numbered in their order,
    behind those that come ``first``. None where no row is known.
    """
    values = _one_per_row("known_labels", given, n_rows, "one label")
    plain = [_known_label(row, value) for row, value in enumerate(values)]
    labels: list[Any] = [value for value in plain if value is not None]
    if not labels:
        return None
    if any(isinstance(value, str) for value in labels):
        odd = [i for i, value in enumerate(plain) if isinstance(value, int)]
        if odd:
            message = (
                f"known_labels has names, but that of row {odd[0]} is {plain[odd[0]]}; "
                "give names or numbers, and -1 where it is unknown."
            )
            raise ValueError(message)
        names = (*first, *sorted({*labels} - {*first}))
    else:
        new = sorted({number for number in labels if number >= len(first)})
        for expected, number in enumerate(new, len(first)):
            if number != expected:
                message = (
                    f"known_labels of row {plain.index(number)} is {number}, but no "
                    f"row has {expected}; number known clusters without gaps, or give "
                    "names."
                )
                raise ValueError(message)
        names = first + ("",) * len(new)
    numbers = {name: k for k, name in enumerate(names) if name}
    codes = [
        -1 if v is None else numbers[v] if isinstance(v, str) else v for v in plain
    ]
    return np.array(codes, dtype=np.int32), names


def _known_label(row: int, value: Any) -> int | str | None:
    """Number or name of a known cluster; None where it is unknown."""
    if is_missing(value) or (isinstance(value, str) and not value):
        return None
    if isinstance(value, str):
        return str(value)
    number = isinstance(value, int | float | np.number)
    if (
        not number
        or isinstance(value, bool)
        or not -1 <= value <= LARGEST
        or value != int(value)
    ):
        message = (
            f"known_labels of row {row} is {value!r}; labels are numbers from 0, or "
            "names, and -1 where they are unknown."
        )
        raise ValueError(message)
    return None if value == -1 else int(value)


def _one_per_row(name: str, given: Any, n_rows: int, expected: str) -> list[Any]:
    """Return a value for each row; numbers of a list with names stay numbers."""
    values = np.asarray(given)
    if values.dtype.kind in "US" and isinstance(given, list | tuple):
        values = np.asarray(given, dtype=object)
    if values.shape != (n_rows,):
        message = (
            f"{name} must be {expected} for each of the {n_rows} rows; its shape is "
            f"{values.shape}."
        )
        raise ValueError(message)
    # tolist() makes plain numbers of times.
    return list(values) if values.dtype.kind in "mM" else values.tolist()
