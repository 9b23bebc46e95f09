"""Cut, merge, split and order: fits that follow from a fit."""

import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.exceptions import ConvergenceWarning

import oracle
import threecpo
from fitting import TRUE, X, blocks_of, fit
from oracle import assert_agrees, size_of_terms
from threecpo import ThreeCPO, distributed

OPTIONS = {
    "default": {},
    "iterative": {"outliers": "iterative", "outlier_threshold": 0.5},
    "final": {"outliers": "final"},
    "paper": {"assignment": "paper"},
    "no C0": {"groups": (1, -1), "column_penalty": "bic"},
    "no C-": {"groups": (1, 0), "column_penalty": None},
    "no prior": {"prior": 0.0},
}


def assert_keeps_the_promises(model, X):
    """Predict, loss, scale and file of a joined model."""
    record, prior = model.record_, model.record_.settings.prior
    labels = model.labels_
    np.testing.assert_array_equal(model.predict(X), labels)
    of_rates = record.labels_of_rates
    penalty = model.column_penalty
    loss = oracle.loss(X + prior, of_rates, model.column_groups_, penalty)
    size = size_of_terms((X + prior).sum())
    assert_agrees(model.loss_, loss, size)
    assert_agrees(-model.score(X), loss, size)
    scores = oracle.column_scores(X + prior, of_rates, model.column_groups_, penalty)
    allowed = np.isin([-1, 0, 1], model.groups)
    assert_agrees(model.column_scores_[:, allowed], scores[:, allowed], size)
    rows = record.describe(threecpo.CountTable(X).counts)
    scales = oracle.row_scales(X + prior, of_rates, model.column_groups_)
    for found in (model.row_scales_, rows.row_scales):
        assert_agrees(found, scales, rtol=1e-9)
    np.testing.assert_array_equal(rows.nearest_labels, model.nearest_labels_)
    np.testing.assert_array_equal(rows.outlier_scores, model.outlier_scores_)
    assert (model.margins_ <= rows.margins).all()
    assert record.sums.members.sum() == len(X)
    if model.assignment == "exact" and model.n_clusters_ > 1:
        best = model.row_scores(X)
        top = best[np.arange(len(X)), model.nearest_labels_]
        assert_agrees(top, best.max(axis=1), rtol=1e-12)


@cache
def five_clusters():
    return fit(n_clusters=5)


@pytest.mark.parametrize("name", OPTIONS)
def test_every_cut_keeps_the_promises(name, tmp_path):
    model = fit(n_clusters=6, **OPTIONS[name])
    used = model.column_groups_ >= 0
    for k in range(1, model.n_clusters_ + 1):
        cut = model.cut(k)
        assert cut.n_clusters_ == k
        np.testing.assert_array_equal(cut.column_groups_ >= 0, used)
        assert_keeps_the_promises(cut, X)
        cut.save(tmp_path / "cut.npz")
        again = threecpo.load(tmp_path / "cut.npz")
        np.testing.assert_array_equal(again.predict(X), cut.labels_)
        assert again.score(X) == cut.score(X)
        pairs = {*zip(model.labels_.tolist(), cut.labels_.tolist(), strict=True)}
        assert len({pair for pair in pairs if pair[0] >= 0}) == model.n_clusters_


@settings(max_examples=8)
@given(data=st.data(), prior=st.sampled_from([1e-3, 0.0]))
def test_any_merge_keeps_the_promises(data, prior):
    model = fit(n_clusters=5, n_init=1, prior=prior)
    k = model.n_clusters_
    into = data.draw(st.lists(st.integers(0, k - 1), min_size=k, max_size=k))
    unions = [np.flatnonzero(np.array(into) == each) for each in range(k)]
    merged = model.merge(unions)
    assert merged.n_clusters_ == len(set(into))
    assert_keeps_the_promises(merged, X)


