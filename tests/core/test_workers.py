"""Threads: the order of results, how far they work ahead, how they end."""

import threading
import time
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

from threecpo._core.workers import Stopped, Task, Workers


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_results_come_in_the_order_of_the_items(n_jobs):
    def slow_if_even(item):
        time.sleep(0.002 * (item % 2 == 0))
        return item

    with Workers(n_jobs) as workers:
        assert list(workers.map(slow_if_even, range(20))) == list(range(20))


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_end_with_the_workers(n_jobs):
    before = threading.active_count()
    with Workers(n_jobs) as workers:
        list(workers.map(abs, range(10)))
    assert threading.active_count() == before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_stops_all_workers(n_jobs):
    workers = Workers(n_jobs)
    with pytest.raises(KeyError), workers:
        raise KeyError
    with pytest.raises(Stopped):
        list(workers.serial().map(abs, [1]))


@pytest.mark.parametrize(("n_jobs", "most"), [(1, 1), (2, 4), (3, 6)])
def test_no_more_items_are_in_the_making_than_twice_the_threads(n_jobs, most):
    """What a budget of memory relies on."""
    drawn, delivered, in_the_making = 0, 0, []

    def items():
        nonlocal drawn
        for item in range(50):
            drawn += 1
            in_the_making.append(drawn - delivered)
            yield item

    with Workers(n_jobs) as workers:
        for item in workers.map(lambda item: item, items()):
            assert item == delivered
            delivered += 1
    assert delivered == 50
    assert max(in_the_making) == most


@contextmanager
def others_busy():
    """Two threads, of which the other is in work until the end."""
    begun, release = threading.Event(), threading.Event()

    def busy():
        begun.set()
        assert release.wait(timeout=600)
        return "late"

    with Workers(2) as workers:
        late = Task(workers._pool, busy)
        assert begun.wait(timeout=600)
        try:
            yield workers
        finally:
            release.set()
        assert late.result() == "late"


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_who_waits_is_one_of_the_threads(n_jobs):
    """No item gets past the barrier before as many are in work as there are jobs."""
    barrier = threading.Barrier(n_jobs, timeout=600)

    def together(_):
        barrier.wait()
        return threading.get_ident()

    with Workers(n_jobs) as workers:
        threads = set(workers.map(together, range(4 * n_jobs)))
    assert len(threads) == n_jobs
    assert threading.get_ident() in threads


def test_items_are_made_by_who_waits_while_the_others_are_busy():
    """As rows of a crossing are while trials are made."""
    with others_busy() as workers:
        made_by = list(workers.map(lambda _: threading.get_ident(), range(6)))
    assert made_by == [threading.get_ident()] * 6


def test_what_another_thread_was_not_needed_for_is_let_go():
    """Items that who waits has made leave nothing behind in a queue."""
    with others_busy() as workers:
        array = np.zeros(10)
        alive = weakref.ref(array)
        list(workers.map(np.sum, [array]))
        del array
        left = alive()
    assert left is None


def test_an_error_comes_in_the_order_of_the_items():
    """Even where who waits for an item has made a later one, which failed."""
    begun, failed = threading.Event(), threading.Event()

    def items():
        yield 0
        assert begun.wait(timeout=600)  # in the other thread
        yield 1

    def one(item):
        if item == 0:
            begun.set()
            assert failed.wait(timeout=600)
            return item
        failed.set()
        raise ValueError(item)

    with Workers(2) as workers:
        found = workers.map(one, items())
        assert next(found) == 0
        with pytest.raises(ValueError, match="1"):
            next(found)
