"""What rows and columns are called: cells and genes, documents and words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._formatting import shown, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

_SAME = ("species", "series")
_VOWELS = tuple("aeio")
_HISSING = ("sses", "shes", "ches", "xes", "zes")


@dataclass(frozen=True)
class Noun:
    """A word for one thing and for several."""

    one: str
    many: str

    @classmethod
    def of(cls, many: str) -> Noun:
        """Read a plural, or both forms with a slash between them."""
        one, slash, other = shown(many.strip()).partition("/")
        return cls(one, other) if slash else cls(_singular(one), one)

    @property
    def with_article(self) -> str:
        """One of them: a cell, an image."""
        return f"{'an' if self.one[:1].lower() in _VOWELS else 'a'} {self.one}"

    def as_words(self) -> dict[str, str]:
        """The forms that a page uses."""
        return {"one": self.one, "many": self.many, "with_article": self.with_article}

    def count(self, number: int, *, plain: bool = False) -> str:
        """So many of them; ``plain`` sets no thousands apart."""
        shown_number = str(number) if plain else whole(number)
        return f"{shown_number} {self.one if number == 1 else self.many}"

    def in_place_of_rows(self, sentence: str) -> str:
        """The sentence with this word for rows."""
        counted = re.sub(r"\b1 rows\b", f"1 {self.one}", sentence)
        return re.sub(r"\brows\b", self.many, counted)


def nouns(called: Mapping[str, str] | None) -> tuple[Noun, Noun]:
    """Words for rows and columns, those that were given or these."""
    words = {"rows": "rows", "columns": "columns"} | dict(called or {})
    odd = set(words) - {"rows", "columns"}
    if odd or not all(word.strip("/ ") for word in words.values()):
        message = f"called must give words for 'rows' and 'columns', not {called!r}."
        raise ValueError(message)
    return Noun.of(words["rows"]), Noun.of(words["columns"])


def _singular(many: str) -> str:
    if many.endswith(_SAME) or not many.endswith("s") or many.endswith("ss"):
        return many
    if many.endswith("ies"):
        return many[:-3] + "y"
    return many[:-2] if many.endswith(_HISSING) else many[:-1]
