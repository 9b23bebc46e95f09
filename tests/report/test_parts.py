"""Small things a page is made of: packed numbers, texts, axes."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from containers import unpacked
from threecpo.report._summary import pack
from threecpo.report._svg import around, ticks
from threecpo.report.words import (
    number,
    on_axis,
    one_line,
    plural,
    ratio,
    shade,
    shown,
)
from threecpo.results.label_comparison import percent

sizes = st.floats(1e-29, 1e30)


@given(st.lists(sizes))
def test_packed_numbers_keep_three_digits(values):
    again = unpacked(pack(np.array(values)))
    expected = [float(f"{value:.2e}") for value in values]
    np.testing.assert_allclose(again, values, rtol=5.01e-3)
    # Ties may go either way; what has three digits stays as it is.
    np.testing.assert_array_equal(unpacked(pack(np.array(expected))), expected)


def test_packed_numbers_know_nothing_and_none():
    values = np.array([0.0, 1e-40, np.nan, np.inf, 9.997, 999.7, 1e300])
    again = unpacked(pack(values))
    np.testing.assert_array_equal(again[:6], [0, 0, np.nan, np.nan, 10.0, 1000.0])
    assert np.isfinite(again[6])
    assert unpacked(pack(np.array([]))).size == 0


def test_numbers_have_three_digits():
    for value, text in (
        (0, "0"),
        (12.3456, "12.3"),
        (13.0, "13.0"),
        (999.4, "999"),
        (999.96, "1\u202f000"),
        (-1234567.8, "\u22121\u202f234\u202f568"),
        (0.00123, "0.00123"),
        (0.00001234, "1.23e\u22125"),
        (1.5e12, "1.50e12"),
        (math.inf, "∞"),
        (-math.inf, "\u2212∞"),
        (math.nan, "–"),
        (None, "–"),
    ):
        assert number(value) == text


def test_shares_never_round_to_nothing_or_all():
    for part, text in (
        (0, "0 %"),
        (0.0002, "<0.1 %"),
        (0.012, "1.2 %"),
        (0.4567, "46 %"),
        (0.9999, ">99 %"),
        (1, "100 %"),
    ):
        assert percent(part) == text


def test_words_follow_their_number():
    assert plural(1, "row") == "1 row"
    assert plural(0, "row") == "0 rows"
    assert plural(12345, "row") == "12\u202f345 rows"
    assert plural(2, "row is", "rows are") == "2 rows are"


def test_ratios_and_shades():
    assert [ratio(power) for power in (-4, -1, 0, 1.2, 5)] == [
        "<0.1",
        "0.5",
        "1.0",
        "2.3",
        "32",
    ]
    assert [shade(power) for power in (-9, -0.6, 0.1, 1, 3.9)] == [
        "less s5",
        "less s1",
        "same",
        "more s3",
        "more s8",
    ]


def test_plain_values_are_one_line():
    for value, text in (
        ("a\nb", "a␊b"),
        (1 / 3, "0.333333"),
        (None, "None"),
        (True, "True"),
        ([1, "x", 0.5], "1, x, 0.5"),
        (list(range(13)), "13 values"),
    ):
        assert one_line(value) == text


@given(st.text(st.characters(codec=None)))
def test_any_name_can_be_shown(name):
    text = shown(name)
    text.encode()
    assert not any(ord(letter) < 32 or ord(letter) == 127 for letter in text)


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12))
def test_ticks_are_round_few_inside_and_told_apart(low, size):
    high = low + size
    if not high - low > 1e-9 * abs(low):
        return
    values = ticks(low, high)
    slack = 1e-6 * (high - low) + 1e-9 * abs(low)
    assert 1 <= len(values) <= 14
    assert all(low - slack <= value <= high + slack for value in values)
    labels = on_axis(values)
    if max(map(abs, values)) < 1e9:
        assert len(set(labels)) == len(labels)


@given(st.lists(st.none() | st.floats(-1e9, 1e9)), st.booleans())
def test_a_scale_holds_its_values(values, zero):
    values = [abs(v) if zero and v is not None else v for v in values]
    low, high = around(values, zero=zero)
    assert low < high
    assert all(low <= value <= high for value in values if value is not None)
    assert not zero or low == 0


@given(st.floats(1e-6, 1e12) | st.floats(-1e12, -1e-6), st.integers(0, 20))
def test_values_that_differ_by_rounding_alone_have_a_scale(value, ulps):
    near = value + ulps * np.spacing(value)
    low, high = around([value, near])
    assert low <= min(value, near) <= max(value, near) <= high
    labels = on_axis(ticks(low, high, most=5))
    if max(abs(low), abs(high)) < 1e9:
        assert len(set(labels)) == len(labels) > 1
