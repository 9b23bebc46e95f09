"""Changes of what is inside a compressed file, and of the file itself."""

from __future__ import annotations

import bz2
import gzip
import lzma
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


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, 1, mtime=0)
