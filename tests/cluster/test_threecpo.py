"""What a fitted ThreeCPO holds and what its methods give."""

import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score

from containers import names, planted
from threecpo import ThreeCPO

INITS = (
    "poisson-k-means++",
    "random-labels",
    "random-centers",
    "k-means++",
    "k-means",
    "rf-k-means++",
    "rf-k-means",
)
X, TRUE = planted(n_background=20)
GROUPS = [1, 1, 1, 1, 1, 1, 0, 0, -1, -1]
HISTORY = {
    "loss",
    "relevant",
    "shared",
    "noise",
    "into_relevant",
    "into_shared",
    "into_noise",
    "out_of_relevant",
    "out_of_shared",
    "out_of_noise",
    "rows_moved",
}


def fit(X=X, n_clusters=3, **options):
    options = {"random_state": 0, "n_init": 3} | options
    return ThreeCPO(n_clusters, **options).fit(X)


@pytest.fixture(scope="module")
def model():
    return fit()


@pytest.fixture(scope="module", params=[None, "iterative", "final"])
def any_model(request):
    return fit(outliers=request.param)


def sums_by_label(X, labels, prior=1e-3):
    return np.stack(
        [(X[labels == k] + prior).sum(axis=0) for k in range(labels.max() + 1)]
    )


def test_planted_clusters_and_columns_are_found():
    X, labels = planted()
    model = fit(X)
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    assert model.column_groups_.tolist() == GROUPS


def test_parameters_after_the_first_are_keyword_only():
    with pytest.raises(TypeError):
        ThreeCPO(3, "random-labels")


def test_defaults_are_the_documented_ones():
    assert ThreeCPO().get_params() == {
        "n_clusters": 8,
        "init": "poisson-k-means++",
        "column_init": "information",
        "n_init": 10,
        "max_iter": 300,
        "column_penalty": "mdl",
        "groups": (1, 0, -1),
        "assignment": "exact",
        "outliers": None,
        "outlier_threshold": 0.0,
        "prior": 1e-3,
        "random_state": None,
        "n_jobs": None,
        "verbose": 0,
    }


@pytest.mark.parametrize(
    ("name", "shape", "kind"),
    [
        ("labels_", ("n",), "i"),
        ("nearest_labels_", ("n",), "i"),
        ("outlier_scores_", ("n",), "f"),
        ("margins_", ("n",), "f"),
        ("row_scales_", ("n",), "f"),
        ("restart_losses_", (3,), "f"),
        ("column_groups_", ("m",), "i"),
        ("column_scores_", ("m", 3), "f"),
        ("cluster_rates_", ("K", "m"), "f"),
        ("shared_rates_", ("m",), "f"),
        ("noise_rates_", ("m",), "f"),
    ],
)
def test_arrays_have_their_shapes_and_types(any_model, name, shape, kind):
    sizes = {"n": X.shape[0], "m": X.shape[1], "K": any_model.n_clusters_}
    array = getattr(any_model, name)
    assert array.shape == tuple(sizes.get(part, part) for part in shape)
    assert array.dtype.kind == kind
    assert array.flags.c_contiguous


def test_numbers_are_plain_and_consistent(any_model):
    assert isinstance(any_model.loss_, float)
    assert any_model.n_features_in_ == X.shape[1]
    assert any_model.n_clusters_ == len(any_model.cluster_rates_)
    assert any_model.n_iter_ == len(any_model.history_["loss"])
    assert any_model.loss_ == any_model.restart_losses_.min()
    assert any_model.loss_ == any_model.history_["loss"][-1]


def test_labels_are_contiguous_and_minus_one_only_for_outliers(any_model):
    clusters = np.unique(any_model.labels_[any_model.labels_ >= 0])
    assert clusters.tolist() == list(range(any_model.n_clusters_))
    assert (any_model.labels_ >= (0 if any_model.outliers is None else -1)).all()


def test_clusters_are_numbered_from_the_largest(any_model):
    final = any_model.outliers == "final"
    labels = any_model.nearest_labels_ if final else any_model.labels_
    sizes = np.bincount(labels[labels >= 0])
    assert all(larger >= smaller for larger, smaller in pairwise(sizes))


