"""Crossing runs: their common parts, what is joined, and who meets whom."""

from collections import Counter
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise, permutations
from threading import Barrier, Event
from typing import NamedTuple

import numpy as np
import pytest
from core_cases import (
    FIRST,
    assert_same_bits,
    assert_same_sums,
    found_by,
    hard,
    knowing,
    same_partition,
    settings_for,
    settings_of,
)
from hypothesis import given
from hypothesis import strategies as st

import containers
from threecpo._core import crossing, merging, seeding
from threecpo._core.codes import NOWHERE, OUTLIER
from threecpo._core.matrices import from_dense
from threecpo._core.merging import merge_clusters
from threecpo._core.run import run
from threecpo._core.search import merges
from threecpo._core.sums import sum_by_labels
from threecpo._core.workers import SERIAL, Workers


@given(st.data())
def test_common_parts_are_the_largest_of_rows_together_in_both(data):
    n_rows = data.draw(st.integers(1, 60))
    n_clusters = data.draw(st.integers(1, min(6, n_rows)))
    labels = st.lists(st.integers(-1, n_clusters - 1), min_size=n_rows, max_size=n_rows)
    a, b = (np.array(data.draw(labels), dtype=np.int32) for _ in range(2))
    before = a.copy(), b.copy()
    parts = crossing.common_parts(a, b, n_rows, n_clusters)
    again = crossing.common_parts(a, b, n_rows, n_clusters)
    np.testing.assert_array_equal(parts, again)
    np.testing.assert_array_equal((a, b), before)
    outside = (a < 0) | (b < 0)
    np.testing.assert_array_equal(parts == OUTLIER, outside)
    pairs = [*zip(a[~outside].tolist(), b[~outside].tolist(), strict=True)]
    sizes = Counter(pairs)
    # The larger goes first, then the one of smaller labels.
    order = sorted(sizes, key=lambda pair: (-sizes[pair], pair))
    kept = order[: merging.n_before_joining(n_clusters, n_rows, 4)]
    numbers = {pair: number for number, pair in enumerate(kept)}
    expected = [numbers.get(pair, NOWHERE) for pair in pairs]
    assert parts[~outside].tolist() == expected


class TestCrossed:
    def shapeless(self):
        rng = np.random.default_rng(0)
        return from_dense(rng.poisson(rng.gamma(0.7, 3.0, size=(100, 12))))

    def ends(self, counts, settings, n_runs):
        for seed in range(n_runs):
            rng = np.random.default_rng(seed)
            labels = seeding.random_centers(counts)(rng, 6)
            groups = np.ones(counts.n_columns, dtype=np.int8)
            yield run(counts, groups, labels, settings, SERIAL)

    @pytest.mark.parametrize("outliers", [False, True])
    def test_is_never_worse_than_the_other_run(self, outliers, made):
        counts = self.shapeless()
        (settings,) = settings_for(6, outliers=outliers)
        ends = list(self.ends(counts, settings, 8))
        made.clear()
        outcomes = Counter()
        for best in ends:
            for other in ends:
                result = crossing.crossed(counts, best, other, settings, SERIAL)
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
        assert outcomes["none"] >= 8

    def test_starts_from_the_sums_of_its_own_labels(self, made):
        counts = self.shapeless()
        (settings,) = settings_for(6)
        ends = list(self.ends(counts, settings, 4))
        # Row sizes are sums over C1 and C0.
        assert len({(each.groups >= 0).tobytes() for each in ends}) > 1
        for best, other in permutations(ends, 2):
            crossing.crossed(counts, best, other, settings, SERIAL)
            start = made[-1]
            expected = run(counts, best.groups, start.labels, settings, SERIAL)
            assert_same_bits(start.result, expected)
        assert len(made) == 12

    @pytest.mark.parametrize("joined", [False, True])
    def test_as_many_parts_as_clusters_are_nothing_to_join(self, joined, made):
        """Other names for the same clusters, or two of them joined."""
        counts = from_dense(hard(0))
        (settings,) = settings_for(6)
        (best,) = self.ends(counts, settings, 1)
        assert best.sums.n_clusters == 6
        labels = np.maximum(best.labels, 1) if joined else 5 - best.labels
        other = replace(best, labels=labels.astype(np.int32), loss=best.loss + 1)
        assert crossing.crossed(counts, best, other, settings, SERIAL) is other
        assert not made

    @pytest.mark.parametrize("max_iter", [1, 5, 300])
    def test_the_history_tells_of_both_parts(self, max_iter):
        lengths = set()
        for seed in range(5):
            settings = settings_for(6, max_iter=max_iter)
            rng = np.random.default_rng(seed)
            shapeless = rng.poisson(rng.gamma(0.5, 10.0, (200, 8)))
            ((best, _),) = found_by(merges, shapeless, settings, 3, seed=seed)
            losses = best.history["loss"]
            lengths.add(len(losses))
            assert len({len(each) for each in best.history.values()}) == 1
            assert (np.diff(losses) <= 1e-9 * abs(losses[:-1])).all()
            assert losses[-1] == best.loss
            assert best.converged or len(losses) == max_iter
        assert max(lengths) == max_iter or max(lengths) > 5


