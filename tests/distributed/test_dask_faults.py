"""What a fit on Dask survives, and how it ends where it cannot go on."""

import copy
import os
import signal
import sys
import threading
import time
from functools import partial

import dask
import numpy as np
import pytest
from block_fits import assert_same_bits, evenly, fit, shapeless, write

from threecpo import distributed as ours
from threecpo.distributed import _dask
from threecpo.distributed._dask import DaskEngine

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from dask_processes import TIMEOUT, Hooked, local_cluster, started  # noqa: E402

OPTIONS = {
    "n_clusters": 6,
    "init": "random-labels",
    "n_init": 6,
    "outliers": "iterative",
    "column_penalty": None,
}
# Readers are sent first, in four or eight shares; then come the requests of passes.
REQUEST = 11
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
kills = pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")


@pytest.fixture(scope="module", name="X")
def counts():
    return shapeless()


@pytest.fixture(scope="module")
def expected(X):
    return fit(X, **OPTIONS)


@pytest.fixture(scope="module")
def folder(X, tmp_path_factory):
    return write(X, tmp_path_factory.mktemp("blocks") / "X", 11)


@pytest.fixture(scope="module")
def client():
    """Workers that nannies start again."""
    with (
        local_cluster() as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, timeout=TIMEOUT)
        yield client


class DeadlyReader:
    """Kills its worker, once, when all blocks together were read so many times."""

    def __init__(self, read, folder, n_reads):
        self.read, self.folder, self.n_reads = read, folder, n_reads

    def __call__(self):
        log = self.folder / "reads"
        with log.open("a") as file:
            file.write("x")
        if log.stat().st_size >= self.n_reads:
            try:
                (self.folder / "killed").touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.read()


@pytest.mark.slow
@kills
def test_a_worker_is_killed_during_a_pass(client, X, expected, tmp_path):
    readers = [DeadlyReader(read, tmp_path, 60) for read in evenly(X, 11)]
    assert_same_bits(fit(readers, fitting={"client": client}, **OPTIONS), expected)
    assert (tmp_path / "killed").exists()


@pytest.mark.slow
@kills
def test_all_workers_are_killed_and_others_start(folder, expected, tmp_path):
    with started(tmp_path) as (processes, client):

        def replace_workers():
            processes.kill_workers()
            deadline = time.monotonic() + TIMEOUT
            while client.nthreads() and time.monotonic() < deadline:
                time.sleep(0.01)
            processes.start_workers()

        hooked = Hooked(client, _dask.unpickled, REQUEST, after=replace_workers)
        found = fit(folder, fitting={"client": hooked}, **OPTIONS)
    assert hooked.n_tasks > REQUEST
    assert_same_bits(found, expected)


@pytest.mark.slow
@kills
def test_the_scheduler_is_killed_and_the_same_call_resumes(folder, expected, tmp_path):
    state = tmp_path / "state"
    with started(tmp_path / "local", 1) as (processes, client):
        hooked = Hooked(client, _dask.unpickled, REQUEST, after=processes.kill_all)
        with pytest.raises(ours.ClusterLostError) as caught:
            fit(folder, fitting={"client": hooked, "checkpoint": state}, **OPTIONS)
    assert str(caught.value) == (
        f"The connection to the Dask scheduler at {processes.address} was lost. Run "
        f"the same call again to resume from {state}."
    )
    assert (state / "state.json").exists()
    with started(tmp_path / "other", 1) as (_, client):
        fitting = {"client": client, "checkpoint": state}
        assert_same_bits(fit(folder, fitting=fitting, **OPTIONS), expected)


@pytest.mark.slow
@kills
def test_a_persisted_array_is_lost_with_the_scheduler(X, tmp_path):
    with started(tmp_path, 1) as (processes, client):
        array = client.persist(da.from_array(X.toarray(), chunks=(100, -1)))
        hooked = Hooked(client, _dask.unpickled, REQUEST, after=processes.kill_all)
        with pytest.raises(
            ours.ClusterLostError,
            match=r"persisted on the cluster and was lost with it: persist it again\. "
            "Run the fit again, with checkpoint=",
        ):
            fit(array, fitting={"client": hooked}, **OPTIONS)


def deadly(index, counts):
    os._exit(1)


def test_work_that_ends_its_workers_is_given_up(X):
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        local_cluster(1) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        engine = DaskEngine(client, evenly(X, 1), "Advice.")
        with pytest.raises(
            ours.ClusterLostError, match=r"1 Dask workers died .* Advice\."
        ):
            engine.fold(deadly, list.__add__)


def raising(error, log, *_):
    with log.open("a") as file:
        file.write("called\n")
    raise error


@pytest.mark.parametrize(
    "error",
    [ValueError("no"), KeyError("no"), ConnectionError("no")],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_tasks_are_raised_as_themselves(client, X, tmp_path, error):
    log = tmp_path / "log"
    engine = DaskEngine(client, evenly(X, 1), "")
    with pytest.raises(type(error), match="no"):
        engine.fold(partial(raising, error, log), list.__add__)
    assert log.read_text() == "called\n"


def test_errors_of_readers_are_raised_as_themselves(client, X, tmp_path):
    log = tmp_path / "log"
    readers = [evenly(X, 2)[0], partial(raising, OSError("torn tape"), log)]
    with pytest.raises(OSError, match="torn tape"):
        fit(readers, fitting={"client": client})
    assert log.read_text() == "called\n"


def test_readers_that_cannot_be_sent(client, X):
    readers = [evenly(X, 2)[0], partial(min, threading.Lock())]
    with pytest.raises(TypeError, match="pickle"):
        fit(readers, fitting={"client": client})


def size_of(content, index, counts):
    return len(content) * (index == 0)


def test_large_requests_are_sent_without_a_warning(client, X):
    engine = DaskEngine(client, evenly(X, 9), "")
    content = np.random.default_rng(0).bytes(12_000_000)
    assert engine.fold(partial(size_of, content), int.__add__) == 12_000_000


def test_combining_leaves_its_parts_for_a_task_that_is_run_again():
    parts = [np.arange(3.0), np.ones(3), np.ones(3)]
    before = copy.deepcopy(parts)
    first, second = (_dask.combined(np.ndarray.__iadd__, parts) for _ in range(2))
    np.testing.assert_array_equal(first, [2, 3, 4])
    np.testing.assert_array_equal(second, first)
    for part, old in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, old)