@pytest.mark.parametrize("seed_of_init", range(5))
def test_the_numbering_does_not_depend_on_the_start(seed_of_init):
    X, labels = planted()
    permuted = np.random.default_rng(seed_of_init).permutation(3)[labels]
    model = fit(X, init=permuted)
    np.testing.assert_array_equal(model.labels_, labels)


@pytest.mark.parametrize("outliers", ["iterative", "final"])
def test_outliers_are_the_rows_whose_score_exceeds_the_threshold(outliers):
    model = fit(outliers=outliers)
    marked = model.outlier_scores_ > 0
    np.testing.assert_array_equal(model.labels_ == -1, marked)
    np.testing.assert_array_equal(
        model.labels_[~marked], model.nearest_labels_[~marked]
    )
    assert (model.nearest_labels_ >= 0).all()
    assert np.count_nonzero(marked & (TRUE == -1)) >= 10
    assert np.count_nonzero(marked & (TRUE >= 0)) <= 5


def test_without_outliers_every_row_has_a_score_and_a_cluster(model):
    assert (model.outlier_scores_[TRUE == -1] > 0).sum() >= 10
    np.testing.assert_array_equal(model.labels_, model.nearest_labels_)


@pytest.mark.parametrize("outliers", ["iterative", "final"])
def test_a_larger_threshold_gives_fewer_outliers(outliers):
    counts = [
        np.count_nonzero(fit(outliers=outliers, outlier_threshold=t).labels_ == -1)
        for t in (0.0, 30.0, 1e6)
    ]
    assert counts[0] > counts[1] > counts[2] == 0


def test_final_outliers_leave_the_model_of_the_fit_alone(model):
    final = fit(outliers="final")
    assert final.loss_ == model.loss_
    np.testing.assert_array_equal(final.nearest_labels_, model.labels_)
    for name in ("cluster_rates_", "row_scales_", "outlier_scores_"):
        np.testing.assert_array_equal(getattr(final, name), getattr(model, name))


def test_iterative_outliers_lower_the_loss(model):
    assert fit(outliers="iterative").loss_ < model.loss_


def test_rates_follow_from_the_labels(model):
    sums, groups = sums_by_label(X, model.labels_), model.column_groups_
    totals = sums.sum(axis=0)
    scales = sums[:, groups == 0].sum(axis=1) / totals[groups == 0].sum()
    np.testing.assert_allclose(model.cluster_rates_, sums / scales[:, None])
    np.testing.assert_allclose(model.shared_rates_, totals)
    np.testing.assert_allclose(model.noise_rates_, totals / len(X))


def test_row_scales_follow_from_the_labels_and_sum_to_one(model):
    sums, groups = sums_by_label(X, model.labels_), model.column_groups_
    shared = sums[:, groups == 0].sum(axis=1)
    factors = shared / shared.sum() / sums[:, groups >= 0].sum(axis=1)
    sizes = (X[:, groups >= 0] + 1e-3).sum(axis=1)
    np.testing.assert_allclose(model.row_scales_, sizes * factors[model.labels_])
    assert model.row_scales_.sum() == pytest.approx(1.0)


def test_an_outliers_scale_is_its_share_of_all_counts():
    model = fit(outliers="iterative")
    used = X[:, model.column_groups_ >= 0] + 1e-3
    share = used.sum(axis=1) / used.sum()
    out = model.labels_ == -1
    assert out.any()
    np.testing.assert_allclose(model.row_scales_[out], share[out])


def test_groups_are_the_best_of_the_column_scores(any_model):
    best = any_model.column_scores_.argmax(axis=1) - 1
    np.testing.assert_array_equal(any_model.column_groups_, best)


def test_the_loss_is_minus_the_scores_of_the_groups(any_model):
    own = any_model.column_scores_[np.arange(X.shape[1]), any_model.column_groups_ + 1]
    assert any_model.loss_ == pytest.approx(-own.sum(), rel=1e-12)


