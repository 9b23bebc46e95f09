"""Figures of the report, drawn as SVG."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from html import escape
from itertools import pairwise
from math import ceil, floor, log10, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plot.style import CRITERION_TITLES, cluster_styles
from .words import on_axis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
        """A line with a mark at every point: round ones, or squares for the second."""
        places = [
            (self.at_x(a), self.at_y(b, y))
            for a, b in zip(xs, ys, strict=True)
            if b is not None
        ]
        joined = "L".join(f"{a:g} {b:g}" for a, b in places)
        dots = "".join(
            f"M{a - 3:g} {b - 3:g}h6v6h-6z" if css == "second" else f"M{a:g} {b:g}h0"
            for a, b in places
        )
        shape = "square" if css == "second" else "round"
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


MAP_WIDTH, MAP_HEIGHT, EDGE = 800, 680, 14
# A mark from the middle of its point, by matplotlib's name of the marker.
_SHAPES = {
    "o": "h0",
    "s": "m-2.7-2.7h5.4v5.4h-5.4z",
    "^": "m0-3.6l3.5 6.2h-7z",
    "D": "m0-3.8l3.4 3.8-3.4 3.8-3.4-3.8z",
    "v": "m0 3.6l3.5-6.2h-7z",
    "P": "m-1.1-3.4h2.2v2.3h2.3v2.2h-2.3v2.3h-2.2v-2.3h-2.3v-2.2h2.3z",
    "X": "m-3.2-1.9l1.3-1.3 1.9 1.9 1.9-1.9 1.3 1.3-1.9 1.9 1.9 1.9-1.3 1.3-1.9-1.9"
    "-1.9 1.9-1.3-1.3 1.9-1.9z",
    "<": "m-3.6 0l6.2-3.5v7z",
    ">": "m3.6 0l-6.2-3.5v7z",
    "*": "m0-4.4l1.1 3.1h3.2l-2.5 2 .9 3.2-2.7-1.9-2.7 1.9.9-3.2-2.5-2h3.2z",
}
_HOLLOW_CIRCLE = "m-2.7 0a2.7 2.7 0 1 0 5.4 0a2.7 2.7 0 1 0-5.4 0"
_CROSS = "m-2.5-2.5l5 5m0-5l-5 5"
# Room of a label: a digit, and a line.
_LETTER, _LINE = 11, 20
_FEW = 80
# A map of so few points has larger marks.
_SMALL_MAP, _LARGE = 800, 1.6


# Style classes of a mark, and its shape.
Mark = tuple[str, str]
OUTLIER_MARK: Mark = ("cross gone", _CROSS)


def marks_of(order: Sequence[int]) -> list[Mark]:
    """Marks of clusters, from their order in the tree."""
    out = []
    for slot, marker, filled in cluster_styles(order):
        kind, shape = "round" if marker == "o" else "shape", _SHAPES[marker]
        if not filled:
            kind, shape = "hollow", _HOLLOW_CIRCLE if marker == "o" else shape
        out.append((f"{kind} c{slot}", shape))
    return out


def on_the_map(marks: Iterable[Mark], n_points: int) -> list[Mark]:
    """Marks as large as so many points leave room for."""
    if n_points > _SMALL_MAP:
        return list(marks)
    number = re.compile(r"-?\d*\.?\d+")
    return [
        (f"{css} large", number.sub(lambda n: f"{_LARGE * float(n[0]):g}", shape))
        if "a" not in shape
        else (css, shape)
        for css, shape in marks
    ]


def mark_svg(mark: Mark) -> str:
    """One mark by itself, for a legend."""
    css, shape = mark
    return (
        '<svg class="mark" viewBox="-5 -5 10 10" aria-hidden="true" focusable="false">'
        f'<path d="M0 0{shape}" class="point {css}"/></svg>'
    )


def on_canvas(part: dict[str, Any], x: Any, y: Any) -> tuple[Any, Any]:
    """Places in the frame of the map; both axes have the same scale."""
    sizes = MAP_WIDTH, MAP_HEIGHT
    spans = [high - low for low, high in part["limits"]]
    scale = min(
        (size - 2 * EDGE) / span for size, span in zip(sizes, spans, strict=True)
    )
    xs, ys = (
        size / 2 + scale * (np.clip(values, low, high) - (low + high) / 2)
        for size, (low, high), values in zip(sizes, part["limits"], (x, y), strict=True)
    )
    return xs.round(1).tolist(), (MAP_HEIGHT - ys).round(1).tolist()


def row_map(part: dict[str, Any], order: Sequence[int]) -> str:
    """Points by cluster, and the number of each cluster in its large parts."""
    # The last one is that of -1.
    marks = on_the_map([*marks_of(order), OUTLIER_MARK], len(part["x"]))
    points: dict[int, list[str]] = {}
    xs, ys = on_canvas(part, part["x"], part["y"])
    for x, y, cluster in zip(xs, ys, part["cluster"], strict=True):
        points.setdefault(cluster, []).append(f"M{x:g} {y:g}{marks[cluster][1]}")
    drawn = [
        f'<path d="{"".join(points[cluster])}" class="point {marks[cluster][0]}"/>'
        for cluster in sorted(points)
    ]
    return (
        f'<svg viewBox="0 0 {MAP_WIDTH} {MAP_HEIGHT}" aria-hidden="true" '
        f'focusable="false"><g id="points">{"".join(drawn)}</g>'
        f'<g id="centres">{_labels(part)}</g></svg>'
    )


def _labels(part: dict[str, Any]) -> str:
    """Numbers of the clusters, with a line to the place of those that had to move."""
    drawn = Counter(part["cluster"])
    centres = [(k, x, y) for k, found in enumerate(part["centres"]) for x, y in found]
    xs, ys = on_canvas(part, [x for _, x, _ in centres], [y for _, _, y in centres])
    wanted = [
        # A number would hide few points: it stands above them.
        (str(k), (x, y - (_LINE if drawn[k] < _FEW else 0)))
        for (k, *_), x, y in zip(centres, xs, ys, strict=True)
    ]
    out = []
    for (text, (from_x, from_y)), (x, y) in zip(wanted, apart(wanted), strict=True):
        if abs(x - from_x) + abs(y - from_y) > _LINE:
            line = f"M{from_x:g} {from_y:g}L{x:g} {y:g}"
            out.append(f'<path d="{line}" class="axis"/>')
        out.append(f'<text x="{x:g}" y="{y + 5:g}" class="middle centre">{text}</text>')
    return "".join(out)


Place = tuple[float, float]


def apart(labels: list[tuple[str, Place]]) -> list[Place]:
    """Move labels, each by as little as it takes, until no two overlap."""
    out: list[tuple[str, Place]] = []
    steps = [(ring, turn) for ring in range(40) for turn in _RING[: 8 if ring else 1]]
    for text, (x, y) in labels:
        for ring, (right, down) in steps:
            there = (
                min(max(x + 8 * ring * right, EDGE), MAP_WIDTH - EDGE),
                min(max(y + 8 * ring * down, EDGE), MAP_HEIGHT - EDGE),
            )
            if not any(_overlap(text, there, *other) for other in out):
                break
        out.append((text, (round(there[0], 1), round(there[1], 1))))
    return [place for _, place in out]


_RING = ((0, -1), (0, 1), (1, 0), (-1, 0), (0.7, -0.7), (-0.7, 0.7), (0.7, 0.7),
         (-0.7, -0.7))  # fmt: skip


def _overlap(one: str, at: Place, other: str, there: Place) -> bool:
    width = _LETTER * (len(one) + len(other)) / 2 + 3
    return abs(at[0] - there[0]) < width and abs(at[1] - there[1]) < _LINE


# Room for the number of the last join, in percent.
LAST = 88.0


def tree(part: dict[str, Any]) -> str:
    """Lines from the clusters, downwards at the left, to the joins with their numbers.

    Joins whose division may be chance are dashed.
    """
    n, highest = len(part["leaves"]), part["highest"] or 1.0

    def at(place: float, height: float) -> tuple[str, str]:
        # Low joins are read as well as high ones.
        along = LAST * sqrt(height / highest)
        return f"{along:.2f}%", f"{100 * (place + 0.5) / n:.2f}%"

    lines, numbers = [], []
    for node in part["nodes"]:
        corners = [at(*corner) for corner in node["path"]]
        chance = node["trusted"] is not None and not node["trusted"]["distinct"]
        css = "branch chance" if chance else "branch"
        for (x1, y1), (x2, y2) in pairwise(corners):
            lines.append(
                f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="{css}"/>'
            )
        x, y = at(node["place"], node["height"])
        numbers.append(
            f'<text x="{x}" y="{y}" dx="4" dy="-4" class="node">{node["node"]}</text>'
        )
    return (
        '<svg aria-hidden="true" focusable="false">'
        f"{''.join(lines)}{''.join(numbers)}</svg>"
    )


def figures(summary: dict[str, Any]) -> dict[str, str]:
    """SVG text of every figure that the summary has numbers for."""
    words = {key: escape(word["many"]) for key, word in summary["words"].items()}
    drawings: dict[str, Callable[[dict[str, Any]], str]] = {
        "map": partial(row_map, order=summary["order"]),
        "outliers": partial(_outliers, words=words),
        "path": partial(path_figure, words=words),
        "tree": tree,
    }
    return {
        name: draw(summary[name]) for name, draw in drawings.items() if summary[name]
    }


def _outliers(part: dict[str, Any], words: dict[str, str]) -> str:
    edges, counts = part["edges"], part["counts"]
    chart = Chart(240, (edges[0], edges[-1]), around(counts, zero=True))
    chart.y_axis(words["rows"], ticks(*chart.y, most=5, least=1.0))
    chart.x_axis("outlier score", ticks(*chart.x, most=8))
    for left, right, count in zip(edges[:-1], edges[1:], counts, strict=True):
        if count:
            css = "second" if left >= part["threshold"] else "first"
            start, stop = chart.at_x(left), chart.at_x(right) - 1
            chart.bar(start, stop, chart.at_y(count), chart.at_y(0), css)
    place = chart.at_x(part["threshold"])
    chart.line(place, chart.top, place, chart.at_y(0), "threshold")
    return chart.svg()


def path_figure(part: dict[str, Any], words: dict[str, str]) -> str:
    """The criterion over K, and by a second scale the number of relevant columns."""
    k, values, relevant = part["n_clusters"], part["values"], part.get("relevant")
    ends, right = (k[0] - 0.5, k[-1] + 0.5), 12 if relevant is None else 84
    chart = Chart(260, ends, around(values), left=96, right=right)
    chart.y_axis(f"{CRITERION_TITLES[part['criterion']]} (●)", ticks(*chart.y, most=5))
    chart.x_axis("clusters K", ticks(k[0], k[-1], most=12, least=1.0))
    place = chart.at_x(k[part["best"]])
    chart.line(place, chart.top, place, chart.height - chart.bottom, "threshold")
    if relevant is not None:
        y = around(relevant, zero=True)
        title = f"relevant {words['columns']} (■)"
        chart.other_axis(title, ticks(*y, most=5, least=1.0), y)
        chart.curve(k, relevant, "second", y)
    chart.curve(k, values, "first")
    return chart.svg()
