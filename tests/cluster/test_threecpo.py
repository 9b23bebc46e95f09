"""What a fitted ThreeCPO holds, and what it says about rows."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import oracle
from containers import planted
from fitting import GROUPS, TRUE, X, fit
from threecpo import ThreeCPO
from threecpo._parameters import CRITERIA
from threecpo.select import _poisson


def test_parameters_after_the_first_are_keyword_only():
    with pytest.raises(TypeError):
        ThreeCPO(3, "random-labels")


ARRAYS = {
    "labels_": ("i", "n"),
    "nearest_labels_": ("i", "n"),
    "outlier_scores_": ("f", "n"),
    "margins_": ("f", "n"),
    "row_scales_": ("f", "n"),
    "restart_losses_": ("f", 3),
    "column_groups_": ("i", "m"),
    "column_scores_": ("f", "m", 3),
    "cluster_rates_": ("f", "K", "m"),
    "shared_rates_": ("f", "m"),
    "noise_rates_": ("f", "m"),
}


def test_arrays_have_their_shapes_and_types(any_model):
    sizes = {"n": X.shape[0], "m": X.shape[1], "K": any_model.n_clusters_}
    for name, (kind, *shape) in ARRAYS.items():
        array = getattr(any_model, name)
        assert array.shape == tuple(sizes.get(part, part) for part in shape), name
        assert array.dtype.kind == kind, name
        assert array.flags.c_contiguous, name


def test_clusters_are_numbered_from_the_largest(any_model):
    clusters = np.unique(any_model.labels_[any_model.labels_ >= 0])
    assert clusters.tolist() == list(range(any_model.n_clusters_))
    assert (any_model.labels_ >= (0 if any_model.outliers is None else -1)).all()
    final = any_model.outliers == "final"
    labels = any_model.nearest_labels_ if final else any_model.labels_
    sizes = np.bincount(labels[labels >= 0])
    assert all(larger >= smaller for larger, smaller in pairwise(sizes))


def test_the_numbering_does_not_depend_on_the_start():
    X, labels = planted()
    for permuted in (2 - labels, (labels + 1) % 3):
        model = fit(X, init=permuted)
        np.testing.assert_array_equal(model.labels_, labels)


@pytest.mark.parametrize("outliers", [None, "iterative", "final"])
def test_outliers_are_the_rows_whose_score_exceeds_the_threshold(outliers):
    model = fit(outliers=outliers)
    marked = model.outlier_scores_ > 0
    outside = marked & (outliers is not None)
    np.testing.assert_array_equal(model.labels_ == -1, outside)
    inside = model.labels_[~outside]
    np.testing.assert_array_equal(inside, model.nearest_labels_[~outside])
    assert (model.nearest_labels_ >= 0).all()
    assert np.count_nonzero(marked & (TRUE == -1)) >= 10
    assert outliers is None or np.count_nonzero(marked & (TRUE >= 0)) <= 5


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


def test_fewer_clusters_than_asked_give_one_warning():
    data = np.array([[9, 0], [0, 9]] * 10)
    with pytest.warns(ConvergenceWarning, match="n_clusters=4") as caught:
        model = fit(data, 4, groups=(1,))
    assert len(caught) == 1
    assert model.n_clusters_ == 2
    assert set(model.labels_) == {0, 1}


def test_too_few_iterations_give_one_warning():
    with pytest.warns(ConvergenceWarning, match="max_iter=1") as caught:
        model = ThreeCPO(3, max_iter=1, init="random-labels", random_state=0).fit(X)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.n_iter_ == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_verbose_shows_every_run(capsys, n_jobs):
    fit(verbose=1, n_jobs=n_jobs)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    for run in (1, 2, 3):
        assert sum(f"Run {run}, iteration" in line for line in lines) == 1
    assert all("loss" in line for line in lines)


def test_more_verbose_shows_every_iteration(capsys):
    silent = fit(n_init=1)
    assert capsys.readouterr() == ("", "")
    model = fit(verbose=2, n_init=1)
    assert model.loss_ == silent.loss_
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    for iteration, (line, loss) in enumerate(
        zip(lines, model.history_["loss"], strict=True), start=1
    ):
        assert f"iteration {iteration}" in line
        assert f"loss {loss:.6f}" in line


def test_seeds_of_every_kind_are_taken(model):
    assert fit(random_state=np.random.RandomState(0)).loss_ == model.loss_
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


def test_attributes_follow_from_labels_and_groups(any_model):
    labels = any_model.record_.labels_of_rates
    groups, rows = any_model.column_groups_, X + 1e-3
    rates = oracle.cluster_rates(rows, labels, groups, 3)
    np.testing.assert_allclose(any_model.cluster_rates_, rates)
    np.testing.assert_allclose(any_model.shared_rates_, oracle.shared_rates(rows))
    np.testing.assert_allclose(any_model.noise_rates_, oracle.noise_rates(rows))
    scales = oracle.row_scales(rows, labels, groups)
    np.testing.assert_allclose(any_model.row_scales_, scales)
    scores = oracle.column_scores(rows, labels, groups, "mdl")
    np.testing.assert_allclose(any_model.column_scores_, scores)
    np.testing.assert_array_equal(groups, scores.argmax(axis=1) - 1)
    loss = oracle.loss(rows, labels, groups, "mdl")
    assert any_model.loss_ == pytest.approx(loss, rel=1e-12)
    assert isinstance(any_model.loss_, float)
    assert any_model.loss_ == any_model.restart_losses_.min()
    assert any_model.loss_ == any_model.history_["loss"][-1]
    assert any_model.n_clusters_ == 3
    assert any_model.n_iter_ == len(any_model.history_["loss"])


EVERY_KIND = [
    {},
    {"outliers": "iterative"},
    {"outliers": "final"},
    {"outliers": "iterative", "outlier_threshold": 2.0},
    {"outliers": "final", "outlier_threshold": 2.0},
    {"assignment": "paper"},
    {"assignment": "paper", "outliers": "iterative"},
    {"assignment": "paper", "outliers": "final"},
    {"groups": (1, 0), "column_penalty": "bic"},
    {"groups": (1,), "column_init": "random"},
    {"groups": (1, -1), "outliers": "iterative"},
    {"column_penalty": None, "prior": 0.5},
    {"prior": 0.0, "outliers": "final"},
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("options", EVERY_KIND, ids=str)
def test_predict_and_score_give_the_fit_again(options):
    """Vector lanes hold eight clusters; a fit that is cut short is no fixed point."""
    for n_clusters, max_iter in ((1, 300), (3, 300), (8, 1), (9, 2)):
        model = fit(n_clusters=n_clusters, n_init=2, max_iter=max_iter, **options)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert model.predict(X).dtype == model.labels_.dtype
        assert model.score(X) == pytest.approx(-model.loss_, rel=1e-10)


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


def test_scores_margins_and_outlier_scores_equal_the_oracle(any_model):
    scores = any_model.row_scores(X)
    labels, groups = any_model.record_.labels_of_rates, any_model.column_groups_
    expected = oracle.row_scores(X + 1e-3, labels, groups, exact=True)
    np.testing.assert_allclose(scores, expected, rtol=1e-10)
    np.testing.assert_array_equal(scores.argmax(axis=1), any_model.nearest_labels_)
    second, best = np.sort(scores, axis=1)[:, -2:].T
    np.testing.assert_array_equal(any_model.margins_, best - second)
    background = oracle.background(X + 1e-3, groups, exact=True)
    expected = background - scores.max(axis=1)
    np.testing.assert_allclose(any_model.outlier_scores_, expected, atol=1e-8)


def test_score_adds_up_over_rows_but_for_the_price(model):
    halves = model.score(X[:50]) + model.score(X[50:])
    whole = model.score(X)
    relevant = model.column_groups_ == 1
    price = 2 * np.log(model.shared_rates_[relevant]).sum()
    assert whole == pytest.approx(halves + price)


def test_a_penalty_gets_totals_clusters_and_rows():
    calls = []

    def price(totals, n_clusters, n_rows):
        calls.append((totals.copy(), n_clusters, n_rows))
        totals[:] = 0.0
        return 5.0

    model = fit(column_penalty=price, n_jobs=1, init="random-centers")
    for totals, n_clusters, n_rows in calls:
        np.testing.assert_allclose(totals, (X + 1e-3).sum(axis=0))
        assert (n_clusters, n_rows) == (3, len(X))
    assert model.column_groups_.tolist() == GROUPS


def test_a_high_price_empties_the_relevant_columns():
    with pytest.warns(ConvergenceWarning, match="No column is relevant"):
        model = fit(column_penalty=lambda totals, K, n: 1e9 * (K > 1))
    assert model.n_clusters_ == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bad_penalties_are_refused(n_jobs):
    for bad in (np.zeros((10, 1)), -1.0, [np.nan] + 9 * [1.0]):
        message = r"column_penalty must return .* 0 or more for each of the 10 columns"
        with pytest.raises(ValueError, match=message):
            fit(column_penalty=lambda *_, bad=bad: bad, n_jobs=n_jobs)


@pytest.mark.parametrize("groups", [(1, 0), (1, -1), (1,)])
def test_columns_take_only_the_groups_they_may(groups, model):
    ablated = fit(groups=groups)
    assert set(ablated.column_groups_.tolist()) <= set(groups)
    for group in (-1, 0, 1):
        forbidden = np.isneginf(ablated.column_scores_[:, group + 1]).all()
        assert forbidden == (group not in groups)
    assert ablated.loss_ > model.loss_


def test_the_criteria_are_those_of_paths():
    assert tuple(_poisson.CRITERIA) == CRITERIA
