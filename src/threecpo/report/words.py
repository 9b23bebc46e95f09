"""Words and numbers as people read them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

# Control characters as their pictures: a line break in a name must be seen.
_PICTURES = {code: 0x2400 + code for code in range(32)} | {127: 0x2421}
# Longer lists are only counted.
FEW = 12
_MINUS, _THIN_SPACE = "\u2212", "\u202f"


def shown(name: str) -> str:
    """A name without what no page can hold: control characters and half letters."""
    whole = name.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.translate(_PICTURES)


def whole(value: float) -> str:
    """A whole number with its thousands set apart."""
    return f"{value:,.0f}".replace(",", _THIN_SPACE).replace("-", _MINUS)


def number(value: float | None) -> str:
    """Three significant digits; a dash for what is not known."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 999.5:
        return f"{value:#.3g}".rstrip(".").replace("-", _MINUS)
    if 999.5 <= abs(value) < 1e9:
        return whole(value)
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}".replace("-", _MINUS)


def on_axis(values: Sequence[float]) -> list[str]:
    """Numbers along an axis, with as many digits as tell them apart."""
    step = min((b - a for a, b in pairwise(values)), default=1.0)
    if max(map(abs, values), default=0.0) >= 1e9:
        return [number(value) for value in values]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [
        f"{value + 0.0:,.{digits}f}".replace(",", _THIN_SPACE).replace("-", _MINUS)
        for value in values
    ]


def sure(probability: float | None) -> str:
    """A probability in two digits, which never rounds to certainty."""
    if probability is None:
        return "–"
    return ">0.99" if 0.99 < probability < 1 else f"{probability:.2f}"


def ratio(power: float) -> str:
    """2 to this power, in one or two digits."""
    value = 2.0**power
    if value < 0.095:
        return "<0.1"
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def shade(power: float) -> str:
    """Style class of a heat map's cell: more up to 2^3, and less, paler, up to 2^-4."""
    if power > 0:
        step, css = min(round(8 / 3 * power), 8), "more"
    else:
        step, css = min(round(-1.25 * power), 5), "less"
    return f"{css} s{step}" if step else "same"


def part(share: float) -> str:
    """Style class of a cross table's cell: a share in eight steps."""
    step = min(round(8 * share + 0.25), 8)
    return f"share s{step}" if step else "same"


def on_scale(ratio: float | None, end: float) -> float:
    """Length of a bar from 0 to 1 for a ratio of 1 to ``end``, by its logarithm."""
    if ratio is None or ratio <= 1:
        return 0.0
    return min(math.log(ratio) / math.log(end), 1.0)


def plural(count: int, one: str, many: str = "") -> str:
    return f"{whole(count)} {one if count == 1 else many or one + 's'}"


def one_line(value: Any) -> str:
    """A parameter or a fact about the run, as ``_plain.plain`` gives it, as text."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        few = len(value) <= FEW
        return ", ".join(map(one_line, value)) if few else f"{len(value)} values"
    return str(value)


def finite(value: float) -> float | None:
    """A number that JSON can hold: three significant digits, None for no number."""
    return float(f"{value:.3g}") if math.isfinite(value) else None


_SAME = ("species", "series", "fish", "sheep")
_IRREGULAR = {
    "people": "person",
    "children": "child",
    "women": "woman",
    "men": "man",
    "mice": "mouse",
    "taxa": "taxon",
    "genera": "genus",
    "nuclei": "nucleus",
    "bacteria": "bacterium",
}
_VOWELS = tuple("aeio")
_HISSING = ("sses", "shes", "ches", "xes", "zes")


@dataclass(frozen=True)
class Noun:
    """A word for one thing and for several."""

    one: str
    many: str

    @classmethod
    def of(cls, many: str) -> Noun:
        """Read a plural, a singular, or both forms with a slash between them."""
        one, slash, other = shown(many.strip()).partition("/")
        return cls(one, other) if slash else cls(_singular(one), _plural(one))

    @property
    def with_article(self) -> str:
        """One of them: a cell, an image."""
        return f"{'an' if self.one[:1].lower() in _VOWELS else 'a'} {self.one}"

    def as_words(self) -> dict[str, str]:
        """The forms that a page uses."""
        return {"one": self.one, "many": self.many, "with_article": self.with_article}

    def count(
        self, number: int, one: str = "", many: str = "", *, plain: bool = False
    ) -> str:
        """So many of them, and what they are; ``plain`` sets no thousands apart."""
        noun, verb = (self.one, one) if number == 1 else (self.many, many)
        text = f"{number if plain else whole(number)} {noun}"
        return f"{text} {verb}" if verb else text


def nouns(row_noun: str = "rows", column_noun: str = "columns") -> tuple[Noun, Noun]:
    """Words for rows and columns."""
    given = {"row_noun": row_noun, "column_noun": column_noun}
    for name, word in given.items():
        if not word.strip("/ "):
            message = f"{name} must be a word such as 'cells', not {word!r}."
            raise ValueError(message)
    return Noun.of(row_noun), Noun.of(column_noun)


def _plural(word: str) -> str:
    """The plural of a singular; a plural stays as it is."""
    *before, last = word.split(" ")
    if last in _IRREGULAR or word.endswith(_SAME) or re.search("[^s]s$", word):
        return word
    if last in _IRREGULAR.values():
        plural = next(many for many, one in _IRREGULAR.items() if one == last)
        return " ".join([*before, plural])
    if re.search("[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search("(ss|sh|ch|x|z)$", word) else "s")


def _singular(many: str) -> str:
    *before, last = many.split() or [""]
    if last in _IRREGULAR:
        return " ".join([*before, _IRREGULAR[last]])
    if many.endswith(_SAME) or not many.endswith("s") or many.endswith("ss"):
        return many
    if many.endswith("ies"):
        return many[:-3] + "y"
    return many[:-2] if many.endswith(_HISSING) else many[:-1]
