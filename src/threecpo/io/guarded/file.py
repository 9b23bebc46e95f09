"""Groups and arrays of an HDF5 file, as far as readers need them."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._errors import DataFormatError
from ..._extras import missing
from ..limits import check_unpacked, limit_of, unpacks_too_far
from ..regular_files import check_regular
from . import fences
from .process import IDLE, IdleEndError, NoRoomError, ReadingProcess, folder_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

# Bytes that the process may take beyond what a file may unpack to.
SPARE_ROOM = 1 << 28
# A name takes this many bytes in memory, besides its letters.
_OF_NAME = 64
_SMALL = 1 << 26
_BEST_COMPRESSION = 5000


@contextmanager
def open_hdf5(
    path: Path, extra: str, purpose: str, limit: int | None = None
) -> Iterator[Group]:
    """Open a file; nothing in it is followed to other files.

    ``extra`` has the library, which ``purpose`` needs. At most ``limit`` bytes are read
    in all.
    """
    _check_library("h5py", extra, purpose)
    check_regular(path)
    with _opened("hdf5", path, limit_of(path, limit)) as root:
        yield root


@contextmanager
def open_zarr(path: Path, limit: int) -> Iterator[Group]:
    """Open a folder that ``size_of_folder`` has looked at."""
    _check_library("zarr", "anndata", "Reading zarr folders")
    with _opened("zarr", path, limit) as root:
        yield root


@contextmanager
def open_sheets(path: Path, limit: int) -> Iterator[Group]:
    """Open a workbook, of which somebody has looked at the archive."""
    _check_library("python_calamine", "io", "Reading xlsx and ods files")
    with _opened("sheets", path, limit) as root:
        yield root


def _check_library(name: str, extra: str, purpose: str) -> None:
    if folder_of(name) is None:
        raise missing(name, extra, purpose)


@contextmanager
def _opened(kind: str, path: Path, limit: int) -> Iterator[Group]:
    file = _File(IDLE.take(), limit)
    try:
        file.open(kind, path)
        yield file.root
    except NoRoomError:
        raise unpacks_too_far(limit) from None
    finally:
        file.close()


class _File:
    """An open file, and how many more bytes may be read from it."""

    def __init__(self, process: ReadingProcess, limit: int) -> None:
        self.process, self.limit, self._taken = process, limit, 0

    def open(self, kind: str, path: Path) -> None:
        """Open a file in the process, or in another if this one had ended."""
        plugins = folder_of("hdf5plugin") if "hdf5plugin" in sys.modules else None
        request = {
            "format": kind,
            "path": os.fsencode(path.absolute()).hex(),
            "room": self.limit + SPARE_ROOM,
            "seconds": fences.SECONDS,
            "plugins": None if plugins is None else str(plugins),
        }
        while True:
            try:
                self.process.ask(do="open", **request)
                self.process.finish()
            except IdleEndError:
                self.process.end()
                self.process = IDLE.take()
            else:
                return

    def take(self, n_bytes: int) -> None:
        """Count bytes that are about to be read."""
        self._taken += n_bytes
        check_unpacked(self._taken, self.limit)

    @property
    def root(self) -> Group:
        root = self[""]
        assert isinstance(root, Group)
        return root

    def __getitem__(self, path: str) -> Group | Array:
        self.process.ask(do="describe", at=path)
        about = self.process.receive()
        self.process.finish()
        if about is None:
            message = f"it lacks {path}"
            raise DataFormatError(message)
        return (
            Group(self, path, about) if "names" in about else Array(self, path, about)
        )

    def close(self) -> None:
        """Close the file, unless an answer did not come to its end."""
        try:
            if self.process.sound:
                self.process.ask(do="close")
                self.process.finish()
        finally:
            IDLE.give_back(self.process)


class Group:
    """Named groups and arrays, looked up when they are asked for."""

    def __init__(self, file: _File, path: str, about: dict[str, Any]) -> None:
        self._file, self.name = file, path
        self._names: list[str] = about["names"]
        self.attrs: dict[str, Any] = about["attributes"]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            message = f"it lacks {self.name}/{name}"
            raise DataFormatError(message)
        return self._file[f"{self.name}/{name}"]

    def get(self, name: str, default: Any) -> Any:
        return self[name] if name in self._names else default


class Array:
    """A data set; rows of it are read when they are asked for."""

    def __init__(
        self, file: _File, path: str, about: dict[str, Any], field: str | None = None
    ) -> None:
        self._file, self.name, self._about, self._field = file, path, about, field
        self.attrs: dict[str, Any] = about["attributes"]
        # A data set without any values has no shape.
        self.shape: tuple[int, ...] = tuple(about["shape"] or ())
        self.fields: tuple[str, ...] = tuple(about["fields"] or ())

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of numbers and bytes; text and all else are objects."""
        return _dtype(self._about["kind"])

    def field(self, name: str) -> Array:
        """One field of a table of records."""
        return Array(self._file, self.name, self._about, name)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop = self._bounds(rows)
        kind = self._ask(start, stop)
        shape = (stop - start, *self.shape[1:])
        if kind == "text":
            values = self._texts(shape[0])
        else:
            values = np.empty(shape, _dtype(kind))
            flat, done = values.reshape(-1), 0
            for part in self._parts(values.dtype, flat.size):
                flat[done : done + len(part)] = part
                done += len(part)
        self._file.process.finish()
        return values

    def parts(self) -> Iterator[NDArray[Any]]:
        """Numbers of a list, some at a time and in narrow types.

        Each part is gone when the next is asked for.
        """
        kind = self._ask(0, self.shape[0])
        yield from self._parts(_dtype(kind), self.shape[0])
        self._file.process.finish()

    def _bounds(self, rows: slice) -> tuple[int, int]:
        if len(self.shape) not in (1, 2):
            message = f"{self.name} has {len(self.shape)} dimensions"
            raise DataFormatError(message)
        start, stop, _ = rows.indices(self.shape[0])
        return start, max(start, stop)

    def _ask(self, start: int, stop: int) -> str:
        """Ask for rows; what kind of values come."""
        self._check_claim()
        request = {"at": self.name, "start": start, "stop": stop, "field": self._field}
        self._file.process.ask(do="read", **request)
        return str((self._file.process.receive() or {}).get("kind"))

    @property
    def nbytes(self) -> int:
        """Bytes that it claims to hold."""
        claimed = int(self._about["itemsize"])
        for size in self.shape:
            claimed *= size
        return claimed

    def _check_claim(self) -> None:
        """Refuse an array that claims far more than is stored, or in one piece."""
        stored, claimed = self._about["stored"], self.nbytes
        check_unpacked(self._about["chunk"], self._file.limit)
        if stored is None or claimed <= max(_SMALL, _BEST_COMPRESSION * stored):
            return
        message = (
            f"{self.name} claims {claimed} bytes but has {stored}; the file is damaged"
        )
        raise DataFormatError(message)

    def _parts(self, dtype: np.dtype[Any], size: int) -> Iterator[NDArray[Any]]:
        """So many numbers of a type, which may come in narrower ones."""
        if dtype.kind == "O":
            message = f"{self.name} holds neither numbers nor text"
            raise DataFormatError(message)
        self._file.take(dtype.itemsize * size)
        process, buffer = self._file.process, bytearray()
        while size:
            sent = _dtype(str((process.receive() or {}).get("kind")))
            n_bytes = process.size_of_values()
            fits = sent == dtype or (sent.kind == "u" and dtype.kind in "iu")
            length = n_bytes // sent.itemsize
            if not fits or not 0 < length <= size or n_bytes % sent.itemsize:
                raise self._cut_short()
            if len(buffer) < n_bytes:
                buffer = bytearray(n_bytes)
            process.receive_into(memoryview(buffer)[:n_bytes])
            yield np.frombuffer(buffer, sent, length)
            size -= length

    def _texts(self, length: int) -> NDArray[np.object_]:
        """Strings, which come some thousand at a time: their lengths, their letters."""
        self._file.take(_OF_NAME * length)
        texts: list[str] = []
        while len(texts) < length:
            ends = np.cumsum(np.frombuffer(self._bytes(), dtype="<i8")).tolist()
            if not ends:
                raise self._cut_short()
            content = self._bytes()
            pairs = zip([0, *ends], ends, strict=False)
            texts += [content[start:end].decode() for start, end in pairs]
        values = np.empty(length, dtype=object)
        values[:] = texts
        return values

    def _bytes(self) -> bytearray:
        size = self._file.process.size_of_values()
        self._file.take(size)
        return self._file.process.received(size)

    def _cut_short(self) -> DataFormatError:
        return DataFormatError(f"{self.name} cannot be read to its end")


def _dtype(kind: str) -> np.dtype[Any]:
    plain = re.fullmatch(r"[<>|=][biufS]\d+", kind)
    return np.dtype(kind if plain else object)
