"""Runs with columns whose groups are fixed, beside the oracle."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from planted_runs import run_of

import oracle_known
from oracle import assert_agrees, size_of_terms
from strategies import labelled_counts, penalties, priors
from threecpo._core.codes import with_fixed
from threecpo._core.matrices import from_dense
from threecpo._core.search import Starts, first_groups


@given(labelled_counts(min_rows=3), priors, penalties, st.booleans(), st.data())
def test_a_run_ends_where_the_oracle_ends(case, prior, penalty, outliers, data):
    assume(outliers or (case.labels >= 0).all())
    columns = st.integers(0, case.Y.shape[1] - 1)
    groups = data.draw(st.dictionaries(columns, st.sampled_from([1, 0, -1])))
    fixed = tuple(sorted(groups.items()))
    start = with_fixed(case.groups, fixed)
    nobody = np.full(len(case.Y), -1)
    X, given_start = case.Y + prior, (case.labels, start, penalty)
    expected = oracle_known.run(X, *given_start, nobody, fixed, outliers=outliers)
    assume(expected.clear and expected.converged)
    changes = {"prior": prior, "outliers": outliers, "fixed_groups": fixed}
    actual = run_of(case.Y, *given_start, **changes)
    np.testing.assert_array_equal(actual.groups, expected.groups)
    assert all(actual.groups[column] == group for column, group in fixed)
    size = size_of_terms(X.sum())
    assert_agrees(actual.history["loss"], expected.row_losses, size)
    assert (np.diff(actual.history["loss"]) <= 1e-9 * size).all()


def test_starts_hold_them():
    fixed = ((0, -1), (2, 0))
    counts, rng = from_dense(np.ones((4, 4))), np.random.default_rng(0)
    first = np.array([1, -1, 1, 1], dtype=np.int8)
    starts = Starts(counts, first, None, also_all_columns=True, fixed_groups=fixed)
    assert starts.columns(rng, 2).tolist() == [-1, -1, 0, 1]
    assert starts.wide_columns(rng, 8, 2).tolist() == [-1, 1, 0, 1]
    assert first_groups(first, rng, 1, 4, fixed).tolist() == [-1, 1, 0, 1]


def test_a_start_is_never_without_c1():
    groups = np.array([1, -1, -1], dtype=np.int8)
    assert with_fixed(groups, [(0, -1)]).tolist() == [-1, 1, 1]
    assert with_fixed(groups, [(0, -1), (1, 0)]).tolist() == [-1, 0, 1]
    assert groups.tolist() == [1, -1, -1]
