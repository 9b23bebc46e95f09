"""Files that end: no named pipes, devices, sockets or folders."""

from __future__ import annotations

import os
import stat
from typing import IO, TYPE_CHECKING

from .._errors import DataFormatError

if TYPE_CHECKING:
    from pathlib import Path

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def check_regular(path: Path) -> None:
    """Refuse what is there but is no plain file, without opening it."""
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
