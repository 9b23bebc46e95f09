"""Labels of any kind as arrays and codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def codes(labels: Any, name: str) -> NDArray[np.int64]:
    """Whole numbers from 0 that are equal where the labels are."""
    array = one_row(labels, name)
    if array.dtype != object:
        return np.unique(array, return_inverse=True)[1]
    numbers: dict[Any, int] = {}
    try:
        found = [numbers.setdefault(label, len(numbers)) for label in array]
    except TypeError as error:
        message = f"{name} holds something that cannot be a label: {error}."
        raise ValueError(message) from error
    return np.array(found, dtype=np.int64)


def one_row(labels: Any, name: str) -> NDArray[Any]:
    """Labels as an array; of objects where numpy would turn some into strings."""
    if hasattr(labels, "dtype"):
        array = np.asarray(labels)
        if array.ndim != 1:
            message = f"{name} must be one row of labels; its shape is {array.shape}."
            raise ValueError(message)
        return array
    try:
        given = list(labels)
    except TypeError as error:
        message = f"{name} must be one row of labels; it is {labels!r}."
        raise ValueError(message) from error
    kinds = {type(label) for label in given}
    if kinds in ({int}, {float}, {bool}, {str}):
        return np.array(given)
    return np.fromiter(given, dtype=object, count=len(given))


def check_lengths(
    first: NDArray[Any],
    second: NDArray[Any],
    names: tuple[str, str] = ("labels_true", "labels_pred"),
) -> None:
    if len(first) != len(second):
        message = (
            f"{names[0]} has length {len(first)} and {names[1]} {len(second)}; "
            "they must agree."
        )
        raise ValueError(message)
    if not len(first):
        message = f"{names[0]} and {names[1]} are empty."
        raise ValueError(message)
