"""The tree of clusters, beside the paper's formulas."""

import numpy as np
from hypothesis import given
from scipy.cluster.hierarchy import is_valid_linkage, leaves_list

import oracle
from oracle import assert_agrees, size_of_terms
from strategies import labelled_counts, priors
from threecpo._core.matrices import from_dense
from threecpo._core.merging import cluster_tree, merge_clusters
from threecpo._core.sums import sum_by_labels


def sums_of(Y, labels, groups, prior):
    n_clusters = int(labels.max()) + 1
    inside = np.where(labels == -1, n_clusters, labels).astype(np.int32)
    return sum_by_labels(from_dense(Y), inside, n_clusters, groups, prior)


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


def test_a_height_never_falls_though_a_later_join_costs_less():
    """The union of 0 and 1 is as 2, which neither of them is."""
    Y = np.array([[80, 20], [20, 80], [50, 50.0]]) * [[1], [1], [40]]
    groups = np.ones(2, dtype=np.int8)
    sums = sums_of(Y, np.arange(3), groups, 0.0)
    tree = cluster_tree(sums, groups, 0.0)
    assert (np.diff(tree.heights) >= 0).all()
    assert is_valid_linkage(tree.linkage)
