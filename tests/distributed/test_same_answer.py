"""However rows are cut into blocks, and wherever these are, the fit is the same."""

import numpy as np
import pytest
import scipy.sparse as sp
from block_fits import (
    assert_same_answer,
    assert_same_bits,
    counts_of,
    cut,
    evenly,
    fit,
    model_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from paper.poisson import PoissonC, PoissonL
from strategies import count_matrices
from threecpo import distributed

ROWS_300 = np.arange(300)
OPTIONS = [
    {},
    {"outliers": "iterative"},
    {"outliers": "final", "outlier_threshold": 1.0},
    {"assignment": "paper"},
    {"init": "poisson-k-means++", "column_penalty": "bic", "groups": (1, -1)},
    {"init": "random-labels", "column_init": "random", "prior": 0.0},
    {"max_iter": 2},
    {"n_init": "auto"},
]
# What is given of the rows, too.
OF_ROWS = [
    {"fitting": {"sample_weight": ROWS_300 % 3}},
    {"fitting": {"batch": ROWS_300 % 2}, "outliers": "iterative"},
    {"fitting": {"batch": ROWS_300 % 2}, "robust": {"columns": 1.2}},
    {"fitting": {"known_labels": ROWS_300 % 25 // 24 - 1}, "outliers": "final"},
    {"robust": {"columns": 1.2, "rows": 1.5}},
]
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore:X contains values that are not integers",
)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_sample_of_all_rows_is_the_fit_in_memory(options, seed):
    X, _ = counts_of(seed)
    expected = model_of(**options).fit(X)
    for blocks in (X, evenly(X, 5), X.toarray()):
        assert_same_bits(fit(blocks, sample_rows=None, **options), expected)


@pytest.mark.parametrize("options", OPTIONS + OF_ROWS, ids=range(13))
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_every_cut_gives_the_same_bits(options, data):
    X, _ = counts_of(data.draw(st.integers(0, 20)))
    bounds = data.draw(st.lists(st.integers(0, X.shape[0]), max_size=12))
    n_jobs = data.draw(st.sampled_from([1, 2]))
    expected = fit(X, n_jobs=1, **options)
    found = fit(cut(X, *bounds), n_jobs=n_jobs, **options)
    if "robust" in options:  # weights are fractions
        assert_same_answer(found, expected)
        np.testing.assert_array_equal(found.column_weights_, expected.column_weights_)
        np.testing.assert_array_equal(found.row_weights_, expected.row_weights_)
    else:
        assert_same_bits(found, expected)


@settings(max_examples=40, deadline=None)
@given(count_matrices(min_rows=3, huge=False), st.data())
def test_awkward_counts_give_the_same_bits(Y, data):
    X = sp.csr_array(Y)
    n_sampled = data.draw(st.integers(2, len(Y)))
    bounds = data.draw(st.lists(st.integers(0, len(Y)), max_size=4))
    options = {"n_clusters": 2, "sample_rows": n_sampled, "n_jobs": 1}
    assert_same_bits(fit(cut(X, *bounds), **options), fit(X, **options))


@pytest.mark.parametrize("kind", ["fractional", "huge"])
def test_where_sums_round_decisions_are_the_same(kind, seed):
    X, _ = counts_of(seed, fractional=kind == "fractional")
    if kind == "huge":
        X.data[::50] *= 2.0**33
    whole = fit(X)
    for n_blocks in (2, 3, 17):
        assert_same_answer(fit(evenly(X, n_blocks), n_jobs=2), whole)


@pytest.mark.parametrize("kind", [PoissonL, PoissonC])
def test_relatives_fit_blocks_too(kind, seed):
    X, _ = counts_of(seed)
    everything = distributed.fit(kind(3, random_state=0), evenly(X, 4))
    assert_same_bits(everything, kind(3, random_state=0).fit(X))
    first, second = (
        distributed.fit(kind(3, random_state=0), evenly(X, n), sample_rows=60)
        for n in (1, 7)
    )
    assert_same_bits(first, second)


class TestStarts:
    @pytest.mark.parametrize(
        ("before", "outliers"), [(None, "iterative"), ("final", None)]
    )
    def test_a_model_goes_on_with_new_rows_as_in_memory(self, outliers, before, seed):
        old, _ = counts_of(seed, n_rows=80)
        X, _ = counts_of(seed)
        first = model_of(outliers=before).fit(old)
        options = {"init": first, "outliers": outliers}
        expected = model_of(**options).fit(X)
        for n_blocks in (1, 6):
            found = fit(evenly(X, n_blocks), **options)
            assert_same_bits(found, expected, history=False)
            assert found.n_iter_ == expected.n_iter_

    def test_a_model_of_other_settings_is_a_start(self, seed):
        X, _ = counts_of(seed)
        first = model_of(prior=1.0).fit(X)
        options = {"init": first, "groups": (1, -1)}
        expected = model_of(**options).fit(X)
        assert_same_bits(fit(evenly(X, 3), **options), expected, history=False)

    @pytest.mark.parametrize(
        "options",
        [
            {"column_init": "random"},
            {"column_init": [1, 1, 1, 1, 1, 1, 0, -1]},
            {"fixed_groups": {0: -1, 6: 1}},
        ],
    )
    def test_labels_go_on_as_in_memory(self, options, seed):
        X, _ = counts_of(seed)
        labels = np.random.default_rng(seed).integers(3, size=X.shape[0])
        options = {"init": labels} | options
        expected = model_of(**options).fit(X)
        found = fit(evenly(X, 4), **options)
        if "fixed_groups" in options:  # one pass fewer
            assert_same_answer(found, expected)
        else:
            assert_same_bits(found, expected, history=False)

    def test_labels_may_hold_outliers(self, seed):
        X, _ = counts_of(seed)
        labels = np.arange(X.shape[0]) % 4 - 1
        options = {"init": labels, "outliers": "iterative"}
        expected = model_of(**options).fit(X)
        assert_same_bits(fit(evenly(X, 4), **options), expected, history=False)

    def test_other_columns_are_refused(self):
        X, _ = counts_of()
        first = model_of().fit(X)
        with pytest.raises(ValueError, match="fitted on 8 columns; X has 5"):
            fit(evenly(X[:, :5], 2), init=first)


def test_the_sample_is_drawn_by_row_number_from_the_seed():
    X, _ = counts_of()
    losses = {
        seed: fit(evenly(X, 5), sample_rows=30, random_state=seed).restart_losses_
        for seed in (1, 2, 3)
    }
    assert len({tuple(each) for each in losses.values()}) > 1
    again = fit(X, sample_rows=30, random_state=2).restart_losses_
    np.testing.assert_array_equal(losses[2], again)


def test_planted_clusters_are_found_from_a_small_sample(seed):
    X, _ = counts_of(seed, n_rows=4000)
    expected = model_of(n_init=8).fit(X)
    found = fit(evenly(X, 9), n_init=8, sample_rows=400, fitting={"tol": 0.0})
    assert found.loss_ == pytest.approx(expected.loss_, rel=1e-3)
    assert found.history_["loss"][-1] == found.loss_
    assert found.history_["rows_moved"].tolist() == [-1] * (found.n_iter_ - 1) + [0]


def test_empty_blocks_and_empty_rows_are_no_trouble():
    X, _ = counts_of()
    X = sp.vstack([X, sp.csr_array((5, X.shape[1]))], format="csr")
    expected = fit(X)
    readers = cut(X, 0, 0, 150, 150, X.shape[0])
    assert_same_bits(fit(readers), expected)


def test_frames_and_tables_give_their_column_names():
    pd = pytest.importorskip("pandas")
    from threecpo import CountTable

    X, _ = counts_of()
    names = [f"word {j}" for j in range(X.shape[1])]
    for blocks in (
        pd.DataFrame(X.toarray(), columns=names),
        CountTable(X, column_names=names),
    ):
        assert fit(blocks).feature_names_in_.tolist() == names
    model = fit(blocks)
    distributed.fit(model, X)
    assert not hasattr(model, "feature_names_in_")


def swap_rows(block):
    block[[3, 4]] = block[[4, 3]]


def put(value):
    def change(block):
        block[150, 2] = value

    return change


# What a block may hold at its second reading.
CHANGES = {
    "one more count": lambda block: np.add.at(block, (7, 1), 1),
    "rows in another order": swap_rows,
    "not a number": put(np.nan),
    "nothing": lambda block: block.fill(0.0),
}


class TestRefusals:
    def test_other_estimators(self):
        from sklearn.cluster import KMeans

        for call in (
            lambda X: distributed.fit(KMeans(), X),
            lambda X: distributed.select_n_clusters(X, [2], estimator=KMeans()),
        ):
            with pytest.raises(TypeError, match="is not a ThreeCPO"):
                call(counts_of()[0])

    def test_too_small_a_sample(self):
        with pytest.raises(ValueError, match=r"sample_rows=2 must be .* 3 or more"):
            fit(counts_of()[0], sample_rows=2)

    def test_more_clusters_than_rows(self):
        with pytest.raises(ValueError, match="n_samples=4 should be >= n_clusters=9"):
            fit(evenly(counts_of()[0][:4], 2), n_clusters=9)

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (-2.0, "Negative values .* row 217, column 3 holds -2"),
            (np.inf, "contains infinity: row 217, column 3"),
        ],
    )
    def test_what_is_no_count_is_named_by_its_row_in_all(self, value, message):
        dense = counts_of()[0].toarray()
        dense[217, 3] = value
        dense[280, 0] = -1.0
        with pytest.raises(ValueError, match=message):
            fit(evenly(dense, 7))

    def test_blocks_of_different_width(self):
        X, _ = counts_of()
        with pytest.raises(ValueError, match="have 7, 8 columns, not all the same"):
            fit([lambda: X[:100], lambda: X[100:, :7]])

    def test_a_block_that_changes(self):
        X, _ = counts_of()
        reads = iter([X[100:], sp.csr_array((200, 9))])
        with pytest.raises(ValueError, match="Block 1 has changed while"):
            fit([lambda: X[:100], lambda: next(reads)], n_jobs=1)

    @pytest.mark.parametrize("change", CHANGES)
    def test_a_block_whose_counts_change(self, change):
        X, _ = counts_of()
        first = X[100:]
        other = first.toarray().astype(float)
        CHANGES[change](other)
        reads = iter([first, *[sp.csr_array(other)] * 50])
        with pytest.raises(ValueError, match=r"Block 1 has changed.*other counts"):
            fit([lambda: X[:100], lambda: next(reads)], n_jobs=1)

    def test_a_block_that_is_no_table(self):
        with pytest.raises(ValueError, match=r"Block 0: a block is <U5 of shape \(\)"):
            fit([lambda: "words"])

    def test_fractions_warn_once_and_tell_of_logarithms(self):
        Y = np.random.default_rng(0).poisson(0.8, size=(300, 20))
        logs = np.log1p(Y / (1 + Y.sum(axis=1, keepdims=True)))
        with pytest.warns(UserWarning, match="looks log-normalised") as caught:
            fit(evenly(logs, 5))
        assert sum("log-normalised" in str(w.message) for w in caught) == 1
