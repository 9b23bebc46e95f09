"""Changes behind digests: what was computed from a content is computed again."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from . import json_values

if TYPE_CHECKING:
    from random import Random

    from .plain import Mutation


def refreshed(old: dict[str, bytes], new: dict[str, bytes]) -> dict[str, bytes]:
    """Replace the digests of files that changed wherever other files name them.

    JSON texts inside of JSON have digests too, and are brought up to date first.
    """
    swaps = {
        _digest(old[name]): _digest(content)
        for name, content in new.items()
        if name in old and content != old[name]
    }
    out = {}
    for name, content in new.items():
        for before, after in swaps.items():
            content = content.replace(before, after)  # noqa: PLW2901
        out[name] = _framed(old.get(name, b""), content)
    return out


def inside_frame(change: Mutation) -> Mutation:
    """Apply a mutation to the JSON text that a JSON object holds with its digest."""

    def mutate(rng: Random, content: bytes, others: Any) -> bytes:
        outer = _loaded(content)
        keys = [key for key, value in outer.items() if _loaded(value)]
        if not keys or rng.random() < 0.2:
            return json_values.mutated(rng, content, others)
        key = keys[0]
        new = change(rng, outer[key].encode(), [])
        outer[key] = new.decode("utf-8", "surrogateescape")
        return json.dumps(outer).encode()

    return mutate


def _framed(old: bytes, content: bytes) -> bytes:
    """Put the digests of texts in a JSON object right, where they were right before."""
    before, now = _loaded(old), _loaded(content)
    for key, text in before.items():
        if not isinstance(text, str) or not isinstance(now.get(key), str):
            continue
        digest = _digest(text.encode("utf-8", "surrogatepass")).decode()
        for name, value in before.items():
            if value == digest and name in now:
                new = now[key].encode("utf-8", "surrogatepass")
                now[name] = _digest(new).decode()
    return json.dumps(now).encode() if now and now != _loaded(content) else content


def _loaded(content: Any) -> dict[str, Any]:
    """Return the object that a JSON text holds, an empty one for anything else."""
    if not isinstance(content, bytes | str):
        return {}
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _digest(content: bytes) -> bytes:
    return blake2b(content).hexdigest().encode()
