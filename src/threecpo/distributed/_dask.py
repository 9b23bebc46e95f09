"""Blocks read and worked on by the workers of a Dask cluster.

A task reads its share of the blocks one by one and adds up as it goes, so that what
moves is one result a share, not one a block; those are added on workers, few by few.
Tasks depend on readers and requests that are tasks too, never on data, so that Dask
itself runs all of them again when a worker dies. Without its scheduler a fit ends.
"""

from __future__ import annotations

import logging
import sys
from concurrent.futures import CancelledError
from contextlib import contextmanager
from copy import deepcopy
from functools import reduce
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from .._fit.engine import Reader, Work

T = TypeVar("T")

logger = logging.getLogger("threecpo.distributed")

SHARES_PER_THREAD = 4
ADDED_AT_ONCE = 8


class ClusterLostError(OSError):
    """The Dask cluster was lost during a fit, or gave up a task.

    The message says how to continue.
    """


def current_client() -> Any:
    """Return the client of this process, if Dask has one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


@contextmanager
def local_client(n_workers: int) -> Iterator[Any]:
    """Workers on this machine, of one thread each.

    Dask makes the allocator of its workers give memory back at once (trim threshold),
    so that every block is read into pages that the system must clear first: a pass
    took up to twice as long. Blocks need no such care, so that setting is left out. A
    worker that died and is not back after 15 seconds would be given up for good; on a
    busy machine that is too soon.
    """
    distributed = require("distributed", "dask", "Working on several processes")
    import dask

    key = "distributed.nanny.pre-spawn-environ"
    environ = dict(dask.config.get(key, {}))
    environ.pop("MALLOC_TRIM_THRESHOLD_", None)
    with (
        dask.config.set({key: environ, "distributed.deploy.lost-worker-timeout": "1h"}),
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


class DaskEngine:
    """An engine on the workers of a client; ``advice`` ends its ClusterLostError."""

    def __init__(self, client: Any, readers: Sequence[Reader], advice: str) -> None:
        require("distributed", "dask", "Working on a Dask cluster")
        self._client = client
        self._address = client.scheduler.address
        self._readers = readers
        self._advice = advice
        # Of each task readers as a future, the first block, what readers need beside.
        # They are sent once; the scheduler keeps them for workers that come later.
        self._shares: list[tuple[Any, int, list[Any]]] = []

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        """Work on every block; combine the results in the order of the blocks."""
        result = None
        try:
            result = self._submit_pass(pickled(work), combine)
            return result.result()
        except Exception as error:
            from_task = result is not None and result.status == "error"
            if reason := self._reason_of_loss(error, from_task=from_task):
                message = f"{reason} {self._advice}"
                raise ClusterLostError(message) from error
            raise

    def _submit_pass(
        self, request: NDArray[np.uint8], combine: Callable[[T, T], T]
    ) -> Any:
        """Submit all tasks of a pass and return the future of its result."""
        if not self._shares:
            self._shares = list(self._sent_shares())
        asked = self._send(request)
        parts = [
            self._submit(fold_share, *share, asked, combine) for share in self._shares
        ]
        while len(parts) > 1:
            parts = [
                self._submit(combined, combine, parts[i : i + ADDED_AT_ONCE])
                for i in range(0, len(parts), ADDED_AT_ONCE)
            ]
        return parts[0]

    def _sent_shares(self) -> Iterator[tuple[Any, int, list[Any]]]:
        readers = self._readers
        n_shares = min(len(readers), SHARES_PER_THREAD * self._n_threads())
        bounds = [i * len(readers) // n_shares for i in range(n_shares + 1)]
        for first, end in pairwise(bounds):
            share = tuple(readers[first:end])
            futures = [each for read in share for each in _futures_of(read)]
            yield self._send(pickled(share)), first, futures

    def _n_threads(self) -> int:
        """Threads of all workers; wait for the first worker, as Dask does."""
        while not (threads := sum(self._client.nthreads().values())):
            message = "The Dask cluster at %s has no workers; waiting for one."
            logger.warning(message, self._address)
            # A task makes adaptive clusters grow and obeys Dask's no-workers-timeout.
            self._submit(int).result()
        return threads

    def _send(self, content: NDArray[np.uint8]) -> Any:
        """Have a value made on a worker; the scheduler can have it made again."""
        import dask

        # The warning about large graphs is for data; a request is K x m for each run.
        key = "distributed.admin.large-graph-warning-threshold"
        with dask.config.set({key: 2 * content.nbytes + 10_000_000}):
            return self._submit(unpickled, content)

    def _submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.submit(task, *arguments, pure=False)

    def _reason_of_loss(self, error: Exception, *, from_task: bool) -> str | None:
        """What happened to the cluster; None for an error of our own or of a task."""
        from distributed.scheduler import (
            KilledWorker,
            NoValidWorkerError,
            NoWorkerError,
        )

        if isinstance(error, KilledWorker):
            return (
                f"{error.allowed_failures + 1} Dask workers died while running the "
                "same task, probably out of memory: use smaller blocks or fewer "
                "threads per worker."
            )
        if isinstance(error, (NoValidWorkerError, NoWorkerError)):
            return (
                f"Dask found no worker for a task within {error.timeout:g} s "
                "(distributed.scheduler.no-workers-timeout)."
            )
        lost = isinstance(error, (CancelledError, OSError))
        if from_task or not (lost or self._client.status != "running"):
            return None
        futures = [future for read in self._readers for future in _futures_of(read)]
        if any(future.cancelled() for future in futures):
            return (
                "The Dask array was persisted on the cluster and was lost with it: "
                "persist it again."
            )
        return f"The connection to the Dask scheduler at {self._address} was lost."


def _futures_of(read: Reader) -> Sequence[Any]:
    """Futures of a chunk that was persisted."""
    return getattr(read, "futures", ())


def pickled(value: Any) -> NDArray[np.uint8]:
    """Bytes of a value, as an array, which Dask sends without copies."""
    from distributed.protocol import pickle

    return np.frombuffer(pickle.dumps(value), dtype=np.uint8)


def unpickled(content: NDArray[np.uint8]) -> Any:
    """The value, made on a worker; the scheduler can have it made again."""
    from distributed.protocol import pickle

    return pickle.loads(content)


def fold_share(
    readers: Sequence[Reader],
    first: int,
    persisted: Sequence[Any],
    work: Work[T],
    combine: Callable[[T, T], T],
) -> T:
    """Work on the blocks of a share, one by one."""
    values = iter(persisted)
    results = (
        work(first + i, read(*islice(values, getattr(read, "n_values", 0))))
        for i, read in enumerate(readers)
    )
    return reduce(combine, results)


def combined(combine: Callable[[T, T], T], parts: Sequence[T]) -> T:
    """Combine results of shares; these stay, for the task to be run again."""
    first, *others = parts
    return reduce(combine, others, deepcopy(first))