@pytest.mark.parametrize("outliers", [None, "iterative", "final"])
def test_history_is_equally_long_arrays_that_agree(outliers):
    model = fit(outliers=outliers, init="random-labels")
    history = model.history_
    assert set(history) == HISTORY
    assert {len(values) for values in history.values()} == {model.n_iter_}
    assert all(isinstance(values, np.ndarray) for values in history.values())
    sizes = sum(history[name] for name in ("relevant", "shared", "noise"))
    np.testing.assert_array_equal(sizes, X.shape[1])
    for name in ("relevant", "shared", "noise"):
        change = history[f"into_{name}"] - history[f"out_of_{name}"]
        np.testing.assert_array_equal(np.diff(history[name]), change[1:])
    assert history["rows_moved"][-1] == 0
    assert history["rows_moved"][0] > 0
    assert model.n_iter_ > 2


@pytest.mark.parametrize("outliers", [None, "iterative"])
@pytest.mark.parametrize("init", ["random-labels", "random-centers"])
def test_the_loss_never_rises(outliers, init, seed):
    model = fit(outliers=outliers, init=init, random_state=seed)
    loss = model.history_["loss"]
    assert (np.diff(loss) <= 1e-9 * abs(loss[0])).all()


OPTIONS = [
    {},
    {"outliers": "iterative"},
    {"outliers": "final"},
    {"outliers": "iterative", "outlier_threshold": 2.0},
    {"outliers": "final", "outlier_threshold": 2.0},
    {"assignment": "printed"},
    {"assignment": "printed", "outliers": "iterative"},
    {"assignment": "printed", "outliers": "final"},
    {"groups": (1, 0)},
    {"groups": (1, -1)},
    {"groups": (1,)},
    {"groups": (1, -1), "outliers": "iterative"},
    {"column_penalty": "bic"},
    {"column_penalty": None},
    {"column_init": "random"},
    {"prior": 0.0},
    {"prior": 0.5},
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_iter", [1, 2, 300])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("n_clusters", [1, 3, 8, 9])
def test_predict_and_score_give_the_fit_again(n_clusters, options, max_iter):
    model = fit(n_clusters=n_clusters, n_init=2, max_iter=max_iter, **options)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.predict(X).dtype == model.labels_.dtype
    assert model.score(X) == pytest.approx(-model.loss_, rel=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("outliers", [None, "iterative", "final"])
@pytest.mark.parametrize("max_iter", [1, 300])
@pytest.mark.parametrize("n_clusters", [7, 8, 9])
def test_predict_gives_the_labels_of_planted_clusters(n_clusters, max_iter, outliers):
    X, _ = planted(n_clusters, n_background=20)
    model = fit(X, n_clusters, outliers=outliers, max_iter=max_iter)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(-model.loss_, rel=1e-10)


@pytest.mark.filterwarnings("ignore:X holds values:UserWarning")
@pytest.mark.parametrize("outliers", [None, "iterative", "final"])
def test_predict_gives_the_labels_of_values_that_are_not_whole(outliers):
    values = X * 0.37
    model = fit(values, outliers=outliers)
    np.testing.assert_array_equal(model.predict(values), model.labels_)
    assert model.score(values) == pytest.approx(-model.loss_, rel=1e-10)


@pytest.mark.parametrize("outliers", [None, "iterative", "final"])
def test_rows_are_predicted_one_by_one(outliers):
    model = fit(outliers=outliers)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(model.predict(X[order]), model.labels_[order])
    one_by_one = [model.predict(row[None])[0] for row in X]
    np.testing.assert_array_equal(one_by_one, model.labels_)


@pytest.mark.parametrize("outliers", [None, "iterative", "final"])
def test_ties_are_broken_as_in_the_fit(outliers):
    X, labels = planted(2)
    X = np.vstack([X, np.zeros((3, X.shape[1]), dtype=int)])
    smaller_first = np.append(1 - labels, [0, 0, 0])
    model = fit(X, 2, init=smaller_first, prior=0.0, outliers=outliers)
    assert model.labels_[-3:].tolist() == [1, 1, 1]
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_new_rows_go_to_the_cluster_of_their_proportions(model):
    averages = np.stack([X[model.labels_ == k].mean(axis=0) for k in range(3)])
    np.testing.assert_array_equal(model.predict(np.rint(averages)), [0, 1, 2])
    np.testing.assert_array_equal(model.predict(np.rint(50 * averages)), [0, 1, 2])


def test_fit_predict_gives_the_labels(model):
    labels = ThreeCPO(3, n_init=3, random_state=0).fit_predict(X)
    np.testing.assert_array_equal(labels, model.labels_)


def test_row_scores_are_the_exact_scores_of_the_design(any_model):
    scores = any_model.row_scores(X)
    groups, rates = any_model.column_groups_, any_model.cluster_rates_
    in_use = rates[:, groups >= 0].sum(axis=1, keepdims=True)
    shares = rates[:, groups == 1] / in_use
    portions = rates[:, groups == 0].sum(axis=1) / in_use[:, 0]
    relevant, shared = X[:, groups == 1] + 1e-3, X[:, groups == 0] + 1e-3
    expected = relevant @ np.log(shares).T
    expected += shared.sum(axis=1)[:, None] * np.log(portions)
    np.testing.assert_allclose(scores, expected, rtol=1e-10)


def test_row_scores_agree_with_nearest_labels_and_margins(any_model):
    scores = any_model.row_scores(X)
    assert scores.shape == (len(X), any_model.n_clusters_)
    np.testing.assert_array_equal(scores.argmax(axis=1), any_model.nearest_labels_)
    second, best = np.sort(scores, axis=1)[:, -2:].T
    np.testing.assert_array_equal(any_model.margins_, best - second)


def test_outlier_scores_are_background_minus_best(any_model):
    groups, totals = any_model.column_groups_, any_model.shared_rates_
    total = totals[groups >= 0].sum()
    background = (X[:, groups == 1] + 1e-3) @ np.log(totals[groups == 1] / total)
    share = totals[groups == 0].sum() / total
    background += (X[:, groups == 0] + 1e-3).sum(axis=1) * np.log(share)
    expected = background - any_model.row_scores(X).max(axis=1)
    np.testing.assert_allclose(any_model.outlier_scores_, expected, atol=1e-8)


def test_one_cluster_has_no_second_best():
    assert np.isposinf(fit(n_clusters=1).margins_).all()


def test_score_adds_up_over_rows_but_for_the_price(model):
    halves = model.score(X[:50]) + model.score(X[50:])
    whole = model.score(X)
    relevant = model.column_groups_ == 1
    price = 2 * np.log(model.shared_rates_[relevant]).sum()
    assert whole == pytest.approx(halves + price)


def test_score_prefers_rows_like_the_fitted_ones(model):
    other, _ = planted(seed=1)
    shuffled = other[:, [0, 2, 4, 1, 3, 5, 6, 7, 8, 9]]
    assert model.score(other) > model.score(shuffled)


def test_support_and_transform_select_the_relevant_columns(model):
    chosen = model.column_groups_ == 1
    np.testing.assert_array_equal(model.get_support(), chosen)
    np.testing.assert_array_equal(
        model.get_support(indices=True), np.flatnonzero(chosen)
    )
    np.testing.assert_array_equal(model.transform(X), X[:, chosen])
    np.testing.assert_array_equal(
        model.inverse_transform(model.transform(X)), X * chosen
    )
    sparse = model.transform(sp.csr_array(X))
    assert sp.issparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), X[:, chosen])


