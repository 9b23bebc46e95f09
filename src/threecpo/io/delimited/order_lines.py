"""Order lines: who bought how many of what, among other columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .number_style import may_be_count

if TYPE_CHECKING:
    from collections.abc import Sequence

_COUNTED = re.compile(
    r"(?i)(?:\w*[ _])?(?:quantity|qty|counts?|units|menge|anzahl|cantidad|quantité)|n"
)
_WHO = re.compile(
    r"(?i).*(?:customer|client|user|member|patient|visitor|account|buyer|household"
    r"|kunde|cliente).*"
)
_WHAT = re.compile(
    r"(?i).*(?:product|item|article|categor|description|species|artikel|produkt).*"
)
_ID = re.compile(r"(?:.*[_\W])?(?i:id)|.*[a-z](?:ID|Id)")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*")
# More numbers than quantity, price and their like are a table of counts.
_MOST_NUMBERS, _MOST_COLUMNS, _FEWEST_RECORDS = 4, 40, 3


def is_id(name: str) -> bool:
    """Whether a column is called an ID, such as ``id``, ``order_id`` or ``UserID``."""
    return bool(_ID.fullmatch(name.strip()))


def find_order_lines(
    header: Sequence[str] | None, columns: Sequence[Sequence[str]]
) -> list[str] | None:
    """Names of the columns of rows, columns and counts, by first values of columns.

    None if the table does not look like order lines.
    """
    if header is None or not 3 < len(header) <= _MOST_COLUMNS:
        return None
    if len(header) != len(columns) or len(columns[0]) < _FEWEST_RECORDS:
        return None
    values = dict(zip(header, columns, strict=True))
    numbers = [name for name, texts in values.items() if all(map(may_be_count, texts))]
    count = next((name for name in numbers if _COUNTED.fullmatch(name)), None)
    who = _who(values)
    if count is None or who is None or len(set(numbers) - {who}) > _MOST_NUMBERS:
        return None
    what = _what(values, {who, count, *numbers})
    return None if what is None else [who, what, count]


def _who(values: dict[str, Sequence[str]]) -> str | None:
    """The customer by name, else an ID that occurs again."""
    named = [name for name in values if _WHO.fullmatch(name)]
    ids = [name for name in values if is_id(name)]
    again = [name for name in ids if len(set(values[name])) < len(values[name])]
    best = [name for name in named if name in ids]
    return next(iter([*best, *named, *again]), None)


def _what(values: dict[str, Sequence[str]], others: set[str]) -> str | None:
    """The text that tells most of what there is, and occurs again."""
    texts = {
        name: len(set(column))
        for name, column in values.items()
        if name not in others
        and not any(_DATE.fullmatch(text.strip()) for text in column)
        and len(set(column)) < len(column)
    }
    named = {name: n for name, n in texts.items() if _WHAT.fullmatch(name)}
    found = named or {name: n for name, n in texts.items() if not _WHO.fullmatch(name)}
    return max(found, key=lambda name: found[name], default=None)
