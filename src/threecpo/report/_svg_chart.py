"""Axes and marks as SVG text. Only numbers and fixed words are put in here.

Colours are classes of the style sheet, so that a chart follows the theme of its page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from ._formatting import on_axis

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH = 720
# Values that differ by less than this share of them leave no room for two ticks.
ROUNDING = 1e-12


@dataclass
class Chart:
    """A frame with two linear scales, and the marks that were put into it."""

    height: int
    x: tuple[float, float]
    y: tuple[float, float]
    left: int = 64
    right: int = 12
    top: int = 12
    bottom: int = 44
    marks: list[str] = field(default_factory=list)

    def at_x(self, value: float) -> float:
        low, high = self.x
        room = WIDTH - self.left - self.right
        return round(self.left + room * (value - low) / (high - low), 1)

    def at_y(self, value: float, y: tuple[float, float] | None = None) -> float:
        low, high = y or self.y
        room = self.height - self.top - self.bottom
        return round(self.top + room * (high - value) / (high - low), 1)

    def text(self, x: float, y: float, words: str, css: str = "") -> None:
        self.marks.append(f'<text x="{x:g}" y="{y:g}" class="{css}">{words}</text>')

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        self.marks.append(f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" class="{css}"/>')

    def bar(self, x1: float, x2: float, top: float, base: float, css: str) -> None:
        width, height = max(x2 - x1, 0.5), max(base - top, 0)
        self.marks.append(
            f'<rect x="{x1:g}" y="{top:g}" width="{width:.1f}" height="{height:.1f}" '
            f'class="{css}"/>'
        )

    def curve(
        self,
        xs: Iterable[float],
        ys: Iterable[float | None],
        css: str,
        y: tuple[float, float] | None = None,
    ) -> None:
        """A line with a mark at every point: round ones, or squares for ``css`` c1."""
        places = [
            (self.at_x(a), self.at_y(b, y))
            for a, b in zip(xs, ys, strict=True)
            if b is not None
        ]
        joined = "L".join(f"{a:g} {b:g}" for a, b in places)
        dots = "".join(
            f"M{a - 3:g} {b - 3:g}h6v6h-6z" if css == "c1" else f"M{a:g} {b:g}h0"
            for a, b in places
        )
        shape = "square" if css == "c1" else "round"
        self.marks.append(f'<path d="M{joined}" class="curve {css}"/>')
        self.marks.append(f'<path d="{dots}" class="{shape} {css}"/>')

    def x_axis(self, title: str, values: Sequence[float]) -> None:
        base = self.height - self.bottom
        self.line(self.left, base, WIDTH - self.right, base, "axis")
        for value, words in zip(values, on_axis(values), strict=True):
            self.text(self.at_x(value), base + 18, words, "middle")
        middle = (self.left + WIDTH - self.right) / 2
        self.text(middle, self.height - 6, title, "middle soft")

    def y_axis(self, title: str, values: Sequence[float]) -> None:
        for value, words in zip(values, on_axis(values), strict=True):
            place = self.at_y(value)
            self.line(self.left, place, WIDTH - self.right, place, "grid-line")
            self.text(self.left - 8, place + 4, words, "end")
        self._upright(14, title)

    def other_axis(
        self, title: str, values: Sequence[float], y: tuple[float, float]
    ) -> None:
        """Scale of a second curve, on the right."""
        for value, words in zip(values, on_axis(values), strict=True):
            self.text(WIDTH - self.right + 8, self.at_y(value, y) + 4, words)
        self._upright(WIDTH - 6, title)

    def _upright(self, x: float, title: str) -> None:
        y = (self.top + self.height - self.bottom) / 2
        self.marks.append(
            f'<text transform="translate({x:g} {y:g}) rotate(-90)" '
            f'class="middle soft">{title}</text>'
        )

    def svg(self) -> str:
        return (
            f'<svg viewBox="0 0 {WIDTH} {self.height}" aria-hidden="true" '
            f'focusable="false">{"".join(self.marks)}</svg>'
        )


def ticks(low: float, high: float, most: int = 6, least: float = 0.0) -> list[float]:
    """Round numbers between two values, no closer than ``least``."""
    step = max(high - low, 1e-300) / most
    power = 10.0 ** floor(log10(step))
    step = next(n * power for n in (1, 2, 5, 10) if n * power >= step * (1 - 1e-9))
    step = max(step, least)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def whole_ticks(low: int, high: int, most: int = 12) -> list[float]:
    return ticks(low, high, most, 1.0)


def around(
    values: Iterable[float | None], *, zero: bool = False
) -> tuple[float, float]:
    """Ends of a scale for these values, from 0 where that is asked for."""
    known = [value for value in values if value is not None] or [0.0]
    low, high = (0.0 if zero else min(known)), max(known)
    if high - low <= ROUNDING * abs(high):
        room = max(1.0, 1e-6 * abs(low))  # 1 is nothing beside very large values
        return low - (0.0 if zero else room), low + room
    return low - (0.0 if zero else 0.04 * (high - low)), high + 0.04 * (high - low)
