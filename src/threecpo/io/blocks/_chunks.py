"""Dask arrays whose chunks are blocks of rows, sparse or not."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..._errors import DataFormatError
from ..errors import block_errors
from .block_source import BlockSource, counts_of

if TYPE_CHECKING:
    from ..._core.counts import Counts


class _Chunk:
    """One chunk by the tasks that make it, which run wherever it is read.

    What was persisted on a cluster stands among them as futures. These do not travel
    inside of other things: a reader that is sent gets their ``values`` beside it.
    """

    def __init__(self, number: int, tasks: dict[Any, Any], key: Any) -> None:
        self.futures = [task for task in tasks.values() if _is_future(task)]
        self._names = [name for name, task in tasks.items() if _is_future(task)]
        self._tasks = {n: task for n, task in tasks.items() if n not in self._names}
        self._number, self._key = number, key

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"futures": []}

    def __call__(self, *values: Any) -> Counts:
        from dask.local import get_sync

        if not values:
            values = tuple(future.result() for future in self.futures)
        known = dict(zip(self._names, values, strict=True))
        block = known.get(self._key)
        if block is None:
            block = get_sync(self._tasks | known, self._key)
        with block_errors(f"Chunk {self._number}"):
            return counts_of(block)

    @property
    def n_values(self) -> int:
        return len(self._names)


def _is_future(task: Any) -> bool:
    if "distributed" not in sys.modules:
        return False
    from distributed import Future

    return isinstance(task, Future)


def is_dask_array(X: Any) -> bool:
    """Whether X is a Dask array, without importing Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "numblocks")


def of_dask_array(X: Any) -> BlockSource:
    from dask.optimization import cull

    if X.ndim != 2 or X.numblocks[1] > 1:
        message = (
            f"The Dask array has {X.ndim} dimensions and {X.numblocks} chunks; it must "
            "be a table cut along its rows alone: X.rechunk({1: -1})."
        )
        raise DataFormatError(message)
    keys = [row[0] for row in X.__dask_keys__()]
    graph = dict(X.__dask_graph__())
    chunks = [_Chunk(i, cull(graph, [key])[0], key) for i, key in enumerate(keys)]
    return BlockSource(tuple(chunks), "the Dask array")
