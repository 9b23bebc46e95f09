"""The same fit on the processes of a Dask cluster."""

import numpy as np
import pytest
import scipy.sparse as sp
from block_fits import (
    assert_same_answer,
    assert_same_bits,
    assert_same_path,
    counts_of,
    evenly,
    fit,
    model_of,
    shapeless,
    with_rare,
    write,
)

from threecpo import CountTable, ThreeCPO, select_n_clusters, write_counts
from threecpo import distributed as ours

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from dask_processes import TIMEOUT, local_cluster  # noqa: E402

LONG = {
    "n_clusters": 6,
    "init": "random-labels",
    "n_init": 6,
    "outliers": "iterative",
    "column_penalty": None,
}
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def client():
    with (
        local_cluster() as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, timeout=TIMEOUT)
        yield client


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


def test_weights_and_batches_give_the_same_bits(client, X, folder):
    """Rows of weight 0 in every block, batches of unequal size, two orders of both."""
    rng = np.random.default_rng(0)
    rows = {
        "sample_weight": rng.integers(4, size=X.shape[0]),
        "batch": rng.choice(["a", "b", "c"], X.shape[0], p=[0.6, 0.3, 0.1]),
    }
    options = {"n_clusters": 4, "n_init": 2}
    here = fit(evenly(X, 3), fitting=rows, **options)
    there = fit(folder, fitting={"client": client, **rows}, **options)
    assert_same_bits(there, here)


def test_columns_and_rows_are_downweighted_on_a_cluster(client, X, folder):
    options = {"n_clusters": 4, "n_init": 2, "robust": {"columns": 1.5, "rows": 2}}
    here = fit(X, **options)
    assert (here.column_weights_ < 1).any()
    assert (here.row_weights_ < 1).any()
    there = fit(folder, fitting={"client": client}, **options)
    assert_same_answer(there, here)
    np.testing.assert_array_equal(there.column_weights_, here.column_weights_)
    np.testing.assert_array_equal(there.row_weights_, here.row_weights_)


def test_known_clusters_on_a_cluster(client, X, folder):
    """Held in a first fit and released in a second one."""
    _, classes = counts_of()
    known = np.full(X.shape[0], "", dtype=object)
    for k in range(3):
        known[np.flatnonzero(classes == k)[:4]] = f"kind {2 - k}"
    options = {"n_clusters": 4, "n_init": 2}
    rows = {"known_labels": known, "hold_labels": False}
    here = fit(evenly(X, 3), fitting=rows, **options)
    there = fit(folder, fitting={"client": client, **rows}, **options)
    assert_same_bits(there, here)
    assert there.cluster_names_.tolist() == here.cluster_names_.tolist()
    names = here.cluster_names_[:3].tolist()
    assert sorted(names) == ["kind 0", "kind 1", "kind 2"]


def test_fractions_give_the_same_answer(client):
    X, _ = counts_of(fractional=True)
    with pytest.warns(UserWarning, match="not integers"):
        expected = fit(X)
    with pytest.warns(UserWarning, match="not integers"):
        found = fit(evenly(X, 9), fitting={"client": client})
    assert_same_answer(found, expected)


def test_results_may_stay_where_they_are_made(client, folder, expected, tmp_path):
    options = {"client": client, "write_to": tmp_path / "rows"}
    model = fit(folder, fitting=options, **LONG)
    assert not hasattr(model, "labels_")
    for name in ("labels", "margins", "row_scales", "outlier_scores"):
        found = ours.read_rows(tmp_path / "rows", name)
        np.testing.assert_array_equal(found, getattr(expected, f"{name}_"))


class TestArrays:
    """Arrays without a cluster, which threads of this process compute."""

    def test_fit_takes_them(self, X):
        model = model_of(**LONG)
        assert_same_bits(model.fit(as_dask(X, 90)), model_of(**LONG).fit(X))

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


def test_merged_clusters_give_the_same_bits(client, X, folder, expected):
    def joined(model, **counts):
        return model.merge([[0, 2], [1, 4]], **counts)

    readers = evenly(X, 7)
    fits = fit(readers, **LONG), fit(folder, fitting={"client": client}, **LONG)
    for model in fits:
        assert_same_bits(joined(model), joined(expected))
        assert joined(model).tree_.tobytes() == joined(expected).tree_.tobytes()
    # With the rows: in memory, in blocks, and where the current client has them.
    refined = joined(expected, X=X)
    start = joined(fits[0])
    going_on = model_of(**LONG | {"n_clusters": start.n_clusters_, "init": start})
    assert_same_answer(ours.fit(going_on, readers), refined)
    blocks = da.from_array(X.toarray(), chunks=(90, -1))
    with client.as_current():
        on_dask = joined(fits[1], X=blocks)
    assert_same_answer(on_dask, refined)
    assert on_dask.loss_ == refined.loss_
    assert on_dask.labels_.tobytes() == refined.labels_.tobytes()
    assert on_dask.column_groups_.tobytes() == refined.column_groups_.tobytes()
    assert on_dask.init == refined.init
    assert on_dask.record_.parameters == refined.record_.parameters
    assert on_dask.probabilities_.tobytes() == refined.probabilities_.tobytes()


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
