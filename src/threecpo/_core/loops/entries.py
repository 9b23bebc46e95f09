"""Lines of text to the entries of a sparse matrix.

Numbers end at the first other letter, so that text which ends with a line
needs no other bound.

It stands alone, as only readers of MatrixMarket files need it.
"""

import numpy as np
from numba import types

from . import array_type, compiled, f8, i4, i8, inlined, inner

_NEWLINE, _RETURN, _SPACE, _TAB = 10, 13, 32, 9
_ZERO, _NINE, _POINT, _PLUS, _MINUS = 48, 57, 46, 43, 45
_EXPONENT = (69, 101)
# So many digits are exact in a float, and so are powers of ten up to this.
_DIGITS, _POWER = 15, 22
_LONGEST_PLACE = 10
_POWERS = 10.0 ** np.arange(_POWER + 1)


@inlined
def _is_digit(letter):
    return _ZERO <= letter <= _NINE


@inlined
def _behind_spaces(text, p):
    while text[p] == _SPACE or text[p] == _TAB:
        p += 1
    return p


@inlined
def _line_start(text, p, lines):
    """Place behind line ends and spaces, and the number of lines that end there."""
    while p < len(text) and (
        text[p] == _NEWLINE
        or text[p] == _RETURN
        or text[p] == _SPACE
        or text[p] == _TAB
    ):
        lines += text[p] == _NEWLINE
        p += 1
    return p, lines


@inner
def _whole(text, p):
    """Whole number from a place on, and the place behind it; -1 if there is none."""
    start, value = p, 0
    while _is_digit(text[p]):
        value = value * 10 + (text[p] - _ZERO)
        p += 1
    return (value if start < p <= start + _LONGEST_PLACE else -1), p


@inner
def decimal(text, p):
    """Number from a place on, and the place behind it.

    It is -1 if the number is not exact by this rule, NaN if it is not a number.
    """
    mantissa, behind = _whole(text, p)
    if mantissa >= 0 and text[behind] <= _SPACE:
        return np.float64(mantissa), behind
    mantissa, digits, behind = 0, 0, -1
    while _is_digit(text[p]) or (text[p] == _POINT and behind < 0):
        if text[p] == _POINT:
            behind = 0
        else:
            if digits <= _DIGITS:
                mantissa = mantissa * 10 + (text[p] - _ZERO)
            digits += 1
            behind += behind >= 0
        p += 1
    if digits == 0:
        return np.nan, p
    power = -max(behind, 0)
    if text[p] in _EXPONENT:
        p += 1
        sign = 1
        if text[p] == _PLUS or text[p] == _MINUS:
            sign = -1 if text[p] == _MINUS else 1
            p += 1
        given, p = _whole(text, p)
        if given < 0:
            return np.nan, p
        power += sign * given
    if digits > _DIGITS or abs(power) > _POWER:
        return -1.0, p
    exact = np.float64(mantissa)
    if power < 0:
        return exact / _POWERS[-power], p
    return exact * _POWERS[power], p


@compiled(
    array_type(types.uint8),
    i8,
    i8,
    i8,
    array_type(i4, write=True),
    array_type(i4, write=True),
    array_type(f8, write=True),
    array_type(i8, write=True),
)
def parse_entries(text, width, n_rows, n_columns, rows, columns, counts, odd):
    """Fill in places, from 0, and counts of lines.

    It returns how many entries there are, how many of them are odd, and how many lines.

    Lines hold a place and, with a ``width`` of 3, a count. Counts with more digits
    than are exact are left open: ``odd``, of three numbers an entry, gets the number,
    start and end of each. It returns -1 entries at the first line that is not of this
    kind. Nothing is read or written outside the arrays: the last letter must be the end
    of a line, and no number goes beyond one.
    """
    p, done, n_odd, lines = 0, 0, 0, 0
    if len(text) == 0 or text[len(text) - 1] != _NEWLINE:
        return -1, 0, 0
    while True:
        p, lines = _line_start(text, p, lines)
        if p == len(text):
            return done, n_odd, lines
        if done == len(counts):
            return -1, 0, 0
        row, p = _whole(text, p)
        start, p = p, _behind_spaces(text, p)
        column, behind = _whole(text, p)
        if p == start or not (1 <= row <= n_rows and 1 <= column <= n_columns):
            return -1, 0, 0
        rows[done], columns[done] = row - 1, column - 1
        p = behind
        counts[done] = 1.0
        if width == 3:
            before, p = p, _behind_spaces(text, p)
            start = p
            counts[done], p = decimal(text, p)
            if not counts[done] >= 0.0:
                odd[3 * n_odd], odd[3 * n_odd + 1], odd[3 * n_odd + 2] = done, start, p
                n_odd += 1
            if np.isnan(counts[done]) or start == before:
                return -1, 0, 0
        p = _behind_spaces(text, p)
        p += text[p] == _RETURN
        if text[p] != _NEWLINE:
            return -1, 0, 0
        done += 1


@compiled(array_type(i4), array_type(i8, write=True))
def count_rows(rows, counted):
    """Add the number of entries of each row behind its place: row 0 at 1."""
    for p in range(len(rows)):
        counted[rows[p] + 1] += 1


@compiled(
    array_type(i4),
    array_type(i4),
    array_type(f8),
    array_type(i8, write=True),
    array_type(i4, write=True),
    array_type(f8, write=True),
)
def place_entries(rows, columns, counts, places, indices, data):
    """Put entries to the next place of their rows, which moves on."""
    for p in range(len(rows)):
        place = places[rows[p]]
        places[rows[p]] = place + 1
        indices[place] = columns[p]
        data[place] = counts[p]
