"""The compiled parser of MatrixMarket lines against the one in Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from threecpo.io import DataFormatError
from threecpo.io import mtx as _mtx

HEADERS = {width: _mtx.Header((70_000, 2_000_000_000), 9, width) for width in (2, 3)}
LETTERS = st.sampled_from([*"0123456789.eE+- \t\n\r%", "1 2 3\n", "7 1 0.5\n"])
NUMBERS = st.one_of(
    st.integers(0, 2**53 - 1).map(str),
    st.floats(0, 2.0**52).map(repr),
    st.floats(0, 1e15).map(lambda value: f"{value:.3e}"),
    st.floats(0, 1e15).map(lambda value: f"{value:.{int(value) % 19}f}"),
    st.sampled_from(["0.", ".5", "007", "1e5", "1e+05", "3E-2", "1e15", "1e-23"]),
    st.sampled_from(["123456789012345678e-4", "0.1000000000000000055511151231257"]),
)


def by_line(content, header):
    return _mtx._by_line(content, 0, header)


def same(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@given(st.lists(NUMBERS, min_size=1, max_size=6), st.booleans())
def test_numbers_are_those_of_python(numbers, ended):
    content = "\n".join(f"{i + 1} 2 {text}" for i, text in enumerate(numbers)).encode()
    content += b"\n" * ended
    n_lines, found = _mtx._tidy(content, HEADERS[3])
    assert n_lines == len(numbers)
    assert found is not None
    same(found, by_line(content, HEADERS[3]))
    assert found[2].tolist() == [float(text) for text in numbers]


@given(
    content=st.lists(LETTERS, max_size=30).map("".join).map(str.encode),
    width=st.sampled_from(list(HEADERS)),
)
def test_lines_of_any_letters_are_read_alike_or_left_to_python(width, content):
    _, found = _mtx._tidy(content, HEADERS[width])
    if found is not None:
        same(found, by_line(content, HEADERS[width]))


@given(content=st.binary(max_size=40), width=st.sampled_from([2, 3]))
def test_bytes_of_any_kind_never_crash(content, width):
    _, found = _mtx._tidy(content, HEADERS[width])
    if found is not None:
        by_line(content, HEADERS[width])


def test_places_outside_are_left_to_python():
    lines = ("0 1 1", "1 0 1", "70001 1 1", "1 2000000001 1", "99999999999 1 1")
    for line in lines:
        content = f"1 1 1\n{line}\n".encode()
        assert _mtx._tidy(content, HEADERS[3]) == (2, None)
        with pytest.raises(DataFormatError, match="line 2 has a count at row"):
            by_line(content, HEADERS[3])
