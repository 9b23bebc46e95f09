"""Threads and compilers: order of results, how they end, options of the loops."""

import gc
import subprocess
import sys
import threading
import time
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

from processes import run_python
from threecpo._core import ahead
from threecpo._core.layout import lay_out
from threecpo._core.loops import Loop, compiled, f8
from threecpo._core.loops import columns as column_loops
from threecpo._core.loops import distances as distance_loops
from threecpo._core.loops import quick as quick_loops
from threecpo._core.loops import records as inspection_loops
from threecpo._core.loops import rows as row_loops
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


MODULES = row_loops, column_loops, distance_loops, inspection_loops, quick_loops


def test_loops_add_in_the_written_order_and_count_no_references():
    """Fast mathematics and parallel loops would reorder sums."""
    loops = {
        name: loop.dispatcher.targetoptions
        for module in MODULES
        for name, loop in vars(module).items()
        if isinstance(loop, Loop)
    }
    assert {"assign_rows", "score_columns", "x_log_x_sums", "inspect"} <= loops.keys()
    for name, options in loops.items():
        assert not options.get("fastmath"), name
        assert not options.get("parallel"), name
        assert options["nogil"], name
        assert options["_nrt"] is False, name


@pytest.mark.parametrize("collects", [True, False])
def test_compiling_leaves_the_garbage_collector_as_it_was(collects):
    (gc.enable if collects else gc.disable)()
    try:
        assert compiled(f8)(lambda x: x + 1.0)(1.0) == 2.0
        assert gc.isenabled() is collects
    finally:
        gc.enable()


def test_numba_finds_blas_when_somebody_else_multiplies():
    program = (
        "import sys, numba, numpy as np\n"
        "from threecpo._core.loops import compiled, f8\n"
        "assert compiled(f8)(lambda x: x + 1.0)(1.0) == 2.0\n"
        "assert 'scipy.linalg' not in sys.modules\n"
        "assert numba.njit(lambda a: np.dot(a, a))(2 * np.eye(2)).sum() == 8.0"
    )
    run_python("-c", program, check=True)


@pytest.mark.parametrize("n_cores", [1, 2])
def test_another_process_compiles_until_the_work_is_done(n_cores, monkeypatch):
    begun = []

    def start(command, **_):
        assert command[1:] == ["-P", "-m", ahead.__name__]
        waiting = [sys.executable, "-c", "input()"]
        begun.append(Popen(waiting, stdin=subprocess.PIPE))
        return begun[0]

    Popen = subprocess.Popen
    monkeypatch.setattr(ahead.os, "cpu_count", lambda: n_cores)
    monkeypatch.setattr(ahead.subprocess, "Popen", start)
    with ahead.compiled_beside():
        assert [each.poll() for each in begun] == [None] * (n_cores - 1)
    assert all(each.poll() is not None for each in begun)
    for each in begun:
        each.stdin.close()


def test_what_is_compiled_ahead_goes_to_the_cache():
    ahead.compile_late()
    assert row_loops.assign_rows.dispatcher.stats.cache_path
    assert lay_out.is_compiled
