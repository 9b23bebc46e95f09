"""Figures of a report, from the parts of its summary that ``threecpo.plot`` draws."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from ..plot.style import CRITERION_TITLES
from ._svg_chart import Chart, around, ticks, whole_ticks
from ._svg_map import row_map
from ._svg_tree import tree

Words = dict[str, str]
Draw = Callable[[dict[str, Any], Words], str]


def figures(summary: dict[str, Any]) -> dict[str, str]:
    """SVG text of every figure that the summary has numbers for."""
    words = {key: escape(word["many"]) for key, word in summary["words"].items()}
    drawings: dict[str, Draw] = {
        "groups": _groups,
        "map": lambda part, _: row_map(part),
        "outliers": _outliers,
        "path": path_figure,
        "tree": lambda part, _: tree(part),
    }
    return {
        name: draw(summary[name], words)
        for name, draw in drawings.items()
        if summary[name]
    }


def _groups(part: dict[str, Any], words: Words) -> str:
    room = min(max(76, 8 * len(words["columns"]) + 16), 200)
    chart = Chart(130, (0, 100), (0, 1), left=room, bottom=44)
    chart.x_axis("share in %", [0, 20, 40, 60, 80, 100])
    n_columns = sum(part["columns"])
    shares = [
        (words["columns"], [n / n_columns for n in part["columns"]]),
        ("counts", part["counts"]),
    ]
    for line, (title, widths) in enumerate(shares):
        top, left = 8 + 38 * line, 0.0
        chart.text(chart.left - 10, top + 19, title, "end")
        for css, width in zip(("c0", "c1", "gone"), widths, strict=True):
            if width > 0:
                start, stop = chart.at_x(100 * left), chart.at_x(100 * (left + width))
                chart.bar(start, stop - 1, top, top + 28, css)
            left += width
    return chart.svg()


def _outliers(part: dict[str, Any], words: Words) -> str:
    edges, counts = part["edges"], part["counts"]
    chart = Chart(240, (edges[0], edges[-1]), around(counts, zero=True))
    chart.y_axis(words["rows"], ticks(*chart.y, most=5, least=1.0))
    chart.x_axis("outlier score in nats", ticks(*chart.x, most=8))
    for left, right, count in zip(edges[:-1], edges[1:], counts, strict=True):
        if count:
            css = "c1" if left >= part["threshold"] else "c0"
            start, stop = chart.at_x(left), chart.at_x(right) - 1
            chart.bar(start, stop, chart.at_y(count), chart.at_y(0), css)
    place = chart.at_x(part["threshold"])
    chart.line(place, chart.top, place, chart.at_y(0), "threshold")
    return chart.svg()


def _two_curves(
    places: list[int],
    curves: list[tuple[str, list[float | None]]],
    title: str,
    marked: int | None = None,
) -> str:
    """One curve by the left scale, and perhaps another from 0 by the right one."""
    ends = (places[0] - 0.5, places[-1] + 0.5)
    chart = Chart(
        260, ends, around(curves[0][1]), left=96, right=84 if curves[1:] else 12
    )
    chart.y_axis(f"{curves[0][0]} (●)", ticks(*chart.y, most=5))
    chart.x_axis(title, whole_ticks(places[0], places[-1]))
    if marked is not None:
        place = chart.at_x(marked)
        chart.line(place, chart.top, place, chart.height - chart.bottom, "threshold")
    for words, values in curves[1:]:
        y = around(values, zero=True)
        chart.other_axis(f"{words} (■)", ticks(*y, most=5, least=1.0), y)
        chart.curve(places, values, "c1", y)
    chart.curve(places, curves[0][1], "c0")
    return chart.svg()


def path_figure(part: dict[str, Any], words: Words) -> str:
    """The criterion over K, and the number of relevant columns."""
    k = part["n_clusters"]
    curves = [(CRITERION_TITLES[part["criterion"]], part["values"])]
    if "relevant" in part:
        curves.append((f"relevant {words['columns']}", part["relevant"]))
    return _two_curves(k, curves, "clusters K", marked=k[part["best"]])
