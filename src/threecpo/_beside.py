"""Files that replace others once they are complete."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yield a name beside a file; what is written there takes its place.

    Whatever goes wrong, the file stays as it was, and nothing else is left. A link
    stays a link.
    """
    path = behind_link(path)
    refuse_missing_folder(path)
    beside = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def behind_link(path: Path) -> Path:
    """Return what a link leads to, so that this is replaced and not the link."""
    return path.resolve() if path.is_symlink() else path


def refuse_missing_folder(path: Path) -> None:
    """Name the folder that a file cannot be written to, not a hidden file in it."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, "There is no such folder", f"{path.parent}"
        )
