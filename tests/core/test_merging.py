"""Joining clusters by their sums, and their tree, beside the paper's formulas."""

from itertools import combinations

import numpy as np
import pytest
from core_cases import settings_of
from hypothesis import given
from scipy.cluster.hierarchy import is_valid_linkage, leaves_list

import oracle
from oracle import assert_agrees, size_of_terms
from strategies import labelled_counts, planted, priors
from threecpo._core import merging
from threecpo._core.matrices import from_dense
from threecpo._core.merging import cluster_tree, joined, merge_clusters
from threecpo._core.sums import sum_by_labels
from threecpo._core.workers import SERIAL, Stopped

CLEAR = 1e-9
# Two pairs of equal clusters, and one that is far from both.
PAIRS = np.array(
    [[9, 1, 1, 4], [0, 9, 9, 1], [18, 2, 2, 8], [1, 1, 40, 2], [0, 18, 18, 2.0]]
)
PLANTED_GROUPS = np.array([1, 1, 1, 1, 0, 0, -1, -1], dtype=np.int8)


def sums_of(Y, labels, groups, prior):
    n_clusters = int(labels.max()) + 1
    inside = np.where(labels == -1, n_clusters, labels).astype(np.int32)
    return sum_by_labels(from_dense(Y), inside, n_clusters, groups, prior)


def sums_from(clusters):
    """These sums as if every cluster were a single row, without a prior."""
    Y = np.asarray(clusters, dtype=float)
    groups = np.ones(Y.shape[1], dtype=np.int8)
    return sums_of(Y, np.arange(len(Y)), groups, 0.0), groups


def merged(clusters, n_clusters):
    return merge_clusters(*sums_from(clusters), n_clusters, 0.0).tolist()


def join(labels, a, b):
    """Put cluster b into cluster a, a < b; the others move up."""
    out = np.where(labels == b, a, labels)
    return np.where(out > b, out - 1, out)


def used(X, groups):
    """C1, and all of C0 as one column."""
    shared = X[:, groups == 0].sum(axis=1, keepdims=True)
    return np.hstack([X[:, groups == 1], shared])


def cluster_sums(X, labels, groups):
    """Sums of every cluster over C1, and over C0 as one column."""
    values = used(X, groups)
    return np.array([values[labels == k].sum(axis=0) for k in range(labels.max() + 1)])


def costs_by_distance(X, labels, groups):
    values = cluster_sums(X, labels, groups)
    pairs = combinations(range(len(values)), 2)
    return {(a, b): oracle.distance(values[a], values[b]) for a, b in pairs}


def costs_by_loss(X, labels, groups):
    apart = oracle.loss(X, labels, groups, None)
    return {
        (a, b): oracle.loss(X, join(labels, a, b), groups, None) - apart
        for a, b in combinations(range(labels.max() + 1), 2)
    }


def greedy(costs_of, X, labels, groups):
    """Labels after every join of the cheapest pair, for as long as it is a clear one.

    Yields how many clusters are left, and the number of every cluster there was.
    """
    size = size_of_terms(X.sum())
    names = np.arange(labels.max() + 1)
    while labels.max() > 0:
        costs = costs_of(X, labels, groups)
        (first, pair), *rest = sorted((cost, pair) for pair, cost in costs.items())
        if rest and rest[0][0] - first < CLEAR * size:
            return
        labels, names = join(labels, *pair), join(names, *pair)
        yield labels.max() + 1, names


class TestOracle:
    @given(labelled_counts(min_rows=2, max_clusters=9), priors)
    def test_joins_on_awkward_counts(self, case, prior):
        X = case.Y + prior
        sums = sums_of(case.Y, case.labels, case.groups, prior)
        for n_left, names in greedy(costs_by_distance, X, case.labels, case.groups):
            new = merge_clusters(sums, case.groups, n_left, prior)
            np.testing.assert_array_equal(new, names)

    @pytest.mark.parametrize(
        ("prior", "costs_of", "outliers"),
        [
            (1e-3, costs_by_distance, True),
            (0.0, costs_by_loss, False),
            (1.0, costs_by_loss, True),
        ],
    )
    def test_joins_on_planted_counts(self, prior, costs_of, outliers, seed):
        rng = np.random.default_rng(seed)
        Y, _ = planted(rng, 60, fractional=prior == 0)
        labels = rng.permutation(np.arange(60) % 8)
        if outliers:
            labels[:6] = -1
        labels = oracle.without_empty(labels)
        X, groups = Y + prior, PLANTED_GROUPS
        sums = sums_of(Y, labels, groups, prior)
        steps = list(greedy(costs_of, X, labels, groups))
        assert len(steps) == labels.max()
        for n_left, names in steps:
            new = merge_clusters(sums, groups, n_left, prior)
            np.testing.assert_array_equal(new, names)