class Named(NamedTuple):
    """A run that has nothing but a name and a loss."""

    name: str
    loss: float
    converged: bool = True


# Losses of the trials, those of children that are not a little better than the other
# parent, runs that give nothing when crossed, all runs that come out, and who met whom
# after the last trials.
MEETINGS = {
    "the best meets every trial and then the run before": (
        {"A": 1, "B": 9, "C": 8, "D": 7},
        *({}, ""),
        ["A!", "B'", "C'", "D'"],
        [
            [],
            [("A!", "B")],
            [("A!", "C"), ("A!", "B'")],
            [("A!", "D"), ("A!", "C'")],
        ],
    ),
    "a trial that gave nothing is not met again": (
        {"A": 1, "B": 9, "C": 8, "D": 7, "E": 7},
        *({}, "BD"),
        ["A!", "B", "C'", "D", "E'"],
        [[("A!", "C")], [("A!", "D"), ("A!", "C'")], [("A!", "E")]],
    ),
    "what gave nothing to one best is met by the next": (
        {"A": 10, "B": 11, "C": 18, "D": 20},
        *({"C": 5}, "B"),
        ["A!", "B", "C'!", "D'"],
        [[("A!", "C"), ("C'!", "A!")], [("C'!", "D"), ("C'!", "B")]],
    ),
    "a better child of a trial meets all from the lowest on": (
        {"A": 10, "B": 18, "C": 16, "D": 17, "E": 20, "F": 20, "G": 20},
        *({"D": 5}, ""),
        ["A!", "B'", "C'", "D'!", "E'", "F'", "G'"],
        [
            [("A!", "D"), ("D'!", "A!")],
            [("D'!", "E"), ("D'!", "C'")],
            [("D'!", "F"), ("D'!", "B'")],
            [("D'!", "G"), ("D'!", "E'")],
        ],
    ),
    "a better child of an earlier run takes the place of a trial": (
        {"A": 10, "B": 18, "C": 16, "D": 17, "E": 20, "F": 20},
        *({"B'": 5}, ""),
        ["A!", "B'", "B''!", "D'", "E'", "F'"],
        [
            [("A!", "C"), ("A!", "B'")],
            [("B''!", "D"), ("B''!", "A!")],
            [("B''!", "E"), ("B''!", "D'")],
            [("B''!", "F"), ("B''!", "B'")],
        ],
    ),
    "a child that equals the best is no better": (
        {"A": 10, "B": 18, "C": 16},
        *({"B'": 10, "C": 10}, ""),
        ["A!", "B'", "C'"],
        [[("A!", "C"), ("A!", "B'")]],
    ),
}


@pytest.mark.parametrize("name", MEETINGS)
def test_who_is_crossed_with_whom(name, monkeypatch):
    """A child's name has a prime, that of a run to convergence an exclamation mark."""
    losses, better, barren, runs, last = MEETINGS[name]
    (settings,) = settings_for(6)
    after = []

    def crossed(counts, best, other, few, workers):
        assert few == replace(settings, max_iter=5)
        after[-1].append((best.name, other.name))
        if other.name in [*barren]:
            return other
        return Named(other.name + "'", better.get(other.name, other.loss - 0.5))

    def finished(counts, trial, to_the_end, workers):
        assert to_the_end is settings
        return Named(trial.name + "!", trial.loss)

    def trials():
        for name, loss in losses.items():
            after.append([])
            yield Named(name, loss)

    monkeypatch.setattr(crossing, "crossed", crossed)
    monkeypatch.setattr(crossing, "finished", finished)
    found = crossing.crossed_runs(None, trials(), settings, SERIAL)
    assert [each.name for each in found] == runs
    assert after[-len(last) :] == last


