"""Weights and batches of rows as users give them, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def check_weights(given: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return weights of 0 or more, one for each row; None where all are 1."""
    if given is None:
        return None
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        message = "sample_weight must be numbers, one for each row."
        raise ValueError(message) from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        message = (
            f"Sample weights must be 1D array or scalar, got {weights.ndim}D array."
        )
        raise ValueError(message)
    if len(weights) != n_rows:
        message = (
            f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: one weight "
            "for each row."
        )
        raise ValueError(message)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        message = (
            f"sample_weight of row {bad[0]} is {weights[bad[0]]:g}; weights are finite "
            "numbers of 0 or more."
        )
        raise ValueError(message)
    if not weights.any():
        message = "All sample weights are zero: there is no row to fit."
        raise ValueError(message)
    return None if (weights == 1).all() else weights


def check_batches(given: Any, n_rows: int) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Return the number of each row's batch, and the names of the batches, sorted."""
    values = batch_values(given, n_rows)
    names, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int32), tuple(names.tolist())


def known_batches(given: Any, n_rows: int, names: tuple[str, ...]) -> NDArray[np.int32]:
    """Return numbers of batches by their names; unknown ones get the number after."""
    if given is None:
        return np.full(n_rows, len(names), dtype=np.int32)
    numbers = {name: b for b, name in enumerate(names)}
    values = batch_values(given, n_rows).tolist()
    return np.array([numbers.get(value, len(names)) for value in values], np.int32)


def check_known(
    given: Any, n_rows: int, first: tuple[str, ...] = ()
) -> tuple[NDArray[np.int32], tuple[str, ...]] | None:
    """Return the known cluster of each row, -1 for none, and the clusters' names.

    Numbers are those of clusters, without names; names are numbered in their order,
    behind those that come ``first``. None where no row is known.
    """
    values = _as_array(given)
    if values.shape != (n_rows,):
        message = (
            f"known_labels must be one label for each of the {n_rows} rows, -1 where "
            f"it is unknown; its shape is {values.shape}."
        )
        raise ValueError(message)
    plain = [_known_label(i, value) for i, value in enumerate(values.tolist())]
    labels = [value for value in plain if value is not None]
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
        names = (*first, *sorted({str(value) for value in labels} - {*first}))
    else:
        most = max(int(value) for value in labels)
        names = first + ("",) * (most + 1 - len(first))
        missing = sorted({*range(len(first), len(names))} - {*labels})
        if missing:
            message = (
                f"known_labels goes up to {most}, but no row has "
                f"{missing[0]}; number known clusters without gaps, or give names."
            )
            raise ValueError(message)
    numbers = {name: k for k, name in enumerate(names) if name}
    codes = [
        -1 if v is None else numbers[v] if isinstance(v, str) else v for v in plain
    ]
    return np.array(codes, dtype=np.int32), names


def _known_label(row: int, value: Any) -> int | str | None:
    """Number or name of a known cluster; None where it is unknown."""
    missing = type(value).__name__ in ("NoneType", "NAType") or _is_nan(value)
    if missing or (isinstance(value, str) and not value):
        return None
    if isinstance(value, str):
        return value
    whole = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not whole or value != int(value) or value < -1:
        message = (
            f"known_labels of row {row} is {value!r}; labels are numbers from 0, or "
            "names, and -1 where they are unknown."
        )
        raise ValueError(message)
    return None if value == -1 else int(value)


def batch_values(given: Any, n_rows: int) -> NDArray[np.str_]:
    """Return the batch of each row as text."""
    values = _as_array(given)
    if values.shape != (n_rows,):
        message = (
            f"batch must be one code for each of the {n_rows} rows; its shape is "
            f"{values.shape}."
        )
        raise ValueError(message)
    if values.dtype.kind == "f" and np.array_equal(values, np.floor(values)):
        values = values.astype(np.int64)
    plain = values.tolist()
    missing = [
        i for i, value in enumerate(plain) if value in (None, "") or _is_nan(value)
    ]
    if missing:
        message = f"batch of row {missing[0]} is missing; give every row a batch."
        raise ValueError(message)
    return np.array([str(value) for value in plain], dtype=str)


def _as_array(given: Any) -> NDArray[Any]:
    """Values of rows; numbers of a list with names in it stay numbers."""
    values = np.asarray(given)
    if values.dtype.kind in "US" and isinstance(given, list | tuple):
        return np.asarray(given, dtype=object)
    return values


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and np.isnan(value)
