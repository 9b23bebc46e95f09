"""Folders of zarr, before anything in them is opened."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from .._errors import DataFormatError
from .limits import check_unpacked, limits_for
from .regular_files import check_regular

if TYPE_CHECKING:
    from pathlib import Path

    from .limits import Limits

_METADATA = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
_ROOTS = (".zgroup", "zarr.json", ".zmetadata")
_MOST_METADATA = 1 << 26


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
