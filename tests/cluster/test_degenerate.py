"""Edges: nothing to find, hardly any data, enormous counts."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from containers import planted
from fitting import INITS
from paper.poisson import PoissonC, PoissonL
from threecpo import ThreeCPO

MATRICES = {
    "all zero": np.zeros((6, 4), dtype=int),
    "identical rows": np.tile([3, 1, 0, 7], (6, 1)),
    "constant": np.full((6, 4), 5),
    "one row": np.array([[3, 1, 0, 7]]),
    "one column": np.arange(6)[:, None],
    "one zero column": np.zeros((6, 1), dtype=int),
    "one entry": np.array([[5]]),
    "zero": np.array([[0]]),
    "identity": np.eye(6, dtype=int),
    "zero rows": np.array([[0, 0], [5, 1], [0, 0], [1, 5], [5, 0], [0, 4]]),
    "two kinds of rows": np.array([[9, 0], [0, 9]] * 3),
    "no counts in C0": np.array([[5, 0], [0, 4], [6, 1], [0, 7], [9, 0], [0, 3]]),
    "huge": np.array([[10**12, 1], [1, 10**12], [10**12, 3], [5, 10**12]]),
}

APART = np.array(
    [[9, 1, 0, 5], [8, 2, 0, 5], [9, 2, 0, 5], [0, 1, 9, 5], [0, 2, 8, 5], [0, 2, 9, 5]]
)
HALVES = [0, 0, 0, 1, 1, 1]


def fit(X, n_clusters=2, **options):
    options = {"random_state": 0, "n_init": 2} | options
    return ThreeCPO(n_clusters, **options).fit(X)


def quiet_fit(*args, **options):
    """Fit where the only warning allowed is one about convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(*args, **options)


def check(model, X):
    """What holds for every fit."""
    assert np.isfinite(model.loss_)
    assert np.isfinite(model.restart_losses_).all()
    for name in ("shared_rates_", "noise_rates_", "row_scales_"):
        assert np.isfinite(getattr(model, name)).all(), name
    # Without a prior, a cluster without counts in C0 has row scales of 0.
    assert not np.isnan(model.cluster_rates_).any()
    assert np.isfinite(model.cluster_rates_).all() or model.prior == 0
    assert not np.isnan(model.column_scores_).any()
    assert not np.isnan(model.margins_).any()
    assert not np.isnan(model.outlier_scores_).any()
    labels = np.unique(model.labels_[model.labels_ >= 0])
    assert labels.tolist() == list(range(model.n_clusters_))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(-model.loss_, rel=1e-9, abs=1e-9)


# Every two of rule, groups, outliers and prior meet.
OPTIONS = [
    ("exact", (1, 0, -1), "iterative", 0.0),
    ("exact", (1, 0), "final", 1e-3),
    ("exact", (1, -1), None, 0.0),
    ("exact", (1,), "iterative", 1e-3),
    ("paper", (1, 0, -1), "final", 1e-3),
    ("paper", (1, 0), "iterative", 0.0),
    ("paper", (1, -1), "iterative", 1e-3),
    ("paper", (1,), "final", 0.0),
    ("paper", (1, 0), None, 1e-3),
    ("exact", (1, -1), "final", 1e-3),
]


@pytest.mark.parametrize("name", MATRICES)
def test_every_start_survives_every_edge(name):
    X = MATRICES[name]
    for init in INITS:
        for n_clusters in {1, min(2, len(X)), len(X)}:
            check(quiet_fit(X, n_clusters, init=init, n_init=1), X)
        check(quiet_fit(X, min(2, len(X)), init=init, prior=0.0), X)


@pytest.mark.parametrize("name", MATRICES)
def test_every_option_survives_every_edge(name):
    X = sp.csr_array(MATRICES[name])
    for assignment, groups, outliers, prior in OPTIONS:
        options = {"assignment": assignment, "groups": groups, "outliers": outliers}
        check(quiet_fit(X, min(2, X.shape[0]), prior=prior, **options), X)


@pytest.mark.parametrize("init", ["merge", "k-means", "random-labels"])
def test_identical_rows_give_one_cluster_and_one_warning(init):
    with pytest.warns(ConvergenceWarning, match="n_clusters=3") as caught:
        model = fit(MATRICES["identical rows"], 3, init=init)
    assert len(caught) == 1
    assert model.n_clusters_ == 1
    assert model.labels_.tolist() == [0] * 6


