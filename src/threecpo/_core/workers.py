"""Our own threads: an ordered map whose results do not depend on their number.

The waiting thread runs queued tasks that no worker has started.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

T = TypeVar("T")
S = TypeVar("S")


class Stopped(Exception):  # noqa: N818 - a request, not an error
    """Raised inside worker threads after an interrupt."""


class Task(Generic[T]):
    """A call that a thread of the pool makes, or who waits for its result."""

    def __init__(self, pool: ThreadPoolExecutor | None, call: Callable[[], T]) -> None:
        # Taken out by who makes the call: a pool keeps what has been cancelled, and
        # that would keep the arrays of the call.
        self._calls = [call]
        self._future: Future[T] = Future()
        if pool is not None:
            self._future = pool.submit(self._made)

    def _made(self) -> T:
        return self._calls.pop()()

    @property
    def done(self) -> bool:
        return self._future.done()

    def make(self) -> None:
        """Make the call here, unless it has begun; an error is part of its result."""
        if self._future.cancel():
            self._future = Future()
            try:
                self._future.set_result(self._made())
            except Exception as error:  # noqa: BLE001 - raised by ``result``
                self._future.set_exception(error)

    def result(self) -> T:
        self.make()
        return self._future.result()

    def drop(self) -> Future[T] | None:
        """Leave the call; return what ends with it where it has begun."""
        return None if self._future.cancel() else self._future


class Workers:
    """Our own threads: an ordered map whose results do not depend on their number."""

    def __init__(self, n_jobs: int, stop: threading.Event | None = None) -> None:
        self.n_jobs = n_jobs
        self._stop = stop or threading.Event()
        self._pool = ThreadPoolExecutor(n_jobs - 1) if n_jobs > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def serial(self) -> Workers:
        """One thread, the caller's, that obeys the same stop signal."""
        return Workers(1, self._stop)

    def check(self) -> None:
        """Leave this thread where another one has been interrupted."""
        if self._stop.is_set():
            raise Stopped

    def begin(self, call: Callable[[], T]) -> Task[T]:
        """Make a call as soon as a thread is free, or when its result is asked for."""
        return Task(self._pool, call)

    def map(
        self, function: Callable[[S], T], items: Iterable[S], *, drain: bool = False
    ) -> Generator[T]:
        """Yield results in the order of the items, working a few items ahead.

        With ``drain``, no item is in work any more after an error.
        """
        waiting: deque[Task[T]] = deque()
        try:
            for item in items:
                self.check()
                if self._pool is None:
                    yield function(item)
                    continue
                waiting.append(Task(self._pool, partial(function, item)))
                if len(waiting) >= 2 * self.n_jobs:
                    yield _first_of(waiting)
            while waiting:
                yield _first_of(waiting)
        finally:  # whoever has enough closes the iterator
            begun = [future for task in waiting if (future := task.drop())]
            if drain:
                wait(begun)


def _first_of(waiting: deque[Task[T]]) -> T:
    """Take the first result; until it is there, make others that nobody has begun."""
    for task in waiting:
        if waiting[0].done:
            break
        task.make()
    return waiting.popleft().result()


SERIAL = Workers(1)
