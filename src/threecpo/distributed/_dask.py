"""Blocks read and worked on by the workers of a Dask cluster.

A task reads its share of the blocks one by one and adds up as it goes, so that what
moves is one result a share, not one a block; those are added on workers, few by few.
Readers are what tasks get, never data: a worker that dies costs its shares once more.
What a pass asks for is a task too, so that no worker has to be alive at any moment. A
pass that is lost with all workers or with the scheduler is asked for again.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .._extras import require
from ._answer import DeadlyTaskError, LostPassError, answer_of
from ._connection import POLL_SECONDS, Connection
from ._shares import combined, fold_share, pickled, unpickled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from .._fit.engine import Reader, Work
    from ._patience import Patience

T = TypeVar("T")

SHARES_PER_THREAD = 4
ADDED_AT_ONCE = 8
# Dask gives up a task whose worker has died four times; we ask so often for that.
DEADLY_ATTEMPTS = 3
LONGEST_PAUSE = 10.0


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


class _Share(NamedTuple):
    """Blocks for one task: their readers as a future, and what these need beside."""

    readers: Any
    first: int
    persisted: list[Any]


class Cluster:
    """An engine on the workers of a client."""

    def __init__(
        self, client: Any, readers: Sequence[Reader], patience: Patience
    ) -> None:
        require("distributed", "dask", "Working on a Dask cluster")
        self._connection = Connection(client)
        self._readers = readers
        self._patience = patience
        # Sent once; the scheduler keeps them for workers that come later.
        self._shares: list[_Share] = []

    def close(self) -> None:
        self._shares = []
        self._connection.close()

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        """Work on every block; combine what comes out in the order of the blocks."""
        request = pickled(work)
        self._patience.start()
        n_lost = n_deadly = 0
        while True:
            try:
                return self._fold(request, combine)
            except LostPassError as fault:
                n_lost += 1
                n_deadly += isinstance(fault, DeadlyTaskError)
                if n_deadly == DEADLY_ATTEMPTS:
                    raise self._patience.error(str(fault)) from fault
                self._shares = []
                self._pause(min(POLL_SECONDS * 2**n_lost, LONGEST_PAUSE), fault)
                self._check_persisted()

    def _fold(self, request: NDArray[np.uint8], combine: Callable[[T, T], T]) -> T:
        threads = self._connection.await_workers(self._patience)
        if not self._shares:
            self._shares = list(self._sent_shares(threads))
        asked = self._send(request)
        parts = [
            self._submit(fold_share, *share, asked, combine) for share in self._shares
        ]
        while len(parts) > 1:
            parts = [
                self._submit(combined, combine, parts[i : i + ADDED_AT_ONCE])
                for i in range(0, len(parts), ADDED_AT_ONCE)
            ]
        return answer_of(parts[0], self._connection, self._patience)

    def _sent_shares(self, threads: int) -> Iterator[_Share]:
        readers = self._readers
        n_shares = min(len(readers), SHARES_PER_THREAD * threads)
        bounds = [i * len(readers) // n_shares for i in range(n_shares + 1)]
        for first, end in pairwise(bounds):
            share = tuple(readers[first:end])
            futures = [each for read in share for each in _futures_of(read)]
            yield _Share(self._send(pickled(share)), first, futures)

    def _send(self, content: NDArray[np.uint8]) -> Any:
        """Have a value made on a worker; the scheduler can have it made again."""
        import dask

        # The warning about large graphs is for data; a request is K x m for each run.
        key = "distributed.admin.large-graph-warning-threshold"
        with dask.config.set({key: 2 * content.nbytes + 10_000_000}):
            return self._submit(unpickled, content)

    def _submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return self._connection.client.submit(task, *arguments, pure=False)
        except Exception as error:
            # A client that is closed meanwhile raises errors of many kinds.
            if not self._connection.lost:
                raise
            raise LostPassError(self._connection.state(None)) from error

    def _pause(self, seconds: float, fault: LostPassError) -> None:
        """Do not ask again at once; the time counts as waiting."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._patience.wait(str(fault), fault)
            time.sleep(min(POLL_SECONDS, left))

    def _check_persisted(self) -> None:
        """What only the cluster had cannot be asked for again."""
        futures = [future for read in self._readers for future in _futures_of(read)]
        if futures and (
            self._connection.renewed or any(future.cancelled() for future in futures)
        ):
            reason = (
                "The Dask array was persisted on the cluster and is lost with it; "
                "persist it again"
            )
            raise self._patience.error(reason)


def _futures_of(read: Reader) -> Sequence[Any]:
    """Futures of a chunk that was persisted."""
    return getattr(read, "futures", ())
