"""Members of archives, read as streams: nothing is written to disk.

A name that leads out of the archive, a link, or more bytes than a data set can have are
errors, whether or not anybody asked for that member.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, cast

from .._errors import DataFormatError
from .limits import check_unpacked, limit_of, unpacks_too_far
from .regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    Members = Iterator[tuple[str, IO[bytes]]]

# What the standard library raises on damaged or hostile files; DataFormatError is one.
DAMAGE = (
    ValueError,
    EOFError,
    RuntimeError,
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    struct.error,
    zlib.error,
)
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".gtar.gz", ".tgz", ".tar.xz", ".tar.bz2")


class _Limited(io.RawIOBase):
    """A stream that ends in an error once it gave more bytes than allowed."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file, self._left, self._limit = file, limit, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        most = min(len(buffer), self._left + 1)
        n_bytes: int = self._file.readinto(memoryview(buffer)[:most])  # type: ignore[attr-defined]
        self._left -= n_bytes
        if self._left < 0:
            raise unpacks_too_far(self._limit)
        return n_bytes


@contextmanager
def members(path: Path, limit: int) -> Iterator[Members]:
    """Name and stream of each file in an archive, also of archives inside it.

    A file that is not an archive is its own only member. Streams are read in turn.
    """
    with open_regular(path) as file:
        _refuse_stand_ins(file)
        yield _walk(path.name, file, limit)


@contextmanager
def opened(path: Path, limit: int | None = None) -> Iterator[IO[bytes]]:
    """The content of a file, decompressed where its first bytes say so.

    It ends in an error after so many bytes, by default those of ``limit_of``.
    """
    with open_regular(path) as file:
        _refuse_stand_ins(file)
        yield _unpacked(file, limit_of(path) if limit is None else limit)


def _walk(name: str, file: IO[bytes], limit: int) -> Members:
    if not name.endswith(_ARCHIVES):
        yield name, _unpacked(file, limit)
        return
    for inner, member in _members(name, file, limit):
        if inner.endswith(_ARCHIVES):
            # A zip file is read from its end, so an inner archive is held in memory.
            yield from _members(inner, io.BytesIO(member.read()), limit)
        else:
            yield inner, member


def _members(name: str, file: IO[bytes], limit: int) -> Members:
    if name.endswith(".zip"):
        return _zip_members(file, limit)
    return _tar_members(_unpacked(file, limit))


def _zip_members(file: IO[bytes], limit: int) -> Members:
    with zipfile.ZipFile(file) as archive:
        listed = archive.infolist()
        check_members(listed, limit)
        for info in listed:
            if not info.is_dir():
                with archive.open(info) as member:
                    yield info.filename, member


def check_members(listed: Collection[zipfile.ZipInfo], limit: int) -> None:
    """Refuse members of a zip file that are too large, or lead out of it."""
    check_unpacked(sum(info.file_size for info in listed), limit)
    for info in listed:
        _check_name(info.filename, link=stat.S_ISLNK(info.external_attr >> 16))


def _tar_members(file: IO[bytes]) -> Members:
    with tarfile.open(fileobj=file, mode="r|") as archive:
        for info in archive:
            _check_name(info.name, link=not (info.isfile() or info.isdir()))
            if info.isfile():
                yield info.name, cast("IO[bytes]", archive.extractfile(info))
    # Behind the last member stands the checksum of the compressed bytes.
    while file.read(1 << 18):
        pass


def _unpacked(file: IO[bytes], limit: int) -> IO[bytes]:
    """The stream, decompressed where its first bytes say so."""
    start = file.read(6)
    file.seek(0)
    unpacked: IO[bytes] = file
    if start.startswith(b"\x1f\x8b"):
        unpacked = cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    elif start.startswith(b"\xfd7zXZ\x00"):
        unpacked = lzma.LZMAFile(file)  # noqa: SIM115
    elif start.startswith(b"BZh"):
        unpacked = bz2.BZ2File(file)
    return io.BufferedReader(_Limited(unpacked, limit), 1 << 18)


def _check_name(name: str, *, link: bool) -> None:
    path = PurePosixPath(name)
    if link:
        message = f"it holds {name!r}, which is a link or a device, not a file"
        raise DataFormatError(message)
    if path.is_absolute() or ".." in path.parts:
        message = f"it holds {name!r}, a name that leads out of the archive"
        raise DataFormatError(message)


def _refuse_stand_ins(file: IO[bytes]) -> None:
    """Refuse what servers and git give in place of the file itself."""
    start = file.read(200).lstrip().lower()
    file.seek(0)
    if start.startswith((b"<!doctype html", b"<html")):
        message = "it is a web page, not the data"
        raise DataFormatError(message)
    if start.startswith(b"version https://git-lfs"):
        message = (
            "it is a Git LFS pointer, not the data (git lfs pull fetches the real file)"
        )
        raise DataFormatError(message)
    if not start:
        message = "it is empty"
        raise DataFormatError(message)
