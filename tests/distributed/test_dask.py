"""The same fit on the processes of a Dask cluster, what it survives and how it ends."""

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
import scipy.sparse as sp
from block_fits import (
    LONG,
    assert_same_answer,
    assert_same_bits,
    assert_same_path,
    counts_of,
    evenly,
    fit,
    shapeless,
    with_rare,
    write,
)

from threecpo import CountTable, ThreeCPO, select_n_clusters, write_counts
from threecpo import distributed as ours
from threecpo.distributed import _dask
from threecpo.distributed._dask import DaskEngine

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from dask_processes import TIMEOUT, Hooked, local_cluster, started  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def cluster_client():
    """Workers that nannies start again."""
    with (
        local_cluster() as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(cluster_client):
    cluster_client.wait_for_workers(2, timeout=TIMEOUT)
    return cluster_client


@pytest.fixture(scope="module", name="X")
def counts():
    return shapeless()


@pytest.fixture(scope="module")
def expected(X):
    return fit(X, **LONG)


@pytest.fixture(scope="module")
def folder(X, tmp_path_factory):
    return write(X, tmp_path_factory.mktemp("blocks") / "X", 11)


def as_dask(X, rows):
    return da.from_array(X.toarray(), chunks=(rows, -1)).map_blocks(sp.csr_array)


PATH = {"n_init": 2, "random_state": 0}


def auto():
    return ThreeCPO("auto", max_clusters=5, **PATH)


def test_workers_read_the_scratch_store(client, X, expected, tmp_path):
    pytest.importorskip("anndata")
    path, scratch = tmp_path / "cells.h5ad", tmp_path / "scratch"
    scratch.mkdir()
    write_counts(CountTable(X), path)
    given = {"client": client, "scratch": scratch, "max_memory": "100kB"}
    assert_same_bits(fit(path, fitting=given, **LONG), expected, history=False)
    assert not list(scratch.iterdir())


def test_a_path_is_that_from_disk(client, folder):
    options = PATH | {"sample_rows": 100}
    expected, found = (
        ours.select_n_clusters(folder, range(1, 6), client=each, **options)
        for each in (None, client)
    )
    assert_same_path(found, expected)


def test_rare_clusters_are_those_from_disk(client, tmp_path):
    X, _ = with_rare(1)
    blocks = write(X, tmp_path / "X", 5)
    expected, found = (
        fit(blocks, 4, sample_rows=200, fitting={"client": each})
        for each in (None, client)
    )
    assert len(expected.restart_losses_) > 4
    assert_same_bits(found, expected)


def test_auto_of_an_array_is_that_of_memory_up_to_the_sample(client, X):
    array, expected = as_dask(X, 70), auto().fit(X)
    found = ours.fit(auto(), array, client=client)
    assert_same_path(found.k_path_, expected.k_path_)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    beyond, disk = (
        ours.fit(auto(), array, client=each, sample_rows=99) for each in (client, None)
    )
    assert_same_path(beyond.k_path_, disk.k_path_)
    assert_same_bits(beyond.k_path_.best_estimator, disk.k_path_.best_estimator)
    np.testing.assert_array_equal(beyond.probabilities_, disk.probabilities_)


def test_arrays_go_through_the_doors_of_counts_in_memory(X):
    array, wanted = as_dask(X, 70), range(1, 6)
    expected = select_n_clusters(X, wanted, **PATH)
    assert_same_path(auto().fit(array).k_path_, auto().fit(X).k_path_)
    assert_same_path(select_n_clusters(array, wanted, **PATH), expected)


def test_a_folder_gives_the_same_bits(client, folder, expected):
    assert_same_bits(fit(folder, fitting={"client": client}, **LONG), expected)


def test_an_array_of_sparse_chunks_gives_the_same_bits(client, X, expected):
    found = fit(as_dask(X, 57), fitting={"client": client}, **LONG)
    assert_same_bits(found, expected)


def test_a_persisted_array_gives_the_same_bits(client, X, expected):
    array = client.persist(da.from_array(X.toarray(), chunks=(100, -1)))
    for persisted in (array, array.map_blocks(sp.csr_array)):
        found = fit(persisted, fitting={"client": client}, **LONG)
        assert_same_bits(found, expected)


def test_other_rows_get_the_same_on_a_cluster(client, folder, X, expected, tmp_path):
    on = {"client": client}
    found = ours.predict(expected, folder, **on)
    np.testing.assert_array_equal(found, expected.labels_)
    shares = ours.predict_proba(expected, folder, **on)
    np.testing.assert_array_equal(shares, expected.predict_proba(X))
    assert ours.score(expected, folder, **on) == ours.score(expected, folder)
    ours.predict(expected, folder, write_to=tmp_path / "rows", **on)
    margins = ours.read_rows(tmp_path / "rows", "margins")
    np.testing.assert_array_equal(margins, expected.margins_)


RNG = np.random.default_rng(0)
SOME_KNOWN = np.full(400, "", dtype=object)
for _k in range(3):
    SOME_KNOWN[np.flatnonzero(counts_of()[1] == _k)[:4]] = f"kind {2 - _k}"
# What is given of the rows: some of weight 0 in every block, batches of unequal size,
# known clusters that are held in a first fit and released in a second one.
OF_ROWS = {
    "weights and batches": {
        "sample_weight": RNG.integers(4, size=400),
        "batch": RNG.choice(["a", "b", "c"], 400, p=[0.6, 0.3, 0.1]),
    },
    "known": {"known_labels": SOME_KNOWN, "hold_labels": False},
    "robust": {},
}


@pytest.mark.parametrize("kind", OF_ROWS)
def test_what_belongs_to_rows_gives_the_same_bits(client, X, folder, kind):
    rows, options = OF_ROWS[kind], {"n_clusters": 4, "n_init": 2}
    if kind == "robust":
        options["robust"] = {"columns": 1.5, "rows": 2}
    here = fit(evenly(X, 3), fitting=rows, **options)
    there = fit(folder, fitting={"client": client, **rows}, **options)
    if kind == "robust":  # fractions
        assert (here.column_weights_ < 1).any()
        assert (here.row_weights_ < 1).any()
        assert_same_answer(there, here)
        np.testing.assert_array_equal(there.column_weights_, here.column_weights_)
        np.testing.assert_array_equal(there.row_weights_, here.row_weights_)
    else:
        assert_same_bits(there, here)
        assert there.cluster_names_.tolist() == here.cluster_names_.tolist()
    if kind == "known":
        names = here.cluster_names_[:3].tolist()
        assert sorted(names) == ["kind 0", "kind 1", "kind 2"]


def test_results_may_stay_where_they_are_made(client, folder, expected, tmp_path):
    options = {"client": client, "write_to": tmp_path / "rows"}
    model = fit(folder, fitting=options, **LONG)
    assert not hasattr(model, "labels_")
    for name in ("labels", "margins", "row_scales", "outlier_scores"):
        found = ours.read_rows(tmp_path / "rows", name)
        np.testing.assert_array_equal(found, getattr(expected, f"{name}_"))


class TestArrays:
    """Arrays without a cluster, which threads of this process compute."""

    def test_chunks_may_be_full_or_of_unknown_length(self, X, expected):
        full = da.from_array(X.toarray(), chunks=(130, -1))
        assert_same_bits(fit(full, **LONG), expected)
        unknown = full[da.from_array(np.ones(400, bool), chunks=130)]
        assert np.isnan(unknown.shape[0])
        assert_same_bits(fit(unknown, **LONG), expected)

    def test_columns_may_not_be_cut(self, X):
        array = da.from_array(X.toarray(), chunks=(100, 5))
        with pytest.raises(ValueError, match="cut along its rows alone"):
            fit(array)

    def test_the_current_client_does_the_work(self, client, X, expected):
        from threecpo.distributed import _dask

        with client.as_current():
            assert _dask.current_client() is client
            assert_same_bits(fit(as_dask(X, 100), **LONG), expected)


def test_what_moves_depends_on_workers_and_not_on_rows(client, tmp_path):
    """Bytes that a pass sends to the driver, and tasks that it makes."""
    from threecpo._fit.blocks import BlockFit

    class Counter:
        def __init__(self, client):
            self.client, self.n_tasks = client, 0

        def __getattr__(self, name):
            return getattr(self.client, name)

        def submit(self, *args, **options):
            self.n_tasks += 1
            return self.client.submit(*args, **options)

    moved = {}
    for n_blocks in (8, 48):
        folder = write(shapeless(50 * n_blocks), tmp_path / f"{n_blocks}", n_blocks)
        counter = Counter(client)
        sizes = []

        def recording(self, requests, whole=BlockFit._pass, sizes=sizes):
            answers = whole(self, requests)
            sizes.append(sum(a.table.nbytes for a in answers) / len(requests))
            return answers

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BlockFit, "_pass", recording)
            fitting = {"client": counter, "rare_clusters": False}
            model = fit(folder, fitting=fitting, **LONG | {"max_iter": 3})
        moved[n_blocks] = set(sizes)
        # The passes, the first scan, the sample and the results.
        n_folds = 3 + len(sizes)
        # What is asked, four shares for each of two threads, one addition; and once the
        # shares themselves.
        assert counter.n_tasks == n_folds * (1 + 8 + 1) + 8
        assert model.n_iter_ == 3
    assert moved[8] == moved[48]


