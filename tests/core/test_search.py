"""Several runs and the best of them: any seeds, numbers of clusters and threads."""

import threading
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from core_cases import (
    SEARCHES,
    assert_same_bits,
    each_search,
    found_by,
    hard,
    random_columns,
    settings_for,
    starts_of,
)
from sklearn.metrics import adjusted_rand_score

import containers
from threecpo._core import counts as counts_module
from threecpo._core import merging, search, seeding
from threecpo._core.codes import NOWHERE, all_relevant, free, with_fixed
from threecpo._core.crossing import best_of, finished
from threecpo._core.matrices import from_dense
from threecpo._core.merging import merge_clusters
from threecpo._core.search import (
    LEAST_RUNS,
    MOST_RUNS,
    FewRuns,
    SeedRuns,
    Starts,
    adaptive_merges,
    adaptive_restarts,
    agree,
    few_merges,
    first_groups,
    merges,
    restarts,
)
from threecpo._core.workers import SERIAL, Stopped, Workers


class TestSeeds:
    @each_search
    @pytest.mark.parametrize(
        ("n_clusters", "first_columns"), [((6,), None), ((7, 6, 4, 3), random_columns)]
    )
    def test_more_keep_the_first_losses_and_never_make_the_best_worse(
        self, find, n_clusters, first_columns, seed
    ):
        Y, settings = hard(seed), settings_for(*n_clusters)
        options = {"seed": seed, "first_columns": first_columns}
        most = found_by(find, Y, settings, 8, **options)
        assert any(len(set(losses)) > 1 for _, losses in most)
        for n_seeds in (1, 5):
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

    def test_of_equal_losses_the_first_that_has_converged_is_best(self, made):
        found_by(restarts, hard(0), settings_for(4), 1)
        end = replace(made[0].result, loss=1.0, converged=True)
        cut, worse = replace(end, converged=False), replace(end, loss=2.0)
        assert best_of([worse, cut, end, replace(end)]) is end
        assert best_of([worse, cut, replace(cut)]) is cut

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


@each_search
def test_each_run_reports_under_its_number(find, seed):
    reports = []
    ((_, losses),) = found_by(
        find, hard(seed), settings_for(5), report=lambda *all_: reports.append(all_)
    )
    ends = {index: line["loss"] for _, index, _, line, end in reports if end}
    assert sorted(ends) == [0, 1, 2, 3]
    assert ends[0] == losses[0]
    # A run of merges may give way to what it has in common with another.
    assert all(ends[i] >= losses[i] for i in range(4))
    assert find is merges or list(ends.values()) == losses
    for index in range(4):
        iterations = [n for _, i, n, _, _ in reports if i == index]
        assert iterations == list(range(1, len(iterations) + 1))


class TestThreads:
    @pytest.fixture(params=["several blocks", "one block"])
    def n_blocks(self, request, monkeypatch):
        """Enough counts for threads, cut into several row blocks or into one."""
        several = request.param == "several blocks"
        monkeypatch.setattr(search, "BLOCK_COUNTS", 10)
        size = 50 if several else 10**9
        monkeypatch.setattr(counts_module, "BLOCK_COUNTS", size)
        monkeypatch.setattr(counts_module, "SHARE_COUNTS", size)
        return 9 if several else 1

    @pytest.mark.parametrize(
        ("find", "n_clusters", "n_seeds", "kind"),
        [
            *((find, (5,), 5, "whole") for find in SEARCHES),
            *((find, (6, 4, 1), 5, "fractional") for find in SEARCHES),
            *((find, (6, 4, 1), 1, "outliers") for find in SEARCHES),
            (adaptive_restarts, (6, 4, 1), MOST_RUNS, "whole"),
            (adaptive_merges, (6, 4, 1), MOST_RUNS, "whole"),
            (few_merges, (12, 9), 3, "whole"),
        ],
    )
    def test_any_number_gives_the_same_bits(
        self, find, n_clusters, n_seeds, kind, n_blocks, seed
    ):
        Y = hard(seed, fractional=kind == "fractional")
        assert len(from_dense(Y).blocks) >= n_blocks
        settings = settings_for(*n_clusters, outliers=kind == "outliers")
        several = []
        for n_jobs in (1, 2, 4):
            if find is few_merges:  # 10 starts from the runs of 12 and 9
                few = partial(few_merges, FewRuns(3))
                first = found_by(few, Y, settings, n_seeds, n_jobs, seed)
                more = found_by(few, Y, settings_for(10), n_seeds, n_jobs, seed)
                several.append([*first, *more])
            else:
                several.append(found_by(find, Y, settings, n_seeds, n_jobs, seed))
        for other in several[1:]:
            for (a, losses), (b, other_losses) in zip(several[0], other, strict=True):
                assert losses == other_losses
                assert_same_bits(a, b)

    @each_search
    @pytest.mark.parametrize("n_seeds", [2, 5])
    def test_are_used(self, find, n_seeds, n_blocks, monkeypatch):
        """By runs where these suffice or rows are not cut, else by rows of a run.

        Crossings are made one by one: they share rows wherever these are cut. The
        thread that asks is one of them.
        """
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
        crossed = find in (search.merges, adaptive_merges) and n_seeds > 1
        assert bool(by_rows) == (n_blocks > 1 and (crossed or not side_by_side))
        assert len(by_runs | by_rows | {threading.get_ident()}) <= n_jobs

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


