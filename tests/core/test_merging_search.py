"""Coming down from many clusters to as many as asked for."""

from collections import Counter
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from planted_runs import assert_same_bits
from searching import (
    SEARCHES,
    found_by,
    hard,
    recorded,
    settings_for,
)
from sklearn.metrics import adjusted_rand_score

import containers
from threecpo._core import merging, seeding
from threecpo._core.codes import NOWHERE, OUTLIER, all_relevant, free
from threecpo._core.crossing import best_of
from threecpo._core.matrices import from_dense
from threecpo._core.merging import merge_clusters
from threecpo._core.search import Starts, adaptive_merges, merges, restarts
from threecpo._core.workers import SERIAL


@pytest.fixture
def made(monkeypatch):
    return recorded(monkeypatch)


def test_one_cluster_of_a_path_needs_no_seeds():
    Y, _ = containers.planted(3, n_rows=60, seed=0)

    def refuse(counts):
        raise AssertionError

    starts = Starts(from_dense(Y), np.ones(Y.shape[1], dtype=np.int8), refuse)
    seeds = np.random.SeedSequence(0).spawn(4)
    *_, runs = merges(starts, settings_for(3, 2, 1), seeds, SERIAL)
    for run in runs:
        np.testing.assert_array_equal(run.labels, 0)


class TestPlanted:
    def test_merging_fails_less_often_than_plain_runs(self):
        """The same data, 20 seeds: a single plain run misses some clusters."""
        missed = Counter()
        for seed in range(20):
            Y, labels = containers.planted(4, n_rows=60, seed=seed)
            for find in SEARCHES:
                ((best, _),) = found_by(find, Y, settings_for(4), 1, seed=seed)
                missed[find] += adjusted_rand_score(labels, best.labels) < 1
        assert missed[merges] == 0 < missed[restarts]

    def test_outliers_are_found(self, seed):
        Y, labels = containers.planted(n_rows=60, n_background=20, seed=seed)
        *_, (best, _) = found_by(
            merges, Y, settings_for(5, 3, outliers=True), 4, seed=seed
        )
        inside = labels >= 0
        assert (best.labels[~inside] == OUTLIER).mean() > 0.6
        kept = inside & (best.labels >= 0)
        assert kept.sum() > 0.9 * inside.sum()
        assert adjusted_rand_score(labels[kept], best.labels[kept]) == 1


