"""Counts as packed bytes: gaps between columns and small values in few bits each."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.counts import Counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAGIC = int.from_bytes(b"3CPO blk", "little")
# Words of the header: magic number, checksum of all that follows, numbers of rows,
# columns and counts, whether values are packed; then the length of each array.
_HEADER = 6
# Arrays of packed numbers (see _core.loops.packing); the first and the third are as
# long as there are groups.
_NUMBERS = ("u1", "u8", "u2", "u2", "i4")
# Row lengths, gaps and values, which are kept as they are where one cannot be packed.
_PACKED = ("i4", *_NUMBERS, *_NUMBERS)
_PLAIN = ("i4", *_NUMBERS, "f8")


def pack_counts(counts: Counts) -> NDArray[np.uint8]:
    """Return counts as bytes, about 1.5 for each where counts are small."""
    from ..._core.loops.packing import find_gaps, subtract_one

    numbers = np.empty(len(counts.data), dtype=np.int32)
    find_gaps(counts.indptr, counts.indices, numbers)
    arrays = [np.diff(counts.indptr).astype(np.int32), *_packed(numbers)]
    whole = bool(subtract_one(counts.data, numbers))
    arrays += _packed(numbers) if whole else [counts.data]
    facts = _MAGIC, 0, *counts.shape, len(counts.data), whole
    header = np.array([*facts, *map(len, arrays)], dtype=np.uint64)
    starts = np.cumsum([header.nbytes, *(_padded(array.nbytes) for array in arrays)])
    content = np.zeros(starts[-1], dtype=np.uint8)
    for array, start in zip([header, *arrays], [0, *starts.tolist()], strict=False):
        content[start : start + array.nbytes] = array.view(np.uint8)
    content.view(np.uint64)[1] = zlib.crc32(content[16:].data)
    return content


def unpack_counts(content: NDArray[np.uint8]) -> Counts:
    """Return the counts that were packed; raise ValueError if these are other bytes."""
    from ..._core.loops.packing import GROUP, unpack_columns, unpack_values

    _check_sum(content)
    words = content.view(np.uint64)
    n_rows, n_columns, n_stored, whole = words[2:_HEADER].tolist()
    arrays = _arrays(content, _PACKED if whole else _PLAIN)
    lengths, gaps, values = arrays[0], tuple(arrays[1:6]), tuple(arrays[6:])
    n_groups = -(-n_stored // GROUP)
    found = [len(lengths), len(gaps[0]), len(gaps[2]), len(values[0])]
    expected = [n_rows, n_groups, n_groups, n_groups if whole else n_stored]
    if whole:
        found.append(len(values[2]))
        expected.append(n_groups)
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    fits = found == expected and indptr[-1] == n_stored and lengths.min(initial=0) >= 0
    fits = fits and n_columns <= np.iinfo(np.int32).max
    indices = np.empty(n_stored if fits else 0, dtype=np.int32)
    data = np.empty(len(indices)) if whole else values[0]
    buffer = np.empty(GROUP, dtype=np.int32)
    fits = fits and unpack_columns(gaps, indptr, n_columns, buffer, indices)
    if not fits or (whole and not unpack_values(values, buffer, data)):
        message = "its arrays contradict each other"
        raise ValueError(message)
    return Counts(indptr, indices, data, n_columns, odd_values=not whole)


def _check_sum(content: NDArray[np.uint8]) -> None:
    if len(content) >= 8 * _HEADER and len(content) % 8 == 0:
        magic, checksum = content[:16].view(np.uint64).tolist()
        if magic == _MAGIC and checksum == zlib.crc32(content[16:].data):
            return
    message = "it is not what was written there"
    raise ValueError(message)


def _arrays(content: NDArray[np.uint8], kinds: tuple[str, ...]) -> list[NDArray[Any]]:
    """Arrays behind the header, of these kinds, in the memory of the content."""
    end = 8 * (_HEADER + len(kinds))
    lengths = content[8 * _HEADER : end].view(np.uint64).tolist()
    arrays = []
    for kind, length in zip(kinds, lengths, strict=False):
        start, n_bytes = end, length * np.dtype(kind).itemsize
        end += _padded(n_bytes)
        arrays.append(content[start : start + n_bytes].view(kind))
    if len(arrays) < len(kinds) or end != len(content):
        message = "its arrays have other lengths"
        raise ValueError(message)
    return arrays


def _packed(numbers: NDArray[np.int32]) -> list[NDArray[Any]]:
    from ..._core.loops.packing import GROUP, choose_widths, pack

    widths = np.empty(-(-len(numbers) // GROUP), dtype=np.uint8)
    sizes = np.zeros(2, dtype=np.int64)
    choose_widths(numbers, widths, sizes)
    n_words, n_beside = sizes.tolist()
    lengths = n_words, len(widths), n_beside, n_beside
    others = [
        np.zeros(length, kind)
        for length, kind in zip(lengths, _NUMBERS[1:], strict=True)
    ]
    pack(numbers, widths, *others)
    return [widths, *others]


def _padded(n_bytes: int) -> int:
    return -(-n_bytes // 8) * 8
