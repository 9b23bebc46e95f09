"""Entries some at a time become the rows that scipy makes of all of them."""

import numpy as np
import pytest
import scipy.sparse as sp

from threecpo._errors import DataFormatError
from threecpo.io.content import csr_rows, joined
from threecpo.io.mtx import to_rows

LIMIT = 1 << 30


def entries(rng, shape, n_entries, largest):
    places = [rng.integers(size, size=n_entries).astype(np.int32) for size in shape]
    return *places, rng.integers(1, largest, size=n_entries, endpoint=True).astype(
        float
    )


@pytest.mark.parametrize(
    ("shape", "largest", "n_parts"),
    [
        ((1, 1), 1, 2),
        ((5, 300), 255, 7),
        ((300, 5), 256, 1),
        ((70_000, 2), 2**53 - 1, 2),
        ((2, 70_000), 70_000, 7),
    ],
)
def test_rows_are_those_of_scipy(shape, largest, n_parts):
    rng = np.random.default_rng(0)
    parts = [entries(rng, shape, 50, largest) for _ in range(n_parts)]
    parts[0][2][0] += 0.5 if largest < 1000 else 0
    found = to_rows(iter(parts), shape, LIMIT)
    rows, columns, counts = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    np.testing.assert_array_equal(found.indices, columns[order])
    np.testing.assert_array_equal(found.data, counts[order])
    expected = np.bincount(rows, minlength=shape[0])
    np.testing.assert_array_equal(np.diff(found.indptr), expected)
    whole = sp.coo_array((counts, (rows, columns)), shape=shape).tocsr()
    found.sum_duplicates()
    np.testing.assert_array_equal(found.data, whole.data)


def test_parts_may_be_used_again_by_whoever_made_them():
    rows, columns, counts = entries(np.random.default_rng(0), (3, 4), 9, 5)
    counts += 0.5

    def parts():
        yield rows, columns, counts
        counts[:] = -1

    assert to_rows(parts(), (3, 4), LIMIT).data.min() > 0


def test_no_entries_are_rows_without_counts():
    assert to_rows(iter([]), (3, 4), LIMIT).nnz == 0


def test_pointers_that_take_more_than_is_allowed_are_refused():
    with pytest.raises(DataFormatError, match="unpacks to more than 100 bytes"):
        to_rows(iter([]), (3000, 4), 100)


def test_rows_are_made_in_the_memory_of_their_arrays():
    data, indices = np.ones(3), np.array([0, 1, 0], dtype=np.int32)
    rows = csr_rows(data, indices, np.array([0, 2, 3]), (2, 2))
    assert np.shares_memory(rows.data, data)
    assert np.shares_memory(rows.indices, indices)


def test_pointers_beyond_32_bits_are_not_wrapped():
    given = np.array([0, 2**32, 2**32 + 3])
    arrays = (np.ones(3), np.zeros(3, dtype=np.int32), given)
    with pytest.raises(ValueError, match=r"."):
        csr_rows(*arrays, (2, 2))


def test_joined_rows_keep_32_bit_indices():
    block = csr_rows(np.ones(1), np.zeros(1, dtype=np.int32), np.array([0, 1]), (1, 2))
    assert joined([block, block.copy()]).indices.dtype == np.int32
