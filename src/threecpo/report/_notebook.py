"""A path over the number of clusters, as a notebook shows it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plot.style import BLUE, ORANGE
from ..results import figure_data, path_table
from ._svg import path_figure
from .words import number, whole

if TYPE_CHECKING:
    from ..select import KPath

# Colours that are read on white and on black.
_STYLE = f"""
.threecpo-path svg {{ width: 100%; max-width: 42rem; height: auto; }}
.threecpo-path text {{ font-size: 13px; fill: currentcolor; }}
.threecpo-path .middle {{ text-anchor: middle; }}
.threecpo-path .end {{ text-anchor: end; }}
.threecpo-path .axis, .threecpo-path .threshold {{ stroke: #858b94; }}
.threecpo-path .grid-line {{ stroke: #858b9455; }}
.threecpo-path .threshold {{ stroke-dasharray: 5 4; }}
.threecpo-path .first {{ --c: {BLUE}; }}
.threecpo-path .second {{ --c: {ORANGE}; }}
.threecpo-path .curve {{ fill: none; stroke: var(--c); stroke-width: 2px; }}
.threecpo-path .curve.second {{ stroke-dasharray: 6 3; }}
.threecpo-path .round {{
  fill: none; stroke: var(--c); stroke-width: 7px; stroke-linecap: round;
}}
.threecpo-path .square {{ fill: var(--c); }}
"""
_HEADS = {
    "n_clusters": "K",
    "found": "found",
    "total": "criterion",
    "relevant": "relevant columns",
    "reproducibility": "reproducibility",
    "seconds": "seconds",
}


def path_html(path: KPath) -> str:
    """Curve, choice in words and table of a path, as HTML for a notebook."""
    if not len(path.n_clusters):
        return f"<p>{escape(repr(path))}</p>"
    table = path_table(path)
    part = figure_data.k_path(table)
    drawn = path_figure(part, {"rows": "rows", "columns": "columns"})
    words = "Curve of the criterion over the number of clusters; the table has it, too."
    return (
        f'<div class="threecpo-path"><style>{_STYLE}</style>'
        f"<p>{escape(path.sentence())}</p>"
        f'<div role="img" aria-label="{words}">{drawn}</div>'
        f"{_table(table, part['best'])}</div>"
    )


def _table(table: dict[str, Any], best: int) -> str:
    measured = [name for name in _HEADS if not np.isnan(table.get(name, np.nan)).all()]
    heads = {name: _HEADS[name] for name in measured}
    lines = []
    for i in range(len(table["n_clusters"])):
        cells = [_cell(table[name][i]) for name in heads]
        tag = "th" if i == best else "td"
        lines.append("".join(f"<{tag}>{cell}</{tag}>" for cell in cells))
    top = "".join(f"<th>{head}</th>" for head in heads.values())
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    counted = isinstance(value, np.integer)
    return whole(int(value)) if counted else number(float(value))
