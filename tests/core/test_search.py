"""Several runs and the best of them, for any threads, seeds and numbers of clusters."""

import threading
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import containers
from strategies import planted
from threecpo._core import counts as counts_module
from threecpo._core import search, seeding
from threecpo._core.counts import from_dense
from threecpo._core.kernels import NOWHERE
from threecpo._core.merging import merge_clusters
from threecpo._core.model import Sums
from threecpo._core.run import OUTLIER, Run, Settings, run
from threecpo._core.search import Starts, best_of, merges, restarts
from threecpo._core.statistics import SERIAL, Stopped, Workers, sum_by_labels
from threecpo._options import resolve_penalty

SEARCHES = [restarts, merges]
PLAIN = Settings(
    n_clusters=3,
    max_iter=100,
    penalty=resolve_penalty("mdl"),
    groups=(1, 0, -1),
    exact=True,
    outliers=False,
    threshold=0.0,
    prior=1e-3,
)
each_search = pytest.mark.parametrize("find", SEARCHES)


def settings_for(*n_clusters, **changes):
    return [replace(PLAIN, n_clusters=k, **changes) for k in n_clusters]


def starts_of(Y, first_columns=None):
    counts = from_dense(Y)
    if first_columns is None:
        information = seeding.column_information(counts, 1e-3)
        first_columns = seeding.most_informative(information)
    make = partial(seeding.poisson_plus_plus, prior=1e-3)
    return Starts(counts, first_columns, make)


def found_by(find, Y, settings, n_seeds=4, n_jobs=1, seed=0, report=None, **start):
    seeds = np.random.SeedSequence(seed).spawn(n_seeds)
    with Workers(n_jobs) as workers:
        found = find(starts_of(Y, **start), settings, seeds, workers, report)
        return [(best_of(runs), [run.loss for run in runs]) for runs in found]


def hard(seed, n_rows=200, **options):
    """Counts on which runs from different seeds end differently."""
    return planted(np.random.default_rng(seed), n_rows, 6, **options)[0]


def random_columns(rng):
    return rng.permutation(np.array([1, 1, 1, 1, -1, -1, -1, -1], dtype=np.int8))


@dataclass
class Started:
    """A run that a search has made, and where it started."""

    groups: np.ndarray
    labels: np.ndarray
    settings: Settings
    result: Run


@pytest.fixture
def made(monkeypatch):
    """Every run that a search makes, in their order."""
    runs = []

    def recording(counts, groups, labels, settings, *others):
        result = run(counts, groups, labels, settings, *others)
        runs.append(Started(groups.copy(), labels.copy(), settings, result))
        return result

    monkeypatch.setattr(search, "run", recording)
    return runs


def assert_same_bits(first, second):
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.groups, second.groups)
    np.testing.assert_array_equal(first.column_scores, second.column_scores)
    np.testing.assert_array_equal(first.statistics.sums, second.statistics.sums)
    assert first.loss == second.loss
    assert first.history.keys() == second.history.keys()
    for key, values in first.history.items():
        np.testing.assert_array_equal(values, second.history[key])


