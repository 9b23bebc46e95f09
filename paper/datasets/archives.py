"""Members of archives, read as streams: nothing is written to disk.

A name that leads out of the archive, a link, or more bytes than a data set can have are
errors, whether or not anybody asked for that member.
"""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, cast

from threecpo.io.files import check_member, check_members, open_plain, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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


@contextmanager
def members(path: Path, limit: int) -> Iterator[Members]:
    """Name and stream of each file in an archive, also of archives inside it.

    A file that is not an archive is its own only member. Streams are read in turn.
    """
    with open_plain(path) as file:
        yield _walk(path.name, file, limit)


def _walk(name: str, file: IO[bytes], limit: int) -> Members:
    if not name.endswith(_ARCHIVES):
        yield name, unpacked(file, limit)
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
    return _tar_members(unpacked(file, limit))


def _zip_members(file: IO[bytes], limit: int) -> Members:
    with zipfile.ZipFile(file) as archive:
        listed = archive.infolist()
        check_members(listed, limit)
        for info in listed:
            if not info.is_dir():
                with archive.open(info) as member:
                    yield info.filename, member


def _tar_members(file: IO[bytes]) -> Members:
    with tarfile.open(fileobj=file, mode="r|") as archive:
        for info in archive:
            check_member(info.name, link=not (info.isfile() or info.isdir()))
            if info.isfile():
                yield info.name, cast("IO[bytes]", archive.extractfile(info))
    # Behind the last member stands the checksum of the compressed bytes.
    while file.read(1 << 18):
        pass
