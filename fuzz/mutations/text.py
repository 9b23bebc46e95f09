"""Changes of text: its numbers, lines, fields and encoding."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from . import plain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

ODD_NUMBERS = (
    *("-1", "0", "", "1e999", "-1e999", "nan", "NaN", "inf", "-inf", "1e-999", "1.5"),
    *("9999999999", "2147483647", "2147483648", "4294967297", "9007199254740992"),
    *("9223372036854775808", "18446744073709551616", "1e308", "1e5", "1_000", "0x10"),
    *("١", "１", "--1", "1e", ".", "+1", "007", "1,5", "1 2", "1" * 400, "1" * 5000),
    *("0." + "0" * 400 + "1", "5e-324", "True", "None", "=1+1", "\0", "-0"),
)
ODD_FIELDS = (
    *('"', '""', '"a', 'a"b', "'", "\\", "\\N", "\u2028", "\ufeff", "\x1a", "\x85"),
    *("é", "x" * 300, "x" * 70_000, " ", "#", "%", "label", "id", "count", "../a"),
)
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_WORD = re.compile(r"\w+")
_DELIMITERS = ",\t;| :\n"


def mutated(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Apply one or some of the changes below."""
    text = content.decode("utf-8", "surrogateescape")
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        text = rng.choice(CHANGES)(rng, text)
    if rng.random() < 0.04:
        return _encoded(rng, text)
    content = text.encode("utf-8", "surrogateescape")
    return plain.mutated(rng, content, others) if rng.random() < 0.1 else content


def other_number(rng: Random, text: str) -> str:
    return _replaced(rng, text, _NUMBER, rng.choice(ODD_NUMBERS))


def other_field(rng: Random, text: str) -> str:
    return _replaced(rng, text, _WORD, rng.choice(ODD_FIELDS))


def same_word(rng: Random, text: str) -> str:
    """Give a word the place of another, so that names repeat."""
    words = _WORD.findall(text) or [""]
    return _replaced(rng, text, _WORD, rng.choice(words))


def other_lines(rng: Random, text: str) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    change = rng.randrange(5)
    if change == 0:
        del lines[at]
    elif change == 1:
        lines[at:at] = [lines[at]] * rng.choice((1, 2, 300))
    elif change == 2:
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif change == 3:
        lines[at:at] = [rng.choice(("", " ", ",,,", "%", "#", "\t"))]
    else:
        lines[at] += rng.choice((",", "\t", " ", ",1", "\t1", " 1", " " * 70_000))
    return "\n".join(lines)


def other_delimiter(rng: Random, text: str) -> str:
    places = [i for i, letter in enumerate(text) if letter in _DELIMITERS]
    if not places:
        return text
    at, new = rng.choice(places), rng.choice((*_DELIMITERS, "", "\r", "\r\n", "\0"))
    if rng.random() < 0.1:
        return text.replace(text[at], new)
    return text[:at] + new + text[at + 1 :]


def _replaced(rng: Random, text: str, pattern: re.Pattern[str], new: str) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text + new
    chosen = rng.choice(found)
    return text[: chosen.start()] + new + text[chosen.end() :]


def _encoded(rng: Random, text: str) -> bytes:
    encoding = rng.choice(("utf-16", "utf-32", "utf-8-sig", "latin-1", "utf-7"))
    return text.encode(encoding, "replace")


CHANGES = (
    *(other_number, other_number, other_field, same_word),
    *(other_lines, other_lines, other_delimiter),
)
