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
class _Persisted:
    """A value that a cluster keeps: its key, as futures do not travel inside tasks."""

    key: Any

    def fetched(self) -> Any:
        from distributed import Future, default_client, get_worker, worker_client

        try:
            get_worker()
        except ValueError:
            return Future(self.key, default_client()).result()
        # Leaves the worker's thread to others while this one waits.
        with worker_client() as client:
            return Future(self.key, client).result()


@dataclass(frozen=True)
class _Chunk:
    """One chunk by the tasks that make it, which run wherever it is read."""

    number: int
    tasks: dict[Any, Any]
    key: Any

    def __call__(self) -> Counts:
        from dask.local import get_sync

        own = self.tasks[self.key]
        if isinstance(own, _Persisted):
            block = own.fetched()
        else:
            tasks = {
                key: task.fetched() if isinstance(task, _Persisted) else task
                for key, task in self.tasks.items()
            }
            block = get_sync(tasks, self.key)
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
    chunks = []
    for i, key in enumerate(keys):
        needed = {
            name: _Persisted(name) if _is_future(task) else task
            for name, task in cull(graph, [key])[0].items()
        }
        chunks.append(_Chunk(i, needed, key))
    return Source(tuple(chunks), "the Dask array")
