"""The scratch store: blocks that a file was read into once, packed, for all passes.

A block is packed into few bytes: gaps between columns and small values take few bits.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from ..._core.counts import Counts, cut_rows
from ..._core.matrices import from_dense, from_sparse
from ..._errors import DataFormatError, parameter, refuse
from ..._fit.budget import as_text
from ..._validation import (
    FEWEST_SHARES,
    held_counts,
    proportion_total,
    proportions_message,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from numpy.typing import NDArray

T = TypeVar("T")

_LOGGER = logging.getLogger("threecpo.io.blocks")
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


@dataclass(frozen=True)
class BlockSource:
    """Readers of blocks, which lie below each other in this order.

    A reader takes nothing and reads its counts at each call: readers are sent to other
    processes, blocks are not. ``not_whole`` is the error to raise where X is taken for
    lack of a layer of counts, and holds none. ``largest`` is the number of stored
    counts of the largest block, if that is known before they are read.
    """

    readers: tuple[Callable[[], Counts], ...]
    name: str
    column_names: NDArray[np.object_] | None = None
    not_whole: str | None = None
    largest: int | None = None
    row_names: NDArray[np.object_] | None = None

    def __post_init__(self) -> None:
        if not self.readers:
            refuse(f"{self.name} has no blocks of rows.")


@dataclass(frozen=True)
class HeldBlock:
    """A block that is in memory."""

    counts: Counts

    def __call__(self) -> Counts:
        return self.counts


def counts_of(block: Any) -> Counts:
    """Counts of a block that is sparse, an array, a table, or counts already."""
    held = held_counts(block)
    if held is not None:
        return held
    if sp.issparse(block):
        return from_sparse(block)
    array = np.asarray(block)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        refuse(
            f"a block is {array.dtype} of shape {array.shape}; it must be a table of "
            "numbers, preferably a scipy.sparse.csr_array"
        )
    return from_dense(array)


def row_cuts(ends: NDArray[np.int64], block_counts: int) -> list[tuple[int, int]]:
    """Row ranges of about as many stored counts as asked for, from row pointers."""
    return cut_rows(ends, -(-int(ends[-1]) // block_counts))


class Scratch(NamedTuple):
    """Where a store may be, and whether other processes read it, too."""

    folder: Path
    shared: bool

    def check_room(self, needed: float, name: str) -> None:
        """Refuse what does not fit, before anything is written."""
        free = shutil.disk_usage(self.folder).free
        if needed > free:
            refuse(
                f"{self.folder} has {as_text(free)} free; the scratch store of {name} "
                f"needs about {as_text(needed)}. Name a folder on a larger disk with "
                f"{parameter('scratch')} or the environment variable TMPDIR."
            )


@dataclass(frozen=True)
class RowStream:
    """A file as blocks of rows that come once, in their order.

    They are as large as about so many of the first. Names of rows may be known when all
    are read. ``not_whole`` is the error to raise where X is taken for lack of a layer
    of counts, and holds none.
    """

    name: str
    blocks: Generator[Counts]
    n_blocks: float
    column_names: NDArray[np.object_] | None = None
    row_names: NDArray[np.object_] | Callable[[], Any] | None = None
    not_whole: str | None = None


class PackedFile:
    """Packed blocks one behind the other, in a file that is removed at the end.

    Unless it is shared it has no name: nothing is left of it even by a process that is
    killed.
    """

    def __init__(self, scratch: Scratch) -> None:
        self._folder, self._lock = scratch.folder, threading.Lock()
        kind = tempfile.NamedTemporaryFile if scratch.shared else tempfile.TemporaryFile
        named: dict[str, Any] = {"dir": scratch.folder, "prefix": "threecpo-"}
        with self._writing():
            self._file: Any = kind(**named)
        self._path = Path(self._file.name) if scratch.shared else None
        self.size = 0

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            message = (
                f"The scratch store in {self._folder} cannot be written: "
                f"{error.strerror}. Name another folder with "
                f"{parameter('scratch')} or the environment variable TMPDIR."
            )
            raise DataFormatError(message) from error

    def __getstate__(self) -> dict[str, Any]:
        if self._path is None:
            message = (
                "Open the blocks with shared=True to read them in other processes."
            )
            raise TypeError(message)
        return {"_folder": self._folder, "_path": self._path, "_file": None}

    def add(self, counts: Counts) -> Callable[[], Counts]:
        """Write a block behind the others; return its reader."""
        content = pack_counts(counts)
        with self._writing():
            self._file.write(content.data)
            self._file.flush()
        start, self.size = self.size, self.size + len(content)
        return partial(self._counts, start, len(content))

    def _counts(self, start: int, size: int) -> Counts:
        content = self._read(start, size)
        try:
            return unpack_counts(content)
        except ValueError as error:
            message = (
                f"The scratch store is damaged at byte {start}: {error}; run the same "
                "call again."
            )
            raise DataFormatError(message) from error

    def _read(self, start: int, size: int) -> NDArray[np.uint8]:
        """Return some bytes; fewer if the file is shorter."""
        content = np.empty(size, dtype=np.uint8)
        if self._path is None:
            with self._lock:
                self._file.seek(start)
                return content[: self._file.readinto(content.data)]
        try:
            with self._path.open("rb") as file:
                file.seek(start)
                return content[: file.readinto(content.data)]
        except FileNotFoundError:
            message = (
                f"A worker does not see the scratch store {self._path}: name a folder "
                f"that all of them see, with {parameter('scratch')} or the environment "
                "variable TMPDIR."
            )
            raise DataFormatError(message) from None

    def close(self) -> None:
        self._file.close()


@contextmanager
def stored(
    stream: RowStream,
    scratch: Scratch,
    block_counts: int,
    rows: NDArray[np.bool_] | None = None,
) -> Iterator[BlockSource]:
    """Read a stream to its end into a packed file; a single block stays in memory.

    Of ``rows`` those that are true are kept.
    """
    with ExitStack() as stack:
        stack.enter_context(closing(stream.blocks))
        ahead = stack.enter_context(closing(read_ahead(stream.blocks)))
        kept = ahead if rows is None else _kept(ahead, rows)
        blocks = _not_proportions(kept, stream.name)
        begun = list(islice(blocks, 2))
        n_begun = sum(len(block.data) for block in begun)
        readers: list[Callable[[], Counts]] = []
        largest = n_begun
        if len(begun) == 1 and n_begun <= 2 * block_counts and not scratch.shared:
            readers.append(HeldBlock(begun[0]))
        elif begun:
            needed = len(pack_counts(begun[0])) * stream.n_blocks
            scratch.check_room(needed, stream.name)
            _LOGGER.info(
                "%s is read once into a scratch store in %s: about %s, removed at the "
                "end",
                *(stream.name, scratch.folder, as_text(needed)),
            )
            file = stack.enter_context(closing(PackedFile(scratch)))
            largest = 0
            # None of the blocks is kept.
            while (block := begun.pop(0) if begun else next(blocks, None)) is not None:
                for part in _cut(block, block_counts):
                    largest = max(largest, len(part.data))
                    readers.append(file.add(part))
        names = stream.row_names() if callable(stream.row_names) else stream.row_names
        yield BlockSource(
            tuple(readers),
            stream.name,
            stream.column_names,
            stream.not_whole,
            largest,
            names if names is None or rows is None else names[rows],
        )


def _kept(blocks: Iterator[Counts], rows: NDArray[np.bool_]) -> Iterator[Counts]:
    """Those rows of blocks that are kept."""
    done = 0
    for block in blocks:
        kept = np.flatnonzero(rows[done : done + block.n_rows])
        done += block.n_rows
        if len(kept):
            yield block.rows(kept)


def _not_proportions(blocks: Iterator[Counts], name: str) -> Iterator[Counts]:
    """The same blocks, unless all are found to hold proportions in the end."""
    totals = set()
    for block in blocks:
        if None not in totals and block.n_rows >= FEWEST_SHARES:
            totals.add(proportion_total(block))
        yield block
    if len(totals) == 1 and (total := totals.pop()):
        refuse(f"{name}: {proportions_message(total)}.")


def _cut(block: Counts, block_counts: int) -> list[Counts]:
    """Parts of about so many counts of a block that is much larger."""
    if len(block.data) <= 2 * block_counts:
        return [block]
    return [block.between(*cut) for cut in row_cuts(block.indptr, block_counts)]


def read_ahead(blocks: Iterator[T]) -> Generator[T]:
    """The same blocks, each read while the one before is worked on."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = pool.submit(next, blocks, None)
            yield block


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
    parts = (array.view(np.uint8) for array in (header, *arrays))
    content = np.concatenate([np.pad(part, (0, -len(part) % 8)) for part in parts])
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
        end += -(-n_bytes // 8) * 8
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
