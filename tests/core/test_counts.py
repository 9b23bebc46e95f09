import pickle
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from strategies import count_matrices
from threecpo._core import counts as counts_module
from threecpo._core.counts import EXACT, Counts, RowStack, first_bad_entry
from threecpo._core.matrices import from_dense, from_sparse
from threecpo._core.rows import RowInfo


def assert_canonical(counts, Y):
    assert counts.indptr.dtype == np.int64
    assert counts.indices.dtype == np.int32
    assert counts.data.dtype == np.float64
    assert (counts.n_rows, counts.n_columns) == Y.shape
    assert np.count_nonzero(counts.data) == len(counts.data) == np.count_nonzero(Y)
    for i in range(counts.n_rows):
        row = counts.indices[counts.indptr[i] : counts.indptr[i + 1]]
        assert (np.diff(row) > 0).all()
    np.testing.assert_array_equal(counts.matrix().toarray(), Y)


@given(count_matrices())
def test_dense_and_sparse_input_give_the_same_counts(Y):
    assert first_bad_entry(from_dense(Y)) is None
    assert_canonical(from_dense(np.asfortranarray(Y)), Y)
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.lil_matrix):
        assert_canonical(from_sparse(kind(Y)), Y)


def test_canonical_input_is_not_copied():
    matrix = sp.csr_array(np.array([[1.0, 0, 2], [0, 3, 0]]))
    counts = from_sparse(matrix)
    assert np.shares_memory(counts.data, matrix.data)
    assert np.shares_memory(counts.indices, matrix.indices)


def test_columns_are_those_of_the_mask():
    Y = np.array([[1.0, 0, 2], [0, 3, 0]])
    counts = from_dense(Y)
    mask = np.array([True, False, True])
    assert_canonical(counts.columns(mask), Y[:, mask])
    everything = counts.columns(np.ones(3, dtype=bool))
    assert np.shares_memory(everything.data, counts.data)


@given(count_matrices(huge=False))
def test_rows_are_scaled_by_their_sums_or_lengths(Y):
    counts = from_dense(Y)
    for order in (1, 2):
        lengths = np.linalg.norm(Y, ord=order, axis=1)
        np.testing.assert_allclose(counts.row_lengths(order), lengths, rtol=1e-13)
        scaled = np.divide(Y.T, lengths, where=lengths > 0, out=np.zeros_like(Y.T)).T
        actual = counts.scaled(order).matrix().toarray()
        np.testing.assert_allclose(actual, scaled, rtol=1e-13)


@given(count_matrices(max_rows=20), st.integers(1, 12), st.integers(1, 6))
def test_blocks_cover_all_rows_once_in_order(Y, size, most):
    counts = from_dense(Y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts_module, "BLOCK_COUNTS", size)
        patch.setattr(counts_module, "MAX_BLOCKS", most)
        blocks = counts.blocks
    covered = np.concatenate([np.arange(*block) for block in blocks])
    np.testing.assert_array_equal(covered, np.arange(len(Y)))
    assert all(stop > start for start, stop in blocks)
    assert len(blocks) <= most


def test_whole_means_that_sums_are_exact():
    for values, fractional, whole in (
        ([1, 2, 3], False, True),
        ([1, 2.5, 3], True, False),
        ([0, 0, 0], False, True),
        ([1, EXACT - 2, 0], False, True),
        ([1, EXACT - 1, 0], False, False),
        ([EXACT * 4, 0, 0], False, False),
    ):
        counts = from_dense(np.array([values], dtype=float))
        assert counts.fractional is fractional
        assert counts.whole is whole


def test_a_late_fraction_is_found():
    data = np.ones((1 << 20) + 5)
    data[-1] = 0.5
    n = len(data)
    indices = np.zeros(n, dtype=np.int32)
    counts = Counts(np.arange(n + 1), indices, data, 1)
    assert counts.fractional
    data[-1] = -3.0
    assert first_bad_entry(counts) == (n - 1, 0, -3.0)


@given(count_matrices(), st.lists(st.integers(0, 12), max_size=6))
def test_a_stack_is_its_parts_below_each_other(Y, cuts):
    info = RowInfo(weights=np.arange(1.0, len(Y) + 1))
    counts = from_dense(Y).with_rows(info)
    bounds = sorted({0, len(Y), *(min(cut, len(Y)) for cut in cuts)})
    parts = [counts.between(a, b) for a, b in pairwise(bounds)]
    # Parts of a stack may have been gathered elsewhere.
    halves = [parts[: len(parts) // 2], parts[len(parts) // 2 :]]
    stacks = [
        pickle.loads(pickle.dumps(reduce(RowStack.and_then, map(RowStack, half))))
        for half in halves
        if half
    ]
    found = reduce(RowStack.and_then, stacks).counts()
    assert_canonical(found, Y)
    np.testing.assert_array_equal(found.weights, info.weights)
    assert_canonical(counts, Y)
    assert not found.data.flags.writeable
