"""Workers and schedulers that go away; the same bits when they come back."""

import sys
import threading

import numpy as np
import pytest
from block_fits import assert_same_bits, fit, shapeless, write

from threecpo import distributed as ours
from threecpo.distributed import _connection, _patience, _shares

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from dask_processes import (  # noqa: E402
    TIMEOUT,
    Hooked,
    InThread,
    Reports,
    kill_worker_of,
    local_cluster,
    short_timeouts,
    started,
)

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
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", name="X")
def counts():
    return shapeless()


@pytest.fixture(scope="module")
def expected(X):
    return fit(X, **OPTIONS)


@pytest.fixture(scope="module")
def folder(X, tmp_path_factory):
    return write(X, tmp_path_factory.mktemp("blocks") / "X", 11)


@pytest.fixture
def reports(monkeypatch):
    heard = Reports()
    monkeypatch.setattr(_patience, "MESSAGE_SECONDS", 0.5)
    _patience.logger.addHandler(heard)
    yield heard
    _patience.logger.removeHandler(heard)


@pytest.fixture(scope="module")
def cluster():
    """Workers that nannies start again."""
    with local_cluster() as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=TIMEOUT)
        yield client


@pytest.mark.parametrize("moment", ["before", "after"])
def test_workers_die_while_the_request_is_sent(
    cluster, client, folder, expected, moment
):
    def kill():
        for i in range(2):
            kill_worker_of(cluster, i)

    hooked = Hooked(client, _shares.unpickled, REQUEST, **{moment: kill})
    assert_same_bits(fit(folder, fitting={"client": hooked}, **OPTIONS), expected)
    assert hooked.n_tasks > REQUEST


def test_workers_die_at_random_moments(cluster, client, folder, expected):
    ended = threading.Event()
    killed = []

    def kill_some():
        rng = np.random.default_rng()
        while len(killed) < 4 and not ended.wait(rng.random()):
            if kill_worker_of(cluster, len(killed)):
                killed.append(1)

    call = InThread(kill_some)
    try:
        found = []
        while not (found and killed):
            found.append(fit(folder, fitting={"client": client}, **OPTIONS))
    finally:
        ended.set()
    call.result()
    for model in found:
        assert_same_bits(model, expected)


def test_all_workers_are_gone_for_longer_than_dask_waits(
    folder, expected, tmp_path, reports
):
    with started(tmp_path) as (processes, client), short_timeouts():
        hooked = Hooked(
            client, _shares.unpickled, REQUEST, after=processes.kill_workers
        )
        fitting = {"client": hooked, "patience": TIMEOUT}
        call = InThread(lambda: fit(folder, fitting=fitting, **OPTIONS))
        reports.wait_for("has 0 workers", often=6)
        processes.start_workers()
        assert_same_bits(call.result(), expected)


@pytest.mark.parametrize("reconnects", [True, False])
def test_a_scheduler_is_started_again(folder, expected, tmp_path, reports, reconnects):
    """By itself a client reconnects for a time only, and then closes."""
    seconds = 60 if reconnects else 2
    with short_timeouts(seconds), started(tmp_path) as (processes, client):
        gone = threading.Event()

        def lose_all():
            processes.kill_all()
            # A busy cluster may have been silent before.
            reports.texts.clear()
            gone.set()

        hooked = Hooked(client, _shares.unpickled, REQUEST, after=lose_all)
        fitting = {"client": hooked, "patience": TIMEOUT}
        call = InThread(lambda: fit(folder, fitting=fitting, **OPTIONS))
        assert gone.wait(TIMEOUT)
        reports.wait_for("does not answer", often=1 if reconnects else 6)
        if not reconnects:
            assert client.status == "closed"
        processes.start_scheduler()
        processes.start_workers()
        assert_same_bits(call.result(), expected)


def test_when_patience_ends_the_checkpoint_is_whole(
    folder, expected, tmp_path, monkeypatch
):
    # A busy machine is no cluster that is away.
    monkeypatch.setattr(_connection, "ANSWER_SECONDS", TIMEOUT)
    state = tmp_path / "state"
    with short_timeouts(2), started(tmp_path / "local", 1) as (processes, client):
        hooked = Hooked(client, _shares.unpickled, REQUEST, after=processes.kill_all)
        fitting = {"client": hooked, "patience": 1, "checkpoint": state}
        with pytest.raises(
            ours.ClusterLostError,
            match=rf"patience=1 s of waiting are over\. The state .* is in {state}: "
            "make the same call",
        ):
            fit(folder, fitting=fitting, **OPTIONS)
    assert (state / "state.json").exists()
    assert_same_bits(fit(folder, fitting={"checkpoint": state}, **OPTIONS), expected)


def test_a_persisted_array_is_lost_with_the_scheduler(X, tmp_path):
    with short_timeouts(2), started(tmp_path, 1) as (processes, client):
        array = client.persist(da.from_array(X.toarray(), chunks=(100, -1)))

        def restart():
            processes.kill_all()
            processes.start_scheduler()
            processes.start_workers(1)

        hooked = Hooked(client, _shares.unpickled, REQUEST, after=restart)
        with pytest.raises(
            ours.ClusterLostError,
            match="was persisted on the cluster and is lost with it; persist it again",
        ):
            fit(array, fitting={"client": hooked, "patience": TIMEOUT}, **OPTIONS)
