"""Sums whose arrays nobody writes to any more."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .row_results import read_only

if TYPE_CHECKING:
    from .._core.sums import Sums


def with_read_only_arrays(sums: Sums) -> Sums:
    """Return the same sums in views that cannot be written to."""
    parts = {} if sums.batches is None else {"batches": _frozen(sums.batches)}
    return replace(_frozen(sums), **parts)


def _frozen(sums: Any) -> Any:
    arrays: dict[str, Any] = {
        each.name: read_only(value)
        for each in fields(sums)
        if isinstance(value := getattr(sums, each.name), np.ndarray)
    }
    return replace(sums, **arrays)
