"""Changes of what is inside a compressed file, and of the file itself."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from typing import TYPE_CHECKING

from . import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from .plain import Mutation


def inside_gzip(change: Mutation) -> Mutation:
    """Apply a mutation to the content of a gzip file, in a third of cases to bytes."""

    def mutate(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
        if rng.random() < 0.3:
            return plain.mutated(rng, content, others)
        inner = gzip.decompress(content)
        inner = change(rng, inner, [gzip.decompress(other) for other in others])
        return _packed(rng, inner)

    return mutate


def _packed(rng: Random, content: bytes) -> bytes:
    if rng.random() < 0.9:
        return _gzip(content)
    ways: tuple[Callable[[bytes], bytes], ...] = (
        *(bz2.compress, lzma.compress, bytes),
        lambda inner: _gzip(_gzip(inner)),
        lambda inner: _gzip(inner) + rng.randbytes(9),
        lambda inner: _gzip(inner[: len(inner) // 2]) + _gzip(inner[len(inner) // 2 :]),
        lambda inner: _gzip(inner + inner[-20:] * 300_000),
    )
    return rng.choice(ways)(content)


def inside_zip(change: Mutation) -> Mutation:
    """Apply a mutation to a part of a zip file, blow one up, or change the bytes."""

    def mutate(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
        if rng.random() < 0.25:
            return plain.mutated(rng, content, others)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(sorted(parts, key=lambda each: (len(parts[each]), each))[-3:])
        if rng.random() < 0.1:
            parts[name] = rng.choice(_BOMBS)(parts[name])
        else:
            parts[name] = change(rng, parts[name], list(parts.values()))
        if rng.random() < 0.05:
            parts[rng.choice(("../a", "/a", "a/../../b"))] = b"x"
        return _zip(rng, parts)

    return mutate


def _laughing(content: bytes) -> bytes:
    """Entities of entities, of which the last is in place of each number."""
    steps = b"".join(
        b'<!ENTITY e%d "%s">' % (i, b"&e%d;" % (i - 1) * 10) for i in range(1, 12)
    )
    start = b'<!DOCTYPE x [<!ENTITY e0 "9">%s]>' % steps
    return start + content.replace(b">3<", b">&e11;<")


def _repeated(content: bytes) -> bytes:
    """A row some hundred thousand times."""
    for row in (b"<row", b"<table:table-row"):
        at, end = content.find(row), content.rfind(row)
        if 0 <= at < end:
            return content[:at] + content[at:end] * 100_000 + content[end:]
    return content + b" " * 100_000_000


_BOMBS: tuple[Callable[[bytes], bytes], ...] = (
    _laughing,
    _repeated,
    lambda content: content + b" " * 50_000_000,
    lambda content: content.replace(b'repeated="', b'repeated="99999'),
    lambda content: content.replace(b'r="B4"', b'r="XFD1048576"'),
    lambda content: content.replace(b"<v>", b"<v>" * 50_000),
)


def _zip(rng: Random, parts: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(zipfile.ZipInfo(name), part)
    packed = content.getvalue()
    if rng.random() < 0.05:
        # A size that is not true.
        at = packed.rfind(b"PK\x01\x02")
        packed = packed[: at + 24] + rng.randbytes(4) + packed[at + 28 :]
    return packed


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, 1, mtime=0)