def test_fit_transform_is_fit_then_transform(model):
    chosen = ThreeCPO(3, n_init=3, random_state=0).fit_transform(X)
    np.testing.assert_array_equal(chosen, model.transform(X))


def test_set_output_gives_frames_with_names():
    frame = pd.DataFrame(X, columns=names(X))
    model = ThreeCPO(3, n_init=3, random_state=0).set_output(transform="pandas")
    out = model.fit_transform(frame)
    assert isinstance(out, pd.DataFrame)
    assert out.columns.tolist() == names(X)[:6]
    assert model.get_feature_names_out().tolist() == names(X)[:6]


def test_names_without_a_frame_are_numbered(model):
    assert model.get_feature_names_out().tolist() == [f"x{j}" for j in range(6)]


def test_a_refit_without_names_forgets_them():
    model = fit(pd.DataFrame(X, columns=names(X)))
    assert model.feature_names_in_.tolist() == names(X)
    assert not hasattr(model.fit(X), "feature_names_in_")


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.predict(X),
        lambda model: model.row_scores(X),
        lambda model: model.score(X),
        lambda model: model.transform(X),
        lambda model: model.get_support(),
        lambda model: model.top_columns(),
        lambda model: model.save("never written"),
    ],
)
def test_an_unfitted_model_says_so(call):
    with pytest.raises(NotFittedError):
        call(ThreeCPO())


