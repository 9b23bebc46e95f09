"""Text files in other encodings than UTF-8, read as if they were in UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import IO, TYPE_CHECKING

from .._errors import DataFormatError
from .byte_streams import stream_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 1 << 16


def recoded(file: IO[bytes], encoding: str | None) -> IO[bytes]:
    """Bytes of a file in UTF-8; the file itself if it is in none other.

    Without an encoding the mark at its beginning tells UTF-16, as Excel writes it.
    """
    if encoding is None:
        start = file.peek(2) if isinstance(file, io.BufferedReader) else b""
        if not start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return file
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
    return stream_of(_recoded(file, encoding))


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
