"""Figures of steps: a fit's iterations, the curve over K, clusters dividing with K."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import BLUE, CRITERION_TITLES, GREEN, GREY, ORANGE, axes, whole_ticks

if TYPE_CHECKING:
    from ..select import KPath


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
