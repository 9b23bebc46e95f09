"""Changes that any file can undergo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

Mutation = Callable[[Random, bytes, Sequence[bytes]], bytes]

TOKENS = (
    *(b'"', b",", b"\n", b"\r", b"\t", b"-", b"nan", b"1e999", b"9999999999"),
    *(b"\x00" * 8, b"\xff" * 4, b"\xff" * 8, b"\x7f" * 8, b"\x1f\x8b", b"BZh9", b"{"),
    *(b"%", b"[", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\\u0000", b"PK\x03"),
)
NUMBERS = (0, 1, -1, 2, -2, 127, 128, 255, 256, 1 << 15, 1 << 16, (1 << 31) - 1)
WIDE_NUMBERS = (*NUMBERS, 1 << 31, (1 << 32) + 1, 1 << 40, 1 << 53, (1 << 63) - 1)


def mutated(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Apply one of the changes below, in a few of ten cases several."""
    for _ in range(rng.choice((1, 1, 1, 1, 1, 1, 2, 3, 5))):
        content = rng.choice(CHANGES)(rng, content, others)
    return content


def flip(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(rng, content)
    new = bytes(byte ^ (1 << rng.randrange(8)) for byte in content[at : at + 1])
    return content[:at] + new + content[at + 1 :]


def overwrite(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at, length = _place(rng, content), _length(rng)
    return content[:at] + rng.randbytes(length) + content[at + length :]


def insert(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(rng, content)
    return content[:at] + rng.randbytes(_length(rng)) + content[at:]


def insert_token(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(rng, content)
    return content[:at] + rng.choice(TOKENS) + content[at:]


def delete(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(rng, content)
    return content[:at] + content[at + _length(rng) :]


def truncate(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    return content[: _place(rng, content)]


def duplicate(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(rng, content)
    piece = content[at : at + rng.choice((1, 8, 64, 512))]
    return content[:at] + piece * rng.choice((2, 2, 3, 50)) + content[at:]


def splice(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others) if others else content
    at = _place(rng, content)
    start = at if rng.random() < 0.5 else _place(rng, other)
    return content[:at] + other[start:]


def transplant(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others) if others else content
    start, at, length = _place(rng, other), _place(rng, content), rng.randrange(1, 200)
    return content[:at] + other[start : start + length] + content[at + length :]


def fill(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at, length = _place(rng, content), rng.choice((1, 4, 8, 64, 512))
    length = len(content[at : at + length])
    return content[:at] + rng.choice((b"\0", b"\xff")) * length + content[at + length :]


def number(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    """Put a number where one of that width may stand."""
    width = rng.choice((1, 2, 4, 4, 8, 8))
    at = _place(rng, content) // width * width if rng.random() < 0.7 else 0
    at = at or _place(rng, content)
    value = rng.choice(WIDE_NUMBERS) % (1 << 8 * width)
    piece = value.to_bytes(width, "little")
    piece = piece if rng.random() < 0.9 else piece[::-1]
    return content[:at] + piece + content[at + width :]


def _place(rng: Random, content: bytes) -> int:
    """A place in the content; the beginning, which headers have, more often."""
    if rng.random() < 0.2:
        return rng.randrange(min(len(content), 100) + 1)
    return rng.randrange(len(content) + 1)


def _length(rng: Random) -> int:
    return rng.choice((1, 1, 2, 4, 8, rng.randrange(1, 100)))


CHANGES: tuple[Mutation, ...] = (
    *(flip, flip, overwrite, insert, insert_token, delete, truncate, duplicate),
    *(splice, transplant, fill, number, number),
)
