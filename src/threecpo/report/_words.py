"""What rows and columns are called: cells and genes, documents and words."""

from __future__ import annotations

from dataclasses import dataclass

from ._formatting import shown, whole

_SAME = ("species", "series")
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

    def count(self, number: int) -> str:
        """So many of them."""
        return f"{whole(number)} {self.one if number == 1 else self.many}"


def _singular(many: str) -> str:
    if many.endswith(_SAME) or not many.endswith("s") or many.endswith("ss"):
        return many
    if many.endswith("ies"):
        return many[:-3] + "y"
    return many[:-2] if many.endswith(_HISSING) else many[:-1]
