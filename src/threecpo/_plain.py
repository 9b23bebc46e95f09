"""Conversion of values to JSON types."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Any

import numpy as np


def plain(value: Any, *, longest: int | None = None) -> Any:
    """Return a value as numbers, text, lists and dicts.

    Numbers that are not finite become None. An array of more than ``longest`` entries
    becomes a text that stands for its content.
    """
    if isinstance(value, np.generic) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    ):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(each, longest=longest) for key, each in value.items()}
    if not isinstance(value, list | tuple) and not hasattr(value, "__array__"):
        return _described(value)
    if longest is not None and len(value) > longest:
        return _digest(np.asarray(value))
    whole = isinstance(value, np.ndarray) and value.dtype.kind in "biu"
    return value.tolist() if whole else [plain(each, longest=longest) for each in value]


def _described(value: Any) -> str:
    """A text for what is not data: a model, a function, a generator, a path."""
    if hasattr(value, "record_"):
        return f"{type(value).__name__}({_digest(value.record_.sums.table)})"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return type(value).__name__
    if callable(value):
        return str(getattr(value, "__qualname__", type(value).__name__))
    return str(value)


def _digest(array: np.ndarray[Any, Any]) -> str:
    content = np.ascontiguousarray(array).tobytes()
    return f"{array.dtype} {array.shape} {blake2b(content, digest_size=16).hexdigest()}"
