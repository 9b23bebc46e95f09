"""The map of the rows as SVG: marks that differ, and labels that do not overlap."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plot.style import CLUSTERS, cluster_style

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDTH, HEIGHT, EDGE = 640, 480, 14
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


def mark(cluster: int) -> tuple[str, str]:
    """Style classes and shape of the mark of a cluster; -1 is an outlier."""
    if cluster < 0:
        return "cross gone", _CROSS
    _, marker, filled = cluster_style(cluster)
    colour = f"c{cluster % len(CLUSTERS)}"
    if not filled:
        shape = _HOLLOW_CIRCLE if marker == "o" else _SHAPES[marker]
        return f"hollow {colour}", shape
    return f"{'round' if marker == 'o' else 'shape'} {colour}", _SHAPES[marker]


def mark_svg(cluster: int) -> str:
    """One mark by itself, for a legend."""
    css, shape = mark(cluster)
    return (
        '<svg class="mark" viewBox="-5 -5 10 10" aria-hidden="true" focusable="false">'
        f'<path d="M0 0{shape}" class="point {css}"/></svg>'
    )


def on_canvas(part: dict[str, Any]) -> tuple[list[float], list[float]]:
    """Places of the points on the canvas; both axes have the same scale."""
    xs = _placed(part, 0, np.asarray(part["x"], dtype=np.float64))
    ys = HEIGHT - _placed(part, 1, np.asarray(part["y"], dtype=np.float64))
    return xs.round(1).tolist(), ys.round(1).tolist()


def row_map(part: dict[str, Any]) -> str:
    """Points by cluster and the number of each cluster at its median."""
    points: dict[int, list[str]] = {}
    xs, ys = on_canvas(part)
    for x, y, cluster in zip(xs, ys, part["cluster"], strict=True):
        shape = mark(cluster)[1]
        points.setdefault(cluster, []).append(f"M{x:g} {y:g}{shape}")
    marks = [
        f'<path d="{"".join(points[cluster])}" class="point {mark(cluster)[0]}"/>'
        for cluster in sorted(points)
    ]
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true" focusable="false">'
        f'<g id="points">{"".join(marks)}</g><g id="centres">{_labels(part)}</g></svg>'
    )


def _labels(part: dict[str, Any]) -> str:
    """Numbers of the clusters, with a line to the place of those that had to move."""
    drawn = Counter(part["cluster"])
    wanted = {
        str(cluster): (
            _at_x(part, centre[0]),
            # A number would hide few points: it stands above them.
            _at_y(part, centre[1]) - (_LINE if drawn[cluster] < _FEW else 0),
        )
        for cluster, centre in enumerate(part["centres"])
        if centre is not None
    }
    out = []
    for text, (x, y) in apart(wanted).items():
        from_x, from_y = wanted[text]
        if abs(x - from_x) + abs(y - from_y) > _LINE:
            line = f"M{from_x:g} {from_y:g}L{x:g} {y:g}"
            out.append(f'<path d="{line}" class="axis"/>')
        out.append(f'<text x="{x:g}" y="{y + 5:g}" class="middle centre">{text}</text>')
    return "".join(out)


def apart(places: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Move labels, each by as little as it takes, until no two overlap."""
    out: dict[str, tuple[float, float]] = {}
    steps = [(ring, turn) for ring in range(40) for turn in _RING[: 8 if ring else 1]]
    for text, (x, y) in places.items():
        for ring, (right, down) in steps:
            there = (
                min(max(x + 8 * ring * right, EDGE), WIDTH - EDGE),
                min(max(y + 8 * ring * down, EDGE), HEIGHT - EDGE),
            )
            if not any(_overlap(text, there, *other) for other in out.items()):
                break
        out[text] = (round(there[0], 1), round(there[1], 1))
    return out


_RING = ((0, -1), (0, 1), (1, 0), (-1, 0), (0.7, -0.7), (-0.7, 0.7), (0.7, 0.7),
         (-0.7, -0.7))  # fmt: skip


def _overlap(
    one: str, at: tuple[float, float], other: str, there: tuple[float, float]
) -> bool:
    width = _LETTER * (len(one) + len(other)) / 2 + 3
    return abs(at[0] - there[0]) < width and abs(at[1] - there[1]) < _LINE


def _at_x(part: dict[str, Any], value: float) -> float:
    return float(_placed(part, 0, np.array(value)).round(1))


def _at_y(part: dict[str, Any], value: float) -> float:
    return float((HEIGHT - _placed(part, 1, np.array(value))).round(1))


def _placed(
    part: dict[str, Any], axis: int, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Places along an axis, from the left or from below, inside the frame."""
    sizes = [high - low for low, high in part["limits"]]
    room = (WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE)
    scale = min(room[0] / sizes[0], room[1] / sizes[1])
    low, high = part["limits"][axis]
    inside = np.clip(values, low, high)
    return (WIDTH, HEIGHT)[axis] / 2 + scale * (inside - (low + high) / 2)
