"""The compiled loops: arrays and records in, sums and scores out.

A loop has one signature and is compiled when it is first called, from the cache where
there is one, without the GIL. No ``fastmath`` and no ``parallel``: every sum has one
fixed order; threads are ours. Loops make no arrays. Without numba's runtime none is
counted either, which would take longer for a short row than its scores.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

import numba as nb
from numba import types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

i1, i4, i8, f8 = types.int8, types.int32, types.int64, types.float64
u4, u8, f4 = types.uint32, types.uint64, types.float32

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,  # C never calls them
}
_LOCK = Lock()

# For functions that only loops call. LLVM inlines them: numba would take longer.
inner = nb.njit(no_cpython_wrapper=True, **_OPTIONS)
inlined = nb.njit(forceinline=True, no_cpython_wrapper=True, **_OPTIONS)


def array_type(dtype: types.Type, ndim: int = 1, *, write: bool = False) -> types.Array:
    # Read-only types take writeable arrays too: one compilation serves memory maps.
    return types.Array(dtype, ndim, "C", readonly=not write)


def record_type(cls: type, *fields: types.Type) -> types.BaseTuple:
    """Type of a NamedTuple; its arrays must be read-only where their types are."""
    return types.BaseTuple.from_types(fields, cls)


@contextmanager
def _without_gc() -> Iterator[None]:
    """Keep the garbage collector from searching what a compiler makes and keeps."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@cache
def _load_without_blas() -> None:
    """Load numba's functions of arrays, but not scipy.linalg, which they look for.

    No loop multiplies matrices; numba looks again where somebody does.
    """
    with suppress(ImportError, AttributeError):  # another numba
        linalg: Any = import_module("numba.np.linalg")
        found = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            arrays: Any = import_module("numba.np.arraymath")
            arrays.ensure_blas = found
        finally:
            linalg.ensure_blas = found


class Loop:
    """A function that is compiled for its signature when it is first called."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self._function, self._signature = function, signature
        self._compiled: Any = None
        self.__doc__ = function.__doc__

    @property
    def dispatcher(self) -> Any:
        """Numba's function, with a cache where one can be written."""
        with _LOCK, _without_gc():
            if self._compiled is None:
                _load_without_blas()
                given = self._function, self._signature
                try:
                    self._compiled = nb.njit(given[1], cache=True, **_OPTIONS)(given[0])
                except (RuntimeError, OSError):
                    self._compiled = nb.njit(given[1], **_OPTIONS)(given[0])
        return self._compiled

    @property
    def is_compiled(self) -> bool:
        return self._compiled is not None

    def __call__(self, *args: Any) -> Any:
        return (self._compiled or self.dispatcher)(*args)


def compiled(*signature: types.Type) -> Callable[[Callable[..., Any]], Loop]:
    """Make a loop of a function."""
    return lambda function: Loop(function, signature)
