"""Several runs and the best of them, for any seeds and numbers of clusters."""

from dataclasses import replace

import numpy as np
import pytest
from planted_runs import assert_same_bits
from searching import (
    each_search,
    found_by,
    hard,
    random_columns,
    recorded,
    settings_for,
    starts_of,
)

import containers
from threecpo._core.crossing import best_of
from threecpo._core.search import merges, restarts
from threecpo._core.workers import SERIAL


@pytest.fixture
def made(monkeypatch):
    return recorded(monkeypatch)


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


class TestRuns:
    @each_search
    def test_every_setting_has_its_result(self, find, seed):
        asked = (9, 8, 5, 4, 2, 1)
        found = found_by(find, hard(seed), settings_for(*asked), 4, seed=seed)
        assert len(found) == len(asked)
        for n_clusters, (best, losses) in zip(asked, found, strict=True):
            assert 1 <= best.sums.n_clusters <= n_clusters
            assert best.labels.max() + 1 == best.sums.n_clusters
            assert len(losses) == 4
            assert best.loss == min(losses)
        assert [best.sums.n_clusters for best, _ in found[-3:]] == [4, 2, 1]

    @each_search
    def test_results_come_one_by_one(self, find, made):
        seeds = np.random.SeedSequence(0).spawn(2)
        found = find(starts_of(hard(0)), settings_for(5, 4, 3), seeds, SERIAL)
        next(found)
        assert {each.settings.n_clusters for each in made} <= {5, 7, 10}
        next(found)
        assert min(each.settings.n_clusters for each in made) == 4

    @each_search
    def test_each_reports_under_its_number(self, find, seed):
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
