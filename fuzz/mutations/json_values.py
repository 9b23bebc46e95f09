"""Changes of JSON: other values, keys and nesting."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from . import text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 1.5, -0.0, float("nan"), float("inf"), 1e308),
    *(1 << 31, (1 << 32) + 1, 1 << 53, 1 << 63, -(1 << 63) - 1, 1 << 64, 10**400),
    *("", "x", "\ud800", "\0", "nan", "1", "a\nb", "x" * 10_000, "../x", "/etc/passwd"),
    *([], {}, [[]], [None], {"a": 1}, [1, 2, 3], ["x"], {"": {}}, [[0, 0, 1]]),
)


def mutated(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Change some values, or the text where it is no JSON."""
    if rng.random() < 0.15:
        return text.mutated(rng, content, others)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return text.mutated(rng, content, others)
    return written(rng, changed(rng, value))


def mutated_lines(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Change one line of a file with a JSON value in each."""
    if rng.random() < 0.3:
        return text.mutated(rng, content, others)
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = mutated(rng, lines[at], others)
    return b"\n".join(lines)


def written(rng: Random, value: Any) -> bytes:
    """Write JSON, now and then far too deep."""
    content = json.dumps(value, ensure_ascii=rng.random() < 0.9)
    if rng.random() < 0.01:
        depth = rng.choice((100, 5000, 200_000))
        content = "[" * depth + content + "]" * depth
    return content.encode("utf-8", "surrogatepass")


def changed(rng: Random, value: Any) -> Any:
    """Return the value with one to three of its parts changed."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holders = [holder for holder in _containers(value) if holder]
        if not holders:
            return _odd(rng, None)
        holder = rng.choice(holders)
        # Lists of numbers are many: half of the changes go to objects.
        objects = [each for each in holders if isinstance(each, dict)]
        if objects and rng.random() < 0.5:
            holder = rng.choice(objects)
        _change(rng, holder, value)
    return value


def _containers(value: Any) -> list[Any]:
    found, waiting = [], [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            found.append(each)
            waiting += each.values() if isinstance(each, dict) else each
    return found


def _change(rng: Random, holder: Any, whole: Any) -> None:
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    key = rng.choice(keys)
    change = rng.random()
    if change < 0.6:
        holder[key] = _odd(rng, holder[key])
    elif change < 0.75:
        del holder[key]
    elif change < 0.85:
        holder[key] = _copy(rng.choice(_containers(whole)))
    elif isinstance(holder, list):
        holder[key:key] = [_copy(holder[key])] * rng.choice((1, 2, 100))
    else:
        holder[rng.choice(("", "x", *keys))] = holder.pop(key)


def _odd(rng: Random, value: Any) -> Any:
    if isinstance(value, int | float) and rng.random() < 0.3:
        return rng.choice((-value, value + 1, value - 1, value * 1000, str(value)))
    # Lists and objects may be changed in turn.
    return deepcopy(rng.choice(ODD_VALUES))


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))
