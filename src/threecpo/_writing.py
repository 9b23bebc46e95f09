"""Files and folders that take their place once they are complete."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from ._beside import behind_link, refuse_missing_folder, replaced

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["behind_link", "new_folder", "refuse_missing_folder", "replaced"]


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a folder beside, which gets its name when all is in it."""
    beside = path.with_name(f".{path.name}-{uuid4().hex}.part")
    beside.mkdir(parents=True)
    try:
        yield beside
        beside.rename(path)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
