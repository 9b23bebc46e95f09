"""Locks beside what is being written, and what killed processes have left there.

A lock is a hidden file that holds the name of the target. The system releases it when
its process ends, however it ends; so a lock that can be taken belongs to nobody, and
what lies beside it under the same number is a leftover.
"""

from __future__ import annotations

import shutil
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PREFIX = ".lock-"


@contextmanager
def locked(path: Path, number: str) -> Iterator[None]:
    """Hold the lock of what is written beside a target under this number."""
    if sys.platform == "win32":
        yield
        return
    place = path.with_name(PREFIX + number)
    with place.open("x", encoding="utf-8", errors="surrogateescape") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.write(path.name)
        file.flush()
        try:
            yield
        finally:
            place.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove what processes that are gone have left; put back what they moved away."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        for place in folder.glob(f"{PREFIX}*"):
            _remove_if_unused(place)


def _remove_if_unused(place: Path) -> None:
    assert sys.platform != "win32"
    number = place.name.removeprefix(PREFIX)
    if len(number) != 32:
        return
    with place.open(encoding="utf-8", errors="surrogateescape") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # somebody is writing
            return
        name = file.read()
        for old in place.parent.glob(f".old-{number}*"):
            target = place.with_name(name)
            if name and not target.exists():
                old.rename(target)
            else:
                remove(old)
        for part in place.parent.glob(f".part-{number}*"):
            remove(part)
        place.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
