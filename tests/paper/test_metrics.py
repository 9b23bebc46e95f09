"""Scores of clusters and column groups, distances of rows, information of columns."""

from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlogy

from containers import planted
from paper.metrics import (
    clustering_accuracy,
    column_information,
    column_recovery,
    outlier_free_scores,
    poisson_distance,
    purity,
    without_outliers,
)

X, LABELS = planted(n_rows=10)
OTHER, _ = planted(n_rows=6, seed=1)
SCORES = [clustering_accuracy, purity]


@st.composite
def two_labellings(draw, least=0, max_label=4):
    n = draw(st.integers(1, 25))
    labels = st.lists(st.integers(least, max_label), min_size=n, max_size=n)
    return np.array(draw(labels)), np.array(draw(labels))


def best_accuracy(true, found):
    """The best of all one-to-one namings, tried one by one."""
    names = range(max(true.max(), found.max()) + 1)
    return max(
        np.mean(np.array(naming)[found] == true) for naming in permutations(names)
    )


def counted_purity(true, found):
    commonest = [
        max(np.sum(true[found == cluster] == name) for name in np.unique(true))
        for cluster in np.unique(found)
    ]
    return sum(commonest) / len(true)


@given(two_labellings())
def test_accuracy_is_that_of_the_best_naming(labels):
    assert clustering_accuracy(*labels) == pytest.approx(best_accuracy(*labels))


@given(two_labellings())
def test_purity_counts_the_commonest_class_of_each_cluster(labels):
    assert purity(*labels) == pytest.approx(counted_purity(*labels))


@given(two_labellings(), st.permutations(range(5)), st.permutations("abcde"))
def test_names_of_labels_do_not_matter(labels, numbers, letters):
    true, found = labels
    renamed = [letters[label] for label in true], np.array(numbers)[found]
    for score in SCORES:
        assert score(*renamed) == score(true, found)


def test_many_clusters_need_little_memory_for_purity():
    labels = np.arange(200_000)
    assert purity(labels, labels) == 1.0


KINDS = {
    "list": lambda codes: codes.tolist(),
    "tuple": lambda codes: tuple(codes.tolist()),
    "floats": lambda codes: codes / 2,
    "booleans and None": lambda codes: [(True, False, None)[code] for code in codes],
    "strings": lambda codes: np.array(["one", "two", "three"])[codes],
    "objects": lambda codes: np.array(["one", 2, None], dtype=object)[codes],
    "number and its string": lambda codes: [(1, "1", 1.5)[code] for code in codes],
    "pairs": lambda codes: [(code, "x") for code in codes],
    "series": pd.Series,
    "nullable series": lambda codes: pd.Series(codes, dtype="Int64"),
    "categorical": lambda codes: pd.Categorical.from_codes(codes, list("xyz")),
    "shuffled index": lambda codes: pd.Series(codes, index=range(len(codes), 0, -1)),
    "polars": pl.Series,
}


@pytest.mark.parametrize("score", SCORES)
def test_labels_may_be_of_any_kind(score):
    true = np.array([0, 1, 2, 2, 0, 1, 1])
    found = np.array([2, 1, 0, 2, 2, 1, 0])
    expected = score(true, found)
    assert 0 < expected < 1
    for kind in KINDS.values():
        assert score(kind(true), found) == expected
        assert score(true, kind(found)) == expected


@pytest.mark.parametrize(
    ("true", "found", "words"),
    [
        ([0, 1], [0], r"labels_true has length 2 and labels_pred 1"),
        ([], [], r"labels_true and labels_pred are empty"),
        (np.zeros((2, 2)), [0, 1], r"labels_true .* shape is \(2, 2\)"),
        ([0, 1], np.zeros((2, 1)), r"labels_pred .* shape is \(2, 1\)"),
        (3, [0, 1], r"labels_true must be one row of labels; it is 3"),
    ],
)
def test_labels_that_do_not_fit_are_errors(true, found, words):
    for score in (*SCORES, without_outliers, outlier_free_scores):
        with pytest.raises(ValueError, match=words):
            score(true, found)


@pytest.mark.parametrize("score", SCORES)
def test_what_cannot_be_a_key_is_no_label(score):
    with pytest.raises(ValueError, match=r"labels_pred holds .* unhashable"):
        score([0, 1], [[0], [1]])


def test_rows_below_zero_are_left_out():
    true, found = without_outliers(["a", "b", "c", "d"], [2, -1, 0, -2])
    np.testing.assert_array_equal(true, ["a", "c"])
    np.testing.assert_array_equal(found, [2, 0])


@pytest.mark.parametrize(
    "found", [["a", "b"], [0.0, float("nan")], [None, 1], [object(), object()]]
)
def test_outliers_are_told_by_numbers_only(found):
    with pytest.raises(ValueError, match="labels_pred must be numbers"):
        without_outliers([0, 1], found)


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series])
def test_numbers_of_any_container_tell_outliers(make):
    true, found = without_outliers(make([4, 5, 6]), make([1, -1, 0]))
    np.testing.assert_array_equal(true, [4, 6])
    np.testing.assert_array_equal(found, [1, 0])
    scalars = [np.int32(1), -1, np.int64(0)]
    np.testing.assert_array_equal(without_outliers([4, 5, 6], scalars)[1], [1, 0])