def test_rows_without_counts_are_still_known_as_such():
    counts = np.vstack([X, np.zeros((3, X.shape[1]))])
    counts[-1, -1] = 20  # noise alone
    model = fit(counts, n_clusters=5)
    for k in (2, 3, 4):
        record = model.cut(k).record_
        found = record.describer.without_counts(record.rows)
        np.testing.assert_array_equal(np.flatnonzero(found), len(X) + np.arange(3))


class TestTree:
    def test_of_one_cluster_is_empty(self):
        model = fit(n_clusters=1)
        assert model.tree_.shape == (0, 4)
        assert len(model.tree_table()) == 0
        assert model.cut(1).n_clusters_ == 1

    def test_the_table_has_what_the_loss_changes_by(self):
        model = five_clusters()
        table = model.tree_table()
        n, prior = model.n_clusters_, 1e-3
        losses = []
        for k in range(n, 0, -1):
            labels = model.record_.tree.cut(k)[model.labels_]
            losses.append(oracle.loss(X + prior, labels, model.column_groups_, "mdl"))
        size = size_of_terms(X.sum())
        assert_agrees(table["net"], np.diff(losses), size)
        assert table["node"].tolist() == list(range(n, 2 * n - 1))
        assert table["rows"].iloc[-1] == len(X)
        for rows, clusters in zip(table["rows"], table["clusters"], strict=True):
            assert rows == np.isin(model.labels_, clusters).sum()

    def test_the_table_has_heights_in_units_of_both_dispersions(self):
        model = fit(np.random.default_rng(0).negative_binomial(X + 1, 0.2), 4)
        assert 3 < model.dispersion_ != model.temperature_ > 1
        for cut, heights in ((model, model.tree_[:, 2]), (model.cut(3), np.nan)):
            table = cut.tree_table()
            over = heights / model.dispersion_
            np.testing.assert_array_equal(table["height_over_dispersion"], over)
            over = cut.tree_[:, 2] / model.temperature_
            np.testing.assert_array_equal(table["height_over_temperature"], over)
        path = threecpo.select_n_clusters(X, [3], n_init=2, random_state=0)
        table = path.estimator(3).tree_table()
        assert np.isnan(table["height_over_dispersion"]).all()
        assert np.isnan(table["height_over_temperature"]).all()

    def test_outliers_are_in_no_branch(self):
        model = fit(n_clusters=4, outliers="iterative")
        assert (model.labels_ == -1).any()
        assert model.tree_table()["rows"].iloc[-1] == (model.labels_ >= 0).sum()


class TestCut:
    def test_by_height_joins_what_lies_at_or_below(self):
        model = five_clusters()
        heights = model.tree_[:, 2]
        assert model.cut(height=0.0).n_clusters_ == 5
        assert model.cut(height=heights[0]).n_clusters_ == 4
        assert model.cut(height=(heights[1] + heights[2]) / 2).n_clusters_ == 3
        assert model.cut(height=2 * heights[-1]).n_clusters_ == 1

    def test_of_a_cut_goes_on_from_it(self):
        model = fit(n_clusters=6)
        again = model.cut(4).cut(2)
        assert again.record_.fine.sums.n_clusters == 6
        assert_keeps_the_promises(again, X)

    def test_leaves_the_model_alone(self, tmp_path):
        model = five_clusters()
        model.save(tmp_path / "before.npz")
        model.cut(2)
        model.save(tmp_path / "after.npz")
        before, after = (tmp_path / f"{when}.npz" for when in ("before", "after"))
        assert before.read_bytes() == after.read_bytes()

    def test_can_be_fitted_again_whatever_the_start_was(self, tmp_path):
        model = fit(n_clusters=3, init=TRUE.clip(0))
        model.cut(2).save(tmp_path / "cut.npz")
        assert threecpo.load(tmp_path / "cut.npz").fit(X).n_clusters_ == 2

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({}, "needs either n_clusters or height"),
            ({"n_clusters": 2, "height": 1.0}, "needs either n_clusters or height"),
            ({"n_clusters": 0}, "n_clusters=0"),
            ({"n_clusters": 9}, "more than the 4 clusters"),
            ({"n_clusters": 2.5}, r"n_clusters=2\.5"),
            ({"height": -1.0}, r"height=-1\.0"),
        ],
    )
    def test_refuses(self, options, text):
        with pytest.raises((ValueError, TypeError), match=text):
            fit(n_clusters=4, n_init=1).cut(**options)

    def test_says_that_a_users_price_is_lost(self, tmp_path):
        model = fit(column_penalty=lambda totals, *_: 0 * totals)
        assert model.cut(2).n_clusters_ == 2
        model.set_params(column_penalty=None).save(tmp_path / "model.npz")
        again = threecpo.load(tmp_path / "model.npz")
        assert is_valid_linkage(again.tree_)
        assert np.isnan(again.tree_table()["net"]).all()
        with pytest.raises(ValueError, match="column_penalty was a function"):
            again.cut(2)


