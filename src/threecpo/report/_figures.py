"""Figures of a report as SVG that takes its colours from the page."""

from __future__ import annotations

import warnings
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from .._extras import require
from ..plot import (
    _cluster_sizes,
    _column_groups,
    _convergence,
    _heat_map,
    _k_path,
    _outliers,
    _row_map,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Colours that no figure uses otherwise; style sheets set those of the page.
_CLASSES = {"#010203": "ink", "#040506": "line", "#070809": "paper"}
_INK, _LINE, _PAPER = _CLASSES
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "threecpo",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _INK,
    "text.parse_math": False,
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "figure.facecolor": "none",
    "patch.facecolor": _PAPER,
    "hatch.color": _PAPER,
    "xtick.color": _LINE,
    "xtick.labelcolor": _INK,
    "ytick.color": _LINE,
    "ytick.labelcolor": _INK,
}
_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"


def figures(summary: dict[str, Any]) -> dict[str, str]:
    """SVG text of every figure that the summary has numbers for."""
    return {
        name: _svg(draw, summary[name], size, name)
        for name, draw, size in _drawings(summary)
    }


def _drawings(
    summary: dict[str, Any],
) -> Iterator[tuple[str, Callable[..., Any], tuple[float, float]]]:
    wide, high = (7.2, 2.8), (7.2, 4.8)
    yield "sizes", _cluster_sizes.draw, wide
    if summary["heat_map"]["columns"]:
        yield "heat_map", _heat_map.draw, _heat_map.figure_size(summary["heat_map"])
    yield "groups", _column_groups.draw, (7.2, 1.9)
    yield "convergence", _convergence.draw, wide
    if summary["path"]:
        yield "path", _k_path.draw, wide
    yield "outliers", _outliers.draw, wide
    if summary["map"]:
        yield "map", _row_map.draw, high


def _svg(
    draw: Callable[..., Any], part: Any, size: tuple[float, float], name: str
) -> str:
    matplotlib = require("matplotlib", "report", "A report")
    figure_module = require("matplotlib.figure", "report", "A report")
    buffer = BytesIO()
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # The reader's own fonts write the text, so those at hand do not matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not")
        figure = figure_module.Figure(figsize=size, layout="constrained")
        draw(part, figure.subplots())
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(buffer, format="svg", metadata=nothing)
    return _for_page(buffer.getvalue(), name)


def _for_page(svg: bytes, name: str) -> str:
    """SVG without style attributes, which a strict page refuses, and with own ids."""
    ET.register_namespace("", _SVG[1:-1])
    ET.register_namespace("xlink", _HREF[1:].partition("}")[0])
    root = ET.fromstring(svg)
    text = svg.decode()
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}metadata", f"{_SVG}style"):
                parent.remove(child)
        identity = parent.attrib.pop("id", None)
        if identity and f"#{identity}" in text:
            parent.set("id", f"{name}-{identity}")
        for key, value in parent.attrib.items():
            if key == _HREF and value.startswith("#"):
                parent.set(key, f"#{name}-{value[1:]}")
            elif value.startswith("url(#"):
                parent.set(key, f"url(#{name}-{value[5:]}")
        _style_as_attributes(parent, name)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("aria-hidden", "true")
    root.set("focusable", "false")
    return ET.tostring(root, encoding="unicode")


def _style_as_attributes(element: ET.Element, name: str) -> None:
    classes = []
    for declaration in element.attrib.pop("style", "").split(";"):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key == "font":
            key, value = "font-size", next(w for w in value.split() if "px" in w)
            if "bold" in declaration or "700" in declaration:
                element.set("font-weight", "bold")
        if value in _CLASSES:
            classes.append(f"{_CLASSES[value]}-{key}")
        elif value.startswith("url(#"):
            element.set(key, f"url(#{name}-{value[5:]}")
        elif key:
            element.set(key, value)
    if classes:
        element.set("class", " ".join(classes))
