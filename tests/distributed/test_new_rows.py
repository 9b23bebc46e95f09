"""What a model says of rows that come in blocks: the same as of rows in memory."""

import numpy as np
import pytest
from block_fits import counts_of, evenly, model_of
from sklearn.exceptions import NotFittedError

import threecpo
from paper.poisson import PoissonL
from threecpo import ThreeCPO, distributed

KINDS = ("plain", "outliers", "final", "joined", "batches", "poisson-l")


def fitted(kind):
    X, _ = counts_of(seed=3, n_rows=400, n_clusters=4)
    options = {"outliers": "iterative"} if kind == "outliers" else {}
    options |= {"outliers": "final"} if kind == "final" else {}
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
    if kind != "batches":
        np.testing.assert_array_equal(labels, model.labels_)
    assert {block.reads for block in blocks} == {1}
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
    model = model_of(3).fit(threecpo.CountTable(X, column_names=names))
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
