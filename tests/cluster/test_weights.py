"""Weights of rows and columns: repeated rows, and downweighted ones."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone

from fitting import blocks_of
from paper.poisson import PoissonC, PoissonL
from strategies import count_matrices, planted
from threecpo import ThreeCPO, distributed, select_n_clusters
from threecpo._parameters import ROBUST

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


LIMIT = 3.0
COLUMNS = {"columns": LIMIT}


def wild_counts(seed: int = 0, n_rows: int = 240) -> np.ndarray:
    """Three clusters in 20 columns, and four columns that vary far more than counts."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n_rows)
    rates = rng.gamma(2.0, 3.0, (3, 20))
    sizes = rng.gamma(5.0, 0.3, n_rows)
    plain = rng.poisson(sizes[:, None] * rates[labels])
    wild = rng.negative_binomial(0.3, 0.03, (n_rows, 4))
    return np.hstack([plain, wild])


def fitted(X, **options):
    fit = {
        name: options.pop(name) for name in ("batch", "sample_weight") & options.keys()
    }
    options = {"n_clusters": 3, "robust": COLUMNS, "random_state": 0} | options
    return ThreeCPO(**options).fit(X, **fit)


def test_columns_that_vary_too_much_have_less_weight():
    model = fitted(wild_counts())
    held = model.downweighted_columns()
    assert set(held["column"]) >= {20, 21, 22, 23}
    assert (model.column_weights_[20:] < 0.6).all()
    assert np.allclose(LIMIT / np.asarray(held["dispersion"]), held["weight"])
    assert list(held["weight"]) == sorted(held["weight"])


def test_weights_are_those_of_the_dispersions_of_a_fit_without_them():
    from threecpo._core.codes import inner_labels
    from threecpo._core.dispersion import dispersions
    from threecpo.cluster.fitting import as_table

    X = wild_counts()
    first = fitted(X, robust=None, n_clusters=5, n_init=3).record_
    counts = as_table(X).counts
    labels = inner_labels(first.labels_of_rates, first.n_clusters)
    found = dispersions(counts, labels, first.smoothed, first.groups)
    expected = np.minimum(1.0, LIMIT / found)
    assert np.allclose(fitted(X).column_weights_, expected, rtol=2.0**-11)


@pytest.mark.parametrize(
    ("outliers", "assignment", "batch"),
    [
        (None, "paper", None),
        ("iterative", "exact", None),
        (None, "exact", np.arange(240) % 3),
    ],
    ids=["paper", "outliers", "batches"],
)
def test_a_weighted_likelihood_is_that_of_scaled_counts(outliers, assignment, batch):
    """Loss, groups, labels and rates, but for w X log w of each column."""
    X = wild_counts()
    options = {"outliers": outliers, "assignment": assignment, "prior": 0.0}
    model = fitted(X, batch=batch, **options)
    weights = model.column_weights_
    assert (weights < 1).any()
    start = {"init": model.labels_, "column_init": model.column_groups_}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = ThreeCPO(3, **start, **options).fit(X * weights, batch=batch)
    constant = (weights * X.sum(axis=0) * np.log(weights)).sum()
    assert np.array_equal(model.labels_, other.labels_)
    assert np.array_equal(model.column_groups_, other.column_groups_)
    rel = 1e-12 if batch is None else 1e-10
    assert model.loss_ == pytest.approx(other.loss_ + constant, rel=rel)
    given = {} if batch is None else {"batch": batch}
    assert model.score(X, **given) == pytest.approx(-model.loss_, rel=rel)
    rises = np.diff(model.history_["loss"])
    assert rises.max(initial=0.0) <= 1e-9 * abs(model.loss_)
    if batch is None:
        rates = model.cluster_rates_ * weights
        assert np.allclose(rates, other.cluster_rates_, rtol=1e-10)
        assert np.allclose(model.row_scales_, other.row_scales_, rtol=1e-10)
        assert np.allclose(model.tree_, other.tree_)
    else:
        assert np.allclose(model.batch_effects_, other.batch_effects_, rtol=1e-5)


def test_a_fit_over_blocks_goes_on_from_its_two_checkpoints(tmp_path):
    X = wild_counts()
    readers = blocks_of(X, 80)
    model = ThreeCPO(3, robust=COLUMNS, random_state=0)
    options = {"sample_rows": 100, "checkpoint": tmp_path / "kept"}
    first = distributed.fit(model, readers, **options).loss_
    assert {path.name for path in tmp_path.iterdir()} == {"kept", "kept-first"}
    assert distributed.fit(model, readers, **options).loss_ == first


def test_nothing_above_the_limit_is_the_fit_without_one():
    X = wild_counts()
    plain, limited = (fitted(X, robust=r) for r in (None, {"columns": 1e6}))
    assert plain.loss_ == limited.loss_
    assert np.array_equal(plain.cluster_rates_, limited.cluster_rates_)
    assert not len(limited.downweighted_columns()["column"])
    assert not len(limited.downweighted_rows()["row"])


def test_a_path_has_one_loss():
    X = wild_counts()
    estimator = ThreeCPO(robust=COLUMNS, random_state=0)
    path = select_n_clusters(X, range(2, 5), estimator=estimator)
    before = path.estimator(3).column_weights_
    path.extend(X, [5])
    for k in range(2, 6):
        assert np.array_equal(path.estimator(k).column_weights_, before)
    assert (before < 1).any()


def test_long_rows_count_as_rows_of_the_limit():
    X = wild_counts()
    X[:5] *= 20
    model = ThreeCPO(3, robust={"rows": 4}, random_state=0).fit(X)
    sizes = X.sum(axis=1)
    median = np.sort(sizes)[(len(sizes) - 1) // 2]
    expected = np.minimum(1.0, 4 * median / sizes)
    assert np.array_equal(model.row_weights_, expected)
    same = ThreeCPO(3, random_state=0).fit(X, sample_weight=expected)
    assert same.loss_ == model.loss_
    held = model.downweighted_rows()
    assert set(held["row"]) == set(np.flatnonzero(expected < 1))


@pytest.mark.parametrize("name", ["columns", "rows"])
def test_limits_must_be_numbers_of_one_or_more(name):
    for value in (0.5, -1, np.inf, np.nan, "10", True, None):
        with pytest.raises(ValueError, match=f"robust=.*{name!r} must be .*1 or more"):
            ThreeCPO(2, robust={name: value}).fit(wild_counts())


def test_robust_is_true_or_a_dict_of_limits():
    for value in (10, "yes", {}, {"column": 10}, [10, 5], False):
        with pytest.raises(ValueError, match="must be None, True or a dict of limits"):
            ThreeCPO(2, robust=value).fit(wild_counts())


def test_true_is_the_measured_setting():
    X = wild_counts()
    X[:5] *= 20
    found, expected = fitted(X, robust=True), fitted(X, robust=ROBUST)
    assert found.loss_ == expected.loss_
    assert np.array_equal(found.column_weights_, expected.column_weights_)
    assert len(found.downweighted_rows()["row"]) == 5
