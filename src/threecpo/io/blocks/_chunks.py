"""Dask arrays whose chunks are blocks of rows, sparse or not."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..._errors import DataFormatError
from ._source import Source, counts_of, problems_of

if TYPE_CHECKING:
    from ..._core.counts import Counts


@dataclass(frozen=True)
class _Chunk:
    """One chunk by the tasks that make it, which run wherever it is read."""

    number: int
    tasks: dict[Any, Any]
    key: Any

    def __call__(self) -> Counts:
        from dask.local import get_sync

        # What was persisted on a cluster stands there as the future of its value.
        tasks = {
            key: task.result() if _is_future(task) else task
            for key, task in self.tasks.items()
        }
        known = _is_future(self.tasks[self.key])
        block = tasks[self.key] if known else get_sync(tasks, self.key)
        with problems_of(f"Chunk {self.number}"):
            return counts_of(block)


def _is_future(task: Any) -> bool:
    if "distributed" not in sys.modules:
        return False
    from distributed import Future

    return isinstance(task, Future)


def is_dask_array(X: Any) -> bool:
    """Tell without importing Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "numblocks")


def of_dask_array(X: Any) -> Source:
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
    return Source(tuple(chunks), "the Dask array")