@given(two_labellings(least=-1))
def test_scores_without_outliers_are_those_of_the_rest(labels):
    true, found = labels
    kept = found != -1
    if not kept.any():
        with pytest.raises(ValueError, match="Every row is an outlier"):
            outlier_free_scores(true, found)
        return
    rest = true[kept], found[kept]
    assert outlier_free_scores(true, found) == {
        "ACC": clustering_accuracy(*rest),
        "NMI": pytest.approx(sklearn.metrics.normalized_mutual_info_score(*rest)),
        "ARI": pytest.approx(sklearn.metrics.adjusted_rand_score(*rest)),
        "n_outliers": np.sum(~kept),
    }


def test_scores_without_outliers_take_classes_of_any_kind():
    scores = outlier_free_scores([None, (1, 2), "a", "a"], [0, 1, 2, -1])
    assert scores == {"ACC": 1.0, "NMI": 1.0, "ARI": 1.0, "n_outliers": 1}


@given(
    st.lists(
        st.tuples(st.sampled_from([1, 0, -1]), st.sampled_from([1, 0, -1])), min_size=1
    )
)
def test_recovery_is_what_scikit_learn_counts(pairs):
    true, found = np.array(pairs).T
    recovery = column_recovery(true, found)
    relevant = (true == 1, found == 1)
    default = float(not relevant[0].any() and not relevant[1].any())
    for name in ("precision", "recall", "f1"):
        score = getattr(sklearn.metrics, f"{name}_score")
        expected = score(*relevant, zero_division=default)
        assert getattr(recovery, name) == pytest.approx(expected)
    assert recovery.accuracy == np.mean(true == found)


def test_recovery_by_hand():
    recovery = column_recovery([1, 1, 1, 0, -1], [1, 0, 0, 1, -1])
    assert (recovery.precision, recovery.recall) == (1 / 2, 1 / 3)
    assert recovery.f1 == pytest.approx(0.4)
    assert recovery.accuracy == 2 / 5
    with pytest.raises(AttributeError):
        recovery.f1 = 1.0


@pytest.mark.parametrize(
    ("true", "found", "words"),
    [
        ([1, 0], [1], r"true_groups has length 2 and found_groups 1"),
        ([], [], "true_groups and found_groups are empty"),
        ([1, 2], [1, 0], r"true_groups holds 2; groups are 1, 0 and -1"),
        ([1, 0], ["C1", "C0"], r"found_groups holds 'C1'"),
        ([1, 0], [1.0, float("nan")], r"found_groups holds nan"),
    ],
)
def test_groups_that_do_not_fit_are_errors(true, found, words):
    with pytest.raises(ValueError, match=words):
        column_recovery(true, found)


def dense_distance(a, b, prior):
    """Half the likelihood-ratio statistic of the table of two rows."""
    table = np.stack([a, b]) + prior
    total = table.sum()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    return (
        xlogy(table, table).sum()
        - xlogy(rows, rows).sum()
        - xlogy(columns, columns).sum()
        + xlogy(total, total)
    )


def dense_information(X, prior):
    X = X + prior
    within = X / X.sum(axis=0)
    rows = X.sum(axis=1, keepdims=True) / X.sum()
    return (xlogy(within, within) - xlogy(within, rows)).sum(axis=0)


@pytest.mark.parametrize("prior", [0.0, 0.5])
@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_distances_are_the_likelihood_ratio(make, prior):
    expected = [[dense_distance(a, b, prior) for b in OTHER] for a in X]
    actual = poisson_distance(make(X), make(OTHER), prior=prior)
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


def test_the_prior_of_the_two_is_the_documented_one():
    np.testing.assert_array_equal(poisson_distance(X), poisson_distance(X, prior=1e-3))
    np.testing.assert_array_equal(
        column_information(X), column_information(X, prior=1e-3)
    )


@pytest.mark.parametrize("function", [column_information, poisson_distance])
def test_bad_input_is_refused(function):
    with pytest.raises(ValueError, match="prior=-1"):
        function(X, prior=-1)
    with pytest.raises(ValueError, match="row 0, column 1 holds NaN"):
        function([[1, np.nan]])


def test_distances_need_the_same_columns():
    with pytest.raises(ValueError, match="X has 10 columns and Y 7"):
        poisson_distance(X, X[:, :7])


@pytest.mark.parametrize("prior", [0.0, 0.5])
@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_information_is_the_divergence_from_row_shares(make, prior):
    actual = column_information(make(X), prior=prior)
    assert actual.shape == (X.shape[1],)
    np.testing.assert_allclose(actual, dense_information(X, prior), atol=1e-12)
