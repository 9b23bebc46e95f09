"""Weights of rows: whole ones are repeated rows, bit for bit."""

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from paper.poisson import PoissonC, PoissonL
from strategies import count_matrices, planted
from threecpo import ThreeCPO, load, select_n_clusters

MODELS = [
    ThreeCPO(3, random_state=0),
    ThreeCPO(3, random_state=0, outliers="iterative"),
    ThreeCPO(3, random_state=0, init="poisson-k-means++", n_init=3),
    ThreeCPO("auto", max_clusters=4, random_state=0),
    PoissonL(3, random_state=0, n_init=2),
    PoissonC(3, random_state=0, n_init=2),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    Y, _ = planted(rng, 300)
    return Y, rng.integers(0, 4, len(Y))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_search_with_whole_weights_is_that_of_repeated_rows(data, model):
    X, weights = data
    many = np.repeat(X, weights, axis=0)
    weighted = clone(model).fit(X, sample_weight=weights)
    repeated = clone(model).fit(many)
    assert weighted.loss_ == repeated.loss_
    np.testing.assert_array_equal(
        np.repeat(weighted.labels_, weights), repeated.labels_
    )
    np.testing.assert_array_equal(weighted.restart_losses_, repeated.restart_losses_)
    np.testing.assert_array_equal(weighted.cluster_rates_, repeated.cluster_rates_)
    assert weighted.score(X, sample_weight=weights) == repeated.score(many)


@pytest.mark.filterwarnings("ignore")
@given(count_matrices(min_rows=3, huge=False), st.data())
@settings(max_examples=40, deadline=None)
def test_whole_weights_from_the_same_labels(Y, data):
    n_rows = len(Y)
    weights = data.draw(hnp.arrays(np.int64, n_rows, elements=st.integers(0, 3)))
    weights[0] = 1
    labels = data.draw(hnp.arrays(np.int64, n_rows, elements=st.integers(0, 1)))
    n_clusters = min(2, np.count_nonzero(weights))
    labels = np.minimum(labels, n_clusters - 1)
    weighted = ThreeCPO(n_clusters, init=labels).fit(Y, sample_weight=weights)
    repeated = ThreeCPO(n_clusters, init=np.repeat(labels, weights)).fit(
        np.repeat(Y, weights, axis=0)
    )
    assert weighted.loss_ == repeated.loss_
    np.testing.assert_array_equal(weighted.column_groups_, repeated.column_groups_)
    np.testing.assert_array_equal(
        np.repeat(weighted.labels_, weights), repeated.labels_
    )


def test_rows_of_weight_zero_are_left_out_and_get_labels(data):
    X, weights = data
    there = weights > 0
    model = ThreeCPO(3, random_state=0).fit(X, sample_weight=there)
    part = ThreeCPO(3, random_state=0).fit(X[there])
    assert model.loss_ == part.loss_
    np.testing.assert_array_equal(model.labels_, part.predict(X))


def test_tree_cut_and_merge_with_whole_weights_are_those_of_repeated_rows(
    data, tmp_path
):
    X, weights = data
    many = np.repeat(X, weights, axis=0)
    weighted, repeated = (
        ThreeCPO(5, random_state=0, column_penalty="bic") for _ in range(2)
    )
    weighted.fit(X, sample_weight=weights)
    repeated.fit(many)
    np.testing.assert_allclose(weighted.tree_, repeated.tree_, rtol=1e-12)
    np.testing.assert_allclose(
        weighted.tree_table()["net"], repeated.tree_table()["net"], rtol=1e-9
    )
    for join in (lambda model: model.cut(2), lambda model: model.merge([[0, 2]])):
        one, two = join(weighted), join(repeated)
        assert one.loss_ == two.loss_
        np.testing.assert_array_equal(one.column_groups_, two.column_groups_)
        np.testing.assert_array_equal(np.repeat(one.labels_, weights), two.labels_)
        np.testing.assert_array_equal(one.predict(X), one.labels_)
        one.save(tmp_path / "cut.npz")
        again = load(tmp_path / "cut.npz")
        np.testing.assert_array_equal(again.predict(X), one.labels_)
        assert again.score(X, sample_weight=weights) == one.score(
            X, sample_weight=weights
        )
        assert one.score(X, sample_weight=weights) == pytest.approx(-one.loss_)
    refined = weighted.cut(2, X=X, sample_weight=weights)
    assert refined.loss_ == repeated.cut(2, X=many).loss_
    divided = weighted.split(X, 0, sample_weight=weights)
    assert divided.loss_ == repeated.split(many, 0).loss_


def test_fractional_weights_have_the_same_bits_for_any_threads(data):
    X, _ = data
    weights = np.random.default_rng(1).random(len(X))
    one, two = (
        ThreeCPO(3, random_state=0, n_jobs=n_jobs).fit(X, sample_weight=weights)
        for n_jobs in (1, 2)
    )
    assert one.loss_ == two.loss_
    np.testing.assert_array_equal(one.predict(X), one.labels_)
    assert one.score(X, sample_weight=weights) == pytest.approx(-one.loss_)


def test_weights_go_through_paths_and_pipelines(data):
    X, weights = data
    many = np.repeat(X, weights, axis=0)
    path = select_n_clusters(X, range(1, 5), sample_weight=weights, random_state=0)
    other = select_n_clusters(many, range(1, 5), random_state=0)
    np.testing.assert_allclose(path.totals, other.totals, rtol=1e-12)
    with sklearn.config_context(enable_metadata_routing=True):
        model = ThreeCPO(3, random_state=0).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), model)
        pipeline.fit(X, sample_weight=weights)
    assert pipeline[-1].loss_ == ThreeCPO(3, random_state=0).fit(many).loss_


def test_bad_weights_are_refused(data):
    for weights, message in (
        ([1, 2], "expected \\(300,\\)"),
        (np.ones((300, 1)), "1D array"),
        (["a"] * 300, "must be numbers"),
        (np.r_[np.ones(299), -1.0], "row 299 is -1"),
        (np.r_[np.nan, np.ones(299)], "row 0 is nan"),
        (np.zeros(300), "All sample weights are zero"),
    ):
        with pytest.raises(ValueError, match=message):
            ThreeCPO(3).fit(data[0], sample_weight=weights)
