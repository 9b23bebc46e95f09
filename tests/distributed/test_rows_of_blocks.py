"""Results of rows in blocks: in memory, in files, of new rows; confidence."""

import errno

import numpy as np
import pytest
from block_fits import (
    ROWS,
    assert_same_bits,
    attributes,
    counts_of,
    evenly,
    fit,
    model_of,
)
from sklearn.exceptions import NotFittedError

import threecpo
from containers import planted
from fitting import TRUE, blocks_of
from fitting import X as PLANTED
from paper.poisson import PoissonL
from threecpo import ThreeCPO, distributed, select_n_clusters
from threecpo._fit import row_results
from threecpo._fit.blocks import rows_to_sample
from threecpo._fit.budget import MemoryBudget


@pytest.fixture(scope="module", name="X")
def counts():
    return counts_of()[0]


@pytest.fixture(scope="module")
def expected(X):
    return fit(X, outliers="iterative")


def written(X, folder, n_blocks=6):
    options = {"outliers": "iterative", "fitting": {"write_to": folder}}
    return fit(evenly(X, n_blocks), **options)


def test_files_hold_what_the_attributes_would(X, expected, tmp_path):
    model = fit(X)
    options = {"write_to": tmp_path / "rows", "sample_rows": 60}
    distributed.fit(model.set_params(outliers="iterative"), evenly(X, 12), **options)
    for name in ROWS:
        assert not hasattr(model, name)  # those of the earlier fit are forgotten
        found = distributed.read_rows(tmp_path / "rows", name.removesuffix("_"))
        np.testing.assert_array_equal(found, getattr(expected, name))
        assert found.dtype == getattr(expected, name).dtype
    assert len(list((tmp_path / "rows").iterdir())) == 12 * len(ROWS)
    np.testing.assert_array_equal(model.predict(X), expected.labels_)
    with pytest.raises(FileNotFoundError, match="does not contain margins"):
        distributed.read_rows(tmp_path, "margins")


def test_a_model_without_rows_is_saved_and_loaded(X, expected, tmp_path):
    model = written(X, tmp_path / "rows")
    model.save(tmp_path / "model.npz")
    again = threecpo.load(tmp_path / "model.npz")
    assert attributes(again).keys() == attributes(model).keys()
    np.testing.assert_array_equal(again.predict(X), expected.labels_)
    assert again.score(X) == model.score(X)
    assert_same_bits(fit(evenly(X, 4), init=again), fit(X, init=model))


def test_half_of_the_rows_is_a_damaged_model(expected, tmp_path):
    expected.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as file:
        arrays = {name: file[name] for name in file.files if name != "margins"}
    np.savez(tmp_path / "model.npz", **arrays)
    with pytest.raises(ValueError, match="damaged"):
        threecpo.load(tmp_path / "model.npz")


def test_an_existing_folder_is_left_alone_and_named_before_the_fit(X, tmp_path):
    (tmp_path / "rows").mkdir()
    readers = evenly(X, 3)
    with pytest.raises(FileExistsError, match=r"write_to=.* exists; name a new folder"):
        fit(readers, fitting={"write_to": tmp_path / "rows"})
    assert all(read.reads == 0 for read in readers)


def test_a_full_disk_leaves_nothing_half_written(X, tmp_path, monkeypatch):
    before = written(X, tmp_path / "earlier")
    whole = np.save

    def full(file, values, **options):
        whole(file, values[:1], **options)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(row_results.np, "save", full)
    with pytest.raises(OSError, match=r"could not be written .* No space left"):
        written(X, tmp_path / "rows")
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["earlier"]
    found = distributed.read_rows(tmp_path / "earlier")
    np.testing.assert_array_equal(found, before.predict(X))


KINDS = ("outliers", "joined", "batches", "poisson-l")


def fitted(kind):
    X, _ = counts_of(seed=3, n_rows=400, n_clusters=4)
    options = {"outliers": "iterative"} if kind == "outliers" else {}
    if kind == "batches":
        batch = np.array(["a", "b"], dtype=object)[np.arange(X.shape[0]) % 2]
        return model_of(4).fit(X, batch=batch), X
    if kind == "poisson-l":
        return PoissonL(4, random_state=0).fit(X), X
    model = model_of(4, **options).fit(X)
    return (model.cut(2) if kind == "joined" else model), X


@pytest.mark.parametrize("kind", KINDS)
def test_labels_and_scores_are_those_of_memory(kind):
    model, X = fitted(kind)
    blocks = evenly(X, 7)
    labels = distributed.predict(model, blocks)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert {block.reads for block in blocks} == {1}
    if kind != "poisson-l":
        found = distributed.predict_proba(model, blocks, max_memory="1MB")
        np.testing.assert_array_equal(found, model.predict_proba(X))
        assert {block.reads for block in blocks} == {2}
    assert distributed.score(model, blocks) == pytest.approx(model.score(X), rel=1e-12)


