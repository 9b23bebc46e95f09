"""Figures of a fit's clusters and columns: sizes, heat map, tree, column groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._extras import require
from .style import (
    GREY,
    axes,
    cluster_labels,
    cluster_styles,
    shortened,
    turned,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..cluster import ThreeCPO


# A ratio of 16 is as strong as a colour gets.
LIMIT = 4.0


def heat_map(
    model: ThreeCPO,
    ax: Any = None,
    *,
    n_columns: int = 40,
    column_names: Iterable[Any] | None = None,
) -> Any:
    """Draw a heat map of the best columns of each cluster.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.
    n_columns : int, default=40
        Most columns to draw. The clusters give their best relevant ones in turn.
    column_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or their numbers, from 0.

    Returns
    -------
    matplotlib Axes
        Columns downwards, clusters with their names sideways. The colour is the base-2
        logarithm of the ratio of a cluster's rate to the overall rate, no stronger
        than 4 (a ratio of 16) and -4.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.plot import heat_map
    >>> X, _ = make_synth(300, random_state=0)
    >>> heat_map(ThreeCPO(3, random_state=0).fit(X)).get_xlabel()
    'cluster'
    """
    from ..cluster.naming import cluster_names_of
    from ..results import figure_data
    from ..results.fitted import column_names_of, record_of

    record, named = record_of(model), None
    if column_names is not None:
        named = column_names = column_names_of(record, column_names)
    part = figure_data.heat_map(record, n_columns, column_names)
    labels = cluster_labels(cluster_names_of(record, named), 24)
    labels = [labels[k] for k in part["clusters"]]
    ax = axes(ax, figure_size(part, labels))
    powers = np.asarray(part["powers"]).T
    if powers.size:
        image = ax.imshow(
            powers,
            cmap=_colours(),
            vmin=-LIMIT,
            vmax=LIMIT,
            aspect="auto",
            interpolation="nearest",
        )
        bar = ax.figure.colorbar(
            image, ax=ax, ticks=[-4, -2, 0, 2, 4], fraction=0.04, pad=0.03
        )
        bar.ax.set_yticklabels(["1/16", "1/4", "same", "× 4", "× 16"])
    names = [shortened(name) for name in part["columns"]]
    ax.set_yticks(range(len(names)), names, parse_math=False)
    step = 1 + len(part["powers"]) // 26
    ticks = range(0, len(part["powers"]), step)
    ax.set_xticks(ticks, labels[::step], parse_math=False, **turned(labels))
    ax.tick_params(length=0)
    ax.set_xlabel("cluster")
    return ax


def figure_size(part: dict[str, Any], labels: list[str]) -> tuple[float, float]:
    """Inches that leave every column a line of text, and names of clusters room."""
    n_clusters, n_columns = len(part["powers"]), len(part["columns"])
    below = 0.06 * max(map(len, labels))
    return (min(3.2 + 0.35 * n_clusters, 8.0), 1.1 + below + 0.19 * n_columns)


def _colours() -> Any:
    """Blue for less, orange for more; transparent between, on any background."""
    colors = require("matplotlib.colors", "plot", "A figure")
    less, more = (0.16, 0.42, 0.75), (0.80, 0.40, 0.05)
    steps = np.linspace(-1.0, 1.0, 257)
    rgba = [(*(less if step < 0 else more), abs(step) ** 0.8) for step in steps]
    return colors.ListedColormap(rgba, "threecpo")


def dendrogram(
    model: ThreeCPO, ax: Any = None, *, column_names: Iterable[Any] | None = None
) -> Any:
    """Draw the tree of clusters.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.
    column_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or their numbers, from 0.

    Returns
    -------
    matplotlib Axes
        Clusters downwards, with their names; joins to the right, at the likelihood
        that they lose in nats a row, with the columns that mark the union.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.plot import dendrogram
    >>> X, _ = make_synth(300, random_state=0)
    >>> dendrogram(ThreeCPO(3, random_state=0).fit(X)).get_xlabel()
    'likelihood lost (nats a row)'
    """
    from ..results import tree_figure

    part = tree_figure(model, column_names=column_names)
    styles = cluster_styles(part["leaves"])
    ax = axes(ax, (7.0, 1.0 + 0.32 * len(part["leaves"])))
    for node in part["nodes"]:
        places, heights = zip(*node["path"], strict=True)
        ax.plot(heights, places, color=GREY, linewidth=1.4)
        if node is not part["nodes"][-1]:
            ax.annotate(
                shortened(node["name"]),
                (node["height"], node["place"]),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize="x-small",
                parse_math=False,
            )
    for place, cluster in enumerate(part["leaves"]):
        look = styles[cluster]
        ax.plot([0.0], [place], color=look.colour, marker=look.marker, clip_on=False)
    labels = [
        f"{cluster}: {shortened(name)}"
        for cluster, name in zip(part["leaves"], part["names"], strict=True)
    ]
    ax.set_yticks(range(len(labels)), labels, parse_math=False)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("likelihood lost (nats a row)")
    return ax
