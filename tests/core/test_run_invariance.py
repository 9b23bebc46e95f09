"""What changes nothing about a run: order, names, a factor, threads, blocks."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from planted_runs import (
    RULES,
    assert_same_bits,
    run_of,
    same_partition,
    start_of,
)

import oracle_run
from strategies import labelled_counts, penalties, permutations_of, priors
from threecpo._core import counts as counts_module
from threecpo._core.matrices import from_dense


def clear_run(case, penalty, prior=1e-3, *, outliers):
    """Run these, unless rounding would decide."""
    assume(outliers or (case.labels >= 0).all())
    start = case.labels, case.groups, penalty
    assume(oracle_run.run(case.Y + prior, *start, outliers=outliers).clear)
    return run_of(case.Y, *start, outliers=outliers, prior=prior)


@settings(max_examples=100)
@given(labelled_counts(min_rows=3), penalties, st.booleans(), st.data())
def test_order_of_rows_and_columns_and_names_of_clusters_do_not_matter(
    case, penalty, outliers, data
):
    first = clear_run(case, penalty, outliers=outliers)
    rows = data.draw(permutations_of(len(case.labels)))
    columns = data.draw(permutations_of(len(case.groups)))
    names = data.draw(permutations_of(case.n_clusters))
    labels = np.where(case.labels >= 0, names[case.labels], -1)[rows]
    start = labels, case.groups[columns], penalty
    second = run_of(case.Y[rows][:, columns], *start, outliers=outliers)
    assert same_partition(second.labels, first.labels[rows])
    np.testing.assert_array_equal(second.groups, first.groups[columns])


class TestScaleInvariance:
    """The paper's theorem: without a price, a factor on X changes nothing."""

    @pytest.mark.parametrize(("exact", "outliers"), RULES)
    def test_on_planted_counts(self, exact, outliers, seed):
        start = *start_of(seed), None
        options = {"exact": exact, "outliers": outliers}
        first = run_of(*start, **options)
        for factor in (2, 1000):
            second = run_of(
                factor * start[0], *start[1:], prior=factor * 1e-3, **options
            )
            self.check(first, second)

    @given(
        labelled_counts(min_rows=3, huge=False),
        st.sampled_from([2, 7, 1000]),
        priors,
        st.booleans(),
    )
    def test_on_awkward_counts(self, case, factor, prior, outliers):
        first = clear_run(case, None, prior, outliers=outliers)
        start = case.labels, case.groups, None
        options = {"prior": factor * prior, "outliers": outliers}
        self.check(first, run_of(factor * case.Y, *start, **options))

    def check(self, first, second):
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
    @pytest.mark.parametrize(("exact", "outliers"), RULES[1:3])
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
    def test_block_size_changes_rounding_only(self, fractional, seed, monkeypatch):
        start = start_of(seed, n_rows=200, fractional=fractional)
        first = run_of(*start, n_jobs=2, outliers=True)
        for size in (13, 200, 10**9):
            monkeypatch.setattr(counts_module, "BLOCK_COUNTS", size)
            second = run_of(*start, n_jobs=2, outliers=True)
            np.testing.assert_array_equal(first.labels, second.labels)
            np.testing.assert_array_equal(first.groups, second.groups)
            assert first.loss == pytest.approx(second.loss, rel=1e-12)
