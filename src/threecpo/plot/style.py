"""What the figures share: axes to draw on, colours, titles, names that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .._extras import require

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Readable on white and on near-black (contrast above 3 to both).
BLUE, ORANGE, GREEN, GREY = "#3a7fc4", "#c9711f", "#1f9a80", "#858b94"
# Ten hues, each dark and light, around the colour circle: relatives in the tree of
# clusters get neighbouring entries.
CLUSTERS = (
    "#006ebe", "#4697e4", "#6559c3", "#8d87e7", "#9346a4", "#be7ace", "#ab3b79",
    "#d771a4", "#b63943", "#e17174", "#a94e00", "#da7a3f", "#87660c", "#b98c06",
    "#5b7809", "#7d9f32", "#067f5c", "#04a779", "#087988", "#11a1b4",
)  # fmt: skip
MARKERS = "os^DvPX<>*"
# More names than these leave no room for the figure.
MOST_NAMED = 25
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


class Style(NamedTuple):
    """How a cluster is drawn: its entry in ``CLUSTERS``, marker, and whether filled."""

    slot: int
    marker: str
    filled: bool

    @property
    def colour(self) -> str:
        return CLUSTERS[self.slot]


def cluster_styles(order: Sequence[int]) -> list[Style]:
    """Style of each cluster, from their order in the tree.

    Relatives resemble each other. Up to 20 clusters differ in colour, up to 400 in
    colour, marker and filling together.
    """
    n = len(order)
    styles = [Style(0, "o", filled=True)] * n
    # The dark one of each hue, unless they do not suffice.
    hues = len(CLUSTERS) // 2
    n_slots, step = (hues, 2) if n <= hues else (len(CLUSTERS), 1)
    for place, cluster in enumerate(order):
        marker = MARKERS[place % len(MARKERS)]
        filled = place // len(MARKERS) % 2 == 0 or n <= len(CLUSTERS)
        styles[cluster] = Style(step * (place * n_slots // n), marker, filled)
    return styles


def cluster_labels(names: Iterable[str], length: int = 32) -> list[str]:
    """Number and name of each cluster; of very many, or without names, numbers."""
    listed = [str(name) for name in names]
    if len(listed) > MOST_NAMED:
        return [str(k) for k in range(len(listed))]
    return [
        str(k) if name == f"cluster {k}" else f"{k}: {shortened(name, length)}"
        for k, name in enumerate(listed)
    ]


def legend(ax: Any) -> None:
    """Explain marks to the right of the axes; a dollar does not start a formula."""
    place = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
    box = ax.legend(**place, frameon=False, markerscale=1.8)
    for text in box.get_texts():
        text.set_parse_math(False)


def shortened(name: str, length: int = 32) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"
