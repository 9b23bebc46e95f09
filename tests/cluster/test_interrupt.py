"""Ctrl-C ends a long fit soon and leaves nothing behind."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from containers import planted
from threecpo import ThreeCPO

# Interrupts itself after a second of work.
PROGRAM = """
import os, signal, threading, time
import numpy as np
import scipy.sparse as sp
from threecpo import ThreeCPO

rng = np.random.default_rng(0)
n_rows, n_columns = {shape}
n_counts = n_rows * n_columns // 50
places = rng.integers(n_rows, size=n_counts), rng.integers(n_columns, size=n_counts)
X = sp.csr_array((np.ceil(5 * rng.random(n_counts)), places), shape={shape})
ThreeCPO(2, n_init=2, n_jobs={n_jobs}, column_penalty=None).fit(X[:50])
model = ThreeCPO({n_clusters}, init={init!r}, n_init=10**4, n_jobs={n_jobs})

def interrupt():
    start = time.process_time()
    while time.process_time() - start < 1.0:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
other = threading.Thread(target=interrupt)
other.start()
try:
    model.fit(X)
except KeyboardInterrupt:
    other.join()
    print(threading.active_count(), flush=True)
    raise
"""
LONG = {
    "long runs": {"shape": (30_000, 2000), "n_clusters": 20, "n_jobs": 1},
    "long seeding": {"shape": (10_000, 5000), "n_clusters": 3000},
    "long k-means": {"shape": (20_000, 4000), "n_clusters": 200, "init": "k-means"},
}


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")
@pytest.mark.parametrize("name", LONG)
def test_an_interrupt_ends_a_fit_that_would_take_hours(name):
    options = {"init": "poisson-k-means++", "n_jobs": 2} | LONG[name]
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM.format(**options)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")
    assert done.returncode != 0
    assert done.stdout.split() == ["1"]


@pytest.mark.parametrize(
    ("n_jobs", "kind"), [(1, ZeroDivisionError), (3, KeyboardInterrupt)]
)
def test_an_exception_leaves_no_threads_and_the_next_fit_works(n_jobs, kind):
    X, labels = planted()
    before = set(threading.enumerate())
    calls = iter(range(10**6))

    def price(totals, n_clusters, n_rows):
        if next(calls) == 20:
            raise kind
        return np.zeros_like(totals)

    model = ThreeCPO(3, n_init=100, n_jobs=n_jobs, column_penalty=price)
    with pytest.raises(kind):
        model.fit(X)
    assert set(threading.enumerate()) == before
    assert not hasattr(model, "labels_")
    model.set_params(column_penalty="mdl", n_init=5, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, labels)


def test_the_other_runs_stop_after_an_exception():
    X, _ = planted()
    calls = []

    def price(totals, n_clusters, n_rows):
        calls.append(1)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return np.zeros_like(totals)

    with pytest.raises(KeyboardInterrupt):
        ThreeCPO(3, n_init=5000, n_jobs=3, column_penalty=price).fit(X)
    assert len(calls) < 1000
