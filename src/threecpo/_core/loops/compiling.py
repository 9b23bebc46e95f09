"""How loops are compiled: one signature each, cached where possible, without the GIL.

No ``fastmath`` and no ``parallel``: every sum has one fixed order; threads are ours.
Loops make no arrays. Without numba's runtime none is counted either, which would take
longer for a short row than its scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numba as nb
from numba import types

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

i1, i4, i8, f8 = types.int8, types.int32, types.int64, types.float64
u4, u8, f4 = types.uint32, types.uint64, types.float32

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}

inlined = nb.njit(inline="always", **_OPTIONS)


def array_type(dtype: types.Type, ndim: int = 1, *, write: bool = False) -> types.Array:
    # Read-only types take writeable arrays too: one compilation serves memory maps.
    return types.Array(dtype, ndim, "C", readonly=not write)


def record_type(cls: type, *fields: types.Type) -> types.BaseTuple:
    """Type of a NamedTuple; its arrays must be read-only where their types are."""
    return types.BaseTuple.from_types(fields, cls)


def compiled(*signature: types.Type) -> Callable[[F], F]:
    """Compile with a cache where one can be written, and without where not."""

    def decorate(function: F) -> F:
        try:
            return nb.njit(signature, cache=True, **_OPTIONS)(function)
        except (RuntimeError, OSError):
            return nb.njit(signature, **_OPTIONS)(function)

    return decorate