class TestThreads:
    @pytest.fixture(params=["several blocks", "one block"])
    def n_blocks(self, request, monkeypatch):
        """Enough counts for threads, cut into several row blocks or into one."""
        several = request.param == "several blocks"
        monkeypatch.setattr(search, "BLOCK_COUNTS", 10)
        size = 50 if several else 10**9
        monkeypatch.setattr(counts_module, "BLOCK_COUNTS", size)
        return 9 if several else 1

    @each_search
    @pytest.mark.parametrize("n_clusters", [(5,), (6, 4, 1)], ids=["one", "many"])
    @pytest.mark.parametrize("n_seeds", [1, 5])
    @pytest.mark.parametrize("kind", ["whole", "fractional", "outliers"])
    def test_any_number_gives_the_same_bits(
        self, find, n_clusters, n_seeds, kind, n_blocks, seed
    ):
        Y = hard(seed, fractional=kind == "fractional")
        assert len(from_dense(Y).blocks) >= n_blocks
        settings = settings_for(*n_clusters, outliers=kind == "outliers")
        first = found_by(find, Y, settings, n_seeds, 1, seed)
        for n_jobs in (2, 4):
            other = found_by(find, Y, settings, n_seeds, n_jobs, seed)
            assert len(other) == len(first) == len(settings)
            for (a, losses), (b, other_losses) in zip(first, other, strict=True):
                assert losses == other_losses
                assert_same_bits(a, b)

    @each_search
    @pytest.mark.parametrize("n_seeds", [2, 5])
    def test_are_used(self, find, n_seeds, n_blocks, monkeypatch):
        """By runs where these suffice or rows are not cut, else by rows of a run."""
        n_jobs, by_runs, by_rows = 4, set(), set()
        in_map = Workers.map

        def spying(workers, function, items):
            def spied(item):
                is_block = isinstance(item, tuple) and isinstance(item[0], int)
                (by_rows if is_block else by_runs).add(threading.get_ident())
                return function(item)

            return in_map(workers, spied if workers.n_jobs > 1 else function, items)

        monkeypatch.setattr(Workers, "map", spying)
        found_by(find, hard(0), settings_for(4), n_seeds, n_jobs)
        side_by_side = n_seeds >= n_jobs or n_blocks == 1
        assert bool(by_runs) == side_by_side
        assert bool(by_rows) == (not side_by_side)
        assert threading.get_ident() not in by_runs | by_rows

    @each_search
    def test_are_not_used_for_few_counts(self, find, monkeypatch):
        def refuse(*_):
            raise AssertionError

        monkeypatch.setattr(counts_module, "BLOCK_COUNTS", 10)
        with Workers(4) as workers:
            monkeypatch.setattr(workers, "map", refuse)
            seeds = np.random.SeedSequence(0).spawn(5)
            (runs,) = find(starts_of(hard(0)), settings_for(3), seeds, workers)
        assert len(runs) == 5


class TestSeeds:
    @each_search
    @pytest.mark.parametrize("n_clusters", [(6,), (7, 6, 4, 3)], ids=["one", "many"])
    @pytest.mark.parametrize("first_columns", [None, random_columns])
    def test_more_keep_the_first_losses_and_never_make_the_best_worse(
        self, find, n_clusters, first_columns, seed
    ):
        Y, settings = hard(seed), settings_for(*n_clusters)
        options = {"seed": seed, "first_columns": first_columns}
        most = found_by(find, Y, settings, 8, **options)
        assert any(len(set(losses)) > 1 for _, losses in most)
        for n_seeds in (1, 3, 5):
            fewer = found_by(find, Y, settings, n_seeds, **options)
            for (best, losses), (other, more) in zip(fewer, most, strict=True):
                assert losses == more[:n_seeds]
                assert best.loss == min(losses)
                assert other.loss == min(more) <= best.loss

    @each_search
    def test_the_first_of_equal_runs_is_kept(self, find, made):
        Y, _ = containers.planted()
        ((best, losses),) = found_by(find, Y, settings_for(3), 40)
        # Runs that number the clusters differently differ by rounding.
        assert losses == pytest.approx([best.loss] * 40, rel=1e-12)
        assert losses.count(best.loss) > 1
        (first, *_) = (each.result for each in made if each.result.loss == best.loss)
        assert best is first

    @each_search
    def test_one_cluster_is_the_same_for_all(self, find, made, seed):
        Y = hard(seed)
        results = [
            found_by(find, Y, settings_for(1), 4, seed=s, first_columns=first)
            for s in (seed, seed + 1)
            for first in (None, random_columns)
        ]
        ((reference, _),) = results[0]
        assert reference.labels.tolist() == [0] * len(Y)
        assert not (reference.groups == 1).any()
        for ((best, losses),) in results:
            assert losses == [reference.loss] * 4
            assert_same_bits(best, reference)
        last = [each for each in made if each.settings.n_clusters == 1]
        assert len(last) == 16
        assert all((each.groups == 1).all() for each in last)

    def test_one_cluster_below_others_uses_all_columns(self, made, seed):
        *_, (best, _) = found_by(merges, hard(seed), settings_for(3, 1), 6, seed=seed)
        ((alone, _),) = found_by(merges, hard(seed), settings_for(1), 6, seed=seed)
        assert_same_bits(best, alone)


