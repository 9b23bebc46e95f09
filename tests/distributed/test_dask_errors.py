"""Errors of readers and of work are raised at once; others are waited out."""

import os
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from block_fits import evenly, fit, shapeless

from threecpo import distributed as ours
from threecpo._errors import DataFormatError
from threecpo.distributed import _connection, _patience, _shares
from threecpo.distributed._dask import Cluster
from threecpo.distributed._patience import Patience

distributed = pytest.importorskip("distributed")

from dask_processes import (  # noqa: E402
    TIMEOUT,
    Hooked,
    InThread,
    Reports,
    local_cluster,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", name="X")
def counts():
    return shapeless()


@pytest.fixture(scope="module")
def client():
    with (
        local_cluster() as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, timeout=TIMEOUT)
        yield client


@pytest.fixture
def reports(monkeypatch):
    heard = Reports()
    monkeypatch.setattr(_patience, "MESSAGE_SECONDS", 0.5)
    # A busy machine is no cluster that is away.
    monkeypatch.setattr(_connection, "ANSWER_SECONDS", TIMEOUT)
    _patience.logger.addHandler(heard)
    yield heard
    _patience.logger.removeHandler(heard)


def raising(error, log, *_):
    with log.open("a") as file:
        file.write("called\n")
    raise error


ERRORS = pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        DataFormatError("no"),
        KeyError("no"),
        OSError("no"),
        TimeoutError("no"),
        ConnectionError("no"),
    ],
    ids=lambda error: type(error).__name__,
)


@ERRORS
def test_errors_of_readers(client, X, tmp_path, error, reports):
    log = tmp_path / "log"
    readers = [evenly(X, 2)[0], partial(raising, error, log)]
    # A reader that fails is named by its block.
    with pytest.raises((type(error), DataFormatError), match="no"):
        fit(readers, fitting={"client": client})
    assert log.read_text() == "called\n"
    assert not reports.texts


@ERRORS
def test_errors_of_work(client, X, tmp_path, error, reports):
    log = tmp_path / "log"
    engine = Cluster(client, evenly(X, 1), Patience(TIMEOUT, ""))
    with pytest.raises(type(error), match="no"):
        engine.fold(partial(raising, error, log), list.__add__)
    assert log.read_text() == "called\n"
    assert not reports.texts


def test_readers_that_cannot_be_sent(client, X, reports):
    import threading

    readers = [evenly(X, 2)[0], partial(min, threading.Lock())]
    with pytest.raises(TypeError, match="pickle"):
        fit(readers, fitting={"client": client})
    assert not reports.texts


def size_of(content, index, counts):
    return len(content) * (index == 0)


def test_large_requests_are_sent_without_a_warning(client, X):
    engine = Cluster(client, evenly(X, 9), Patience(TIMEOUT, ""))
    content = np.random.default_rng(0).bytes(12_000_000)
    assert engine.fold(partial(size_of, content), int.__add__) == 12_000_000


def test_a_cluster_without_workers(X, reports):
    with (
        local_cluster(0) as empty,
        distributed.Client(empty, set_as_default=False) as client,
        pytest.raises(ours.ClusterLostError, match="has 0 workers; patience=1 s"),
    ):
        fit(evenly(X, 3), fitting={"client": client, "patience": 1})
    assert "has 0 workers. The pass has waited for 0 s" in reports.texts[0]


def once_there_is(path, index, counts):
    deadline = time.monotonic() + TIMEOUT
    while not Path(path).exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return 1


def test_a_scheduler_that_is_slow_to_answer_keeps_what_was_asked(
    client, X, tmp_path, monkeypatch, reports
):
    answers = iter([2])
    monkeypatch.setattr(
        _connection.Connection, "threads", lambda _: next(answers, None)
    )
    counting = Hooked(client, _shares.unpickled)
    engine = Cluster(counting, evenly(X, 1), Patience(TIMEOUT, ""))
    work = partial(once_there_is, tmp_path / "go")
    call = InThread(lambda: engine.fold(work, int.__add__))
    reports.wait_for("does not answer. The pass has waited for", often=2)
    (tmp_path / "go").touch()
    assert call.result() == 1
    assert counting.n_tasks == 2, "one share and one request"


def deadly(index, counts):
    os._exit(1)


@pytest.mark.slow
def test_work_that_ends_its_workers_is_not_asked_for_for_ever(X):
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        local_cluster(1) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        engine = Cluster(client, evenly(X, 1), Patience(TIMEOUT, "Advice."))
        with pytest.raises(ours.ClusterLostError, match=r"workers died.*Advice\."):
            engine.fold(deadly, list.__add__)
