"""Figures of clusters: markers, their tree, and how they divide with K."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._extras import require
from .style import (
    BLUE,
    CRITERION_TITLES,
    GREEN,
    GREY,
    ORANGE,
    axes,
    cluster_labels,
    cluster_styles,
    shortened,
    whole_ticks,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..cluster import ThreeCPO
    from ..select import KPath


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
    n_clusters, names = len(labels), [shortened(name) for name in part["columns"]]
    # Every column has a line of text, and names of clusters have room.
    height = 1.1 + 0.06 * max(map(len, labels)) + 0.19 * len(names)
    ax = axes(ax, (min(3.2 + 0.35 * n_clusters, 8.0), height))
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
    ax.set_yticks(range(len(names)), names, parse_math=False)
    step = 1 + n_clusters // 26
    aslant = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    how = {} if all(label.isdecimal() for label in labels) else aslant
    ax.set_xticks(range(0, n_clusters, step), labels[::step], parse_math=False, **how)
    ax.tick_params(length=0)
    ax.set_xlabel("cluster")
    return ax


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


def k_path(path: KPath, ax: Any = None) -> Any:
    """Draw the criterion and the number of relevant columns over K.

    Parameters
    ----------
    path : KPath
        What :func:`threecpo.select_n_clusters` returns.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes of the criterion; those of the relevant columns share its K.

    Examples
    --------
    >>> from threecpo import select_n_clusters
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.plot import k_path
    >>> X, _ = make_synth(300, random_state=0)
    >>> path = select_n_clusters(X, range(1, 5), n_init=3, random_state=0)
    >>> k_path(path).get_xlabel()
    'clusters K'
    """
    from ..results import figure_data, path_table

    part = figure_data.k_path(path_table(path))
    ax = axes(ax)
    k = part["n_clusters"]
    ax.plot(k, np.array(part["values"], float), color=BLUE, marker="o", markersize=3)
    ax.set_xlabel("clusters K")
    ax.set_ylabel(f"{CRITERION_TITLES[part['criterion']]} (●)")
    ax.axvline(k[part["best"]], color=ORANGE, linestyle="--")
    found = part["found"]
    ax.set_title(f"{found} clusters" if found > 1 else "no clusters found")
    whole_ticks(ax.xaxis)
    if "relevant" in part:
        beside = ax.twinx()
        beside.plot(k, part["relevant"], color=GREEN, marker="s", markersize=3)
        beside.set_ylabel("relevant columns (■)")
    return ax


# Area of the largest circle, in points squared, and width of the widest line.
LARGEST_CIRCLE = 500.0
WIDEST_LINE = 8.0


def cluster_path(path: KPath, ax: Any = None, *, last: int | None = None) -> Any:
    """Draw how clusters split from one K to the next, as clustree does.

    A circle is a cluster, its area the number of rows. A line is rows that two clusters
    of neighbouring K share; it is the stronger, the larger their share of the lower
    cluster. Clusters with a single strong line from above are parts of one cluster;
    those with several are made of pieces, a sign of too many clusters.

    Parameters
    ----------
    path : KPath
        What :func:`threecpo.select_n_clusters` returns.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.
    last : int or None, default=None
        Largest K to draw; None is one level below the best and the runner-up.

    Returns
    -------
    matplotlib Axes
        The axes; K grows downward.

    Examples
    --------
    >>> from threecpo import select_n_clusters
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.plot import cluster_path
    >>> X, _ = make_synth(300, random_state=0)
    >>> path = select_n_clusters(X, range(1, 5), n_init=3, random_state=0)
    >>> cluster_path(path).get_ylabel()
    'clusters K'
    """
    from .. import results

    choice = path.choice
    if last is None:
        shown = max(choice.best, choice.runner_up or 0)
        last = next((int(k) for k in path.n_clusters if k > shown), shown)
    part = results.cluster_path(path.divisions(), last)
    best = choice.best
    ax = axes(ax, (7.0, 0.6 * min(last, 20) + 1.5))
    clusters = part["clusters"]
    x = np.array([each["x"] for each in clusters])
    k = np.array([each["n_clusters"] for each in clusters])
    rows = np.array([each["rows"] for each in clusters], dtype=float)
    most = rows.max(initial=1.0)
    ax.axhline(best, color=ORANGE, linestyle="--", zorder=0)
    for line in part["lines"]:
        ends = [line["from"], line["to"]]
        width = max(0.4, WIDEST_LINE * line["rows"] / most)
        style = {"color": GREY, "linewidth": width, "alpha": 0.15 + 0.6 * line["share"]}
        ax.plot(x[ends], k[ends], solid_capstyle="butt", zorder=1, **style)
    ax.scatter(x, k, s=np.maximum(20.0, LARGEST_CIRCLE * rows / most), color=BLUE)
    for place, each in enumerate(clusters):
        at = {"ha": "center", "va": "center", "fontsize": 7, "color": "white"}
        ax.text(x[place], k[place], str(each["cluster"]), **at)
    ax.set_ylabel("clusters K")
    ax.set_xticks([])
    ax.set_xlim(0.0, 1.0)
    if not ax.yaxis_inverted():
        ax.invert_yaxis()
    whole_ticks(ax.yaxis)
    return ax
