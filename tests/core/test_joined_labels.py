"""Labels and sums of joined clusters, and runs that start from them."""

from copy import deepcopy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from planted_runs import assert_same_bits
from searching import hard, recorded, settings_for

import containers
from threecpo._core import crossing, merging
from threecpo._core.codes import NOWHERE, OUTLIER
from threecpo._core.matrices import from_dense
from threecpo._core.merging import merge_clusters
from threecpo._core.run import run
from threecpo._core.sums import sum_by_labels
from threecpo._core.workers import SERIAL


@pytest.fixture
def made(monkeypatch):
    return recorded(monkeypatch)


class TestJoinedLabels:
    def wide(self, seed, **changes):
        Y = hard(seed)
        (settings,) = settings_for(8, **changes)
        labels = np.random.default_rng(seed).integers(8, size=len(Y))
        groups = np.array([1, 1, 1, 1, -1, 1, -1, -1], dtype=np.int8)
        return run(from_dense(Y), groups, labels, settings, SERIAL), settings

    def test_their_sums_are_those_of_the_clusters_added_up(self, seed):
        many, settings = self.wide(seed, outliers=True)
        labels = many.labels.copy()
        labels[::7] = NOWHERE
        counts, groups = from_dense(hard(seed)), many.groups
        inside = np.where(labels == OUTLIER, 8, labels).astype(np.int32)
        known = sum_by_labels(counts, inside, 8, groups, settings.prior)
        wanted = replace(settings, n_clusters=3)
        new, found = merging.joined(labels, known, groups, wanted, SERIAL)
        inside = np.where(new == OUTLIER, 3, new).astype(np.int32)
        expected = sum_by_labels(counts, inside, 3, groups, settings.prior)
        np.testing.assert_array_equal(found.table, expected.table)
        np.testing.assert_array_equal(found.members, expected.members)
        np.testing.assert_array_equal(found.count_log_sizes, expected.count_log_sizes)
        np.testing.assert_array_equal(found.totals, expected.totals)
        assert found.n_rows == expected.n_rows

    @pytest.mark.parametrize("n_clusters", [4, 8])
    def test_a_run_with_known_sums_is_the_run_without(self, n_clusters, seed):
        many, settings = self.wide(seed, outliers=True)
        wanted = replace(settings, n_clusters=n_clusters)
        counts, groups = from_dense(hard(seed)), many.groups
        labels, known = merging.joined(many.labels, many.sums, groups, wanted, SERIAL)
        expected = run(counts, groups, labels, wanted, SERIAL)
        found = run(counts, groups, labels, wanted, SERIAL, None, known)
        assert_same_bits(found, expected)

    def test_a_run_leaves_the_sums_it_starts_from_as_they_are(self, seed):
        (settings,) = settings_for(3)
        counts, groups = from_dense(hard(seed)), np.array([-1] * 4 + [1] * 4, np.int8)
        labels = np.random.default_rng(seed).integers(3, size=200).astype(np.int32)
        known = sum_by_labels(counts, labels, 3, groups, settings.prior)
        before = deepcopy(known)
        found = run(counts, groups, labels, settings, SERIAL, None, known)
        assert found.history["out_of_noise"].any()
        for name, values in vars(before).items():
            np.testing.assert_array_equal(getattr(known, name), values)

    def test_outliers_of_a_common_start_are_those_of_either_run(self, made):
        Y, _ = containers.planted(6, n_rows=40, n_background=30, seed=42)
        counts = from_dense(Y)
        (settings,) = settings_for(6, outliers=True)
        ends = [self.end(counts, settings, s) for s in range(12)]
        made.clear()
        started = 0
        for best, other in pairwise(ends):
            crossing.crossed(counts, best, other, settings, SERIAL)
            if made:
                outside = (best.labels == OUTLIER) | (other.labels == OUTLIER)
                np.testing.assert_array_equal(made[-1].labels == OUTLIER, outside)
                assert made[-1].labels.max() == 5
                self.check_joined(Y, best, other, made[-1].labels)
                started += 1
            made.clear()
        assert started > 0

    def check_joined(self, Y, best, other, labels):
        """Outliers have no part in what is joined."""
        parts = crossing.common_parts(best.labels, other.labels, len(Y), 6)
        inside = parts >= 0
        sums = sum_by_labels(
            from_dense(Y[inside]), parts[inside], parts.max() + 1, best.groups, 1e-3
        )
        new = merge_clusters(sums, best.groups, 6, 1e-3)
        np.testing.assert_array_equal(labels[inside], new[parts[inside]])

    def end(self, counts, settings, seed):
        labels = np.random.default_rng(seed).integers(6, size=counts.n_rows)
        groups = np.ones(counts.n_columns, dtype=np.int8)
        return run(counts, groups, labels, settings, SERIAL)