@given(labelled_counts(max_clusters=9), priors)
def test_fewer_clusters_are_unions_of_more_in_order_of_first_member(case, prior):
    sums = sums_of(case.Y, case.labels, case.groups, prior)
    finer = np.arange(case.n_clusters)
    for n_left in (case.n_clusters + 3, *range(case.n_clusters, 0, -1)):
        new = merge_clusters(sums, case.groups, n_left, prior)
        assert new.dtype == np.int32
        assert len({*zip(finer.tolist(), new.tolist(), strict=True)}) == len({*finer})
        _, first = np.unique(new, return_index=True)
        expected = list(range(min(n_left, case.n_clusters)))
        assert new[np.sort(first)].tolist() == expected
        finer = new


def test_the_sums_stay_as_they_are():
    sums, groups = sums_from(PAIRS)
    fields = ("table", "members", "count_log_sizes", "log_size_total", "totals")
    before = {name: getattr(sums, name).copy() for name in fields}
    groups_before = groups.copy()
    merge_clusters(sums, groups, 1, 0.0)
    for name, values in before.items():
        np.testing.assert_array_equal(getattr(sums, name), values)
    np.testing.assert_array_equal(groups, groups_before)


def test_joins_with_column_weights_are_those_of_scaled_counts(seed):
    rng = np.random.default_rng(seed)
    Y, labels = planted(rng, 60)[0], rng.permutation(np.arange(60, dtype=np.int32) % 8)
    weights = np.array([1, 0.5, 0.25, 1, 0.0625, 1, 0.5, 1])
    counts = from_dense(Y).with_column_weights(weights)
    sums = sum_by_labels(counts, labels, 8, PLANTED_GROUPS, 0.0)
    scaled = sums_of(Y * weights, labels, PLANTED_GROUPS, 0.0)
    for n_left in range(1, 8):
        np.testing.assert_array_equal(
            merge_clusters(sums, PLANTED_GROUPS, n_left, 0.0),
            merge_clusters(scaled, PLANTED_GROUPS, n_left, 0.0),
        )


class TestTies:
    """Costs of these are equal to the last bit."""

    def test_go_to_the_first_pair(self):
        assert merged(8 * np.eye(4), 3) == [0, 0, 1, 2]
        assert merged(8 * np.eye(4), 2) == [0, 0, 1, 1]

    def test_go_to_the_first_pair_among_later_ones(self):
        far = np.vstack([1000 * np.eye(6)[:2], 8 * np.eye(6)[2:]])
        assert merged(far, 5) == [0, 1, 2, 2, 3, 4]

    def test_of_clusters_without_counts_or_relevant_columns(self):
        sums, groups = sums_from(PAIRS[:3])
        for n_left in (1, 2, 3):
            expected = [0] * (4 - n_left) + list(range(1, n_left))
            assert merged(np.zeros((3, 3)), n_left) == expected
            assert merge_clusters(sums, -groups, n_left, 0.0).tolist() == expected
            assert merge_clusters(sums, 0 * groups, n_left, 0.0).tolist() == expected


def test_without_a_prior_an_empty_cluster_joins_for_nothing():
    values = np.array([[9, 0, 0], [0, 9, 0], [0, 0, 0], [0, 0, 9.0]])
    assert merged(values, 3) == [0, 1, 0, 2]
    assert merged(values[::-1], 3) == [0, 0, 1, 2]