class TestRuns:
    @each_search
    @pytest.mark.parametrize("outliers", [False, True])
    @pytest.mark.parametrize("fractional", [False, True])
    def test_no_step_of_any_raises_the_loss(
        self, find, outliers, fractional, made, seed
    ):
        Y = hard(seed, fractional=fractional)
        for n_clusters in ((6,), (7, 4, 2)):
            found_by(find, Y, settings_for(*n_clusters, outliers=outliers), 6)
        assert len(made) >= 24
        for each in made:
            losses = each.result.history["loss"]
            # With outliers the loss falls with the threshold 0 of each.
            assert (np.diff(losses) <= 1e-9 * np.abs(losses[1:])).all()

    @each_search
    def test_every_setting_has_its_result(self, find, seed):
        asked = (9, 8, 5, 4, 2, 1)
        found = found_by(find, hard(seed), settings_for(*asked), 4, seed=seed)
        assert len(found) == len(asked)
        for n_clusters, (best, losses) in zip(asked, found, strict=True):
            assert 1 <= best.statistics.n_clusters <= n_clusters
            assert best.labels.max() + 1 == best.statistics.n_clusters
            assert len(losses) == 4
            assert best.loss == min(losses)
        assert [best.statistics.n_clusters for best, _ in found[-3:]] == [4, 2, 1]

    @each_search
    def test_results_come_one_by_one(self, find, made):
        seeds = np.random.SeedSequence(0).spawn(2)
        found = find(starts_of(hard(0)), settings_for(5, 4, 3), seeds, SERIAL)
        next(found)
        assert {each.settings.n_clusters for each in made} <= {5, 10}
        next(found)
        assert min(each.settings.n_clusters for each in made) == 4

    @each_search
    def test_each_reports_under_its_number(self, find, seed):
        told = []
        ((_, losses),) = found_by(
            find, hard(seed), settings_for(5), report=lambda *entry: told.append(entry)
        )
        ends = {index: entry["loss"] for index, _, entry, end in told if end}
        assert sorted(ends) == [0, 1, 2, 3]
        assert ends[0] == losses[0]
        # A run of merges may give way to what it has in common with another.
        assert all(ends[i] >= losses[i] for i in range(4))
        assert find is merges or list(ends.values()) == losses
        for index in range(4):
            iterations = [n for i, n, _, _ in told if i == index]
            assert iterations == list(range(1, len(iterations) + 1))

    @each_search
    def test_random_first_columns_are_drawn_for_each(self, find, made, seed):
        found_by(
            find,
            hard(seed),
            settings_for(4),
            6,
            first_columns=random_columns,
            seed=seed,
        )
        used = {each.groups.tobytes() for each in made}
        drawn = [g for g in used if np.sum(np.frombuffer(g, np.int8) == 1) == 4]
        assert len(drawn) > 3

    @each_search
    def test_fractional_counts_work(self, find, seed):
        Y, labels = containers.planted(seed=seed)
        Y = 0.37 * Y
        ((best, _),) = found_by(find, Y, settings_for(3), seed=seed)
        assert adjusted_rand_score(labels, best.labels) == 1