class TestMerge:
    def test_leaves_others_apart_and_numbers_by_size(self):
        model = five_clusters()
        merged = model.merge([[0, 3], [4, 1]])
        assert merged.n_clusters_ == 3
        sizes = np.bincount(merged.labels_)
        assert (np.diff(sizes) <= 0).all()
        np.testing.assert_array_equal(
            np.isin(model.labels_, [0, 3]),
            merged.labels_ == merged.labels_[model.labels_ == 0][0],
        )

    def test_refuses(self):
        model = fit(n_clusters=4, n_init=1)
        for clusters, text in (
            ([0, 1], "lists of clusters"),
            (["01"], "lists of clusters"),
            ([[0, 9]], "9 is not a cluster; they are 0 to 3"),
            ([[0, -1]], "-1 is not a cluster"),
            ([[0, 1.0]], r"1\.0 is not a cluster"),
            ([[0, 1], [1, 2]], "names a cluster twice"),
            ([[0, 0]], "names a cluster twice"),
        ):
            with pytest.raises(ValueError, match=text):
                model.merge(clusters)

    def test_of_nothing_is_the_same_fit(self):
        model = fit(n_clusters=4)
        merged = model.merge([])
        np.testing.assert_array_equal(merged.labels_, model.labels_)
        assert_agrees(merged.loss_, model.loss_)


class TestSplit:
    def test_divides_a_cluster(self):
        model = fit(n_clusters=2)
        again = model.split(X, 0)
        assert again.n_clusters_ == 3
        assert again.loss_ < model.loss_
        assert again.record_.fine is None
        assert_keeps_the_promises(again, X)

    def test_refuses(self):
        model = fit(n_init=1)
        for cluster, into, text in (
            (3, 2, "3 is not a cluster"),
            (0, 1, "into=1"),
            (0, 1000, "too few for into=1000"),
        ):
            with pytest.raises(ValueError, match=text):
                model.split(X, cluster, into)


@pytest.mark.parametrize("method", ["cut", "merge"])
def test_same_bits_for_any_threads_and_blocks(method):
    readers = blocks_of(X, 40)
    models = [fit(n_clusters=5, n_jobs=1), fit(n_clusters=5, n_jobs=2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        in_blocks = ThreeCPO(5, n_init=3, random_state=0)
        models.append(distributed.fit(in_blocks, readers))
    joined = [
        model.cut(3) if method == "cut" else model.merge([[0, 2], [1, 4]])
        for model in models
    ]
    for other in joined[1:]:
        for name in ("labels_", "column_groups_", "cluster_rates_", "row_scales_"):
            one, two = getattr(joined[0], name), getattr(other, name)
            assert one.tobytes() == two.tobytes(), name
        assert joined[0].loss_ == other.loss_
        assert joined[0].tree_.tobytes() == other.tree_.tobytes()


def test_a_fit_without_rows_is_cut_too(tmp_path):
    model = ThreeCPO(5, n_init=3, random_state=0)
    distributed.fit(model, X, write_to=tmp_path / "rows")
    cut = model.cut(3)
    np.testing.assert_array_equal(cut.predict(X), five_clusters().cut(3).labels_)
    with pytest.raises(AttributeError):
        _ = cut.labels_
