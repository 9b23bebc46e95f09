"""Numbers as people write them: decimal commas, thousands apart, currencies, blanks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._errors import parameter, refuse, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .formats import ReadOptions

_MISSING = ("", "na", "n/a", "nan", "null", "none", "-", "--", "#n/a")
_CURRENCY = "€$£¥ \u00a0\u202f"
_SPACES = " \u00a0\u202f\u2009"
_NUMBER = re.compile(r"(?i)[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?(?:inf|nan)")
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
# Numbers in other styles, and the options that read them.
_STYLES = (
    (r"\d{1,3}(?:[ \u00a0\u202f\u2009]\d{3})+", parameter("thousands", " ")),
    (
        r"\d{1,3}(?:[ \u00a0\u202f\u2009]\d{3})+,\d*",
        f"{parameter('thousands', ' ')}, {parameter('decimal', ',')}",
    ),
    (r"\d{1,3}(?:'\d{3})+(?:\.\d*)?", parameter("thousands", "'")),
    (r"\d{1,3}(?:\.\d{3})+,\d*", parameter("thousands", ".")),
    (r"\d{1,3}(?:,\d{3})+\.\d*", parameter("thousands", ",")),
    (
        r"\d{1,3}(?:,\d{3})+",
        f"{parameter('thousands', ',')} or {parameter('decimal', ',')}",
    ),
    (r"\d+,\d+", parameter("decimal", ",")),
    (r"\d{1,3}(?:\.\d{3})+", parameter("thousands", ".")),
)
_CENSORED = re.compile(r"[<>≤≥~≈]\s*\d[\d.,]*|\d[\d.,]*\s*[%+*]|\?+")
_IN_GROUPS = re.compile(r"\d{1,3}(?:\.\d{3})+")


@dataclass(frozen=True)
class NumberStyle:
    """How a table writes numbers; by itself as Python does."""

    decimal: str = "."
    thousands: str | None = None
    empty: str | None = None

    @classmethod
    def of(cls, options: ReadOptions) -> NumberStyle:
        """Return the style that options name."""
        decimal, thousands = options.decimal, options.thousands
        if decimal not in (None, ".", ","):
            refuse(f"{parameter('decimal', decimal)} must be '.' or ','")
        if thousands not in (None, ".", ",", " ", "'"):
            wrong = parameter("thousands", thousands)
            refuse(f"{wrong} must be one of '.', ',', ' ' and \"'\"")
        if options.empty not in (None, "zero"):
            refuse(f"{parameter('empty', options.empty)} must be 'zero' if it is given")
        if decimal is None:
            decimal = "," if thousands == "." else "."
        if decimal == thousands:
            both = f"{parameter('decimal')} and {parameter('thousands')}"
            refuse(f"{both} must differ, but both are {decimal!r}")
        return cls(decimal, thousands, options.empty)

    @property
    def usual(self) -> bool:
        """Whether numbers are written as Python writes them, and none is missing."""
        return self == NumberStyle()

    def plain(self, text: str) -> str:
        """A field as Python would write the number; any other as it is."""
        if self.usual:
            number = text.strip(_CURRENCY)
            return number if _PLAIN.fullmatch(number) else text
        if self.empty and text.strip().lower() in _MISSING:
            return "0"
        number = _without_currency(text)
        if self.thousands:
            apart = _SPACES if self.thousands == " " else self.thousands
            grouped = re.fullmatch(
                rf"\d{{1,3}}(?:[{apart}]\d{{3}})+(?:[{self.decimal}]\d*)?", number
            )
            if grouped:
                number = re.sub(rf"[{apart}]", "", number)
            elif self.thousands in number:
                return self._odd(text)
        if self.decimal == ",":
            return self._odd(text) if "." in number else number.replace(",", ".")
        return number

    def _odd(self, text: str) -> str:
        """A field that may be a number in another style, marked as such."""
        if not text.strip(_CURRENCY)[:1].isdecimal():
            return text
        return f"{text} with decimal {self.decimal!r}"


def _without_currency(text: str) -> str:
    return text.strip(_CURRENCY).removesuffix("EUR").removesuffix("USD").strip()


def is_missing(text: str) -> bool:
    """Whether a field is empty, or a word for a count that is not known."""
    return text.strip().lower() in _MISSING


def is_censored(text: str) -> bool:
    """Whether a field stands for a count that is not told: ``<5``, ``5%``, ``?``."""
    return bool(_CENSORED.fullmatch(text.strip()))


def style_of(text: str) -> str | None:
    """Options by which a field would be a number, None if there are none."""
    number = _without_currency(text)
    fits = (name for style, name in _STYLES if re.fullmatch(style, number))
    return next(fits, None)


def may_be_count(text: str) -> bool:
    """Whether a field is a number in any style, or stands for one."""
    return bool(_NUMBER.fullmatch(text.strip(_CURRENCY))) or (
        is_missing(text) or style_of(text) is not None
    )


def hint(text: str) -> str:
    """What to pass so that a field is a count, if something does."""
    if is_missing(text):
        return f". Fill in 0, or pass {parameter('empty', 'zero')}"
    style = style_of(text)
    return "" if style is None else f". To read it as one, pass {style}"


def check_points(records: Iterable[list[str]], options: ReadOptions) -> None:
    """Refuse to guess where each point has three digits behind it: 1.234."""
    if options.decimal is not None or options.thousands is not None:
        return
    fields = (field.strip() for record in records for field in record)
    pointed = [field for field in fields if re.fullmatch(r"\d+(?:\.\d+)+", field)]
    if pointed and all(map(_IN_GROUPS.fullmatch, pointed)):
        refuse(
            f"{shown(pointed[0])} may be thousands or a fraction. Pass "
            f"{parameter('thousands', '.')} or {parameter('decimal', '.')}"
        )


def is_number(text: str) -> bool:
    """Whether a field is a number, perhaps an infinite one or NaN."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
