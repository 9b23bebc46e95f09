"""A summary as one HTML page."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from importlib.resources import files
from typing import Any

from .._extras import require
from ..plot.style import CLUSTERS, GREY
from . import _formatting
from ._svg_figures import figures
from ._svg_map import mark, mark_svg, on_canvas

_FILTERS = (
    "number",
    "on_scale",
    "part",
    "percent",
    "plural",
    "ratio",
    "shade",
    "sure",
    "touching",
    "whole",
)


def render(summary: dict[str, Any]) -> str:
    """Turn a summary into one HTML page that needs nothing else.

    Parameters
    ----------
    summary : dict
        What :func:`summarise` returns.

    Returns
    -------
    str
        The page. The same summary gives the same text.

    Examples
    --------
    >>> from threecpo import ThreeCPO, report, results
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(300, random_state=0)
    >>> model = ThreeCPO(3, random_state=0).fit(X)
    >>> page = report.render(report.summarise(model, results.row_table(model, X)))
    >>> page[:15]
    '<!doctype html>'
    """
    jinja2 = require("jinja2", "report", "A report")
    markup = require("markupsafe", "report", "A report").Markup
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {name: getattr(_formatting, name) for name in _FILTERS}
    style = _file("report.css") + _palette()
    script = "".join(map(_file, ("theme.js", "columns.js", "map.js")))
    n_marks = max(
        [summary["n_clusters"], *(len(x["values"]) for x in summary["labels"])]
    )
    page: str = environment.from_string(_file("report.html.jinja")).render(
        summary,
        figures={name: markup(svg) for name, svg in figures(summary).items()},
        style=markup(style),
        script=markup(script),
        policy=_policy(style, script),
        data=markup(_island(_data(summary, n_marks))),
        marks={k: markup(mark_svg(k)) for k in range(-1, summary["n_clusters"])},
        colours=[mark(k)[0].split()[-1] for k in range(summary["n_clusters"])],
        largest=max([cluster["share"] for cluster in summary["clusters"]], default=0)
        or 1,
        bar_end=_highest_ratio(summary),
    )
    return page


def _data(summary: dict[str, Any], n_marks: int) -> dict[str, Any]:
    """What the scripts of the page need."""
    data = {"columns": summary["columns"], "words": summary["words"]}
    part = summary["map"]
    if part:
        xs, ys = on_canvas(part)
        data["map"] = {
            "x": xs,
            "y": ys,
            "names": part["names"],
            "cluster": part["cluster"],
            "clusters": [cluster["name"] for cluster in summary["clusters"]],
            "labels": [
                {"name": label["name"], "values": label["values"], "codes": codes}
                for label, codes in zip(summary["labels"], part["labels"], strict=True)
            ],
            "marks": [mark(k) for k in range(-1, n_marks)],
        }
    return data


def _highest_ratio(summary: dict[str, Any]) -> float:
    """End of the scale of the bars: the highest ratio, from 4 to 1000."""
    ratios = [
        column["ratio"] or 1.0
        for cluster in summary["clusters"]
        for column in cluster["columns"]
    ]
    return float(min(max([*ratios, 4.0]), 1000.0))


def _palette() -> str:
    """Colours that the figures of ``threecpo.plot`` have too."""
    colours = [
        *((f"c{k}", colour) for k, colour in enumerate(CLUSTERS)),
        ("gone", GREY),
    ]
    return "".join(f".{name} {{ --c: {colour}; }}\n" for name, colour in colours)


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Only our own style and script, nothing from anywhere."""
    own_style, own_script = (
        "'sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        for text in (style, script)
    )
    return (
        f"default-src 'none'; style-src {own_style}; script-src {own_script}; "
        "base-uri 'none'; form-action 'none'"
    )


def _island(data: Any) -> str:
    """JSON that is safe inside a script element, with any names in it."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