def test_one_cluster_asked_for_has_no_relevant_column_and_no_warning():
    X, _ = planted()
    for penalty in ("mdl", "bic", None):
        model = fit(X, 1, column_penalty=penalty)
        assert set(model.column_groups_) <= {0, -1}
        assert not model.labels_.any()
        check(model, X)


def test_row_scales_are_equal_where_all_columns_are_noise():
    model = quiet_fit(np.tile([3, 1, 0, 7], (50, 1)))
    assert set(model.column_groups_) == {-1}
    np.testing.assert_array_equal(model.row_scales_, np.full(50, 1 / 50))


def test_proportional_rows_are_one_cluster_with_shares_for_scales():
    X = np.outer(np.arange(1, 41), [5, 2, 9, 1])
    with pytest.warns(ConvergenceWarning, match="No column is relevant") as caught:
        model = fit(X, 4)
    assert len(caught) == 1
    assert not model.labels_.any()
    assert set(model.column_groups_) == {0}
    used = X + 1e-3
    np.testing.assert_allclose(model.row_scales_, used.sum(axis=1) / used.sum())


@pytest.mark.parametrize("row", [0, -1])
def test_zero_rows_change_no_other_row(row):
    X, _ = planted()
    reference = fit(X, 3)
    wider = np.insert(X, row if row >= 0 else len(X), 0, axis=0)
    kept = np.ones(len(wider), dtype=bool)
    kept[row] = False
    model = fit(wider, 3)
    np.testing.assert_array_equal(model.labels_[kept], reference.labels_)
    np.testing.assert_array_equal(model.column_groups_, reference.column_groups_)
    check(model, wider)


def test_zero_columns_are_noise_and_change_no_row():
    X, labels = planted()
    at = 4
    wider = np.insert(X, [at] * 3, 0, axis=1)
    model = fit(wider, 3)
    np.testing.assert_array_equal(model.labels_, labels)
    assert (model.column_groups_[at : at + 3] == -1).all()
    check(model, wider)


def test_as_many_clusters_as_distinct_rows_are_found():
    X = 100 * np.eye(5, dtype=int)
    model = fit(X, 5, groups=(1,))
    assert sorted(model.labels_) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("factor", [10**3, 10**10, 10.0**15])
def test_large_counts_keep_their_clusters(factor):
    """Sums of the last are beyond exact doubles."""
    X, labels = planted()
    model = fit(factor * X, 3)
    np.testing.assert_array_equal(model.labels_, labels)
    check(model, factor * X)


@pytest.mark.parametrize("assignment", ["exact", "paper"])
def test_without_a_prior_a_forbidden_profile_scores_minus_infinity(assignment):
    model = fit(
        APART, init=HALVES, prior=0.0, column_penalty=None, assignment=assignment
    )
    first = model.row_scores([[5, 1, 0, 5]])[0]
    assert np.isneginf(first).tolist() == [False, True]
    assert np.isneginf(model.row_scores([[5, 0, 5, 5]])).all()
    assert np.isposinf(model.margins_).all()


@pytest.mark.parametrize(
    ("assignment", "outliers"), [("exact", "iterative"), ("paper", "final")]
)
def test_without_a_prior_a_row_that_every_cluster_forbids_is_an_outlier(
    assignment, outliers
):
    options = {"assignment": assignment, "outliers": outliers, "column_penalty": None}
    model = fit(APART, init=HALVES, prior=0.0, **options)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.predict([[5, 0, 5, 5], [5, 1, 0, 5]]).tolist() == [-1, 0]


def test_without_a_prior_the_loss_is_the_limit_of_small_priors():
    X, _ = planted()
    losses = [fit(X, 3, prior=prior).loss_ for prior in (0.0, 1e-9)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


Y = np.random.default_rng(0).poisson(3, (40, 6)).astype(float)
CASES = {
    "large counts": (Y * 1e306, {}),
    "rather large counts": (Y * 1e299, {}),
    "large prior": (Y, {"prior": 1e308}),
    "rather large prior": (Y, {"prior": 1e300}),
    "subnormal counts": (Y * 5e-324, {"prior": 0.0}),
    "tiny counts": (Y * 1e-310, {"prior": 0.0}),
}


ERRORS = ["large counts", "large prior", "subnormal counts"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [ThreeCPO, PoissonL, PoissonC])
def test_the_loss_is_finite_or_an_error(estimator):
    for name, (X, options) in CASES.items():
        model = estimator(3, random_state=0, n_init=2, **options)
        try:
            model.fit(X)
        except ValueError as error:
            assert "cannot be computed" in str(error)  # noqa: PT017
        else:
            assert np.isfinite(model.loss_)
            assert estimator is not ThreeCPO or name not in ERRORS