def expected_top(model, values, group, n):
    members = np.flatnonzero(model.column_groups_ == group)
    return members[np.argsort(-values[members], kind="stable")[:n]].tolist()


def test_top_columns_rank_by_the_difference_of_rates(model):
    table = model.top_columns(4)
    assert isinstance(table, pd.DataFrame)
    assert table.columns.tolist() == ["group", "cluster", "rank", "column", "value"]
    for k in range(3):
        part = table[(table["group"] == 1) & (table["cluster"] == k)]
        difference = model.cluster_rates_[k] - model.shared_rates_
        assert part["column"].tolist() == expected_top(model, difference, 1, 4)
        assert part["rank"].tolist() == [1, 2, 3, 4]
        np.testing.assert_allclose(part["value"], difference[part["column"]])


@pytest.mark.parametrize(
    ("group", "rates"), [(0, "shared_rates_"), (-1, "noise_rates_")]
)
def test_top_columns_of_the_other_groups_have_the_largest_rates(model, group, rates):
    table = model.top_columns()
    part = table[table["group"] == group]
    values = getattr(model, rates)
    assert part["column"].tolist() == expected_top(model, values, group, 10)
    assert (part["cluster"] == -1).all()
    np.testing.assert_allclose(part["value"], values[part["column"]])


@pytest.mark.parametrize("n_shared", [0, 1])
def test_top_columns_compare_shares_with_at_most_one_shared_column(n_shared):
    data = X[:, : 6 + n_shared]
    groups = (1, 0) if n_shared else (1, -1)
    model = fit(data, groups=groups, column_penalty=None if not n_shared else "mdl")
    assert np.count_nonzero(model.column_groups_ == 0) == n_shared
    sums = sums_by_label(data, model.labels_)
    used = model.column_groups_ >= 0
    share = sums / sums[:, used].sum(axis=1, keepdims=True)
    overall = sums.sum(axis=0) / sums[:, used].sum()
    table = model.top_columns(3)
    for k in range(3):
        part = table[(table["group"] == 1) & (table["cluster"] == k)]
        expected = share[k] - overall
        assert part["column"].tolist() == expected_top(model, expected, 1, 3)
        np.testing.assert_allclose(part["value"], expected[part["column"]])


def test_top_columns_use_the_names_of_a_frame():
    model = fit(pd.DataFrame(X, columns=names(X)))
    table = model.top_columns(2)
    found = {frozenset(part["column"]) for _, part in table.groupby("cluster")}
    assert frozenset({"column 0", "column 1"}) in found


def test_top_columns_without_pandas_are_a_dict_of_lists(model, monkeypatch):
    frame = model.top_columns(2)
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = model.top_columns(2)
    assert isinstance(table, dict)
    assert table == {name: frame[name].tolist() for name in frame.columns}


@pytest.mark.parametrize("n", [0, -1, 1.5, "many"])
def test_top_columns_refuses_a_bad_number(model, n):
    with pytest.raises(ValueError, match="n="):
        model.top_columns(n)


@pytest.mark.parametrize("init", INITS)
def test_every_start_finds_the_planted_clusters(init):
    X, labels = planted()
    model = fit(X, init=init, n_init=5)
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    assert len(model.restart_losses_) == 5


@pytest.mark.parametrize("init", INITS)
def test_every_start_draws_anew_for_every_run(init):
    rng = np.random.default_rng(0)
    noise = rng.poisson(3.0, size=(60, 8))
    model = fit(noise, n_clusters=4, init=init, n_init=8, column_penalty=None)
    assert len(set(model.restart_losses_)) > 1


@pytest.mark.parametrize("init", INITS)
def test_every_start_looks_only_at_the_first_relevant_columns(init):
    groups = [1] * 6 + [-1] * 4
    options = {
        "init": init,
        "column_init": groups,
        "groups": (1, -1),
        "column_penalty": lambda totals, K, n: 1e9 * (np.arange(len(totals)) >= 6),
    }
    other = X.copy()
    other[:, 6:] = other[::-1, 6:]
    np.testing.assert_array_equal(fit(**options).labels_, fit(other, **options).labels_)