class TestPlanted:
    @pytest.mark.parametrize("first_columns", [None, random_columns])
    def test_a_single_merging_run_finds_the_clusters(self, first_columns):
        for seed in range(40):
            Y, labels = containers.planted(4, n_rows=60, seed=seed)
            if first_columns is not None:
                first_columns = self.any_half
            ((best, losses),) = found_by(
                merges, Y, settings_for(4), 1, seed=seed, first_columns=first_columns
            )
            assert adjusted_rand_score(labels, best.labels) == 1
            assert best.groups.tolist() == [1] * 8 + [0] * 2 + [-1] * 2
            assert len(losses) == 1

    def any_half(self, rng):
        return rng.permutation(np.repeat(np.array([1, -1], dtype=np.int8), 6))

    def test_merging_fails_less_often_than_plain_runs(self):
        """The same data, 40 seeds: a single plain run misses some clusters."""
        missed = Counter()
        for seed in range(40):
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

    @pytest.mark.parametrize("n_clusters", [(3,), (5, 3)], ids=["one", "many"])
    def test_outliers_are_found(self, n_clusters, seed):
        Y, labels = containers.planted(n_rows=60, n_background=20, seed=seed)
        *_, (best, _) = found_by(
            merges, Y, settings_for(*n_clusters, outliers=True), 4, seed=seed
        )
        inside = labels >= 0
        assert (best.labels[~inside] == OUTLIER).mean() > 0.6
        kept = inside & (best.labels >= 0)
        assert kept.sum() > 0.9 * inside.sum()
        assert adjusted_rand_score(labels[kept], best.labels[kept]) == 1


class TestFirstManyClusters:
    @pytest.fixture(autouse=True)
    def _small_clusters(self, monkeypatch):
        monkeypatch.setattr(search, "ROWS_PER_CLUSTER", 12)

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
        sums = Sums.of(wide.result.statistics, 1e-3)
        new = merge_clusters(sums, wide.result.groups, 5)
        np.testing.assert_array_equal(narrow.labels, new[wide.result.labels])
        np.testing.assert_array_equal(narrow.groups, wide.result.groups)

    def test_every_third_run_goes_on_to_the_next_number(self, made):
        found_by(merges, hard(0), settings_for(6, 4), 5)
        sizes = [each.settings.n_clusters for each in made]
        assert [size for size in sizes if size > 6] == [16] * 5 + [16, 12, 12]

    def test_a_run_goes_on_from_where_it_is(self, made):
        found_by(merges, hard(0), settings_for(6, 4), 1)
        sizes = [each.settings.n_clusters for each in made]
        below = made[sizes.index(4)]
        above = made[sizes.index(4) - 1].result
        assert sizes[sizes.index(4) - 1] == 6
        np.testing.assert_array_equal(below.groups, above.groups)
        pairs = {*zip(above.labels, below.labels, strict=True)}
        assert len(pairs) == above.statistics.n_clusters

    @pytest.mark.parametrize("n_clusters", [2, 3])
    def test_where_they_collapse_a_run_starts_plainly(self, n_clusters, made, seed):
        """The price leaves no column relevant for more clusters than asked for."""

        def price(totals, n_found, _):
            return np.full(len(totals), 1.0 if n_found <= n_clusters else 1e9)

        Y, labels = containers.planted(n_clusters, seed=seed)
        settings = settings_for(n_clusters, penalty=price)
        for find in SEARCHES:
            ((best, _),) = found_by(find, Y, settings, 6, seed=seed)
            assert adjusted_rand_score(labels, best.labels) == 1
        wide = [each for each in made if each.settings.n_clusters > n_clusters]
        assert [each.result.statistics.n_clusters for each in wide] == [1] * 6

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
        list(find(starts, settings_for(3, penalty=price), seeds, SERIAL))
        (part,) = seen
        np.testing.assert_array_equal(part, Y[:, :4])
        *wide, plain = made
        assert len(wide) == (find is merges)
        for each in made:
            np.testing.assert_array_equal(each.groups, first)
        assert sorted(plain.labels[plain.labels >= 0]) == [0, 1, 2]
        assert (plain.labels == NOWHERE).sum() == len(Y) - 3

    @pytest.mark.parametrize("n_rows", [3, 4, 7])
    def test_tiny_data_give_the_clusters_that_restarts_give(self, n_rows, made):
        Y = np.vstack([9 * np.eye(3), np.kron(np.ones((2, 1)), 7 * np.eye(3))])[:n_rows]
        settings = settings_for(3, penalty=resolve_penalty(None))
        for find in SEARCHES:
            first = np.ones(3, dtype=np.int8)
            ((best, _),) = found_by(find, Y, settings, 8, first_columns=first)
            assert sorted(best.labels[:3]) == [0, 1, 2]
            assert best.statistics.n_clusters == 3

    def test_structureless_data_are_cut_as_restarts_do(self, made, seed):
        """Three clusters cost nothing, and more of them too much."""

        def price(totals, n_found, _):
            return np.full(len(totals), 0.0 if n_found <= 3 else 1e9)

        Y = np.random.default_rng(seed).poisson(3.0, size=(100, 8)).astype(float)
        for find in SEARCHES:
            found = found_by(find, Y, settings_for(3, 2, penalty=price), 4, seed=seed)
            assert [best.statistics.n_clusters for best, _ in found] == [3, 2]

    @each_search
    def test_too_high_a_price_leaves_one_cluster(self, find, seed):
        def price(totals, *_):
            return np.full(len(totals), 1e9)

        Y = np.random.default_rng(seed).poisson(3.0, size=(100, 8)).astype(float)
        for best, losses in found_by(find, Y, settings_for(5, 2, penalty=price)):
            assert best.statistics.n_clusters == 1
            assert losses == [best.loss] * 4


