"""Text files in other encodings, or with other line ends, read as if in UTF-8."""

from __future__ import annotations

import codecs
import io
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

from .._errors import DataFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 1 << 16


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
            f"encoding={encoding!r} is not known; files of Windows are mostly in "
            "'cp1252' or 'utf-16', old ones of macOS in 'mac-roman'"
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
            message = f"it is not in {encoding}: {error}; pass another encoding="
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
