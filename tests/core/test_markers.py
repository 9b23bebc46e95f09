"""Markers against plain loops over clusters and columns."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import labelled_counts
from threecpo._core.markers import ENOUGH_COUNTS, Markers
from threecpo._core.matrices import from_dense
from threecpo._core.sums import sum_by_labels


def markers_of(Y, labels, groups, n_clusters):
    inner = np.where(np.asarray(labels) < 0, n_clusters, labels).astype(np.int32)
    groups = np.asarray(groups, dtype=np.int8)
    sums = sum_by_labels(from_dense(np.asarray(Y, float)), inner, n_clusters, groups, 0)
    return Markers(sums.smoothed(0.0), groups)


def rows_of_mean_size(Y, labels, groups, k):
    """How many rows of mean size the counts of a cluster amount to."""
    Y, labels, groups = map(np.asarray, (Y, labels, groups))
    shared, used = groups == 0, groups >= 0
    n_clusters = labels.max() + 1
    by_cluster = [Y[labels == c][:, shared].sum() for c in range(n_clusters)]
    if shared.sum() > 1 and min(by_cluster) >= ENOUGH_COUNTS:
        return by_cluster[k] / Y[:, shared].sum() * len(Y)
    if not Y[:, used].sum():
        return float((labels == k).sum())
    return Y[labels == k][:, used].sum() / Y[:, used].sum() * len(Y)


def plain_markers(Y, labels, groups, k):
    """Here, overall, evidence and strength of each column that marks a cluster."""
    rows, found = rows_of_mean_size(Y, labels, groups, k), {}
    used = [j for j in range(Y.shape[1]) if groups[j] >= 0]
    even = sum(Y[:, j].sum() / len(Y) for j in used) / len(used) if used else 0.0
    for j in range(Y.shape[1]):
        count, total = Y[labels == k, j].sum(), Y[:, j].sum()
        overall = total / len(Y)
        here = count / rows if rows else 0.0
        if groups[j] != 1 or not here > overall * (1 + 1e-9):
            continue
        evidence = count * math.log(here / overall) - (count - rows * overall)
        price = math.log(max(total, 2.0))
        weight = evidence / (evidence + price) if evidence + price > 0 else 0.0
        strength = weight * math.log((here + even) / (overall + even))
        found[j] = here, overall, evidence, strength
    return found


@given(labelled_counts(huge=False), st.sampled_from([1, 100]))
def test_markers_are_those_of_plain_loops(case, factor):
    Y = case.Y * factor  # enough counts for a common scale, or not
    markers = markers_of(Y, case.labels, case.groups, case.n_clusters)
    for k in range(case.n_clusters):
        expected = plain_markers(Y, case.labels, case.groups, k)
        listed = markers.best(k, Y.shape[1])
        assert sorted(listed) == sorted(expected)
        for j in listed:
            here, overall, evidence, strength = expected[j]
            assert markers.expected.clusters[k, j] == pytest.approx(here)
            assert markers.expected.overall[j] == pytest.approx(overall)
            assert markers.evidence[k, j] == pytest.approx(evidence, abs=1e-6)
            assert markers.strength[k, j] == pytest.approx(strength, abs=1e-6)
        strengths = [markers.strength[k, j] for j in listed]
        assert strengths == sorted(strengths, reverse=True)


@given(labelled_counts())
def test_everything_is_finite_and_only_columns_above_average_are_listed(case):
    markers = markers_of(case.Y, case.labels, case.groups, case.n_clusters)
    for array in (markers.evidence, markers.strength, markers.expected.ratios):
        assert np.isfinite(array).all()
        assert (array >= 0).all()
    for k in range(case.n_clusters):
        for order in ("marker", "excess"):
            listed = markers.best(k, 3, order)
            assert len(listed) <= 3
            assert (case.groups[listed] == 1).all()
            ratios = markers.expected.ratios[k, listed]
            assert (ratios > 1).all()
        best = markers.best(k, 3, "excess")
        excess = (markers.expected.clusters[k] - markers.expected.overall)[best]
        assert (np.diff(excess) <= 0).all()


def test_a_rare_column_without_evidence_stands_behind_a_frequent_one():
    """Twelve times as frequent on one count, or three times on hundreds."""
    labels = np.repeat([0, 1], [10, 110])
    Y = np.zeros((120, 3))
    Y[0, 0] = 1
    Y[:, 1] = np.where(labels == 0, 30, 10)
    Y[:, 2] = np.where(labels == 0, 30, 50)
    markers = markers_of(Y, labels, [1, 1, 1], 2)
    assert markers.expected.ratios[0, 0] > 10 > markers.expected.ratios[0, 1]
    assert markers.best(0, 3).tolist() == [1, 0]


def test_what_is_seen_once_in_a_large_cluster_is_no_clear_mark():
    labels = np.repeat([0, 1], 50)
    Y = np.full((100, 3), 10)
    Y[:, 0] = np.where(labels == 0, 30, 1)
    Y[:, 1] = np.arange(100) == 0
    markers = markers_of(Y, labels, [1, 1, 1], 2)
    assert sorted(markers.best(0, 3)) == [0, 1]
    assert markers.clear(0, 3).tolist() == [0]