class TestJoinedLabels:
    def wide(self, seed, **changes):
        Y = hard(seed)
        (settings,) = settings_for(8, **changes)
        labels = np.random.default_rng(seed).integers(8, size=len(Y))
        groups = np.array([1, 1, 1, 1, -1, 1, -1, -1], dtype=np.int8)
        return run(from_dense(Y), groups, labels, settings, SERIAL), settings

    def test_outliers_and_rows_nowhere_stay_so(self, seed):
        many, settings = self.wide(seed, outliers=True)
        labels = many.labels.copy()
        labels[::7] = NOWHERE
        assert (labels == OUTLIER).any()
        new, _ = search._joined(
            labels,
            many.statistics,
            many.groups,
            replace(settings, n_clusters=3),
            SERIAL,
        )
        for special in (OUTLIER, NOWHERE):
            np.testing.assert_array_equal(new == special, labels == special)
        assert {*new.tolist()} == {OUTLIER, NOWHERE, 0, 1, 2}

    def test_their_sums_are_those_of_the_clusters_added_up(self, seed):
        many, settings = self.wide(seed, outliers=True)
        labels = many.labels.copy()
        labels[::7] = NOWHERE
        counts, groups = from_dense(hard(seed)), many.groups
        inside = np.where(labels == OUTLIER, 8, labels).astype(np.int32)
        known = sum_by_labels(counts, inside, 8, groups, settings.prior)
        wanted = replace(settings, n_clusters=3)
        new, found = search._joined(labels, known, groups, wanted, SERIAL)
        inside = np.where(new == OUTLIER, 3, new).astype(np.int32)
        expected = sum_by_labels(counts, inside, 3, groups, settings.prior)
        np.testing.assert_array_equal(found.sums, expected.sums)
        np.testing.assert_array_equal(found.sizes, expected.sizes)
        np.testing.assert_array_equal(found.log_scales, expected.log_scales)
        np.testing.assert_array_equal(found.totals, expected.totals)
        assert found.n_rows == expected.n_rows

    @pytest.mark.parametrize("n_clusters", [4, 8])
    def test_a_run_with_known_sums_is_the_run_without(self, n_clusters, seed):
        many, settings = self.wide(seed, outliers=True)
        wanted = replace(settings, n_clusters=n_clusters)
        counts, groups = from_dense(hard(seed)), many.groups
        labels, known = search._joined(
            many.labels, many.statistics, groups, wanted, SERIAL
        )
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

    def test_outliers_of_a_larger_number_stay_outliers(self, made, seed):
        Y, _ = containers.planted(n_background=20, seed=seed)
        found_by(merges, Y, settings_for(5, 3, outliers=True), 1)
        _, above, below = made
        assert below.settings.n_clusters == 3
        outside = above.result.labels == OUTLIER
        assert outside.any()
        np.testing.assert_array_equal(below.labels == OUTLIER, outside)
        assert below.labels.min() == OUTLIER

    def test_outliers_of_a_common_start_are_those_of_either_run(self, made):
        Y, _ = containers.planted(6, n_rows=40, n_background=30, seed=42)
        counts = from_dense(Y)
        (settings,) = settings_for(6, outliers=True)
        ends = [self.end(counts, settings, s) for s in range(12)]
        made.clear()
        started = 0
        for best, other in pairwise(ends):
            search._crossed(counts, best, other, settings, SERIAL)
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
        parts = search._common_parts(best.labels, other.labels, len(Y), 6)
        inside = parts >= 0
        statistics = sum_by_labels(
            from_dense(Y[inside]), parts[inside], parts.max() + 1, best.groups, 1e-3
        )
        new = merge_clusters(Sums.of(statistics, 1e-3), best.groups, 6)
        np.testing.assert_array_equal(labels[inside], new[parts[inside]])

    def end(self, counts, settings, seed):
        labels = np.random.default_rng(seed).integers(6, size=counts.n_rows)
        groups = np.ones(counts.n_columns, dtype=np.int8)
        return run(counts, groups, labels, settings, SERIAL)


