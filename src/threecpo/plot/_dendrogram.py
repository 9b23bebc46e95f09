"""Which clusters belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .style import GREY, axes, cluster_style, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..cluster import ThreeCPO


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
    return draw(part, axes(ax, (7.0, 1.0 + 0.32 * len(part["leaves"]))))


def draw(part: dict[str, Any], ax: Any) -> Any:
    """Draw from the numbers of ``results.tree_figure``."""
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
        colour, marker, *_ = cluster_style(cluster)
        ax.plot([0.0], [place], color=colour, marker=marker, clip_on=False)
    labels = [
        f"{cluster}: {shortened(name)}"
        for cluster, name in zip(part["leaves"], part["names"], strict=True)
    ]
    ax.set_yticks(range(len(labels)), labels, parse_math=False)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("likelihood lost (nats a row)")
    return ax
