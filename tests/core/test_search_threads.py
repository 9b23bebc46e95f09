"""Searches on several threads, and stopped inside them."""

import threading

import numpy as np
import pytest
from planted_runs import assert_same_bits
from searching import each_search, found_by, hard, recorded, settings_for, starts_of

from threecpo._core import counts as counts_module
from threecpo._core import search
from threecpo._core.matrices import from_dense
from threecpo._core.search import adaptive_merges
from threecpo._core.workers import Stopped, Workers


@pytest.fixture
def made(monkeypatch):
    return recorded(monkeypatch)


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

    @each_search
    @pytest.mark.parametrize(
        ("n_clusters", "n_seeds", "kind"),
        [((5,), 5, "whole"), ((6, 4, 1), 5, "fractional"), ((6, 4, 1), 1, "outliers")],
    )
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


class TestInterrupt:
    @pytest.fixture(autouse=True)
    def _threads(self, monkeypatch):
        monkeypatch.setattr(search, "BLOCK_COUNTS", 10)
        monkeypatch.setattr(counts_module, "BLOCK_COUNTS", 50)

    @each_search
    @pytest.mark.parametrize(("n_jobs", "n_seeds"), [(1, 1), (2, 5)])
    def test_before_the_first_run(self, find, n_jobs, n_seeds, made):
        stop = threading.Event()
        stop.set()
        seeds = np.random.SeedSequence(0).spawn(n_seeds)
        found = find(starts_of(hard(0)), settings_for(4), seeds, Workers(n_jobs, stop))
        with pytest.raises(Stopped):
            next(found)
        assert not made

    @each_search
    @pytest.mark.parametrize(("n_jobs", "n_seeds"), [(1, 200), (2, 1), (2, 200)])
    def test_inside_a_run(self, find, n_jobs, n_seeds):
        stop, told = threading.Event(), []

        def report(*entry):
            told.append(entry)
            stop.set()

        seeds = np.random.SeedSequence(0).spawn(n_seeds)
        with pytest.raises(Stopped), Workers(n_jobs, stop) as workers:
            list(find(starts_of(hard(0)), settings_for(4), seeds, workers, report))
        assert 1 <= len(told) <= n_jobs
