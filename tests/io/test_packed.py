"""Packed counts are the counts that were packed, and nothing else is taken for some."""

import zlib

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from threecpo._core.matrices import from_sparse
from threecpo.io.blocks.store import pack_counts, unpack_counts

VALUES = {
    "small": lambda rng, n: rng.geometric(0.5, n),
    "large": lambda rng, n: rng.integers(1, 2**31, n, endpoint=True),
    "mixed": lambda rng, n: np.where(
        rng.random(n) < 0.02, 2**31, rng.geometric(0.7, n)
    ),
    "huge": lambda rng, n: rng.integers(2**40, 2**52, n),
    "fractions": lambda rng, n: rng.gamma(1.0, size=n) + 1e-9,
    "odd": lambda rng, n: rng.choice([-1.0, np.nan, np.inf, 2.0], n),
    "u1": lambda rng, n: rng.integers(1, 255, n).astype(np.uint8),
    "i8": lambda rng, n: rng.integers(1, 9, n).astype(np.int64),
}


def matrix(seed, n_rows, n_columns, density, kind):
    rng = np.random.default_rng(seed)
    # Some rows are empty, some long.
    chances = density * rng.choice([0.0, 0.3, 1.0], size=(n_rows, 1))
    mask = rng.random((n_rows, n_columns)) < chances
    X = sp.csr_array(mask.astype(float))
    return sp.csr_array((VALUES[kind](rng, X.nnz), X.indices, X.indptr), shape=X.shape)


@given(
    st.integers(0, 2**32),
    st.integers(0, 40),
    st.sampled_from([0, 1, 7, 300, 5000]),
    st.sampled_from([0.0, 0.01, 0.3, 1.0]),
    st.sampled_from(sorted(VALUES)),
)
def test_counts_come_back_bit_for_bit(seed, n_rows, n_columns, density, kind):
    counts = from_sparse(matrix(seed, n_rows, n_columns, density, kind))
    found = unpack_counts(pack_counts(counts))
    assert found.shape == counts.shape
    for name in ("indptr", "indices", "data"):
        ours, theirs = getattr(found, name), getattr(counts, name)
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs.tobytes()
    assert found.odd_values == counts.odd_values or kind in ("huge", "large")
    assert found.bad_entry == counts.bad_entry or kind == "odd"


def test_columns_far_apart():
    ends = [0, 2**31 - 2]
    X = sp.csr_array(([1, 2, 3], ([0, 0, 1], [*ends, 2**31 - 2])), shape=(3, 2**31 - 1))
    found = unpack_counts(pack_counts(from_sparse(X)))
    assert found.indices.tolist() == [*ends, 2**31 - 2]


def test_small_counts_take_little_room():
    X = matrix(0, 40, 5000, 0.3, "small")
    assert len(pack_counts(from_sparse(X))) < 1.2 * X.nnz + 1000


@given(st.data())
def test_damaged_bytes_are_refused(data):
    content = pack_counts(from_sparse(matrix(1, 20, 300, 0.3, "mixed"))).copy()
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match="not what was written"):
        unpack_counts(content)


@given(st.sampled_from(["mixed", "fractions"]), st.data())
def test_crafted_bytes_give_counts_or_an_error(kind, data):
    """Even with the right checksum: loops go nowhere outside their arrays."""
    content = pack_counts(from_sparse(matrix(1, 20, 300, 0.3, kind))).copy()
    words = content.view(np.uint64)
    for _ in range(data.draw(st.integers(1, 4))):
        if data.draw(st.booleans()):
            at = data.draw(st.integers(2, 16))
            words[at] = data.draw(st.integers(0, 2**64 - 1) | st.integers(0, 2000))
        else:
            content[data.draw(st.integers(16, len(content) - 1))] ^= 0xFF
    words[1] = zlib.crc32(content[16:])
    try:
        found = unpack_counts(content)
    except ValueError:
        return
    assert from_sparse(found.matrix()).shape == found.shape
