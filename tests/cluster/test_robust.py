"""Columns and rows that are downweighted: exact, and the same over blocks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from threecpo import ThreeCPO, distributed, select_n_clusters
from threecpo._parameters import ROBUST

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


def scaled_by(X, weights, model, **options):
    """The fit of counts times their weights from where the model ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = {"init": model.labels_, "column_init": model.column_groups_}
        return ThreeCPO(3, prior=0.0, **start, **options).fit(X * weights, batch=None)


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
    ("outliers", "assignment"), [(None, "paper"), ("iterative", "exact")]
)
def test_a_weighted_likelihood_is_that_of_scaled_counts(outliers, assignment):
    """Loss, groups, labels and rates, but for w X log w of each column."""
    X = wild_counts()
    options = {"outliers": outliers, "assignment": assignment}
    model = fitted(X, prior=0.0, **options)
    weights = model.column_weights_
    other = scaled_by(X, weights, model, **options)
    constant = (weights * X.sum(axis=0) * np.log(weights)).sum()
    assert np.array_equal(model.labels_, other.labels_)
    assert np.array_equal(model.column_groups_, other.column_groups_)
    assert model.loss_ == pytest.approx(other.loss_ + constant, rel=1e-12)
    assert np.allclose(model.cluster_rates_ * weights, other.cluster_rates_, rtol=1e-10)
    assert np.allclose(model.row_scales_, other.row_scales_, rtol=1e-10)
    assert np.allclose(model.tree_, other.tree_)
    assert model.score(X) == pytest.approx(-model.loss_, rel=1e-12)


def test_batches_with_downweighted_columns_are_those_of_scaled_counts():
    X, batch = wild_counts(), np.arange(240) % 3
    model = fitted(X, prior=0.0, batch=batch)
    weights = model.column_weights_
    assert (weights < 1).any()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = ThreeCPO(
            3, prior=0.0, init=model.labels_, column_init=model.column_groups_
        ).fit(X * weights, batch=batch)
    constant = (weights * X.sum(axis=0) * np.log(weights)).sum()
    assert model.loss_ == pytest.approx(other.loss_ + constant, rel=1e-10)
    assert np.allclose(model.batch_effects_, other.batch_effects_, rtol=1e-5)
    assert model.score(X, batch=batch) == pytest.approx(-model.loss_, rel=1e-10)
    assert np.array_equal(model.predict(X, batch=batch), model.labels_)


def test_the_loss_never_rises():
    for seed, prior in enumerate((0.0, 1e-3, 0.5)):
        model = fitted(wild_counts(seed, 90), prior=prior, n_init=2)
        rises = np.diff(model.history_["loss"])
        assert rises.max(initial=0.0) <= 1e-9 * abs(model.loss_)


@pytest.mark.parametrize("sample_rows", [None, 100])
def test_blocks_of_any_size_give_the_same(sample_rows):
    X = wild_counts()
    found = []
    for size in (240, 100, 33):
        readers = [lambda i=i, s=size: X[i : i + s] for i in range(0, 240, size)]
        model = ThreeCPO(3, robust=COLUMNS | {"rows": 2}, random_state=0)
        found.append(distributed.fit(model, readers, sample_rows=sample_rows))
    if sample_rows is None:
        found.append(fitted(X, robust=COLUMNS | {"rows": 2}))
    first = found[0]
    assert (first.column_weights_ < 1).any()
    assert (first.row_weights_ < 1).any()
    for other in found[1:]:
        assert np.array_equal(first.labels_, other.labels_)
        assert np.array_equal(first.column_groups_, other.column_groups_)
        assert np.array_equal(first.column_weights_, other.column_weights_)
        assert np.array_equal(first.row_weights_, other.row_weights_)


def test_a_fit_over_blocks_goes_on_from_its_two_checkpoints(tmp_path):
    X = wild_counts()
    readers = [lambda i=i: X[i : i + 80] for i in range(0, 240, 80)]
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


def test_a_path_of_long_rows_is_that_of_their_weights():
    X = wild_counts(n_rows=120)
    X[:5] *= 20
    options = {"n_init": 2, "random_state": 0}
    limited = ThreeCPO(init="poisson-k-means++", robust={"rows": 2})
    path = select_n_clusters(X, [2, 3], estimator=limited, **options)
    weights = path.estimator(3).row_weights_
    plain = ThreeCPO(init="poisson-k-means++")
    other = select_n_clusters(
        X, [2, 3], estimator=plain, sample_weight=weights, **options
    )
    np.testing.assert_allclose(path.totals, other.totals, rtol=1e-12)


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


def test_the_median_row_counts_copies():
    """A row of weight 2 is two rows."""
    X = wild_counts(n_rows=60)
    X[:3] *= 30
    weights = np.ones(60)
    weights[:20] = 2
    twice = np.repeat(np.arange(60), weights.astype(int))
    start = np.arange(60) % 3
    options = {"robust": {"rows": 2}}
    one = fitted(X, init=start, sample_weight=weights, **options)
    two = fitted(X[twice], init=start[twice], **options)
    assert np.array_equal(one.row_weights_[twice], two.row_weights_)
    assert np.array_equal(one.labels_[twice], two.labels_)
    assert one.loss_ == pytest.approx(two.loss_, rel=1e-12)


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
