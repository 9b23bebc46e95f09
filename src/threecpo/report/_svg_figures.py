"""Figures of a report, from the parts of its summary that ``threecpo.plot`` draws."""

from __future__ import annotations

from typing import Any

from ..plot.style import CRITERION_TITLES
from ._formatting import whole
from ._svg_chart import Chart, around, ticks, whole_ticks
from ._svg_map import row_map

# More clusters than this leave no room for the number of each.
MOST_LABELLED = 25


def figures(summary: dict[str, Any]) -> dict[str, str]:
    """SVG text of every figure that the summary has numbers for."""
    drawings = {
        "sizes": _sizes,
        "groups": _groups,
        "map": row_map,
        "outliers": _outliers,
        "path": _path,
        "convergence": _convergence,
    }
    return {
        name: draw(summary[name]) for name, draw in drawings.items() if summary[name]
    }


def _sizes(part: dict[str, Any]) -> str:
    sizes, n_outliers = part["sizes"], part["outliers"]
    n_clusters = len(sizes)
    # Outliers stand apart, with room for the word.
    apart = n_clusters + max(0.04 * n_clusters, 0.2)
    last = apart + 0.04 * n_clusters if n_outliers else n_clusters - 1
    scale = around([*sizes, n_outliers], zero=True)
    # A few clusters do not make bars as wide as the page.
    chart = Chart(240, (-0.7, max(last + 0.7, 6.0)), scale, top=24)
    chart.y_axis("rows", ticks(*chart.y, most=5, least=1.0))
    base = chart.at_y(0)
    bars = [(float(place), size, "c0") for place, size in enumerate(sizes)]
    if n_outliers:
        bars.append((apart, n_outliers, "gone"))
        chart.text(chart.at_x(apart), base + 18, "outliers", "middle")
    widest = 8 * max(len(whole(size)) for size in sizes)
    labelled = widest < chart.at_x(1) - chart.at_x(0)
    for place, size, css in bars:
        top = chart.at_y(size)
        chart.bar(chart.at_x(place - 0.38), chart.at_x(place + 0.38), top, base, css)
        if labelled or css == "gone":
            chart.text(chart.at_x(place), top - 5, whole(size), "middle")
    most = n_clusters if n_clusters <= MOST_LABELLED else 12
    chart.x_axis("cluster", whole_ticks(0, n_clusters - 1, most))
    return chart.svg()


def _groups(part: dict[str, Any]) -> str:
    chart = Chart(130, (0, 100), (0, 1), left=76, bottom=44)
    chart.x_axis("share in %", [0, 20, 40, 60, 80, 100])
    n_columns = sum(part["columns"])
    shares = {
        "columns": [n / n_columns for n in part["columns"]],
        "counts": part["counts"],
    }
    for line, (title, widths) in enumerate(shares.items()):
        top, left = 8 + 38 * line, 0.0
        chart.text(chart.left - 10, top + 19, title, "end")
        for css, width in zip(("c0", "c1", "gone"), widths, strict=True):
            if width > 0:
                start, stop = chart.at_x(100 * left), chart.at_x(100 * (left + width))
                chart.bar(start, stop - 1, top, top + 28, css)
            left += width
    return chart.svg()


def _outliers(part: dict[str, Any]) -> str:
    edges, counts = part["edges"], part["counts"]
    chart = Chart(240, (edges[0], edges[-1]), around(counts, zero=True))
    chart.y_axis("rows", ticks(*chart.y, most=5, least=1.0))
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


def _path(part: dict[str, Any]) -> str:
    k = part["n_clusters"]
    curves = [(CRITERION_TITLES[part["criterion"]], part["values"])]
    if "relevant" in part:
        curves.append(("relevant columns", part["relevant"]))
    return _two_curves(k, curves, "clusters K", marked=k[part["best"]])


def _convergence(part: dict[str, Any]) -> str:
    iterations = list(range(1, len(part["loss"]) + 1))
    curves = [("loss", part["loss"]), ("rows moved", part["rows_moved"])]
    return _two_curves(iterations, curves, "iteration")
