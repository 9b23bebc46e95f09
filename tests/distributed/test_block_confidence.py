"""How sure fits over blocks are of their rows, with much memory and with little."""

import numpy as np
import pytest
from block_fits import counts_of, evenly, fit, model_of, write

import threecpo
from threecpo import distributed
from threecpo._fit.budget import MemoryBudget


@pytest.fixture(name="X", scope="module")
def counts():
    return counts_of(2, n_rows=400)[0]


@pytest.fixture(scope="module")
def expected(X):
    return fit(X, n_jobs=1)


@pytest.fixture
def short(monkeypatch):
    """Room for results of rows, but not for a number for each cluster."""
    monkeypatch.setattr(MemoryBudget, "holds", lambda _, size: size < 400 * 60)


def test_a_budget_with_room_leaves_the_probabilities(X, expected):
    found = fit(evenly(X, 5), fitting={"max_memory": "1MB"})
    np.testing.assert_array_equal(found.probabilities_, expected.probabilities_)
    assert found.temperature_ == expected.temperature_
    assert found.dispersion_ == pytest.approx(expected.dispersion_, rel=1e-12)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("options", [{"outliers": "iterative"}, {"batch": 2}])
def test_without_room_t_is_the_same_and_probabilities_are_elsewhere(
    X, options, tmp_path
):
    rows = {"batch": np.arange(400) % options.get("batch", 1)}
    options = {k: v for k, v in options.items() if k != "batch"}
    whole = model_of(**options).fit(X, **rows)
    found = fit(evenly(X, 5), sample_rows=400, fitting=rows, **options)
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
    again = again.measure_confidence(X)
    expected = whole.measure_confidence(X)
    np.testing.assert_array_equal(again.probabilities_, expected.probabilities_)


@pytest.mark.parametrize("limit", ["1MB", None])
def test_rows_that_are_written_leave_t_within_a_budget(X, expected, limit, tmp_path):
    blocks, rows = evenly(X, 5), tmp_path / "rows"
    found = fit(blocks, fitting={"write_to": rows, "max_memory": limit})
    np.testing.assert_array_equal(distributed.read_rows(rows), expected.labels_)
    assert {read.reads for read in blocks} == {blocks[0].reads}
    if limit is None:
        with pytest.raises(AttributeError, match="Confidence was not measured"):
            found.temperature_  # noqa: B018
    else:
        assert found.temperature_ == expected.temperature_


class TestPredictProba:
    def test_blocks_give_what_memory_gives(self, X, expected, tmp_path):
        whole = expected.predict_proba(X)
        blocks = evenly(X, 3)
        found = distributed.predict_proba(expected, blocks, max_memory="1MB")
        np.testing.assert_array_equal(found, whole)
        assert {read.reads for read in blocks} == {1}
        folder = tmp_path / "sure"
        assert distributed.predict_proba(expected, X, write_to=folder) is None
        found = distributed.read_rows(folder, "probabilities")
        np.testing.assert_array_equal(found, whole)

    def test_joined_clusters_and_batches(self, X):
        batch = np.array(["a", "b"], dtype=object)[np.arange(400) % 2]
        model = model_of(4).fit(X, batch=batch).cut(2)
        found = distributed.predict_proba(model, evenly(X, 3), batch=batch)
        np.testing.assert_array_equal(found, model.predict_proba(X, batch=batch))

    def test_a_model_without_t_says_how_to_measure_it(self, X):
        from threecpo import select_n_clusters

        model = select_n_clusters(X, [3], n_init=1, random_state=0).best_estimator
        with pytest.raises(AttributeError, match="measure_confidence"):
            distributed.predict_proba(model, X)


def test_tree_and_joins_are_those_of_memory(X, tmp_path):
    """They follow from sums, and never see rows."""
    whole = model_of(5).fit(X)
    folder, rows = write(X, tmp_path / "blocks"), tmp_path / "rows"
    options = {"sample_rows": 400, "write_to": rows, "max_memory": "1MB"}
    model = distributed.fit(model_of(5), folder, **options)
    np.testing.assert_array_equal(model.tree_, whole.tree_)
    for joined, again in (
        (model.cut(3), whole.cut(3)),
        (model.merge([[0, 2]]), whole.merge([[0, 2]])),
    ):
        np.testing.assert_array_equal(joined.cluster_rates_, again.cluster_rates_)
        assert joined.loss_ == again.loss_
        found = distributed.predict(joined, folder)
        np.testing.assert_array_equal(found, again.labels_)
