"""Threads: the order of results, how far they work ahead, how they end."""

import threading
import time

import pytest

from threecpo._core.workers import Stopped, Workers


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
