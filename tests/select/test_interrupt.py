"""Ctrl-C ends long work soon, leaves nothing behind and keeps what is finished."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from k_paths import Restarted, X, assert_same_fit, assert_same_path, path_of

from containers import planted
from processes import run_python
from threecpo import ThreeCPO, select_n_clusters

posix = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")
# Interrupts itself after a second of work.
LONG_FIT = """
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


@posix
@pytest.mark.parametrize("name", LONG)
def test_an_interrupt_ends_a_fit_that_would_take_hours(name):
    options = {"init": "poisson-k-means++", "n_jobs": 2} | LONG[name]
    program = LONG_FIT.format(**options)
    done = run_python("-W", "ignore", "-c", program, timeout=600)
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")
    assert done.returncode != 0
    assert done.stdout.split() == ["1"]


@pytest.mark.parametrize(
    ("n_jobs", "kind"), [(1, ZeroDivisionError), (3, KeyboardInterrupt)]
)
def test_an_exception_stops_all_runs_and_the_next_fit_works(n_jobs, kind):
    X, labels = planted()
    before, calls = set(threading.enumerate()), []

    def price(totals, n_clusters, n_rows):
        calls.append(n_clusters)
        if len(calls) == 20:
            raise kind
        return np.zeros_like(totals)

    model = ThreeCPO(3, n_init=5000, n_jobs=n_jobs, column_penalty=price)
    with pytest.raises(kind):
        model.fit(X)
    assert len(calls) < 1000
    assert set(threading.enumerate()) == before
    assert not hasattr(model, "labels_")
    model.set_params(column_penalty="mdl", n_init=5, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, labels)


class Interrupting:
    """The price of the paper, and an interrupt when so many clusters are priced."""

    def __init__(self, at):
        self.at = at

    def __call__(self, totals, n_clusters, n_rows):
        if n_clusters == self.at:
            self.at = None
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
        return (n_clusters - 1) * np.log(np.maximum(totals, 1.0))

    def __deepcopy__(self, memo):
        return self


@pytest.fixture(autouse=True)
def _interrupts_are_obeyed():
    """Also where the tests run in the background of a shell, which turns them off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def long_path():
    return path_of(n_clusters=range(1, 9))


@posix
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_selection_returns_what_is_finished(n_jobs, long_path):
    threads = set(threading.enumerate())
    estimator = Restarted(column_penalty=Interrupting(at=6))
    options = {"n_init": 3, "random_state": 0, "n_jobs": n_jobs}
    with pytest.warns(
        RuntimeWarning, match=r"^Interrupted: .*without K = .*8; "
    ) as told:
        path = select_n_clusters(X, range(1, 9), estimator=estimator, **options)
    assert set(threading.enumerate()) == threads
    left = sorted({*range(1, 9)} - {*path.n_clusters.tolist()})
    assert f"without K = {', '.join(map(str, left))};" in str(told[0].message)
    assert told[0].filename == __file__
    assert {1, 2} <= {*path.n_clusters.tolist()}
    assert {6, 7, 8} <= {*left}
    if n_jobs == 1:
        assert left == [6, 7, 8]
    for k in path.n_clusters:
        assert_same_fit(path.estimator(k), long_path.estimator(k))
    assert_same_path(path.extend(X, range(1, 9)), long_path)


@posix
def test_an_interrupted_extension_raises_and_keeps_what_is_finished(long_path):
    estimator = Restarted(column_penalty=Interrupting(at=6))
    path = path_of(n_clusters=[2], estimator=estimator, n_jobs=2)
    with pytest.raises(KeyboardInterrupt):
        path.extend(X, range(1, 9))
    kept = path.n_clusters.tolist()
    assert kept == list(range(1, len(kept) + 1))
    assert 2 <= len(kept) <= 5
    assert_same_path(path.extend(X, range(1, 9)), long_path)
    # Before the first fit there is nothing to keep.
    estimator = Restarted(column_penalty=Interrupting(at=2))
    with pytest.raises(KeyboardInterrupt):
        path_of(n_clusters=[2, 3], estimator=estimator)


@posix
def test_an_interrupted_automatic_fit_raises():
    options = {"max_clusters": 8, "n_init": 3, "random_state": 0, "n_jobs": 2}
    model = ThreeCPO("auto", column_penalty=Interrupting(at=6), **options)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "k_path_")
    assert model.fit(X).n_clusters_ == 3


# Interrupts itself when it is told to.
LONG_PATH = """
import os, signal, sys, threading
import numpy as np
import scipy.sparse as sp
from threecpo import ThreeCPO, select_n_clusters

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
n_rows, n_columns = (1000, 300)
n_counts = n_rows * n_columns // 50
places = rng.integers(n_rows, size=n_counts), rng.integers(n_columns, size=n_counts)
X = sp.csr_array((np.ceil(5 * rng.random(n_counts)), places), shape=(1000, 300))
select_n_clusters(X[:50], [1, 2], n_init=2, n_jobs=2)

def interrupt():
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGINT)

other = threading.Thread(target=interrupt)
other.start()
estimator = ThreeCPO(init="poisson-k-means++")
path = select_n_clusters(
    X, range(1, 900), n_init=20, n_jobs=2, estimator=estimator, verbose=1
)
other.join()
fits = path.n_clusters
print(threading.active_count(), len(fits), fits[-1], flush=True)
"""


@posix
def test_an_interrupt_from_outside_ends_a_selection_that_would_take_hours():
    command = [sys.executable, "-W", "default", "-c", LONG_PATH]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, **pipes, text=True) as process:
        try:
            while "K = 4" not in process.stderr.readline():
                assert process.poll() is None
            told, errors = process.communicate("now\n", timeout=600)
        finally:
            process.kill()
    n_threads, n_fits, last = map(int, told.split())
    assert n_threads == 1
    assert 0 < n_fits == last < 899
    assert "RuntimeWarning: Interrupted" in errors
    assert f"without K = {last + 1}, " in errors
    assert process.returncode == 0