@pytest.mark.parametrize("make", [np.array, list, pd.Series, lambda x: x.astype("u1")])
def test_labels_as_a_start_make_one_run(make):
    X, labels = planted()
    model = fit(X, init=make(labels), n_init=10)
    assert len(model.restart_losses_) == 1
    assert model.history_["rows_moved"].tolist() == [0] * model.n_iter_
    np.testing.assert_array_equal(model.labels_, labels)


def test_labels_as_a_start_stay_as_they_are():
    labels = np.roll(TRUE.clip(0), 5)
    before = labels.copy()
    assert fit(init=labels).history_["rows_moved"].any()
    np.testing.assert_array_equal(labels, before)


def test_labels_may_leave_clusters_out():
    X, labels = planted(2)
    with pytest.warns(ConvergenceWarning, match="n_clusters=5"):
        model = fit(X, 5, init=3 * labels)
    assert model.n_clusters_ == 2
    np.testing.assert_array_equal(model.labels_, labels)


def test_labels_may_mark_outliers_where_these_are_asked_for():
    model = fit(init=TRUE, outliers="iterative")
    assert (model.labels_ == -1).sum() >= 10
    with pytest.raises(ValueError, match="from 0 to 2"):
        fit(init=TRUE)


@pytest.mark.parametrize(
    "bad",
    [
        [0, 1, 2],
        np.zeros((len(X), 1), dtype=int),
        np.full(len(X), 3),
        np.full(len(X), -1),
        np.zeros(len(X)),
        np.full(len(X), "a"),
        None,
        3,
    ],
    ids=["short", "matrix", "too large", "outliers", "float", "text", "None", "number"],
)
def test_bad_labels_as_a_start_are_refused(bad):
    with pytest.raises(ValueError, match=f"init must be.*each of the {len(X)} rows"):
        fit(init=bad)


def test_a_fitted_model_as_a_start_is_a_fixed_point(model):
    again = fit(init=model, n_init=10)
    assert again.loss_ == model.loss_
    assert again.n_iter_ == 1
    assert len(again.restart_losses_) == 1
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.column_groups_, model.column_groups_)


def test_a_fitted_model_can_start_on_other_rows(model):
    other, labels = planted(seed=1)
    assert adjusted_rand_score(fit(other, init=model).labels_, labels) == 1.0


def test_a_fitted_model_with_outliers_starts_with_them():
    model = fit(outliers="iterative")
    again = fit(outliers="iterative", init=model)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert (fit(init=model).labels_ >= 0).all()


def test_a_fitted_model_may_hold_groups_that_are_now_forbidden(model):
    ablated = fit(init=model, groups=(1, -1))
    assert set(ablated.column_groups_) <= {1, -1}


def test_a_fitted_model_may_have_no_relevant_column():
    empty = fit(n_clusters=1)
    assert not (empty.column_groups_ == 1).any()
    assert fit(n_clusters=1, init=empty).loss_ == empty.loss_


def test_column_init_goes_before_the_groups_of_a_fitted_model(model):
    groups = np.ones(X.shape[1], dtype=int)
    history = fit(init=model, column_init=groups).history_
    assert history["out_of_relevant"][0] == 4


def test_a_model_that_is_not_fitted_is_no_start():
    with pytest.raises(NotFittedError):
        fit(init=ThreeCPO())


def test_a_model_of_other_columns_or_more_clusters_is_no_start(model):
    with pytest.raises(ValueError, match=r"10 columns.*X has 9"):
        fit(X[:, :9], init=model)
    with pytest.raises(ValueError, match=r"3 clusters.*n_clusters=2"):
        fit(n_clusters=2, init=model)


def test_a_clone_starts_from_the_same_fitted_model(model):
    warm = ThreeCPO(3, init=model)
    copy = clone(warm)
    assert copy.init is model
    assert copy.fit(X).loss_ == model.loss_


def test_a_clone_of_labels_is_equal_and_its_own():
    labels = np.zeros(len(X), dtype=int)
    copy = clone(ThreeCPO(init=labels))
    assert copy.init is not labels
    np.testing.assert_array_equal(copy.init, labels)


def test_a_clone_is_not_fitted(model):
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