@each_search
@pytest.mark.parametrize(("n_jobs", "n_seeds"), [(1, 200), (2, 1), (2, 200)])
def test_an_interrupt_is_heard_inside_a_run(find, n_jobs, n_seeds, monkeypatch):
    monkeypatch.setattr(search, "BLOCK_COUNTS", 10)
    monkeypatch.setattr(counts_module, "BLOCK_COUNTS", 50)
    stop, told = threading.Event(), []

    def report(*entry):
        told.append(entry)
        stop.set()

    seeds = np.random.SeedSequence(0).spawn(n_seeds)
    with pytest.raises(Stopped), Workers(n_jobs, stop) as workers:
        list(find(starts_of(hard(0)), settings_for(4), seeds, workers, report))
    assert 1 <= len(told) <= n_jobs


PAIRS = [(adaptive_restarts, restarts), (adaptive_merges, merges)]
each_pair = pytest.mark.parametrize(("find", "fixed"), PAIRS, ids=["restarts", "merge"])


def until_agreed(find, Y, n_clusters, **options):
    return found_by(find, Y, settings_for(*n_clusters), MOST_RUNS, **options)


def lone_losses(Y, settings, seed, n_runs):
    """Losses of the seeds' runs, each taken to convergence by itself."""
    starts, losses = starts_of(Y), []
    for i, each in enumerate(np.random.SeedSequence(seed).spawn(n_runs)):
        runs = SeedRuns(starts, i, np.random.default_rng(each), SERIAL)
        trial = runs.trial(settings)
        losses.append(finished(starts.counts, trial, settings, SERIAL).loss)
    return losses


@each_pair
def test_the_result_is_that_of_as_many_runs(find, fixed, seed):
    Y = hard(seed)
    ((best, losses),) = until_agreed(find, Y, [4], seed=seed)
    assert LEAST_RUNS <= len(losses) <= MOST_RUNS
    ((expected, same),) = found_by(fixed, Y, settings_for(4), len(losses), seed=seed)
    assert losses == same
    assert_same_bits(best, expected)


def test_restarts_end_when_two_share_the_lowest_loss(seed):
    Y = hard(seed)
    ((_, losses),) = until_agreed(adaptive_restarts, Y, [5], seed=seed)
    ((_, most),) = found_by(restarts, Y, settings_for(5), MOST_RUNS, seed=seed)
    agreed = [
        n
        for n in range(LEAST_RUNS, MOST_RUNS + 1)
        if sum(agree(loss, min(most[:n])) for loss in most[:n]) > 1
    ]
    assert len(losses) == (agreed[0] if agreed else MOST_RUNS)


def test_merging_ends_when_a_lone_run_arrives_at_the_best(seed, monkeypatch):
    monkeypatch.setattr("threecpo._core.run.PATIENCE", np.inf)
    Y, (settings,) = hard(seed), settings_for(5)
    ((_, losses),) = until_agreed(adaptive_merges, Y, [5], seed=seed)
    ((_, most),) = found_by(merges, Y, [settings], MOST_RUNS, seed=seed)
    alone = lone_losses(Y, settings, seed, MOST_RUNS)
    arrived = [i for i in range(1, MOST_RUNS) if agree(alone[i], min(most[:i]))]
    agreed = [
        n
        for n in range(LEAST_RUNS, MOST_RUNS + 1)
        if any(i < n and agree(min(most[:i]), min(most[:n])) for i in arrived)
    ]
    assert len(losses) == (agreed[0] if agreed else MOST_RUNS)


@each_pair
def test_clear_clusters_take_the_least_and_shapeless_counts_the_most(find, fixed):
    Y, _ = containers.planted()
    ((_, losses),) = until_agreed(find, Y, [3])
    assert len(losses) == LEAST_RUNS
    rng = np.random.default_rng(0)
    shapeless = rng.poisson(rng.gamma(0.5, 10.0, (200, 30)))
    ((_, losses),) = until_agreed(find, shapeless, [8])
    assert len(losses) == MOST_RUNS


