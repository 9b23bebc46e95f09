"""Figures of clusters, of their rows, and of how they divide with K."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import NO_COUNTS, OUTLIER
from .._extras import require
from ..cluster.naming import cluster_names_of
from ..results import figure_data, path_table, row_table, share_table, tree_figure
from ..results.fitted import column_names_of, record_of
from ..results.shares import parts_of
from .style import (
    BLUE,
    CRITERION_TITLES,
    GREEN,
    GREY,
    MOST_NAMED,
    ORANGE,
    axes,
    cluster_labels,
    cluster_styles,
    legend,
    shortened,
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
    part = figure_data.k_path(path_table(path))
    ax = axes(ax)
    k = part["n_clusters"]
    ax.plot(k, np.array(part["values"], float), color=BLUE, marker="o", markersize=3)
    ax.set_xlabel("clusters K")
    ax.set_ylabel(f"{CRITERION_TITLES[part['criterion']]} (●)")
    ax.axvline(k[part["best"]], color=ORANGE, linestyle="--")
    found = part["found"]
    ax.set_title(f"{found} clusters" if found > 1 else "no clusters found")
    ax.xaxis.get_major_locator().set_params(integer=True)
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
    choice = path.choice
    if last is None:
        shown = max(choice.best, choice.runner_up or 0)
        last = next((int(k) for k in path.n_clusters if k > shown), shown)
    part = figure_data.cluster_path(path.divisions(), last)
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
    ax.yaxis.get_major_locator().set_params(integer=True)
    return ax


def row_map(model: ThreeCPO, X: Any, ax: Any = None) -> Any:
    """Draw the map of :func:`threecpo.results.row_map`.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    X : CountTable, array-like, frame or sparse matrix of shape (n_rows, n_columns)
        The counts it was fitted on.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        A point for each row, or for 4000 drawn from them; a number where most
        rows of each cluster are, and a legend with its name. Single far rows are drawn
        at the frame.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.plot import row_map
    >>> X, _ = make_synth(300, random_state=0)
    >>> row_map(ThreeCPO(3, random_state=0).fit(X), X).get_xlabel()
    'rows with similar scores are near (no unit)'
    """
    record = record_of(model)
    part = figure_data.row_map(row_table(model, X), record.n_clusters)
    styles = cluster_styles(record.tree.leaves)
    labels = cluster_labels(model.cluster_names_)
    ax = axes(ax, (8.0, 4.8))
    ax.set_xlabel("rows with similar scores are near (no unit)")
    ax.set_xticks([])
    ax.set_yticks([])
    if part is None:
        return ax
    x, y, cluster = (np.asarray(part[name]) for name in ("x", "y", "cluster"))
    for k in np.unique(cluster).tolist():
        colour, marker, fill = GREY, "x", "full"
        if k >= 0:
            colour, marker = styles[k].colour, styles[k].marker
            fill = "full" if styles[k].filled else "none"
        look = {"color": colour, "fillstyle": fill}
        here = cluster == k
        called = labels[k] if k >= 0 else "outliers"
        ax.plot(x[here], y[here], marker, markersize=3, alpha=0.6, label=called, **look)
    if len(labels) <= MOST_NAMED:
        legend(ax)
    for k, centres in enumerate(part["centres"]):
        for centre in centres:
            place = np.clip(centre, *np.transpose(part["limits"]))
            ax.annotate(
                str(k),
                place,
                ha="center",
                va="center",
                fontweight="bold",
                bbox={
                    "boxstyle": "round,pad=0.2",
                    "facecolor": ax.get_facecolor(),
                    "alpha": 0.8,
                    "linewidth": 0,
                },
            )
    ax.margins(0.03)
    return ax


def outliers(model: ThreeCPO, ax: Any = None) -> Any:
    """Draw a histogram of the outlier scores.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        A histogram in which the bars right of the threshold are hatched. It ends at the
        1st and 99th percentile; the rows beyond are in its last bars.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.plot import outliers
    >>> X, _ = make_synth(300, random_state=0)
    >>> outliers(ThreeCPO(3, random_state=0).fit(X)).get_ylabel()
    'rows'
    """
    threshold = record_of(model).settings.threshold
    part = figure_data.outliers(row_table(model), threshold)
    ax = axes(ax)
    edges, threshold = part["edges"], part["threshold"]
    for left, right, count in zip(edges[:-1], edges[1:], part["counts"], strict=True):
        beyond = left >= threshold
        ax.bar(
            left,
            count,
            width=right - left,
            align="edge",
            color=ORANGE if beyond else BLUE,
            hatch="///" if beyond else None,
        )
    ax.axvline(threshold, color=ORANGE, linestyle="--")
    ax.set_xlabel(
        "outlier score in nats (right of the line: the background fits better)"
    )
    ax.set_ylabel("rows")
    return ax


_OTHERS = {OUTLIER: "outliers", NO_COUNTS: "no counts"}
_HATCHES = {OUTLIER: "///", NO_COUNTS: "..."}


def cluster_shares(
    model: ThreeCPO,
    by: Iterable[Any],
    *,
    bins: int | str | None = None,
    ax: Any = None,
) -> Any:
    """Draw the share of each cluster in classes of rows or over time.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    by : sequence with a value for each row of the fit
        Names of classes, numbers or dates; see :func:`threecpo.results.share_table`.
    bins : int, "year", "month", "day" or None, default=None
        How numbers or dates are cut into parts.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        Bars of the shares for classes, lines over numbers and dates. Numbers of rows
        stand beside the parts.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.plot import cluster_shares
    >>> X, truth = make_synth(300, random_state=0)
    >>> model = ThreeCPO(3, random_state=0).fit(X)
    >>> cluster_shares(model, truth).get_ylabel()
    'share of the rows'
    """
    record = record_of(model)
    values = by if hasattr(by, "__array__") else list(by)
    table = share_table(model, values, bins=bins)
    ordered = parts_of(values, record.n_rows, bins).ordered
    clusters = list(dict.fromkeys(table["cluster"].tolist()))
    parts, rows, shares = (
        table[name].reshape(-1, len(clusters)) for name in ("part", "rows", "share")
    )
    titles = [
        f"{shortened(part)} ({n})"
        for part, n in zip(parts[:, 0], rows[:, 0], strict=True)
    ]
    ax = axes(ax, (7.0, 4.0))
    styles, names = cluster_styles(record.tree.leaves), model.cluster_names_
    places = np.arange(len(titles))
    left = np.zeros(len(titles))
    for cluster, share in zip(clusters, shares.T, strict=True):
        colour, marker, called = GREY, "x", _OTHERS.get(cluster)
        if cluster >= 0:
            colour, marker = styles[cluster].colour, styles[cluster].marker
            called = f"{cluster}: {shortened(str(names[cluster]))}"
        look = {"color": colour, "label": called}
        if ordered:
            ax.plot(places, share, marker=marker, **look)
        else:
            width, hatch = np.nan_to_num(share), _HATCHES.get(cluster)
            ax.barh(places[::-1], width, left=left, hatch=hatch, **look)
            left += width
    if ordered:
        ticks = places[:: 1 + len(titles) // 25].tolist()
        turned = 90 if len(ticks) > 4 else 0
        ax.set_xticks(ticks, [titles[i] for i in ticks], rotation=turned)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("number of rows in brackets")
        ax.set_ylabel("share of the rows")
    else:
        ax.set_yticks(places[::-1], titles)
        ax.set_xlim(0, 1)
        ax.set_xlabel("share of the rows")
    legend(ax)
    return ax
