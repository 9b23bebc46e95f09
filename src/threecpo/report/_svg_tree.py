"""The tree of clusters as SVG, which takes the height of the names beside it.

Places are parts of the drawing in percent: lines follow its size, and letters do not.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

# Room for the number of the last join, in percent.
LAST = 88.0


def tree(part: dict[str, Any]) -> str:
    """Lines from the clusters, downwards at the left, to the joins with their numbers.

    Joins whose division may be chance are dashed.
    """
    n, highest = len(part["leaves"]), part["highest"] or 1.0

    def at(place: float, height: float) -> tuple[str, str]:
        return f"{LAST * height / highest:.2f}%", f"{100 * (place + 0.5) / n:.2f}%"

    lines, numbers = [], []
    for node in part["nodes"]:
        corners = [at(*corner) for corner in node["path"]]
        chance = node["trusted"] is not None and not node["trusted"]["real"]
        css = "branch chance" if chance else "branch"
        for (x1, y1), (x2, y2) in pairwise(corners):
            lines.append(
                f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="{css}"/>'
            )
        x, y = at(node["place"], node["height"])
        numbers.append(f'<text x="{x}" y="{y}" class="node">{node["node"]}</text>')
    return (
        '<svg aria-hidden="true" focusable="false">'
        f"{''.join(lines)}{''.join(numbers)}</svg>"
    )
