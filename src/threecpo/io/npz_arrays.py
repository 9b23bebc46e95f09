"""Arrays of an npz file, each read when it is asked for, and none before its size fits.

``numpy.load`` makes room for what the header of an array claims. Here a header is
believed only if the archive has as many bytes for it, and their sum is bounded.
"""

from __future__ import annotations

import threading
import zipfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from .._errors import DataFormatError
from .limits import check_unpacked, limit_of
from .regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_SUFFIX = ".npy"
_KNOWN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Python 3.11 and 3.12 count the depth of all threads that parse literals together, and
# fail where they differ (python/cpython#106905); numpy parses its headers so.
_PARSING = threading.Lock()


class NpzArrays:
    """Arrays by name; nothing in them is unpickled."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._members = {
            info.filename.removesuffix(_SUFFIX): info for info in archive.infolist()
        }

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    @property
    def compressed(self) -> bool:
        """Whether some array takes time to unpack."""
        kinds = {info.compress_type for info in self._members.values()}
        return kinds != {zipfile.ZIP_STORED}

    def __getitem__(self, name: str) -> NDArray[Any]:
        with self._opened(name) as (file, header):
            shape, dtype, in_columns = header
            array = np.empty(shape, dtype, order="F" if in_columns else "C")
            # A read-only or strange buffer has no place here: this one is ours.
            flat = array.reshape(-1, order="A").view(np.uint8)
            _fill(flat.data, file, name)
            return array

    def get(self, name: str) -> NDArray[Any] | None:
        """Return an array, or None where there is none of that name."""
        return self[name] if name in self._members else None

    def check_size(self, name: str, most: int) -> None:
        """Refuse an array of more than so many bytes."""
        if name in self._members:
            check_unpacked(self._members[name].file_size, most)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array without reading it."""
        with self._opened(name) as (_, header):
            return header[0]

    @contextmanager
    def _opened(
        self, name: str
    ) -> Iterator[tuple[IO[bytes], tuple[tuple[int, ...], np.dtype[Any], bool]]]:
        """Open an array behind its header, which tells the truth."""
        if name not in self._members:
            message = f"it lacks the array {name!r}"
            raise DataFormatError(message)
        info = self._members[name]
        if info.compress_type not in _KNOWN:
            message = f"its array {name!r} is compressed in a way that is not known"
            raise DataFormatError(message)
        with self._archive.open(info) as file:
            shape, in_columns, dtype = _header(file)
            n_values = 1
            for size in shape:
                n_values *= size
            # Values of no bytes at all could be any number.
            needed = n_values * max(1, dtype.itemsize)
            if dtype.hasobject or min(shape, default=1) < 0:
                message = (
                    f"its array {name!r} does not hold numbers or text; it is damaged"
                )
                raise DataFormatError(message)
            if needed > info.file_size:
                message = (
                    f"its array {name!r} claims {needed} bytes but has "
                    f"{info.file_size}; it is damaged"
                )
                raise DataFormatError(message)
            yield file, (shape, dtype, in_columns)


@contextmanager
def open_npz(path: Path, limit: int | None = None) -> Iterator[NpzArrays]:
    """Open a file of arrays that unpack to so many bytes at most."""
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        total = sum(info.file_size for info in archive.infolist())
        check_unpacked(total, limit_of(path, limit))
        yield NpzArrays(archive)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    with _PARSING:
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(file)
        if version == (2, 0):
            return np.lib.format.read_array_header_2_0(file)
    message = f"its arrays are of version {version}, which is not known"
    raise DataFormatError(message)


def _fill(view: memoryview, file: IO[bytes], name: str) -> None:
    done = 0
    while done < len(view):
        part = file.read(min(len(view) - done, 1 << 20))
        if not part:
            message = f"its array {name!r} ends early"
            raise DataFormatError(message)
        view[done : done + len(part)] = part
        done += len(part)
    # Behind the last byte stands the checksum.
    if file.read(1):
        message = f"its array {name!r} is longer than its header says"
        raise DataFormatError(message)
