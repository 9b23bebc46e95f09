"""Blocks of packed files, each unpacked once into a scratch folder and read from there.

Unpacking gzip takes several times as long as all else that a pass does with a count.
"""

from __future__ import annotations

import logging
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import uuid4

from ..._errors import DataFormatError
from ._folder import BlockFile
from ._npz_blocks import NARROW_COLUMNS, save_block

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ..._core.counts import Counts
    from .block_source import BlockSource

_LOGGER = logging.getLogger("threecpo.io.blocks")
# Bytes of a stored count, rather too many: counts above 255 are few.
_OF_COUNT, _OF_COUNT_WIDE = 4, 6


def unpacked_into(folder: Path, source: BlockSource) -> BlockSource:
    """The same blocks, kept in this folder from their first reading on."""
    assert source.column_names is not None
    assert source.n_stored is not None
    narrow = len(source.column_names) <= NARROW_COLUMNS
    needed = source.n_stored * (_OF_COUNT if narrow else _OF_COUNT_WIDE)
    free = shutil.disk_usage(folder).free
    if needed > free:
        message = (
            f"scratch={str(folder.parent)!r} has {free / 1e9:.1f} GB free; the counts "
            f"of {source.name} take about {needed / 1e9:.1f} GB unpacked. Name another "
            "folder, or leave scratch out."
        )
        raise DataFormatError(message)
    _LOGGER.info(
        "%s is unpacked into %s: about %.1f GB, removed at the end",
        *(source.name, folder, needed / 1e9),
    )
    readers = tuple(
        Unpacked(reader, folder / f"{i:06d}.npz")
        for i, reader in enumerate(source.readers)
    )
    return replace(source, readers=readers)


@dataclass(frozen=True)
class Unpacked:
    """Reads a block from its file in the scratch folder, which it writes at first."""

    reader: Callable[[], Counts]
    file: Path

    def __call__(self) -> Counts:
        if self.file.exists():
            return BlockFile(self.file)()
        counts = self.reader()
        # Another process may write the same block: whichever ends last is in place.
        beside = self.file.with_name(f"{uuid4().hex}.part")
        try:
            save_block(counts.matrix(), beside, None, narrow=True)
            beside.replace(self.file)
        finally:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
        return counts