class TestTwoThreads:
    def found(self, monkeypatch, crossed):
        (settings,) = settings_for(6)
        monkeypatch.setattr(crossing, "crossed", crossed)
        monkeypatch.setattr(crossing, "finished", lambda _, trial, *__: trial)
        trials = [Named("A", 1), Named("B", 9), Named("C", 8)]
        with Workers(2) as workers:
            runs = crossing.crossed_runs(None, trials, settings, workers)
        return [each.name for each in runs]

    def test_the_best_meets_a_trial_and_an_earlier_run_at_the_same_time(
        self, monkeypatch
    ):
        together = Barrier(2)

        def crossed(counts, best, other, few, workers):
            if other.name != "B":
                together.wait(timeout=60)
            return Named(other.name + "'", other.loss - 0.5)

        assert self.found(monkeypatch, crossed) == ["A", "B'", "C'"]

    def test_a_new_best_takes_nothing_of_what_was_begun_for_the_old_one(
        self, monkeypatch
    ):
        begun = Event()

        def crossed(counts, best, other, few, workers):
            if other.name == "C":
                assert begun.wait(timeout=60)
                return Named("C'", 0.5)
            if (best.name, other.name) == ("A", "B'"):
                begun.set()
                return Named("of the old best", 0)
            return Named(other.name + "'", other.loss + 0.5)

        assert self.found(monkeypatch, crossed) == ["A", "B'", "C'"]


@pytest.mark.parametrize(
    ("max_iter", "outliers"), [(3, False), (5, True), (300, False), (300, True)]
)
def test_a_finished_trial_is_the_run_that_was_never_cut(max_iter, outliers):
    longest = 0
    for seed in range(4):
        counts = from_dense(hard(seed))
        (settings,) = settings_for(6, max_iter=max_iter, outliers=outliers)
        labels = np.random.default_rng(seed).integers(6, size=counts.n_rows)
        groups = np.ones(counts.n_columns, dtype=np.int8)
        whole = run(counts, groups, labels, settings, SERIAL)
        few = replace(settings, max_iter=2)
        trial = run(counts, groups, labels, few, SERIAL)
        lines = [*trial.lines]
        found = crossing.finished(counts, trial, settings, SERIAL)
        assert same_partition(found.labels, whole.labels)
        assert found.converged == whole.converged
        assert found.history.keys() == whole.history.keys()
        for key, values in whole.history.items():
            np.testing.assert_allclose(found.history[key], values, rtol=1e-12)
        assert trial.lines == lines
        longest = max(longest, len(found.lines))
    assert 2 < longest <= max_iter


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
        assert_same_sums(found, expected, but=["log_size_total"])

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
        """And they have no part in what is joined."""
        Y, _ = containers.planted(6, n_rows=40, n_background=30, seed=42)
        counts = from_dense(Y)
        (settings,) = settings_for(6, outliers=True)
        ends = [self.end(counts, settings, s) for s in range(12)]
        started = 0
        for best, other in pairwise(ends):
            made.clear()
            crossing.crossed(counts, best, other, settings, SERIAL)
            if made:
                labels = made[-1].labels
                outside = (best.labels == OUTLIER) | (other.labels == OUTLIER)
                np.testing.assert_array_equal(labels == OUTLIER, outside)
                assert labels.max() == 5
                parts = crossing.common_parts(best.labels, other.labels, len(Y), 6)
                inside, n_parts = parts >= 0, parts.max() + 1
                some = from_dense(Y[inside]), parts[inside], n_parts
                sums = sum_by_labels(*some, best.groups, 1e-3)
                new = merge_clusters(sums, best.groups, 6, 1e-3)
                np.testing.assert_array_equal(labels[inside], new[parts[inside]])
                started += 1
        assert started > 0

    def end(self, counts, settings, seed):
        labels = np.random.default_rng(seed).integers(6, size=counts.n_rows)
        groups = np.ones(counts.n_columns, dtype=np.int8)
        return run(counts, groups, labels, settings, SERIAL)


class TestKnownRows:
    def test_known_clusters_come_first_whatever_their_size(self):
        a = np.array([0, 1, 2, 2, 2, 2, 3, 3, 3], dtype=np.int32)
        b = np.array([0, 1, 2, 2, 3, 3, 3, 3, 3], dtype=np.int32)
        parts = crossing.common_parts(a, b, 9, 2, n_known=2)
        assert parts[:2].tolist() == [0, 1]
        assert parts[6:].tolist() == [2, 2, 2]
        assert crossing.common_parts(a, b, 9, 2)[0] != 0

    def test_a_crossing_starts_with_held_rows_in_their_clusters(self, made):
        Y = hard(0)
        held = np.full(len(Y), -1, dtype=np.int32)
        held[[3, 150]], held[[8, 90]] = 0, 1
        counts, settings = knowing(from_dense(Y), held, 2), settings_of(6, n_known=2)
        ends = []
        for seed in range(6):
            start = seeding.random_centers(counts)(np.random.default_rng(seed), 6)
            ends.append(run(counts, FIRST, start, settings, SERIAL))
        made.clear()
        for best, other in pairwise(ends):
            crossing.crossed(counts, best, other, settings, SERIAL)
        assert len(made) > 2
        for each in made:
            np.testing.assert_array_equal(each.labels[held >= 0], held[held >= 0])