@pytest.mark.parametrize("column_init", ["information", "random", GROUPS])
def test_every_column_start_finds_the_planted_groups(column_init):
    X, labels = planted()
    model = fit(X, column_init=column_init, n_init=5)
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    assert model.column_groups_.tolist() == GROUPS


def test_random_columns_depend_on_the_seed():
    _, labels = planted(n_background=20)
    options = {"init": labels.clip(0), "column_init": "random", "groups": (1, -1)}
    entered = {
        fit(**options, random_state=s).history_["into_relevant"][0] for s in range(10)
    }
    assert len(entered) > 1


def test_information_starts_with_half_of_the_columns():
    history = fit(max_iter=300).history_
    before = history["relevant"][0] - history["into_relevant"][0]
    assert before + history["out_of_relevant"][0] == X.shape[1] // 2


def test_all_columns_start_relevant_where_noise_is_forbidden():
    history = fit(groups=(1, 0)).history_
    assert history["relevant"][0] + history["out_of_relevant"][0] == X.shape[1]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1, 0], "each of the 10 columns"),
        ([2] * 10, "one of 1, 0, -1"),
        ([0] * 10, "at least one column in C1"),
        (None, "column_init must be"),
    ],
)
def test_bad_groups_as_a_start_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        fit(column_init=bad)


def test_groups_as_a_start_must_be_allowed():
    with pytest.raises(ValueError, match="one of 1, 0 for each"):
        fit(column_init=GROUPS, groups=(1, 0))


@pytest.mark.parametrize(
    ("penalty", "price"),
    [
        ("mdl", lambda totals, K, n: (K - 1) * np.log(totals)),
        ("bic", lambda totals, K, n: np.full(len(totals), K / 2 * np.log(n))),
        (None, lambda totals, K, n: np.zeros(len(totals))),
    ],
)
def test_named_penalties_are_their_formulas(penalty, price):
    named, own = fit(column_penalty=penalty), fit(column_penalty=price)
    assert named.loss_ == pytest.approx(own.loss_, rel=1e-13)
    free = fit(column_penalty=None, init=named.labels_, max_iter=300)
    difference = free.column_scores_[:, 2] - named.column_scores_[:, 2]
    if np.array_equal(free.column_groups_, named.column_groups_):
        expected = price(named.shared_rates_, 3, len(X))
        np.testing.assert_allclose(difference, expected, atol=1e-7)


def test_mdl_never_pays_for_a_column_below_one_count():
    rare = np.hstack([X, np.zeros((len(X), 1), dtype=int)])
    free, priced = fit(rare, column_penalty=None), fit(rare)
    assert priced.column_scores_[-1, 2] == pytest.approx(free.column_scores_[-1, 2])


def test_a_penalty_gets_totals_clusters_and_rows():
    calls = []

    def price(totals, n_clusters, n_rows):
        calls.append((totals.copy(), n_clusters, n_rows))
        totals[:] = 0.0
        return 5.0

    model = fit(column_penalty=price, n_jobs=1)
    for totals, n_clusters, n_rows in calls:
        np.testing.assert_allclose(totals, (X + 1e-3).sum(axis=0))
        assert (n_clusters, n_rows) == (3, len(X))
    assert model.column_groups_.tolist() == GROUPS


def test_a_high_price_empties_the_relevant_columns():
    with pytest.warns(ConvergenceWarning, match="No column is relevant"):
        model = fit(column_penalty=lambda totals, K, n: 1e9 * (K > 1))
    assert model.n_clusters_ == 1


