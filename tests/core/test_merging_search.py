"""Coming down from many clusters to as many as asked for."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
from searching import (
    SEARCHES,
    each_search,
    found_by,
    hard,
    recorded,
    settings_for,
)
from sklearn.metrics import adjusted_rand_score

import containers
from threecpo._core import merging, seeding
from threecpo._core.codes import NOWHERE, OUTLIER
from threecpo._core.matrices import from_dense
from threecpo._core.merging import merge_clusters
from threecpo._core.search import Starts, merges, restarts
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

    def test_the_path_passes_through_the_clusters(self, seed):
        Y, labels = containers.planted(4, n_rows=60, seed=seed)
        found = found_by(merges, Y, settings_for(6, 5, 4, 3), 4, seed=seed)
        best, losses = found[2]
        assert adjusted_rand_score(labels, best.labels) == 1
        assert losses == pytest.approx([best.loss] * 4, rel=1e-12)

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
        assert [each.settings.n_clusters for each in wide] == [15, 16, 15, 16]
        for each in wide:
            n_many = each.settings.n_clusters
            first = each.labels[each.labels != NOWHERE]
            assert sorted(first) == list(range(n_many))
            assert each.settings.max_iter == 5
            assert not each.settings.outliers
        assert len({each.labels.tobytes() for each in wide}) == 4

    def test_they_obey_a_smaller_max_iter(self, made):
        found_by(merges, hard(0), settings_for(5, max_iter=2), 3)
        assert {each.settings.max_iter for each in made} == {2}

    def test_they_are_joined_into_as_many_as_asked_for(self, made):
        found_by(merges, hard(0), settings_for(5), 1)
        wide, narrow = made
        found = wide.result
        new = merge_clusters(found.sums, found.groups, 5, 1e-3)
        np.testing.assert_array_equal(narrow.labels, new[wide.result.labels])
        np.testing.assert_array_equal(narrow.groups, wide.result.groups)

    def test_two_runs_in_four_have_all_columns_where_allowed(self, made):
        first = np.array([1, 1, 1, 1, -1, -1, -1, -1], dtype=np.int8)
        make = partial(seeding.poisson_plus_plus, prior=1e-3)
        starts = Starts(from_dense(hard(0)), first, make, also_all_columns=True)
        seeds = np.random.SeedSequence(0).spawn(8)
        list(merges(starts, settings_for(5), seeds, SERIAL))
        wide = [each for each in made if each.settings.n_clusters > 5]
        used = [(each.groups == 1).all() for each in wide]
        assert used == [False, False, True, True] * 2
        for each in wide[::4] + wide[1::4]:
            np.testing.assert_array_equal(each.groups, first)

    def test_every_third_run_goes_on_to_the_next_number(self, made):
        found_by(merges, hard(0), settings_for(6, 2), 5)
        sizes = [each.settings.n_clusters for each in made]
        assert [size for size in sizes if size > 6] == [16] * 5 + [12] * 3

    def test_many_clusters_serve_smaller_numbers(self, made):
        """They are 16, four times 4 and more than six times 2."""
        n_clusters = 6, 4, 2
        found_by(merges, hard(0), settings_for(*n_clusters), 2)
        wide = [each.result for each in made if each.settings.n_clusters > 6]
        assert [each.sums.n_clusters for each in wide] == [16, 16, 12]
        begun = {each.labels.tobytes() for each in made}
        for found, k in zip((wide[1], *wide[1:]), n_clusters, strict=True):
            new = merge_clusters(found.sums, found.groups, k, 1e-3)
            assert new[found.labels].tobytes() in begun

    def test_a_run_goes_on_from_where_it_is(self, made):
        found_by(merges, hard(0), settings_for(6, 4), 1)
        sizes = [each.settings.n_clusters for each in made]
        below = made[sizes.index(4)]
        above = made[sizes.index(4) - 1].result
        assert sizes[sizes.index(4) - 1] == 6
        np.testing.assert_array_equal(below.groups, above.groups)
        pairs = {*zip(above.labels, below.labels, strict=True)}
        assert len(pairs) == above.sums.n_clusters

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

    @each_search
    @pytest.mark.parametrize("drawn", [False, True])
    def test_a_plain_start_is_made_inside_the_first_columns(self, find, drawn, made):
        Y, _ = containers.planted(3)
        first = np.array([1, 1, 1, 1, -1, -1, -1, -1, -1, -1], dtype=np.int8)
        counts = from_dense(Y)
        seen = []

        def make(part):
            seen.append(part.matrix().toarray())
            return seeding.poisson_plus_plus(part, prior=1e-3)

        def price(totals, n_found, _):
            return np.full(len(totals), 1.0 if n_found <= 3 else 1e9)

        seeds = np.random.SeedSequence(0).spawn(1)
        starts = Starts(counts, (lambda _: first) if drawn else first, make)
        list(find(starts, settings_for(3, price=price), seeds, SERIAL))
        (part,) = seen
        np.testing.assert_array_equal(part, Y[:, :4])
        *wide, plain = made
        assert len(wide) == (find is merges)
        for each in made:
            np.testing.assert_array_equal(each.groups, first)
        assert sorted(plain.labels[plain.labels >= 0]) == [0, 1, 2]
        assert (plain.labels == NOWHERE).sum() == len(Y) - 3

    @each_search
    def test_too_high_a_price_leaves_one_cluster(self, find, seed):
        def price(totals, *_):
            return np.full(len(totals), 1e9)

        Y = np.random.default_rng(seed).poisson(3.0, size=(100, 8)).astype(float)
        for best, losses in found_by(find, Y, settings_for(5, 2, price=price)):
            assert best.sums.n_clusters == 1
            assert losses == [best.loss] * 4


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