def test_batches_are_given_for_all_rows():
    model, X = fitted("batches")
    batch = np.array(["b", "a", "other"], dtype=object)[np.arange(X.shape[0]) % 3]
    blocks = evenly(X, 3)
    with pytest.warns(UserWarning, match="133 of 400 rows come from batches"):
        expected = model.predict(X, batch=batch)
    with pytest.warns(UserWarning, match="133 of 400 rows come from batches"):
        found = distributed.predict(model, blocks, batch=batch)
    np.testing.assert_array_equal(found, expected)
    batch[batch == "other"] = "a"
    with pytest.raises(ValueError, match="399"):
        distributed.predict(model, blocks, batch=batch[1:])
    plain, _ = fitted("plain")
    with pytest.raises(ValueError, match="fitted without batch="):
        distributed.predict(plain, blocks, batch=batch)


def test_results_are_written_block_by_block(tmp_path):
    model, X = fitted("outliers")
    blocks = evenly(X, 3)
    assert distributed.predict(model, blocks, write_to=tmp_path / "rows") is None
    for name in ("labels", "margins", "outlier_scores", "row_scales"):
        found = distributed.read_rows(tmp_path / "rows", name)
        np.testing.assert_array_equal(found, getattr(model, f"{name}_"))
    assert distributed.predict_proba(model, blocks, write_to=tmp_path / "all") is None
    found = distributed.read_rows(tmp_path / "all", "probabilities")
    np.testing.assert_array_equal(found, model.predict_proba(X))
    with pytest.raises(FileExistsError, match="name a new folder"):
        distributed.predict(model, blocks, write_to=tmp_path / "rows")


def test_columns_must_be_those_of_the_model(tmp_path):
    X, _ = counts_of(seed=3, n_rows=200)
    names = [f"word {j}" for j in range(X.shape[1])]
    table = threecpo.CountTable(X, column_names=names)
    model = model_of(3).fit(table)
    found = distributed.predict(model, table)
    np.testing.assert_array_equal(found, model.labels_)
    renamed = [*names[:2], "other", *names[3:]]
    other = threecpo.CountTable(X, column_names=renamed)
    with pytest.raises(ValueError, match="column 2 called 'other', not 'word 2'"):
        distributed.predict(model, other)
    narrow = threecpo.CountTable(X[:, 1:], column_names=names[:-1])
    with pytest.raises(ValueError, match="columns, not"):
        distributed.predict(model, narrow)
    with pytest.raises(ValueError, match="columns; the model was fitted on"):
        distributed.predict(model, evenly(X[:, 1:], 2))


def test_what_is_no_count_is_named():
    model, X = fitted("plain")
    X = X.astype(float).tolil()
    X[150, 2] = np.nan
    with pytest.raises(ValueError, match="row 50, column 2"):
        distributed.predict(model, evenly(X.tocsr(), 4))


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        distributed.predict(ThreeCPO(2), [lambda: np.eye(3)])


def test_a_budget_is_kept():
    model, X = fitted("plain")
    found = distributed.predict(model, X, max_memory="1MB")
    np.testing.assert_array_equal(found, model.labels_)
    with pytest.raises(
        ValueError, match="more than half of max_memory=1 kB: write smaller"
    ):
        distributed.predict(model, X, max_memory="1kB")


@pytest.fixture(name="Y", scope="module")
def more_counts():
    return counts_of(2, n_rows=400)[0]


@pytest.fixture(scope="module")
def measured(Y):
    return fit(Y, n_jobs=1)


@pytest.fixture
def short(monkeypatch):
    """Room for results of rows, but not for a number for each cluster."""
    monkeypatch.setattr(MemoryBudget, "holds", lambda _, size: size < 400 * 60)


def test_a_budget_with_room_leaves_the_probabilities(Y, measured):
    found = fit(evenly(Y, 5), fitting={"max_memory": "1MB"})
    np.testing.assert_array_equal(found.probabilities_, measured.probabilities_)
    assert found.temperature_ == measured.temperature_
    assert found.dispersion_ == pytest.approx(measured.dispersion_, rel=1e-12)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("options", [{"outliers": "iterative"}, {"batch": 2}])