@pytest.mark.parametrize(
    "price",
    [
        lambda totals, K, n: -1.0,
        lambda totals, K, n: np.nan,
        lambda totals, K, n: totals[:-1],
        lambda totals, K, n: np.zeros((len(totals), 1)),
        lambda totals, K, n: None,
    ],
    ids=["negative", "NaN", "short", "matrix", "None"],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bad_penalties_are_refused(price, n_jobs):
    with pytest.raises(ValueError, match=r"column_penalty must return .* 10 columns"):
        fit(column_penalty=price, n_jobs=n_jobs)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_a_penalty_reaches_the_caller(n_jobs):
    def price(totals, n_clusters, n_rows):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fit(column_penalty=price, n_jobs=n_jobs)


@pytest.mark.parametrize("groups", [(1, 0), (1, -1), (1,), [0, 1], (-1, 0, 1)])
def test_columns_take_only_the_groups_they_may(groups):
    model = fit(groups=groups)
    assert set(model.column_groups_.tolist()) <= set(groups)
    for group in (-1, 0, 1):
        forbidden = np.isneginf(model.column_scores_[:, group + 1]).all()
        assert forbidden == (group not in groups)


def test_ablations_cost_likelihood(model):
    for groups in [(1, 0), (1, -1), (1,)]:
        assert fit(groups=groups).loss_ > model.loss_


def test_the_printed_rule_scores_rows_by_the_papers_formula():
    data, _ = planted(n_background=60, seed=3)
    model = fit(data, assignment="printed")
    groups, rates = model.column_groups_, model.cluster_rates_
    sizes = (data[:, groups >= 0] + 1e-3).sum(axis=1)[:, None]
    shares = rates[:, groups == 1] / rates[:, groups >= 0].sum(axis=1, keepdims=True)
    relevant = data[:, groups == 1] + 1e-3
    scores = relevant @ np.log(shares).T - sizes * shares.sum(axis=1)
    np.testing.assert_array_equal(model.labels_, scores.argmax(axis=1))
    second, best = np.sort(scores, axis=1)[:, -2:].T
    np.testing.assert_allclose(model.margins_, best - second, atol=1e-8)


def test_the_two_rules_are_not_the_same():
    exact, printed = (fit(assignment=rule) for rule in ("exact", "printed"))
    np.testing.assert_array_equal(exact.labels_, printed.labels_)
    assert (exact.margins_ != printed.margins_).any()


def test_the_kept_run_is_the_best_one():
    rng = np.random.default_rng(0)
    noise = rng.poisson(rng.gamma(0.7, 3.0, size=(80, 12)))
    model = fit(noise, 5, n_init=12, init="random-labels")
    assert len(set(model.restart_losses_)) > 1
    assert model.loss_ == model.restart_losses_.min()
    assert -model.score(noise) == pytest.approx(model.loss_)


def test_fewer_clusters_than_asked_give_one_warning():
    data = np.array([[9, 0], [0, 9]] * 10)
    with pytest.warns(ConvergenceWarning, match="n_clusters=4") as caught:
        model = fit(data, 4, groups=(1,))
    assert len(caught) == 1
    assert model.n_clusters_ == 2
    assert set(model.labels_) == {0, 1}


def test_too_few_iterations_give_one_warning():
    with pytest.warns(ConvergenceWarning, match="max_iter=1") as caught:
        model = fit(max_iter=1, init="random-labels")
    assert len(caught) == 1
    assert model.n_iter_ == 1


def test_warnings_point_at_the_callers_line():
    with pytest.warns(ConvergenceWarning) as caught:
        ThreeCPO(3, max_iter=1, init="random-labels", random_state=0).fit(X)
    assert caught[0].filename == __file__


def test_silence_is_the_default(capsys):
    fit()
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_verbose_shows_every_run(capsys, n_jobs):
    fit(verbose=1, n_jobs=n_jobs)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    for run in (1, 2, 3):
        assert sum(f"Run {run}, iteration" in line for line in lines) == 1
    assert all("loss" in line for line in lines)


def test_more_verbose_shows_every_iteration(capsys):
    model = fit(verbose=2, n_init=1)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    for iteration, (line, loss) in enumerate(
        zip(lines, model.history_["loss"], strict=True), start=1
    ):
        assert f"iteration {iteration}" in line
        assert f"loss {loss:.6f}" in line


def test_verbose_changes_no_bit(model):
    assert fit(verbose=2).loss_ == model.loss_


@pytest.mark.parametrize("random_state", [0, np.random.RandomState(0)])
def test_seeds_of_both_kinds_are_taken(random_state, model):
    assert fit(random_state=random_state).loss_ == model.loss_


def test_a_generator_is_taken():
    a, b = (fit(random_state=np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(a.restart_losses_, b.restart_losses_)


def test_fit_leaves_parameters_and_global_seed_alone():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    model = ThreeCPO(3, random_state=np.random.RandomState(0))
    parameters = model.get_params()
    model.fit(X)
    assert model.get_params() == parameters
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