def test_losses_agree_within_a_part_of_their_size():
    assert agree(-1e6, -1e6 * (1 + 9e-10))
    assert not agree(-1e6, -1e6 * (1 + 2e-9))
    assert agree(0.0, 0.0)
    assert not agree(np.inf, 5.0)


def test_a_hopeless_trial_is_not_taken_to_its_end(monkeypatch):
    ends = []

    def ending(counts, trial, *others):
        ends.append(trial)
        return finished(counts, trial, *others)

    monkeypatch.setattr(search, "finished", ending)
    until_agreed(adaptive_merges, hard(0), [6])
    n_ended = len(ends)
    monkeypatch.setattr("threecpo._core.run.PATIENCE", np.inf)
    until_agreed(adaptive_merges, hard(0), [6])
    assert n_ended < len(ends) - n_ended


def test_neighbours_are_the_nearest_at_most_twice_apart():
    for found, n_clusters, expected in (
        ((), 9, []),
        ((5, 7, 8), 9, []),
        ((12,), 9, [12]),
        ((8, 12), 9, [12, 8]),
        ((5, 7, 12, 16), 9, [12, 7]),
        ((5, 18), 9, [18, 5]),
        ((4, 18), 9, [18]),
        ((8, 19), 9, []),
        ((3, 4, 6), 5, [6, 4]),
        ((2, 3, 5), 4, []),  # which has all of its runs
    ):
        few = FewRuns(3, {k: SimpleNamespace(n_clusters=k) for k in found})
        assert [each.n_clusters for each in few.neighbours(n_clusters)] == expected
    # A larger run that lost clusters is no neighbour.
    runs = {12: SimpleNamespace(n_clusters=8), 16: SimpleNamespace(n_clusters=16)}
    assert FewRuns(3, runs).neighbours(9) == [runs[16]]


def few_runs(few, *n_clusters):
    """Best run and losses for each number of clusters."""
    Y = hard(3, n_rows=400)
    return found_by(partial(few_merges, few), Y, settings_for(*n_clusters), 3)


def test_runs_between_others_start_from_these(made):
    few = FewRuns(3)
    found = few_runs(few, 14, 10)
    assert [len(losses) for _, losses in found] == [2, 2]
    assert few.found.keys() == {14, 10}
    began = {each.settings.n_clusters for each in made}
    assert max(began) == 28  # from random rows
    made.clear()
    ((between, losses),) = few_runs(few, 12)
    assert len(losses) == 2
    assert {each.settings.n_clusters for each in made} == {12}
    assert between is few.found[12]
    larger = few.found[14].labels
    start = made[0].labels
    # Each cluster of the larger run lies in one cluster of the start.
    assert len({*zip(larger, start, strict=True)}) == few.found[14].n_clusters == 14
    assert len(np.unique(start)) == 12


def test_small_numbers_have_all_trials_and_the_best_is_the_one_to_start_from():
    few = FewRuns(3)
    found = few_runs(few, 8, 7, 6, 5, 4, 1)
    assert [len(losses) for _, losses in found][::2] == [3, 4, 3]
    assert any(losses[-1] > min(losses) for _, losses in found)
    assert [few.found[k].loss for k in (8, 7, 6, 5)] == [
        min(losses) for _, losses in found[:4]
    ]


def test_merging_fails_less_often_than_plain_runs():
    """The same data, 20 seeds: a single plain run misses some clusters."""
    missed = Counter()
    for seed in range(20):
        Y, labels = containers.planted(4, n_rows=60, seed=seed)
        for find in SEARCHES:
            ((best, _),) = found_by(find, Y, settings_for(4), 1, seed=seed)
            missed[find] += adjusted_rand_score(labels, best.labels) < 1
    assert missed[merges] == 0 < missed[restarts]


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


def test_starts_hold_fixed_columns():
    fixed = ((0, -1), (2, 0))
    counts, rng = from_dense(np.ones((4, 4))), np.random.default_rng(0)
    first = np.array([1, -1, 1, 1], dtype=np.int8)
    starts = Starts(counts, first, None, also_all_columns=True, fixed_groups=fixed)
    assert starts.columns(rng, 2).tolist() == [-1, -1, 0, 1]
    assert starts.wide_columns(rng, 8, 2).tolist() == [-1, 1, 0, 1]
    assert first_groups(first, rng, fixed).tolist() == [-1, -1, 0, 1]
    # A start is never without C1.
    groups = np.array([1, -1, -1], dtype=np.int8)
    assert with_fixed(groups, [(0, -1)]).tolist() == [-1, 1, 1]
    assert with_fixed(groups, [(0, -1), (1, 0)]).tolist() == [-1, 0, 1]
    assert groups.tolist() == [1, -1, -1]
