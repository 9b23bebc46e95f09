"""MatrixMarket: counts without names.

Bodies are read by our own compiled code, as scipy's reader crashes on some damaged
files.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._errors import refuse, shown
from .._writing import open_new
from .content import EXACT, FileContent, check_size, csr_rows, no_count
from .files import opened
from .limits import check_unpacked, limit_of
from .lines import Lines, decoded
from .numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from ..table import CountTable
    from .formats import ReadOptions, WriteOptions

    # Rows and columns from 0, and counts.
    Entries = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]

# Comment of the files that we write.
WRITTEN_BY = "written by threecpo"
# Bytes of a count with its places.
_OF_COUNT = 16
_THREADS = 2
_OF_POINTER = 8


class Header(NamedTuple):
    """Sizes of a matrix, and how its counts are listed."""

    shape: tuple[int, int]
    n_entries: int
    width: int
    symmetric: bool = False


def read(path: Path, options: ReadOptions) -> FileContent:
    limit = options.max_unpacked
    with open_matrix(path, limit) as (header, blocks):
        return FileContent(to_rows(blocks, header.shape, limit_of(path, limit)))


@contextmanager
def open_matrix(
    path: Path, limit: int | None = None
) -> Iterator[tuple[Header, Iterator[Entries]]]:
    """Open a file: what its header says, and its counts some megabytes at a time."""
    with opened(path, limit) as file:
        lines = Lines(file)
        header = _header(lines)
        yield header, _blocks(lines, header, limit_of(path, limit))


def _header(lines: Lines) -> Header:
    words = decoded(lines.line(), 1).lower().split()
    known = (
        words[:3] == ["%%matrixmarket", "matrix", "coordinate"]
        and words[3:4]
        in (["integer"], ["unsigned-integer"], ["real"], ["double"], ["pattern"])
        and words[4:] in (["general"], ["symmetric"])
    )
    if not known:
        refuse(
            "line 1 is not a supported MatrixMarket header (coordinate; integer, real "
            "or pattern; general or symmetric)"
        )
    line = lines.line()
    while line.startswith(b"%") or line.isspace():
        line = lines.line()
    sizes = decoded(line, lines.number).split()
    if len(sizes) != 3 or not all(size.isdecimal() for size in sizes):
        refuse(
            f"line {lines.number} holds {shown(str(line))}, not the size of the matrix"
        )
    n_rows, n_columns, n_entries = (int(size) for size in sizes)
    check_size((n_rows, n_columns), n_entries)
    width = 2 + (words[3] != "pattern")
    return Header((n_rows, n_columns), n_entries, width, words[4] == "symmetric")


def _blocks(lines: Lines, header: Header, limit: int) -> Iterator[Entries]:
    """Yield counts, which take so many bytes at most."""
    done = 0
    for block, n_lines, entries in _parsed(lines, header):
        found = entries or _by_line(block, lines.number, header)
        lines.number += n_lines
        done += len(found[2])
        check_unpacked(_OF_COUNT * done, limit)
        if done > header.n_entries:
            break
        rows, columns, counts = found
        if header.symmetric:
            # The other half.
            other = rows != columns
            pairs = (rows, columns), (columns, rows), (counts, counts)
            rows, columns, counts = (np.concatenate([a, b[other]]) for a, b in pairs)
        yield rows, columns, counts
    if done != header.n_entries:
        refuse(f"it holds {done} or more counts, not the {header.n_entries} it says")


def _parsed(
    lines: Lines, header: Header
) -> Iterator[tuple[bytes, int, Entries | None]]:
    """Yield blocks with the entries of those that are tidy; threads parse the next."""
    waiting: deque[tuple[bytes, Future[tuple[int, Entries | None]]]] = deque()
    with ThreadPoolExecutor(_THREADS) as pool:
        while True:
            while len(waiting) <= _THREADS and (block := lines.block()):
                waiting.append((block, pool.submit(_tidy, block, header)))
            if not waiting:
                return
            block, parsed = waiting.popleft()
            yield block, *parsed.result()


def _tidy(block: bytes, header: Header) -> tuple[int, Entries | None]:
    """Number of lines, and their entries; None for those if something is odd."""
    from .._core.loops.text import parse_entries

    if not block.endswith(b"\n"):
        block += b"\n"
    # A line has at least a digit and what stands behind it for each of its numbers.
    most = len(block) // (2 * header.width)
    rows, columns = np.empty((2, most), dtype=np.int32)
    counts, odd = np.empty(most), np.empty(3 * most, dtype=np.int64)
    text = np.frombuffer(block, dtype=np.uint8)
    done, n_odd, n_lines = parse_entries(
        text, header.width, *header.shape, rows, columns, counts, odd
    )
    if done < 0:
        return block.count(b"\n"), None
    for entry, start, end in odd[: 3 * n_odd].reshape(-1, 3).tolist():
        counts[entry] = float(block[start:end])
    counts = counts[:done]
    # NaN and infinite numbers have letters, which are left to slower code.
    if done and not counts.max() < EXACT:
        return n_lines, None
    return n_lines, (rows[:done], columns[:done], counts)


def _by_line(block: bytes, before: int, header: Header) -> Entries:
    """Entries of lines in any spacing, or the error that says where and what."""
    found: list[list[float]] = []
    for number, line in enumerate(block.split(b"\n"), before + 1):
        fields = decoded(line, number).split()
        if not fields or fields[0].startswith("%"):
            continue
        if len(fields) != header.width or not all(map(is_number, fields)):
            refuse(
                f"line {number} holds {shown(' '.join(fields))}, "
                f"not {header.width} numbers"
            )
        row, column, count = (*map(float, fields), 1.0)[:3]
        if not 0 <= count < EXACT:
            where = f"line {number}"
            raise no_count(where, count)
        inside = 1 <= row <= header.shape[0] and 1 <= column <= header.shape[1]
        if not (inside and row.is_integer() and column.is_integer()):
            refuse(
                f"line {number} has a count at row {row:g}, column {column:g} of a "
                f"matrix of {header.shape[0]} rows and {header.shape[1]} columns"
            )
        found.append([row - 1, column - 1, count])
    rows, columns, counts = np.array(found).reshape(-1, 3).T
    return rows.astype(np.int32), columns.astype(np.int32), counts.copy()


def to_rows(
    parts: Iterable[Entries], shape: tuple[int, int], limit: int
) -> sp.csr_array:
    """Rows of a matrix of this shape, which has all the entries.

    Those of a row stay in their order, and those of the same place stay apart. Pointers
    to the rows take so many bytes at most.
    """
    from .._core.loops.text import count_rows, place_entries

    of_row, of_column = (np.min_scalar_type(max(0, size - 1)) for size in shape)
    kept: list[tuple[NDArray[np.generic], ...]] = [
        (rows.astype(of_row), columns.astype(of_column), _narrow_counts(counts))
        for rows, columns, counts in parts
    ]
    check_unpacked(_OF_POINTER * sum(shape), limit)
    indptr = np.zeros(shape[0] + 1, dtype=np.int64)
    for rows, _, _ in kept:
        count_rows(rows.astype(np.int32), indptr)
    np.cumsum(indptr, out=indptr)
    places, stored = indptr[:-1].copy(), int(indptr[-1])
    indices, data = np.empty(stored, dtype=np.int32), np.empty(stored)
    # Each is freed once it is placed.
    kept.reverse()
    while kept:
        rows, columns, values = kept.pop()
        widened = (rows.astype(np.int32), columns.astype(np.int32))
        place_entries(*widened, values.astype(np.float64), places, indices, data)
    return csr_rows(data, indices, indptr, shape)


def _narrow_counts(counts: NDArray[np.float64]) -> NDArray[np.generic]:
    """The same numbers in a type of fewer bytes, where there is one."""
    if not len(counts):
        return counts
    narrow = counts.astype(np.min_scalar_type(int(counts.max())))
    return narrow if np.array_equal(narrow, counts) else counts.copy()


def write(table: CountTable, path: Path, options: WriteOptions) -> None:  # noqa: ARG001
    write_matrix(table.counts.whole_matrix(), path)


def write_matrix(matrix: Any, path: Path) -> None:
    """Write a matrix, compressed if the name says so."""
    from scipy.io import mmwrite

    whole = matrix.dtype.kind == "i"
    with open_new(path) as file:
        mmwrite(file, matrix, WRITTEN_BY, field="integer" if whole else "real")