class TestCommonParts:
    @given(st.data())
    def test_are_the_largest_of_rows_together_in_both(self, data):
        n_rows = data.draw(st.integers(1, 60))
        n_clusters = data.draw(st.integers(1, min(6, n_rows)))
        labels = st.lists(
            st.integers(-1, n_clusters - 1), min_size=n_rows, max_size=n_rows
        )
        a, b = (np.array(data.draw(labels), dtype=np.int32) for _ in range(2))
        before = a.copy(), b.copy()
        parts = search._common_parts(a, b, n_rows, n_clusters)
        again = search._common_parts(a, b, n_rows, n_clusters)
        np.testing.assert_array_equal(parts, again)
        np.testing.assert_array_equal((a, b), before)
        outside = (a < 0) | (b < 0)
        np.testing.assert_array_equal(parts == OUTLIER, outside)
        pairs = [*zip(a[~outside].tolist(), b[~outside].tolist(), strict=True)]
        sizes = Counter(pairs)
        # The larger goes first, then the one of smaller labels.
        order = sorted(sizes, key=lambda pair: (-sizes[pair], pair))
        kept = order[: search._many(n_clusters, n_rows, 4)]
        numbers = {pair: number for number, pair in enumerate(kept)}
        expected = [numbers.get(pair, NOWHERE) for pair in pairs]
        assert parts[~outside].tolist() == expected

    def test_rows_of_small_parts_are_nowhere(self):
        """120 rows, K = 2: at most 4 of the parts stay."""
        a = np.repeat([0, 1, 2, 3, 4, 5], [9, 12, 3, 10, 9, 77]).astype(np.int32)
        parts = search._common_parts(a, np.zeros_like(a), 120, 2)
        assert search._many(2, 120, 4) == 4
        places = [3, 1, NOWHERE, 2, NOWHERE, 0]
        expected = np.repeat(places, [9, 12, 3, 10, 9, 77])
        np.testing.assert_array_equal(parts, expected)

    def test_many_rows_and_labels_do_not_mix(self):
        """Their product is 0 in 32 bits."""
        n_rows, last = 2**17, 2**15
        b = np.arange(n_rows, dtype=np.int32) % 3
        a = np.where(b == 2, np.int32(last), np.int32(0))
        parts = search._common_parts(a, np.where(b == 1, b, 0 * b), n_rows, 2)
        np.testing.assert_array_equal(parts, b)

    def test_outliers_are_no_part_even_if_they_are_most(self):
        a = np.array([-1] * 30 + [0] * 3 + [1] * 3, dtype=np.int32)
        parts = search._common_parts(a, a, 36, 2)
        np.testing.assert_array_equal(parts, a)

    def test_outliers_alone_leave_no_part(self):
        a = np.array([-1, 0, -1], dtype=np.int32)
        b = np.array([0, -1, -1], dtype=np.int32)
        assert search._common_parts(a, b, 3, 2).tolist() == [OUTLIER] * 3


