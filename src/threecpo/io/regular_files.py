"""Files that end, no pipes or devices, and zarr folders of such; their limits."""

from __future__ import annotations

import os
import stat
from typing import IO, TYPE_CHECKING

from .._errors import DataFormatError
from .limits import check_unpacked, limits_for

if TYPE_CHECKING:
    from pathlib import Path

    from .limits import Limits

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

_METADATA = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
_ROOTS = (".zgroup", "zarr.json", ".zmetadata")
_MOST_METADATA = 1 << 26


def check_regular(path: Path) -> None:
    """Refuse what is there but is not a plain file, without opening it."""
    _check_mode(path.stat().st_mode)


def open_regular(path: Path) -> IO[bytes]:
    """Open a plain file for reading; anything else is refused, never waited for."""
    check_regular(path)
    # What took the place of the file meanwhile must not block either.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    try:
        _check_mode(os.fstat(file.fileno()).st_mode)
    except DataFormatError:
        file.close()
        raise
    return file


def _check_mode(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        message = f"it is {kind}, not a file"
        raise DataFormatError(message)


def is_zarr(path: Path) -> bool:
    """Whether a folder is one that zarr has written."""
    return path.is_dir() and any((path / name).exists() for name in _ROOTS)


def size_of_folder(folder: Path) -> int:
    """Bytes of all files of a folder, which holds nothing but files and folders."""
    total, left = 0, [str(folder)]
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in entries:
                about = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(about.st_mode):
                    left.append(entry.path)
                elif stat.S_ISREG(about.st_mode):
                    total += about.st_size
                    if entry.name in _METADATA:
                        check_unpacked(about.st_size, _MOST_METADATA)
                else:
                    inside = os.path.relpath(entry.path, folder)
                    message = f"{inside} is a link or a device, not a file"
                    raise DataFormatError(message)
    return total


def limits_of(path: Path, given: int | None = None) -> Limits:
    """Limits of a plain file, or of a zarr folder, by its size."""
    if is_zarr(path):
        return limits_for(size_of_folder(path), given)
    check_regular(path)
    return limits_for(path.stat().st_size, given)
