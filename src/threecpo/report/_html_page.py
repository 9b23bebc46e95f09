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
    environment.filters |= {
        name: getattr(_formatting, name)
        for name in ("number", "percent", "plural", "ratio", "shade", "whole")
    }
    style, script = _file("report.css") + _palette(), _file("report.js")
    page: str = environment.from_string(_file("report.html.jinja")).render(
        summary,
        figures={name: markup(svg) for name, svg in figures(summary).items()},
        style=markup(style),
        script=markup(script),
        policy=_policy(style, script),
        data=markup(_island(summary["columns"])),
    )
    return page


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