class TestCrossed:
    def ends(self, counts, settings, n_runs):
        for seed in range(n_runs):
            rng = np.random.default_rng(seed)
            labels = seeding.random_centers(counts)(rng, 6)
            groups = np.ones(counts.n_columns, dtype=np.int8)
            yield run(counts, groups, labels, settings, SERIAL)

    @pytest.mark.parametrize("outliers", [False, True])
    def test_is_never_worse_than_the_other_run(self, outliers, made):
        rng = np.random.default_rng(0)
        counts = from_dense(rng.poisson(rng.gamma(0.7, 3.0, size=(100, 12))))
        (settings,) = settings_for(6, outliers=outliers)
        ends = list(self.ends(counts, settings, 12))
        made.clear()
        outcomes = Counter()
        for best in ends:
            for other in ends:
                result = search._crossed(counts, best, other, settings, SERIAL)
                assert result.loss <= other.loss
                outcomes["other"] += bool(made) and result is other
                outcomes["none"] += not made
                if result is not other:
                    outcomes["new"] += 1
                    assert result is made[-1].result
                    assert made[-1].settings is settings
                    np.testing.assert_array_equal(made[-1].groups, best.groups)
                made.clear()
        # Better, worse, and nothing to join (a run and itself).
        assert outcomes["new"] > 5
        assert outcomes["other"] > 5
        assert outcomes["none"] >= 12

    def test_lowers_the_losses_of_a_search(self, made):
        ((best, losses),) = found_by(merges, hard(3), settings_for(6), 8)
        narrow = [each for each in made if each.settings.n_clusters == 6]
        assert len(narrow) > 8
        ends = {each.result.loss for each in narrow}
        assert {*losses} <= ends
        assert best.loss == min(ends)

    def test_takes_part_for_every_number_of_clusters(self, crossings):
        found_by(merges, hard(3), settings_for(6, 5), 6)
        crossed = [each is not other for _, other, each in crossings]
        sizes = [best.statistics.n_clusters for best, _, _ in crossings]
        assert {*np.compress(crossed, sizes).tolist()} == {5, 6}

    @pytest.fixture
    def crossings(self, monkeypatch):
        """The best, the other and the outcome of every crossing."""
        seen = []
        crossed = search._crossed

        def spying(counts, best, other, *rest):
            result = crossed(counts, best, other, *rest)
            seen.append((best, other, result))
            return result

        monkeypatch.setattr(search, "_crossed", spying)
        return seen

    def test_the_best_so_far_is_always_one_of_the_two(self, crossings):
        ((best, losses),) = found_by(merges, hard(3), settings_for(6), 8)
        bests = [each.loss for each, _, _ in crossings]
        assert bests[0] == losses[0]
        assert bests == sorted(bests, reverse=True)
        assert bests[-1] >= best.loss == min(losses)
        assert any(result.loss < other.loss for _, other, result in crossings)

    def test_the_best_meets_earlier_runs_once_each(self, crossings):
        found_by(merges, hard(3), settings_for(6), 8)
        # A run for each of eight seeds; seven meet the best, which then meets another
        # from the second on, unless it has met them all.
        assert 7 < len(crossings) <= 7 + 7
        pairs = {(id(best), id(other)) for best, other, _ in crossings}
        assert len(pairs) == len(crossings)

    def test_only_what_beats_the_best_runs_to_convergence(self, made):
        for seed in range(5):
            settings = settings_for(6, max_iter=200)
            ((best, _),) = found_by(merges, hard(seed), settings, 8, seed=seed)
            assert best.converged
        narrow = [each for each in made if each.settings.n_clusters == 6]
        trials = [each for each in narrow if each.settings.max_iter == 5]
        finished = [each for each in narrow if each.settings.max_iter != 5]
        assert 1 <= len(finished) < len(trials) / 2
        assert {each.settings.max_iter for each in finished} == {195}

    @pytest.mark.parametrize("max_iter", [1, 4, 5, 6, 9, 300])
    def test_the_history_tells_of_both_parts(self, max_iter):
        lengths = set()
        for seed in range(10):
            settings = settings_for(6, max_iter=max_iter)
            ((best, _),) = found_by(merges, hard(seed), settings, 3, seed=seed)
            losses = best.history["loss"]
            lengths.add(len(losses))
            assert len({len(each) for each in best.history.values()}) == 1
            assert (np.diff(losses) <= 1e-9 * abs(losses[:-1])).all()
            assert losses[-1] == best.loss
            assert best.converged or len(losses) == max_iter
        assert max(lengths) == max_iter or max_iter > 5


