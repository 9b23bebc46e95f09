"""Items that are made while the one before is in use."""

import threading

import pytest

from threecpo._core.workers import Stopped, Workers


def test_items_come_in_their_order_and_all():
    for n_jobs in (1, 2, 3):
        with Workers(n_jobs) as workers:
            assert list(workers.ahead(iter(range(5)))) == [0, 1, 2, 3, 4]
            assert list(workers.ahead(iter(()))) == []


def test_none_is_an_item():
    with Workers(2) as workers:
        assert list(workers.ahead(iter([None, 1, None]))) == [None, 1, None]


def test_the_next_is_made_while_one_is_in_use():
    made = threading.Semaphore(0)

    def items():
        for item in range(3):
            made.release()
            yield item

    with Workers(2) as workers:
        coming = workers.ahead(items())
        assert made.acquire(timeout=600)  # before anybody asks
        assert next(coming) == 0
        assert made.acquire(timeout=600)  # while 0 is in use
        assert not made.acquire(timeout=0.05)  # but only one
        assert list(coming) == [1, 2]


def test_with_one_thread_nothing_is_made_before_it_is_asked_for():
    made = []
    coming = Workers(1).ahead(made.append(i) or i for i in range(3))
    assert made == []
    assert next(coming) == 0
    assert made == [0]


def test_an_interrupt_is_heard():
    stop = threading.Event()
    with Workers(2, stop) as workers:
        coming = workers.ahead(iter(range(5)))
        assert next(coming) == 0
        stop.set()
        with pytest.raises(Stopped):
            list(coming)


def test_an_error_reaches_who_asks():
    def items():
        yield 0
        message = "broken"
        raise ValueError(message)

    with Workers(2) as workers:
        coming = workers.ahead(items())
        assert next(coming) == 0
        with pytest.raises(ValueError, match="broken"):
            next(coming)
