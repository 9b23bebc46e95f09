"""Labels that people give to rows, of one or several kinds: as text, and numbered."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

# What labels are called of which nothing else is known.
LABEL = "label"


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, no time, or pandas' NA."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124
    except TypeError:  # pandas' NA
        return True


def label_text(value: object) -> str | None:
    """A label as text; None for one that is missing."""
    if is_missing(value):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = value.decode() if isinstance(value, bytes) else str(value)
    return text.strip() or None


def label_texts(kind: str, values: Any, n_rows: int) -> NDArray[np.object_]:
    """Labels of one kind as text, empty where a row has none."""
    flat = np.iterable(values) and getattr(values, "ndim", 1) == 1
    if isinstance(values, str | bytes) or not flat:
        message = f"labels {kind!r} must be a sequence of one label for each row."
        raise ValueError(message)
    listed = list(values)
    if len(listed) != n_rows:
        message = f"labels {kind!r} has {len(listed)} values for {n_rows} rows."
        raise ValueError(message)
    return np.array([label_text(value) or "" for value in listed], dtype=object)


def encoded(values: Iterable[str | None]) -> dict[str, Any]:
    """Labels by name: numbered in order, -1 where there is none."""
    listed = list(values)
    names = sorted({value for value in listed if value}, key=_label_order)
    number = {name: i for i, name in enumerate(names)}
    codes = [number[value] if value else -1 for value in listed]
    return {"labels": np.array(codes, dtype=np.int64), "label_names": names}


def labels_of_kinds(
    kinds: Mapping[str, Any], label_names: object = None
) -> dict[str, Any]:
    """What a table keeps of labels by kind: numbers of the first, texts of others."""
    if label_names is not None:
        message = "label_names go with labels that are numbers, not with a dict."
        raise ValueError(message)
    if not kinds:
        return {}
    (kind, values), *others = kinds.items()
    texts = label_texts(str(kind), values, len(values))
    return encoded(texts) | {"label_kind": kind, "other_labels": dict(others)}


def _label_order(name: str) -> tuple[bool, int, str]:
    """Whole numbers by size, before words by the alphabet."""
    whole = re.fullmatch(r"-?[0-9]{1,18}", name)
    return whole is None, int(name) if whole else 0, name
