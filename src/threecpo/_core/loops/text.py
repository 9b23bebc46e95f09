"""Text to counts: entries of MatrixMarket files, fields and names of delimited text.

Numbers end at the first other letter, so that text which ends with a line
needs no other bound.
"""

import numpy as np
from numba import types

from . import array_type, compiled, f8, i4, i8, inlined, inner, u8

_NEWLINE, _RETURN, _SPACE, _TAB, _QUOTE = 10, 13, 32, 9, 34
_ZERO, _NINE, _POINT, _PLUS, _MINUS = 48, 57, 46, 43, 45
_EXPONENT = (69, 101)
# Letters of numbers besides digits: + - . E e and spaces.
_OTHERS = (43, 45, 46, 69, 101, 32)
# So many digits are exact in a float, and so are powers of ten up to this.
_DIGITS, _POWER = 15, 22
_LONGEST_PLACE, _LONGEST = 10, 40
# Numbers that are left open, and what is not a number.
_OPEN, _NONE = -1.0, -2.0
_POWERS = 10.0 ** np.arange(_POWER + 1)

u1 = types.uint8


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
    *(array_type(u1), i8, i8, i8),
    *(array_type(i4, write=True), array_type(i4, write=True)),
    *(array_type(f8, write=True), array_type(i8, write=True)),
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
    *(array_type(i4), array_type(i4), array_type(f8)),
    *(array_type(i8, write=True), array_type(i4, write=True)),
    array_type(f8, write=True),
)
def place_entries(rows, columns, counts, places, indices, data):
    """Put entries to the next place of their rows, which moves on."""
    for p in range(len(rows)):
        place = places[rows[p]]
        places[rows[p]] = place + 1
        indices[place] = columns[p]
        data[place] = counts[p]


@compiled(
    *(array_type(u1), i8, i8), *(array_type(i4, write=True), array_type(i4, write=True))
)
def find_fields(text, delimiter, width, starts, ends):
    """Fill in where fields start and end; how many lines there are.

    The text ends with a line. It returns -1 where a line has not ``width`` fields, or
    quotes do not stand around a whole field, and is then to be read otherwise.
    """
    p, field, lines = 0, 0, 0
    while p < len(text):
        for place in range(width):
            if field == len(starts):
                return -1
            if text[p] == _QUOTE:
                p += 1
                starts[field] = p
                while p < len(text) and text[p] != _QUOTE:
                    p += 1
                ends[field] = p
                p += 1
                if p >= len(text):
                    return -1
            else:
                starts[field] = p
                while text[p] != delimiter and text[p] != _NEWLINE:
                    if text[p] == _QUOTE or text[p] == _RETURN:
                        break
                    p += 1
                ends[field] = p
            field += 1
            if place == width - 1:
                p += text[p] == _RETURN
                if p >= len(text) or text[p] != _NEWLINE:
                    return -1
            elif text[p] != delimiter:
                return -1
            p += 1
        lines += 1
    return lines


@inlined
def _number(text, start, end):
    """Count of a field; what it is instead if it is not one that is exact."""
    value, p = 0, start
    while p < end and _ZERO <= text[p] <= _NINE:
        value = value * 10 + (text[p] - _ZERO)
        p += 1
    if p == end and 0 < end - start <= _DIGITS:
        return np.float64(value)
    return _odd_number(text, start, end)


@inner
def _odd_number(text, start, end):
    if start == end or end - start > _LONGEST:
        return _NONE
    value, p = decimal(text, start)
    if p == end and value >= 0.0:
        return value
    for p in range(start, end):
        letter = text[p]
        if not (_ZERO <= letter <= _NINE or letter in _OTHERS):
            return _NONE
    return _OPEN


@compiled(
    *(array_type(u1), array_type(i4), array_type(i4), array_type(i4)),
    *(array_type(i8, write=True), array_type(i4, write=True)),
    *(array_type(f8, write=True), array_type(i4, write=True)),
)
def parse_rows(text, starts, ends, columns, pointers, indices, data, odd):
    """Fill in row pointers, columns and values of what is not 0; how many are odd.

    ``columns`` has the column of each place of a line, -1 for none. Numbers that are
    not digits alone are left open: ``odd`` gets the place of each among the values, and
    its field. It returns -1 at the first field that is not a number.
    """
    width, place, n_odd = len(columns), 0, 0
    for i in range(len(pointers) - 1):
        for j in range(width):
            if columns[j] < 0:
                continue
            field = i * width + j
            start, end = starts[field], ends[field]
            if end - start == 1 and text[start] == _ZERO:
                continue
            value = _number(text, start, end)
            if value == _NONE:
                return -1
            if value == 0.0:
                continue
            if value == _OPEN:
                odd[2 * n_odd], odd[2 * n_odd + 1] = place, field
                n_odd += 1
            indices[place] = columns[j]
            data[place] = value
            place += 1
        pointers[i + 1] = place
    return n_odd


@compiled(
    *(array_type(u1), array_type(i4), array_type(i4), i8, i8),
    *(array_type(f8, write=True), array_type(i4, write=True)),
)
def parse_column(text, starts, ends, width, column, data, odd):
    """Fill in the numbers at one place of all lines; how many are odd, as above."""
    n_odd = 0
    for i in range(len(data)):
        field = i * width + column
        data[i] = _number(text, starts[field], ends[field])
        if data[i] == _NONE:
            return -1
        if data[i] == _OPEN:
            odd[2 * n_odd], odd[2 * n_odd + 1] = i, field
            n_odd += 1
    return n_odd


@compiled(
    *(array_type(u1), array_type(i4), array_type(i4), i8, i8, i8),
    *(array_type(i4, write=True), array_type(i4, write=True)),
    *(array_type(u1, write=True), array_type(i8, write=True)),
    *(array_type(u8, write=True), i8, u8),
)
def number_names(
    text,
    starts,
    ends,
    width,
    column,
    line,
    numbers,
    slots,
    letters,
    known,
    codes,
    n,
    seed,
):
    """Number the names at one place of lines from one on, in order of appearance.

    ``slots`` is a hash table of numbers, of a power of 2 with -1 for free; ``letters``
    are those of all n names, one behind the other, which end where ``known`` says, and
    ``codes`` are their hashes, which begin with a ``seed``. It stops at the line for
    which the tables are too small; returns that line and the number of names.
    """
    mask = np.uint64(len(slots) - 1)
    for i in range(line, len(numbers)):
        start, end = starts[i * width + column], ends[i * width + column]
        full = 2 * (n + 1) > len(slots) or n + 1 >= len(known)
        if full or known[n] + end - start > len(letters):
            return i, n
        code = seed
        for p in range(start, end):
            code = (code ^ np.uint64(text[p])) * np.uint64(1099511628211)
        code ^= code >> np.uint64(29)
        slot = code & mask
        while True:
            number = slots[slot]
            if number < 0:
                slots[slot], codes[n], number = n, code, n
                for p in range(end - start):
                    letters[known[n] + p] = text[start + p]
                known[n + 1] = known[n] + end - start
                n += 1
                break
            same = codes[number] == code
            same &= known[number + 1] - known[number] == end - start
            p = 0
            while same and p < end - start:
                same = letters[known[number] + p] == text[start + p]
                p += 1
            if same:
                break
            slot = (slot + np.uint64(1)) & mask
        numbers[i] = number
    return len(numbers), n


@compiled(array_type(u8), i8, array_type(i4, write=True))
def fill_slots(codes, n, slots):
    """Fill a free hash table with the numbers of n names."""
    mask = np.uint64(len(slots) - 1)
    for number in range(n):
        slot = codes[number] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = number