def test_without_room_t_is_the_same_and_probabilities_are_elsewhere(
    Y, options, tmp_path
):
    rows = {"batch": np.arange(400) % options.get("batch", 1)}
    options = {k: v for k, v in options.items() if k != "batch"}
    whole = model_of(**options).fit(Y, **rows)
    found = fit(evenly(Y, 5), sample_rows=400, fitting=rows, **options)
    assert found.temperature_ == whole.temperature_
    assert found.dispersion_ == pytest.approx(whole.dispersion_, rel=1e-12)
    with pytest.raises(AttributeError, match="did not keep the probabilities"):
        found.probabilities_  # noqa: B018
    joined = found.cut(2)
    assert joined.temperature_ == whole.temperature_
    found.save(tmp_path / "model.npz")
    again = threecpo.load(tmp_path / "model.npz")
    assert again.temperature_ == whole.temperature_
    np.testing.assert_array_equal(again.labels_, whole.labels_)
    again = again.measure_confidence(Y)
    measured = whole.measure_confidence(Y)
    np.testing.assert_array_equal(again.probabilities_, measured.probabilities_)


@pytest.mark.parametrize("limit", ["1MB", None])
def test_rows_that_are_written_leave_t_within_a_budget(Y, measured, limit, tmp_path):
    blocks, rows = evenly(Y, 5), tmp_path / "rows"
    found = fit(blocks, fitting={"write_to": rows, "max_memory": limit})
    np.testing.assert_array_equal(distributed.read_rows(rows), measured.labels_)
    assert {read.reads for read in blocks} == {blocks[0].reads}
    if limit is None:
        with pytest.raises(AttributeError, match="Confidence was not measured"):
            found.temperature_  # noqa: B018
    else:
        assert found.temperature_ == measured.temperature_


def test_a_model_without_t_says_how_to_measure_it(Y):
    model = select_n_clusters(Y, [3], n_init=1, random_state=0).best_estimator
    with pytest.raises(AttributeError, match="measure_confidence"):
        distributed.predict_proba(model, Y)


KNOWN = np.full(len(PLANTED), -1)
for number, k in enumerate((2, 0)):
    KNOWN[np.flatnonzero(k == TRUE)[:4]] = number


def asked(**options):
    return ThreeCPO(4, **{"random_state": 0, "n_init": 2} | options)


def test_a_sample_has_rows_of_every_known_cluster():
    many, true = planted(n_rows=900, n_background=20)
    known = np.full(len(many), -1)
    for number, k in enumerate((2, 0)):
        known[np.flatnonzero(true == k)[[5, 77]]] = number
    names = np.where(known >= 0, np.array(["b", "a"])[known], "")
    fits = []
    for size in (100, 333):
        model = asked(n_init=2)
        blocks = blocks_of(many, size)
        options = {"known_labels": names, "sample_rows": 60}
        fits.append(distributed.fit(model, blocks, **options))
    first, second = fits
    numbers = np.where(known >= 0, 1 - known, -1)
    np.testing.assert_array_equal(first.labels_[known >= 0], numbers[known >= 0])
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert first.cluster_names_[:2].tolist() == ["a", "b"]


def test_rows_to_sample():
    known = np.full(1000, -1, dtype=np.int32)
    known[:5] = 0
    known[500:900] = -3  # starts in cluster 1
    drawn = rows_to_sample(1000, 100, 0, known)
    assert len(np.unique(drawn)) == len(drawn)
    assert np.count_nonzero(known[drawn] == 0) == 5
    assert np.count_nonzero(known[drawn] == -3) >= 25
    plain = rows_to_sample(1000, 100, 0)
    assert set(plain) <= set(drawn)
    assert len(plain) == 100


def test_weights_batches_and_checkpoints(tmp_path):
    rng = np.random.default_rng(0)
    rows = {
        "sample_weight": rng.integers(0, 3, size=len(PLANTED)).astype(float),
        "batch": rng.integers(2, size=len(PLANTED)),
        "known_labels": KNOWN,
    }
    rows["sample_weight"][KNOWN >= 0] = 1.0
    for hold in (True, False):
        options = rows | {"hold_labels": hold, "sample_rows": 80}
        expected = distributed.fit(asked(), blocks_of(PLANTED, 70), **options)
        options["checkpoint"] = tmp_path / f"state-{hold}"
        for _ in range(2):  # the second goes on from a finished state
            found = distributed.fit(asked(), blocks_of(PLANTED, 50), **options)
            np.testing.assert_array_equal(found.labels_, expected.labels_)
    other = options | {"known_labels": np.where(KNOWN == 1, -1, KNOWN)}
    with pytest.raises(ValueError, match="or known clusters differ"):
        distributed.fit(asked(), blocks_of(PLANTED, 50), **other)
    with pytest.raises(ValueError, match="but 2 clusters are known"):
        distributed.select_n_clusters(
            blocks_of(PLANTED, 60), [1, 2], known_labels=KNOWN
        )