# Readers are sent first, in four or eight shares; then come the requests of passes.
REQUEST = 11
kills = pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")


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
    assert_same_bits(fit(readers, fitting={"client": client}, **LONG), expected)
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
        found = fit(folder, fitting={"client": hooked}, **LONG)
    assert hooked.n_tasks > REQUEST
    assert_same_bits(found, expected)


@pytest.mark.slow
@kills
def test_the_scheduler_is_killed_and_the_same_call_resumes(folder, expected, tmp_path):
    state = tmp_path / "state"
    with started(tmp_path / "local", 1) as (processes, client):
        hooked = Hooked(client, _dask.unpickled, REQUEST, after=processes.kill_all)
        with pytest.raises(ours.ClusterLostError) as caught:
            fit(folder, fitting={"client": hooked, "checkpoint": state}, **LONG)
    assert str(caught.value) == (
        f"The connection to the Dask scheduler at {processes.address} was lost. Run "
        f"the same call again to resume from {state}."
    )
    assert (state / "state.json").exists()
    with started(tmp_path / "other", 1) as (_, client):
        fitting = {"client": client, "checkpoint": state}
        assert_same_bits(fit(folder, fitting=fitting, **LONG), expected)


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
            fit(array, fitting={"client": hooked}, **LONG)


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