def test_an_interrupt_is_heard_while_pairs_are_priced_and_joined(monkeypatch):
    monkeypatch.setattr(merging, "VALUES_AT_ONCE", 1)

    class Listening:
        def __init__(self, patience):
            self.patience = patience

        def check(self):
            self.patience -= 1
            if self.patience < 0:
                raise Stopped

    sums, groups = sums_from(np.eye(30) + 1)
    for patience in (0, 29, 30, 49):
        with pytest.raises(Stopped):
            merge_clusters(sums, groups, 10, 0.0, Listening(patience))
    assert len(merge_clusters(sums, groups, 10, 0.0, Listening(50))) == 30


@pytest.mark.parametrize(("prior", "fractional"), [(0.0, False), (1e-3, True)])
def test_many_columns_of_small_counts(prior, fractional, seed):
    """So many that most logarithms are taken ahead; some counts are beyond those."""
    rng = np.random.default_rng(seed)
    Y = rng.poisson(rng.gamma(0.3, 4.0, (30, 400))).astype(float)
    Y[:, :5] *= 100
    if fractional:
        Y[rng.random(Y.shape) < 0.3] += 0.25
    labels = rng.permutation(np.arange(30) % 6)
    groups = np.where(np.arange(400) % 9 == 0, 0, 1).astype(np.int8)
    sums = sums_of(Y, labels, groups, prior)
    steps = list(greedy(costs_by_distance, Y + prior, labels, groups))
    assert len(steps) == 5
    for n_left, names in steps:
        new = merge_clusters(sums, groups, n_left, prior)
        np.testing.assert_array_equal(new, names)


def tree_of(case, prior):
    sums = sums_of(case.Y, case.labels, case.groups, prior)
    return cluster_tree(sums, case.groups, prior), sums


@given(labelled_counts(max_clusters=9), priors)
def test_the_linkage_is_one_of_scipy(case, prior):
    tree, _ = tree_of(case, prior)
    assert tree.n_clusters == case.n_clusters
    assert tree.linkage.shape == (case.n_clusters - 1, 4)
    if case.n_clusters > 1:
        assert is_valid_linkage(tree.linkage)
        assert tree.leaves == leaves_list(tree.linkage).tolist()
        assert tree.linkage[-1, 3] == case.n_clusters
    assert tree.leaves[0] == 0
    assert sorted(tree.leaves) == list(range(case.n_clusters))


@given(labelled_counts(max_clusters=9), priors)
def test_a_cut_is_what_joining_to_so_many_gives(case, prior):
    tree, sums = tree_of(case, prior)
    for n_left in range(1, case.n_clusters + 1):
        new = merge_clusters(sums, case.groups, n_left, prior)
        np.testing.assert_array_equal(tree.cut(n_left), new)


@given(labelled_counts(min_rows=2, max_clusters=6, huge=False), priors)
def test_what_each_join_loses_is_what_the_loss_rises_by(case, prior):
    X = case.Y + prior
    tree, _ = tree_of(case, prior)
    inside = case.labels >= 0
    losses = []
    for n_left in range(case.n_clusters, 0, -1):
        labels = case.labels.copy()
        labels[inside] = tree.cut(n_left)[case.labels[inside]]
        losses.append(oracle.loss(X, labels, case.groups, None))
    rises = np.diff(losses)
    assert_agrees(tree.lost, rises, size_of_terms(X.sum()))
    expected = np.maximum.accumulate(np.maximum(rises, 0.0)) / len(X)
    assert_agrees(tree.heights, expected, size_of_terms(X.sum()))


def test_known_clusters_are_never_joined(seed):
    rng = np.random.default_rng(seed)
    Y = rng.poisson(rng.gamma(1.0, 5.0, size=(8, 5)))
    Y[1] = Y[0]  # the cheapest pair
    sums, groups = sums_from(Y)
    for apart in (2, 4):
        for n_left in range(apart, 8):
            new = merge_clusters(sums, groups, n_left, 1e-3, apart=apart)
            assert new[:apart].tolist() == list(range(apart))
            assert new.max() == n_left - 1
    assert merge_clusters(sums, groups, 7, 1e-3)[1] == 0
    labels, settings = np.arange(8, dtype=np.int32), settings_of(3, n_known=2)
    new, left = joined(labels, sums, groups, settings, SERIAL)
    assert new[:2].tolist() == [0, 1]
    assert left.n_clusters == 3
