"""What the figures share: axes to draw on, colours, titles, names that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._extras import require

if TYPE_CHECKING:
    from collections.abc import Iterable

# Readable on white and on near-black (contrast above 3 to both).
BLUE, ORANGE, GREEN, GREY = "#3a7fc4", "#c9711f", "#1f9a80", "#858b94"
CLUSTERS = (
    BLUE,
    ORANGE,
    GREEN,
    "#a368c8",
    "#d1495b",
    "#8c8a1d",
    "#9c6b53",
    "#d0589f",
    "#1d93b5",
    "#6c74d8",
)
MARKERS = "os^DvPX<>*"
# More names than these leave no room for the figure.
MOST_NAMED = 25
GROUPS = {"relevant": BLUE, "shared": ORANGE, "noise": GREY}
# What the axis of a criterion is called.
CRITERION_TITLES = {
    "mdl": "loss + v(K)",
    "mdl-dispersion": "loss over dispersion + v(K)",
}


def axes(ax: Any, size: tuple[float, float] = (6.4, 4.0)) -> Any:
    """The axes that are given, or those of a new figure."""
    if ax is None:
        pyplot = require("matplotlib.pyplot", "plot", "A figure")
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    return ax


def cluster_style(cluster: int) -> tuple[str, str, bool]:
    """Colour and marker of a cluster, and whether the marker is filled.

    The three together repeat after 200 clusters.
    """
    turn, place = divmod(cluster, len(CLUSTERS))
    again, turn = divmod(turn, len(MARKERS))
    return CLUSTERS[place], MARKERS[(place + turn) % len(MARKERS)], again % 2 == 0


def cluster_labels(names: Iterable[str], length: int = 32) -> list[str]:
    """Number and name of each cluster; of very many, or without names, numbers."""
    listed = [str(name) for name in names]
    if len(listed) > MOST_NAMED:
        return [str(k) for k in range(len(listed))]
    return [
        str(k) if name == f"cluster {k}" else f"{k}: {shortened(name, length)}"
        for k, name in enumerate(listed)
    ]


def turned(labels: list[str]) -> dict[str, Any]:
    """How labels stand below an axis: names aslant, numbers upright."""
    if all(label.isdecimal() for label in labels):
        return {}
    return {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}


def legend(ax: Any) -> None:
    """Explain marks to the right of the axes; a dollar in a name is no formula."""
    place = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
    box = ax.legend(**place, frameon=False, markerscale=1.8)
    for text in box.get_texts():
        text.set_parse_math(False)


def shortened(name: str, length: int = 32) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"


def whole_ticks(axis: Any) -> None:
    axis.get_major_locator().set_params(integer=True)
