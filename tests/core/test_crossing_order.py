"""Which runs of a search are crossed with which, and which run to convergence."""

from dataclasses import replace
from threading import Barrier, Event
from typing import NamedTuple

import numpy as np
import pytest
from planted_runs import same_partition
from searching import hard, settings_for

from threecpo._core import crossing
from threecpo._core.matrices import from_dense
from threecpo._core.run import run
from threecpo._core.workers import SERIAL, Workers


class Named(NamedTuple):
    """A run that has nothing but a name and a loss."""

    name: str
    loss: float
    converged: bool = True


class TestCrossings:
    """Who is crossed with whom, where the losses are made up.

    A child is a little better than the other of its parents. Its name has a prime, that
    of a run to convergence an exclamation mark.
    """

    def follow(self, monkeypatch, losses, better=(), barren=()):
        """Crossings after each trial, and the runs that they give.

        Crossing with a barren run gives nothing better than that run itself.
        """
        (settings,) = settings_for(6)
        after, better = [], dict(better)

        def crossed(counts, best, other, few, workers):
            assert few == replace(settings, max_iter=5)
            after[-1].append((best.name, other.name))
            if other.name in barren:
                return other
            loss = better.get(other.name, other.loss - 0.5)
            return Named(other.name + "'", loss)

        def finished(counts, trial, to_the_end, workers):
            assert to_the_end is settings
            return Named(trial.name + "!", trial.loss)

        def trials():
            for name, loss in losses.items():
                after.append([])
                yield Named(name, loss)

        monkeypatch.setattr(crossing, "crossed", crossed)
        monkeypatch.setattr(crossing, "finished", finished)
        runs = crossing.crossed_runs(None, trials(), settings, SERIAL)
        return after, [each.name for each in runs]

    def test_the_best_meets_every_trial_and_then_the_run_before(self, monkeypatch):
        losses = {"A": 1, "B": 9, "C": 8, "D": 7}
        after, runs = self.follow(monkeypatch, losses)
        assert runs == ["A!", "B'", "C'", "D'"]
        assert after == [
            [],
            [("A!", "B")],
            [("A!", "C"), ("A!", "B'")],
            [("A!", "D"), ("A!", "C'")],
        ]

    def test_a_trial_that_gave_nothing_is_not_met_again(self, monkeypatch):
        losses = {"A": 1, "B": 9, "C": 8, "D": 7, "E": 7}
        after, runs = self.follow(monkeypatch, losses, barren={"B", "D"})
        assert runs == ["A!", "B", "C'", "D", "E'"]
        assert after[2:] == [
            [("A!", "C")],
            [("A!", "D"), ("A!", "C'")],
            [("A!", "E")],
        ]

    def test_what_gave_nothing_to_one_best_is_met_by_the_next(self, monkeypatch):
        losses = {"A": 10, "B": 11, "C": 18, "D": 20}
        after, _ = self.follow(monkeypatch, losses, {"C": 5}, barren={"B"})
        assert after[2:] == [
            [("A!", "C"), ("C'!", "A!")],
            [("C'!", "D"), ("C'!", "B")],
        ]

    def test_a_better_child_of_a_trial_meets_all_from_the_lowest_on(self, monkeypatch):
        losses = {"A": 10, "B": 18, "C": 16, "D": 17, "E": 20, "F": 20, "G": 20}
        after, runs = self.follow(monkeypatch, losses, {"D": 5})
        assert runs == ["A!", "B'", "C'", "D'!", "E'", "F'", "G'"]
        assert after[3:] == [
            [("A!", "D"), ("D'!", "A!")],
            [("D'!", "E"), ("D'!", "C'")],
            [("D'!", "F"), ("D'!", "B'")],
            [("D'!", "G"), ("D'!", "E'")],
        ]

    def test_a_better_child_of_an_earlier_run_takes_the_place_of_a_trial(
        self, monkeypatch
    ):
        losses = {"A": 10, "B": 18, "C": 16, "D": 17, "E": 20, "F": 20}
        after, runs = self.follow(monkeypatch, losses, {"B'": 5})
        assert runs == ["A!", "B'", "B''!", "D'", "E'", "F'"]
        assert after[2:] == [
            [("A!", "C"), ("A!", "B'")],
            [("B''!", "D"), ("B''!", "A!")],
            [("B''!", "E"), ("B''!", "D'")],
            [("B''!", "F"), ("B''!", "B'")],
        ]

    def test_a_child_that_equals_the_best_is_no_better(self, monkeypatch):
        losses = {"A": 10, "B": 18, "C": 16}
        after, runs = self.follow(monkeypatch, losses, {"B'": 10, "C": 10})
        assert runs == ["A!", "B'", "C'"]
        assert after[2:] == [[("A!", "C"), ("A!", "B'")]]


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


class TestFinished:
    @pytest.mark.parametrize(
        ("max_iter", "outliers"), [(3, False), (5, True), (300, False), (300, True)]
    )
    def test_is_the_run_that_was_never_cut(self, max_iter, outliers):
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
