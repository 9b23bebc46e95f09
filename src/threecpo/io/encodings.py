"""Text files in other encodings than UTF-8, read as if they were in UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import IO, TYPE_CHECKING

from .._errors import DataFormatError

if TYPE_CHECKING:
    from typing import Any

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
    decoder = codecs.getincrementaldecoder(encoding)()
    return io.BufferedReader(_Recoded(file, decoder, encoding))


class _Recoded(io.RawIOBase):
    """Decodes a file piece by piece and encodes it again."""

    def __init__(self, file: IO[bytes], decoder: Any, encoding: str) -> None:
        self._file, self._decoder, self._encoding = file, decoder, encoding
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = self._file.read(_PIECE)
            self._left = memoryview(self._decoded(piece).encode())
            if not piece:
                break
        taken = min(len(buffer), len(self._left))
        buffer[:taken] = self._left[:taken]
        self._left = self._left[taken:]
        return taken

    def _decoded(self, piece: bytes) -> str:
        try:
            text = self._decoder.decode(piece, final=not piece)
        except UnicodeError as error:
            message = f"it is not in {self._encoding}: {error}; pass another encoding="
            raise DataFormatError(message) from error
        return str(text)
