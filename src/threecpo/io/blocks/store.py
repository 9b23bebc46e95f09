"""The scratch store: blocks that a file was read into once, packed, for all passes."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._errors import DataFormatError
from ..._fit.budget import as_text
from .block_source import BlockSource, HeldBlock, row_cuts
from .packed import pack_counts, unpack_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from numpy.typing import NDArray

    from ..._core.counts import Counts

_LOGGER = logging.getLogger("threecpo.io.blocks")


class Scratch(NamedTuple):
    """Where a store may be, and whether other processes read it, too."""

    folder: Path
    shared: bool

    def check_room(self, needed: float, name: str) -> None:
        """Refuse what does not fit, before anything is written."""
        free = shutil.disk_usage(self.folder).free
        if needed > free:
            message = (
                f"{self.folder} has {as_text(free)} free; the scratch store of {name} "
                f"needs about {as_text(needed)}. Name a folder on a larger disk with "
                "scratch= or the environment variable TMPDIR."
            )
            raise DataFormatError(message)


@dataclass(frozen=True)
class RowStream:
    """A file as blocks of rows that come once, in their order.

    They are as large as about so many of the first. ``not_whole`` is the error to raise
    where X is taken for lack of a layer of counts, and holds none.
    """

    name: str
    blocks: Generator[Counts]
    n_blocks: float
    column_names: NDArray[np.object_] | None = None
    row_names: NDArray[np.object_] | None = None
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
                f"{error.strerror}. Name another folder with scratch= or the "
                "environment variable TMPDIR."
            )
            raise DataFormatError(message) from error

    def __getstate__(self) -> dict[str, Any]:
        if self._path is None:
            message = (
                "Open the blocks with shared=True to read them in other processes."
            )
            raise TypeError(message)
        return {"_folder": self._folder, "_path": self._path, "_file": None}

    def add(self, counts: Counts) -> StoredBlock:
        """Write a block behind the others."""
        content = pack_counts(counts)
        with self._writing():
            self._file.write(content.data)
            self._file.flush()
        start, self.size = self.size, self.size + len(content)
        return StoredBlock(self, start, len(content))

    def read(self, start: int, size: int) -> NDArray[np.uint8]:
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
                "that all of them see, with scratch= or the environment variable "
                "TMPDIR."
            )
            raise DataFormatError(message) from None

    def close(self) -> None:
        self._file.close()


@dataclass(frozen=True)
class StoredBlock:
    """Reads a block from a packed file."""

    file: PackedFile
    start: int
    size: int

    def __call__(self) -> Counts:
        try:
            return unpack_counts(self.file.read(self.start, self.size))
        except ValueError as error:
            if isinstance(error, DataFormatError):
                raise
            message = (
                f"The scratch store is damaged at byte {self.start}: {error}; run the "
                "same call again."
            )
            raise DataFormatError(message) from error


@contextmanager
def stored(
    stream: RowStream, scratch: Scratch, block_counts: int
) -> Iterator[BlockSource]:
    """Read a stream to its end into a packed file; a single block stays in memory."""
    with ExitStack() as stack:
        stack.enter_context(closing(stream.blocks))
        blocks = stack.enter_context(closing(_read_ahead(stream.blocks)))
        begun = list(islice(blocks, 2))
        n_begun = sum(len(block.data) for block in begun)
        readers: list[Callable[[], Counts]] = []
        largest = n_begun
        if len(begun) == 1 and n_begun <= 2 * block_counts and not scratch.shared:
            readers.append(HeldBlock(begun[0]))
        elif begun:
            _tell(begun[0], stream, scratch)
            file = stack.enter_context(closing(PackedFile(scratch)))
            largest = 0
            for block in chain(_emptied(begun), blocks):
                for part in _cut(block, block_counts):
                    largest = max(largest, len(part.data))
                    readers.append(file.add(part))
        yield BlockSource(
            tuple(readers),
            stream.name,
            stream.column_names,
            stream.not_whole,
            largest,
            stream.row_names,
        )


def _tell(first: Counts, stream: RowStream, scratch: Scratch) -> None:
    """Say how large the store will be, judged by its first block."""
    needed = len(pack_counts(first)) * stream.n_blocks
    scratch.check_room(needed, stream.name)
    _LOGGER.info(
        "%s is read once into a scratch store in %s: about %s, removed at the end",
        *(stream.name, scratch.folder, as_text(needed)),
    )


def _cut(block: Counts, block_counts: int) -> list[Counts]:
    """Parts of about so many counts of a block that is much larger."""
    if len(block.data) <= 2 * block_counts:
        return [block]
    return [block.between(*cut) for cut in row_cuts(block.indptr, block_counts)]


def _emptied(blocks: list[Counts]) -> Iterator[Counts]:
    """Blocks of a list, none of which is kept."""
    while blocks:
        yield blocks.pop(0)


def _read_ahead(blocks: Iterator[Counts]) -> Generator[Counts]:
    """The same blocks, each read while the one before is packed."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = pool.submit(next, blocks, None)
            yield block
