"""What changes nothing about a run: order, names, a factor, threads, blocks."""

from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from planted_runs import (
    RULES,
    assert_same_bits,
    run_of,
    same_partition,
    settings_of,
    start_of,
)

import oracle_run
from strategies import Labelled, labelled_counts, penalties, permutations_of, priors
from threecpo._core import counts as counts_module
from threecpo._core import seeding
from threecpo._core.crossing import best_of
from threecpo._core.matrices import from_dense
from threecpo._core.search import Starts, restarts
from threecpo._core.workers import Workers


def case_of(start):
    return Labelled(*start, n_clusters=3)


class TestPermutations:
    @given(labelled_counts(min_rows=3), penalties, st.booleans(), st.data())
    def test_of_rows(self, case, penalty, outliers, data):
        first = self.clear_run(case, penalty, outliers)
        order = data.draw(permutations_of(len(case.labels)))
        second = run_of(
            case.Y[order], case.labels[order], case.groups, penalty, outliers=outliers
        )
        np.testing.assert_array_equal(second.labels, first.labels[order])
        np.testing.assert_array_equal(second.groups, first.groups)

    @given(labelled_counts(min_rows=3), penalties, st.booleans(), st.data())
    def test_of_columns(self, case, penalty, outliers, data):
        first = self.clear_run(case, penalty, outliers)
        order = data.draw(permutations_of(len(case.groups)))
        second = run_of(
            case.Y[:, order],
            case.labels,
            case.groups[order],
            penalty,
            outliers=outliers,
        )
        np.testing.assert_array_equal(second.labels, first.labels)
        np.testing.assert_array_equal(second.groups, first.groups[order])

    @given(labelled_counts(min_rows=3), penalties, st.booleans(), st.data())
    def test_of_cluster_names(self, case, penalty, outliers, data):
        first = self.clear_run(case, penalty, outliers)
        names = data.draw(permutations_of(case.n_clusters))
        labels = np.where(case.labels >= 0, names[case.labels], -1)
        second = run_of(case.Y, labels, case.groups, penalty, outliers=outliers)
        assert same_partition(first.labels, second.labels)
        np.testing.assert_array_equal(second.groups, first.groups)

    def clear_run(self, case, penalty, outliers):
        """Run these, unless rounding would decide."""
        assume(outliers or (case.labels >= 0).all())
        start = case.labels, case.groups, penalty
        assume(oracle_run.run(case.Y + 1e-3, *start, outliers=outliers).clear)
        return run_of(case.Y, *start, outliers=outliers)


class TestScaleInvariance:
    """The paper's theorem: without a price, a factor on X changes nothing."""

    @pytest.mark.parametrize("factor", [2, 7, 1000])
    @pytest.mark.parametrize(("exact", "outliers"), RULES)
    def test_on_planted_counts(self, factor, exact, outliers, seed):
        self.check(case_of(start_of(seed)), factor, 1e-3, exact, outliers)

    @given(
        labelled_counts(min_rows=3, huge=False),
        st.sampled_from([2, 7, 1000]),
        priors,
        st.booleans(),
    )
    def test_on_awkward_counts(self, case, factor, prior, outliers):
        assume(outliers or (case.labels >= 0).all())
        X = case.Y + prior
        start = case.labels, case.groups, None
        assume(oracle_run.run(X, *start, outliers=outliers).clear)
        self.check(case, factor, prior, True, outliers)

    def check(self, case, factor, prior, exact, outliers):
        options = {"exact": exact, "outliers": outliers}
        start = case.labels, case.groups, None
        first = run_of(case.Y, *start, prior=prior, **options)
        second = run_of(factor * case.Y, *start, prior=factor * prior, **options)
        np.testing.assert_array_equal(first.labels, second.labels)
        np.testing.assert_array_equal(first.groups, second.groups)

    def test_the_mdl_price_breaks_it(self):
        Y, labels, groups = start_of(0)
        first = run_of(Y, labels, groups, "mdl")
        second = run_of(1000 * Y, labels, groups, "mdl", prior=1.0)
        assert not np.array_equal(first.groups, second.groups)


class TestThreadsAndBlocks:
    @pytest.fixture(autouse=True)
    def _several_blocks(self, monkeypatch):
        monkeypatch.setattr(counts_module, "BLOCK_COUNTS", 50)

    @pytest.mark.parametrize("fractional", [False, True])
    @pytest.mark.parametrize(("exact", "outliers"), RULES)
    def test_any_number_of_threads_gives_the_same_bits(
        self, fractional, exact, outliers, seed
    ):
        start = start_of(seed, n_rows=200, fractional=fractional)
        assert len(from_dense(start[0]).blocks) > 8
        options = {"exact": exact, "outliers": outliers}
        results = [run_of(*start, n_jobs=n, **options) for n in (1, 2, 4)]
        assert_same_bits(results[0], results[1])
        assert_same_bits(results[0], results[2])

    @pytest.mark.parametrize("fractional", [False, True])
    @pytest.mark.parametrize("size", [13, 200, 10**9])
    def test_block_size_changes_rounding_only(
        self, fractional, size, seed, monkeypatch
    ):
        start = start_of(seed, n_rows=200, fractional=fractional)
        first = run_of(*start, n_jobs=2, outliers=True)
        monkeypatch.setattr(counts_module, "BLOCK_COUNTS", size)
        second = run_of(*start, n_jobs=2, outliers=True)
        np.testing.assert_array_equal(first.labels, second.labels)
        np.testing.assert_array_equal(first.groups, second.groups)
        assert first.loss == pytest.approx(second.loss, rel=1e-12)

    @pytest.mark.parametrize("n_seeds", [1, 2, 5])
    @pytest.mark.parametrize("n_jobs", [2, 4])
    def test_restarts_on_any_number_of_threads(self, n_seeds, n_jobs, seed):
        first, losses = self.best_with(n_seeds, 1, seed)
        second, other_losses = self.best_with(n_seeds, n_jobs, seed)
        assert losses == other_losses
        assert_same_bits(first, second)

    def test_more_restarts_keep_the_first_ones_and_the_best(self, seed):
        result, losses = self.best_with(6, 2, seed)
        _, fewer = self.best_with(3, 1, seed)
        assert losses[:3] == fewer
        assert result.loss == min(losses)

    def best_with(self, n_seeds, n_jobs, seed):
        Y, _, _ = start_of(seed, n_rows=200)
        counts = from_dense(Y)
        groups = seeding.most_informative(seeding.column_information(counts, 1e-3))
        make = partial(seeding.poisson_plus_plus, prior=1e-3)
        seeds = np.random.SeedSequence(seed).spawn(n_seeds)
        with Workers(n_jobs) as workers:
            starts = Starts(counts, groups, make)
            (runs,) = restarts(starts, [settings_of(4)], seeds, workers)
        return best_of(runs), [each.loss for each in runs]
