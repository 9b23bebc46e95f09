"""Delimited text to fields, counts and numbered names.

Numbers end at the first other letter. It stands alone, as only readers of
tables need it.
"""

import numpy as np
from numba import types

from . import array_type, compiled, f8, i4, i8, inlined, inner, u8
from .entries import decimal

_NEWLINE, _RETURN, _QUOTE = 10, 13, 34
_ZERO, _NINE = 48, 57
# Letters of numbers besides digits: + - . E e and spaces.
_OTHERS = (43, 45, 46, 69, 101, 32)
# So many digits are exact in a float.
_DIGITS = 15
_LONGEST = 40
# Numbers that are left open, and what is not a number.
_OPEN, _NONE = -1.0, -2.0

u1 = types.uint8


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
