"""What a report says of the tree of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..results import tree_figure
from ._formatting import cut, finite, shown

if TYPE_CHECKING:
    from ..cluster import ThreeCPO

    Part = dict[str, Any]


def tree_part(
    model: ThreeCPO, names: list[str], trusted: list[Part] | None
) -> Part | None:
    """Clusters by kinship and the joins, the highest first; None for one cluster."""
    if model.n_clusters_ < 2:
        return None
    figure = tree_figure(model, column_names=names)
    return {
        "leaves": figure["leaves"],
        "highest": figure["nodes"][-1]["height"],
        "nodes": [_node(node, trusted) for node in reversed(figure["nodes"])],
    }


def _node(node: Part, trusted: list[Part] | None) -> Part:
    kept = ("node", "left", "right", "rows", "clusters", "place", "path", "height")
    return {name: node[name] for name in kept} | {
        "name": cut(shown(node["name"])),
        "net": None if node["net"] is None else finite(node["net"]),
        "apart": [
            {
                "node": node[side],
                "name": cut(shown(node[f"{side}_name"])),
                "columns": node[f"{side}_markers"],
            }
            for side in ("left", "right")
        ],
        "trusted": trusted and trusted[node["node"]],
    }