@pytest.mark.parametrize(
    ("n_clusters", "n_rows", "times", "expected"),
    [
        (10, 10**6, 3, 30),
        (10, 10**6, 4, 40),
        (5, 10**6, 3, 15),
        (3, 10**6, 3, 12),
        (2, 10**6, 4, 12),
        (1, 10**6, 3, 12),
        (10, 1200, 4, 40),
        (10, 1199, 4, 32),
        (10, 720, 4, 24),
        (10, 719, 4, 20),
        (10, 600, 4, 20),
        (10, 100, 4, 20),
        (10, 20, 3, 20),
        (10, 19, 3, 19),
        (10, 10, 3, 10),
        (1, 5, 3, 2),
        (1, 1, 4, 1),
    ],
)
def test_how_many_clusters_to_come_down_from(n_clusters, n_rows, times, expected):
    assert search._many(n_clusters, n_rows, times) == expected


class TestInterrupt:
    @pytest.fixture(autouse=True)
    def _threads(self, monkeypatch):
        monkeypatch.setattr(search, "BLOCK_COUNTS", 10)
        monkeypatch.setattr(counts_module, "BLOCK_COUNTS", 50)

    @each_search
    @pytest.mark.parametrize("n_jobs", [1, 2])
    @pytest.mark.parametrize("n_seeds", [1, 5])
    def test_before_the_first_run(self, find, n_jobs, n_seeds, made):
        stop = threading.Event()
        stop.set()
        seeds = np.random.SeedSequence(0).spawn(n_seeds)
        found = find(starts_of(hard(0)), settings_for(4), seeds, Workers(n_jobs, stop))
        with pytest.raises(Stopped):
            next(found)
        assert not made

    @each_search
    @pytest.mark.parametrize("n_jobs", [1, 2])
    @pytest.mark.parametrize("n_seeds", [1, 200])
    def test_inside_a_run(self, find, n_jobs, n_seeds):
        stop, told = threading.Event(), []

        def report(*entry):
            told.append(entry)
            stop.set()

        seeds = np.random.SeedSequence(0).spawn(n_seeds)
        with pytest.raises(Stopped), Workers(n_jobs, stop) as workers:
            list(find(starts_of(hard(0)), settings_for(4), seeds, workers, report))
        assert 1 <= len(told) <= n_jobs
