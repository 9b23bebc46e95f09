"""Blocks read and worked on by the workers of a Dask cluster.

A task reads its share of the blocks one by one and adds up as it goes, so that what
moves is one result a share, not one a block; those are added on workers, few by few.
Readers are what tasks get, never data: a worker that dies costs its shares once more.
"""

from __future__ import annotations

import sys
from concurrent.futures import CancelledError
from contextlib import contextmanager
from copy import deepcopy
from functools import reduce
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from .._extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .._core.blocks import Reader, Work

T = TypeVar("T")

SHARES_PER_THREAD = 4
ADDED_AT_ONCE = 8
ATTEMPTS = 4


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
    took up to twice as long. Blocks need no such care, so that setting is left out.
    """
    distributed = require("distributed", "dask", "Working on several processes")
    import dask

    key = "distributed.nanny.pre-spawn-environ"
    environ = dict(dask.config.get(key, {}))
    environ.pop("MALLOC_TRIM_THRESHOLD_", None)
    with (
        dask.config.set({key: environ}),
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


class Cluster:
    """An engine on the workers of a client."""

    def __init__(self, client: Any, readers: Sequence[Reader]) -> None:
        require("distributed", "dask", "Working on a Dask cluster")
        self._client = client
        threads = sum(client.nthreads().values()) or 1
        n_shares = min(len(readers), SHARES_PER_THREAD * threads)
        bounds = [i * len(readers) // n_shares for i in range(n_shares + 1)]
        self._firsts = bounds[:-1]
        shares = [tuple(readers[a:b]) for a, b in pairwise(bounds)]
        # Sent once; the scheduler keeps them for workers that come later.
        self._shares = [client.submit(_itself, share, pure=False) for share in shares]
        self._persisted = [
            [future for read in share for future in getattr(read, "futures", ())]
            for share in shares
        ]

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        """Work on every block; combine what comes out in the order of the blocks."""
        for attempt in range(ATTEMPTS):
            try:
                return self._fold(work, combine)
            except CancelledError:
                # What was asked is lost with the workers that had it: ask again.
                if attempt == ATTEMPTS - 1:
                    raise
        raise AssertionError

    def _fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        client = self._client
        asked = client.scatter(work, broadcast=True, hash=False)
        parts = [
            client.submit(_fold_share, *share, asked, combine, pure=False)
            for share in zip(self._shares, self._firsts, self._persisted, strict=True)
        ]
        while len(parts) > 1:
            parts = [
                client.submit(
                    _combined, combine, parts[i : i + ADDED_AT_ONCE], pure=False
                )
                for i in range(0, len(parts), ADDED_AT_ONCE)
            ]
        return parts[0].result()


def _itself(readers: tuple[Reader, ...]) -> tuple[Reader, ...]:
    return readers


def _fold_share(
    readers: Sequence[Reader],
    first: int,
    persisted: Sequence[Any],
    work: Work[T],
    combine: Callable[[T, T], T],
) -> T:
    values = iter(persisted)
    results = (
        work(first + i, read(*islice(values, getattr(read, "n_values", 0))))
        for i, read in enumerate(readers)
    )
    return reduce(combine, results)


def _combined(combine: Callable[[T, T], T], parts: Sequence[T]) -> T:
    # Combining may add to its first argument, which a worker keeps for other tasks.
    first, *others = parts
    return reduce(combine, others, deepcopy(first))
