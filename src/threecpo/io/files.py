"""Files as streams of bytes: plain or compressed, in any encoding, and of what kind.

Nothing but plain files is opened, and no stream gives more bytes than its file may
unpack to.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import stat
from contextlib import contextmanager
from itertools import chain
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any, cast

from .._errors import DataFormatError, parameter, refuse
from .limits import check_unpacked, limit_of, limits_for, unpacks_too_far

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Collection, Iterator
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
_PIECE = 1 << 16


def open_regular(path: Path) -> IO[bytes]:
    """Open a plain file for reading; anything else is refused, never waited for."""
    _check_regular(path.stat().st_mode)
    # What took the place of the file meanwhile must not block either.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    try:
        _check_regular(os.fstat(file.fileno()).st_mode)
    except DataFormatError:
        file.close()
        raise
    return file


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        refuse(f"it is {kind}, not a file")


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
                    refuse(f"{inside} is a link or a device, not a file")
    return total


def limits_of(path: Path, given: int | None = None) -> Limits:
    """Limits of a plain file, or of a zarr folder, by its size."""
    if is_zarr(path):
        return limits_for(size_of_folder(path), given)
    about = path.stat()
    _check_regular(about.st_mode)
    return limits_for(about.st_size, given)


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
def opened(path: Path, limit: int | None = None) -> Iterator[IO[bytes]]:
    """The content of a file, decompressed where its first bytes say so.

    It ends in an error after so many bytes, by default those of ``limit_of``.
    """
    with open_plain(path) as file:
        yield unpacked(file, limit_of(path, limit))


def unpacked(file: IO[bytes], limit: int) -> IO[bytes]:
    """The stream, decompressed where its first bytes say so."""
    start = file.read(6)
    file.seek(0)
    stream: IO[bytes] = file
    if start.startswith(b"\x1f\x8b"):
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    elif start.startswith(b"\xfd7zXZ\x00"):
        stream = lzma.LZMAFile(file)  # noqa: SIM115
    elif start.startswith(b"BZh"):
        stream = bz2.BZ2File(file)
    return io.BufferedReader(_Limited(stream, limit), 1 << 18)


@contextmanager
def open_plain(path: Path) -> Iterator[IO[bytes]]:
    """Open a plain file, unless it is what servers and git give in its place."""
    with open_regular(path) as file:
        start = file.read(200).lstrip().lower()
        if start.startswith((b"<!doctype html", b"<html")):
            refuse("it is a web page, not the data")
        if start.startswith(b"version https://git-lfs"):
            refuse(
                "it is a Git LFS pointer, not the data (git lfs pull fetches the real "
                "file)"
            )
        if not start:
            refuse("it is empty")
        file.seek(0)
        yield file


def check_members(listed: Collection[zipfile.ZipInfo], limit: int) -> None:
    """Refuse members of a zip file that are too large, or lead out of it."""
    check_unpacked(sum(info.file_size for info in listed), limit)
    for info in listed:
        check_member(info.filename, link=stat.S_ISLNK(info.external_attr >> 16))


def check_member(name: str, *, link: bool) -> None:
    """Refuse a member of an archive that leads out of it."""
    path = PurePosixPath(name)
    if link:
        refuse(f"it holds {name!r}, which is a link or a device, not a file")
    if path.is_absolute() or ".." in path.parts:
        refuse(f"it holds {name!r}, a name that leads out of the archive")


def recoded(file: IO[bytes], encoding: str | None) -> IO[bytes]:
    """Bytes of a file in UTF-8, whose lines end in LF; the file itself if it is so.

    Without an encoding the mark at its beginning tells UTF-16, as Excel writes it.
    Lines of the first Macintoshes end in CR alone.
    """
    start = file.peek(_PIECE) if isinstance(file, io.BufferedReader) else b""
    if encoding is None:
        if not start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            pieces = iter(lambda: file.read(_PIECE), b"")
            return stream_of(_with_lf(pieces)) if _ends_in_cr(start) else file
        encoding = "utf-16"
    try:
        # Refuses what encodes no text, such as base64, too.
        "".encode(encoding)
    except LookupError:
        message = (
            f"{parameter('encoding', encoding)} is not a known encoding; Windows "
            "files are mostly in 'cp1252' or 'utf-16', old macOS files in 'mac-roman'"
        )
        raise DataFormatError(message) from None
    pieces = _recoded(file, encoding)
    first = next(pieces, b"")
    pieces = chain([first], pieces)
    return stream_of(_with_lf(pieces) if _ends_in_cr(first) else pieces)


def _ends_in_cr(start: bytes) -> bool:
    """Whether lines end in CR alone; one at the end may have an LF behind it."""
    return b"\r" in start[:-1] and b"\n" not in start


def _with_lf(pieces: Iterator[bytes]) -> Iterator[bytes]:
    return (piece.replace(b"\r", b"\n") for piece in pieces)


def _recoded(file: IO[bytes], encoding: str) -> Iterator[bytes]:
    """Decode a file piece by piece and encode it again."""
    decoder, piece = codecs.getincrementaldecoder(encoding)(), b"begin"
    while piece:
        piece = file.read(_PIECE)
        try:
            yield decoder.decode(piece, final=not piece).encode()
        except UnicodeError as error:
            other = parameter("encoding")
            message = f"it is not in {encoding}: {error}; pass another {other}"
            raise DataFormatError(message) from error


def stream_of(pieces: Iterator[bytes]) -> io.BufferedReader:
    """Return a file of these pieces."""
    return io.BufferedReader(_Pieces(pieces))


class _Pieces(io.RawIOBase):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left and (piece := next(self._pieces, None)) is not None:
            self._left = memoryview(piece)
        taken = min(len(buffer), len(self._left))
        buffer[:taken] = self._left[:taken]
        self._left = self._left[taken:]
        return taken