class TestFirstManyClusters:
    @pytest.fixture(autouse=True)
    def _small_clusters(self, monkeypatch):
        monkeypatch.setattr(merging, "ROWS_PER_CLUSTER", 12)

    def test_a_run_starts_from_random_rows_for_a_few_iterations(self, made):
        Y = hard(0)
        settings = settings_for(5, outliers=True)
        found_by(merges, Y, settings, 4)
        wide = [each for each in made if each.settings.n_clusters > 5]
        wide = [each for each in wide if each.settings.n_clusters > 10]
        assert [each.settings.n_clusters for each in wide] == [15, 16, 15, 16]
        for each in wide:
            n_many = each.settings.n_clusters
            first = each.labels[each.labels != NOWHERE]
            assert sorted(first) == list(range(n_many))
            assert each.settings.max_iter == 5
            assert not each.settings.outliers
        assert len({each.labels.tobytes() for each in wide}) == 4

    def test_they_are_joined_into_as_many_as_asked_for(self, made):
        found_by(merges, hard(0), settings_for(5), 1)
        for (wide, narrow), n_clusters in zip(pairwise(made), (10, 7, 5), strict=True):
            found = wide.result
            new = merge_clusters(found.sums, found.groups, n_clusters, 1e-3)
            np.testing.assert_array_equal(narrow.labels, new[wide.result.labels])
            np.testing.assert_array_equal(narrow.groups, wide.result.groups)

    def test_two_runs_in_four_have_all_columns_where_allowed(self, made):
        first = np.array([1, 1, 1, 1, -1, -1, -1, -1], dtype=np.int8)
        make = partial(seeding.poisson_plus_plus, prior=1e-3)
        starts = Starts(from_dense(hard(0)), first, make, also_all_columns=True)
        seeds = np.random.SeedSequence(0).spawn(8)
        list(merges(starts, settings_for(5), seeds, SERIAL))
        wide = [each for each in made if each.settings.n_clusters > 10]
        wide = [each for each in wide if each.settings.price is not free]
        used = [(each.groups == 1).all() for each in wide]
        assert used == [False, False, True, True] * 2
        for each in wide[::4] + wide[1::4]:
            np.testing.assert_array_equal(each.groups, first)

    def test_every_third_run_comes_down_in_three_steps(self, made):
        found_by(merges, hard(0), settings_for(5), 4)
        sizes = [each.settings.n_clusters for each in made]
        assert [size for size in sizes if size > 5] == [15, 10, 7, 16, 15, 16, 10, 7]

    def test_a_number_has_the_same_runs_alone_and_among_others(self, seed):
        for find in (merges, adaptive_merges):
            among = found_by(find, hard(seed), settings_for(6, 3, 4), 4, seed=seed)
            alone = found_by(find, hard(seed), settings_for(3), 4, seed=seed)
            assert among[1][1] == alone[0][1]
            assert_same_bits(among[1][0], alone[0][0])

    def test_where_they_collapse_a_run_starts_plainly(self, made, seed):
        """The price leaves no column relevant for more clusters than asked for."""

        n_clusters = 3

        def price(totals, n_found, _):
            return np.full(len(totals), 1.0 if n_found <= n_clusters else 1e9)

        Y, labels = containers.planted(n_clusters, seed=seed)
        settings = settings_for(n_clusters, price=price)
        for find in SEARCHES:
            ((best, _),) = found_by(find, Y, settings, 6, seed=seed)
            assert adjusted_rand_score(labels, best.labels) == 1
        wide = [each for each in made if each.settings.n_clusters > n_clusters]
        assert [each.result.sums.n_clusters for each in wide] == [1] * 6

    def test_where_all_columns_are_allowed_it_begins_again_without_a_price(self, made):
        """Many weak columns: together they tell clusters apart that each cannot pay."""
        rng = np.random.default_rng(2)
        labels = np.arange(600) % 5
        rates = np.exp(rng.normal(0.5, 0.25, (5, 200)))
        counts = from_dense(rng.poisson(rates[labels]))
        make = partial(seeding.poisson_plus_plus, prior=1e-3)
        settings, seeds = settings_for(5), np.random.SeedSequence(0).spawn(2)
        scores = []
        for allowed in (False, True):
            first = all_relevant(counts.n_columns)
            starts = Starts(counts, first, make, also_all_columns=allowed)
            (runs,) = merges(starts, settings, seeds, SERIAL)
            scores.append(adjusted_rand_score(labels, best_of(runs).labels))
        assert scores[0] < 0.2 < 0.9 < scores[1]
        wide = [each for each in made if each.settings.n_clusters > 10]
        begun = [each.settings.price is free for each in wide]
        assert begun == [False, False, False, True, False, True]
        for before, again in zip(wide[2::2], wide[3::2], strict=True):
            np.testing.assert_array_equal(before.labels, again.labels)
            assert again.result.sums.n_clusters > 5


def test_number_of_clusters_to_come_down_from():
    for n_clusters, n_rows, times, expected in (
        (10, 10**6, 3, 30),
        (10, 10**6, 4, 40),
        (3, 10**6, 3, 12),
        (1, 10**6, 3, 12),
        (10, 1200, 4, 40),
        (10, 1199, 4, 32),
        (10, 720, 4, 24),
        (10, 719, 4, 20),
        (10, 100, 4, 20),
        (10, 19, 3, 19),
        (10, 10, 3, 10),
        (1, 5, 3, 2),
        (1, 1, 4, 1),
    ):
        found = merging.n_before_joining(n_clusters, n_rows, times)
        assert found == expected, (n_clusters, n_rows, times)
