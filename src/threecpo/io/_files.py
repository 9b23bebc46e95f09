"""New files: written beside, then renamed into place."""

from __future__ import annotations

import gzip
import re
import shutil
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, cast
from uuid import uuid4

from .._beside import behind_link, refuse_missing_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def created(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file for writing, compressed if its name ends in .gz."""
    with path.open("xb") as file:
        if path.suffix != ".gz":
            yield file
            return
        # Without name and time the same counts are the same bytes.
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            yield cast("IO[bytes]", packed)


@contextmanager
def put_in_place(path: Path, *, force: bool, parts: str | None) -> Iterator[Path]:
    """Yield a path beside the target; what is written there gets the target's name.

    Whatever goes wrong, the target stays as it was, and nothing else is left. A link
    stays a link. With ``parts``, a pattern, the target is a folder that may hold such
    files only.
    """
    path = behind_link(path)
    refuse_existing(path, parts, force=force)
    refuse_missing_folder(path)
    beside = path.with_name(f".part-{uuid4().hex}-{path.name}")
    try:
        yield beside
        refuse_existing(path, parts, force=force)
        _rename(beside, path)
    finally:
        _remove(beside)


def refuse_existing(path: Path, parts: str | None, *, force: bool) -> None:
    """Refuse to replace what is there, unless forced to, and what is something else."""
    if not path.exists():
        return
    if not force:
        message = f"{path} exists; pass force=True to write over it."
        raise FileExistsError(message)
    same_kind = path.is_dir() == (parts is not None)
    if same_kind and parts is not None:
        same_kind = all(re.fullmatch(parts, each.name) for each in path.iterdir())
    if not same_kind:
        message = f"{path} is something else and stays; choose another name."
        raise FileExistsError(message)


def _rename(new: Path, path: Path) -> None:
    """Rename a file or folder over another, which stays whole until then.

    Wherever an interrupt comes, one of the two has the name in the end.
    """
    if not path.is_dir():
        new.replace(path)
        return
    old = path.with_name(f".old-{uuid4().hex}-{path.name}")
    try:
        path.rename(old)
        new.rename(path)
    finally:
        if path.exists():
            _remove(old)
        else:
            old.rename(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
