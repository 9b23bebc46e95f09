"""Whole numbers in few bits: groups of 1024, each of one width, and what is wider.

A group is 64 steps of 16 lanes: the numbers of a step lie in the same bits of 16 words,
so that packing and unpacking are vector instructions. Numbers that are wider than their
group are kept beside it, with their places in it. Packed numbers are five arrays:
widths of the groups, words, how many are beside each group, their places, themselves.
"""

import numpy as np
from numba import types

from . import array_type, compiled, f8, i4, i8, inlined, u8

u1, u2 = types.uint8, types.uint16
GROUP, LANES = 1024, 16
# Bits of the widest number, and those of one beside its group with its place.
WIDEST, BESIDE = 31, 16 + 32
U = np.uint64
_PACKED = types.Tuple([array_type(kind) for kind in (u1, u8, u2, u2, i4)])


@compiled(array_type(i8), array_type(i4), array_type(i4, write=True))
def find_gaps(indptr, indices, gaps):
    """Write how many columns lie between a count and the one before it in its row."""
    for i in range(len(indptr) - 1):
        row, to = indices[indptr[i] : indptr[i + 1]], gaps[indptr[i] : indptr[i + 1]]
        if len(row) > 0:
            to[0] = row[0]
        for p in range(1, len(row)):
            to[p] = row[p] - row[p - 1] - np.int32(1)


@compiled(array_type(f8), array_type(i4, write=True))
def subtract_one(data, numbers):
    """Write values less one; whether all are whole numbers that can be packed."""
    odd = np.int32(0)
    for p in range(len(data)):
        value = data[p]
        plain = (value >= 1.0) & (value <= 2.0**WIDEST) & (value == np.floor(value))
        odd |= np.int32(not plain)
        numbers[p] = np.int32(value - 1.0) if plain else np.int32(0)
    return odd == 0


@compiled(array_type(i4), array_type(u1, write=True), array_type(i8, write=True))
def choose_widths(numbers, widths, sizes):
    """Choose the widths of the groups; ``sizes`` get how many words, and beside."""
    n_words = n_beside = 0
    for g in range(len(widths)):
        group = numbers[g * GROUP : min(len(numbers), (g + 1) * GROUP)]
        bits = np.int32(0)
        for p in range(len(group)):
            bits |= group[p]
        widest = 0
        while bits >> widest > 0:
            widest += 1
        best, beside_best, least = widest, 0, widest * GROUP
        for width in range(widest - 1, -1, -1):
            wider = 0
            for p in range(len(group)):
                wider += (group[p] >> np.int32(width)) > 0
            if width * GROUP + wider * BESIDE < least:
                least = width * GROUP + wider * BESIDE
                best, beside_best = width, wider
        widths[g] = best
        n_words += best * LANES
        n_beside += beside_best
    sizes[0], sizes[1] = n_words, n_beside


@compiled(
    array_type(i4),
    array_type(u1),
    array_type(u8, write=True),
    array_type(u2, write=True),
    array_type(u2, write=True),
    array_type(i4, write=True),
)
def pack(numbers, widths, words, n_beside, places, beside):
    """Write numbers into words of zeros, and those wider than their groups beside."""
    start = at = 0
    for g in range(len(widths)):
        width = int(widths[g])
        mask = (U(1) << U(width)) - U(1)
        group = numbers[g * GROUP : min(len(numbers), (g + 1) * GROUP)]
        before, bit = at, 0
        for first in range(0, len(group) if width > 0 else 0, LANES):
            step = group[first : min(len(group), first + LANES)]
            place, shift = start + (bit >> 6) * LANES, bit & 63
            low = words[place : place + LANES]
            for lane in range(len(step)):
                low[lane] |= (U(step[lane]) & mask) << U(shift)
            if shift + width > 64:
                high = words[place + LANES : place + 2 * LANES]
                for lane in range(len(step)):
                    high[lane] |= (U(step[lane]) & mask) >> U(64 - shift)
            bit += width
        for p in range(len(group)):
            if group[p] >> np.int32(width) > 0:
                places[at], beside[at] = p, group[p]
                at += 1
        n_beside[g] = at - before
        start += width * LANES


@inlined
def _unpack_group(packed, g, start, at, out):
    """Unpack one group; where the next one starts, -1 if the arrays end before."""
    widths, words, n_beside, places, beside = packed
    width = np.int64(widths[g])
    end, after = start + width * LANES, at + np.int64(n_beside[g])
    if width > WIDEST or end > len(words) or after > min(len(places), len(beside)):
        return -1, -1
    mask, group = (U(1) << U(width)) - U(1), words[start:end]
    for step in range(GROUP // LANES if width > 0 else 0):
        bit = step * width
        first, shift = (bit >> 6) * LANES, bit & 63
        to = out[step * LANES : step * LANES + LANES]
        low = group[first : first + LANES]
        if shift + width > 64:
            high = group[first + LANES : first + 2 * LANES]
            for lane in range(LANES):
                both = (low[lane] >> U(shift)) | (high[lane] << U(64 - shift))
                to[lane] = np.int32(both & mask)
        else:
            for lane in range(LANES):
                to[lane] = np.int32((low[lane] >> U(shift)) & mask)
    if width == 0:
        for p in range(GROUP):
            out[p] = 0
    for q in range(at, after):
        out[places[q] % GROUP] = max(np.int32(0), beside[q])
    return end, after


@compiled(
    _PACKED, array_type(i8), i8, array_type(i4, write=True), array_type(i4, write=True)
)
def unpack_columns(gaps, indptr, n_columns, buffer, indices):
    """Write the columns of rows from gaps; whether these are such columns.

    Nothing is read or written outside the arrays if ``indptr`` rises from 0 to the
    number of ``indices`` and there are as many groups as these need.
    """
    row, column, inside = 0, np.int64(-1), True
    start = at = 0
    for g in range(len(gaps[0])):
        start, at = _unpack_group(gaps, g, start, at, buffer)
        if start < 0:
            return False
        first, stop = g * GROUP, min(len(indices), (g + 1) * GROUP)
        p = first
        while p < stop:
            while indptr[row + 1] <= p:
                row += 1
                column = np.int64(-1)
            end = min(stop, indptr[row + 1])
            part, to = buffer[p - first : end - first], indices[p:end]
            for q in range(len(to)):
                column += np.int64(part[q]) + 1
                to[q] = column
            # They rise: the last is the largest.
            inside &= column < n_columns
            p = end
    return inside


@compiled(_PACKED, array_type(i4, write=True), array_type(f8, write=True))
def unpack_values(numbers, buffer, data):
    """Write numbers and one; whether the arrays hold so many."""
    start = at = 0
    for g in range(len(numbers[0])):
        start, at = _unpack_group(numbers, g, start, at, buffer)
        if start < 0:
            return False
        to = data[g * GROUP : min(len(data), (g + 1) * GROUP)]
        for q in range(len(to)):
            to[q] = buffer[q] + 1.0
    return True
