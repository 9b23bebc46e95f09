"""How many rows each cluster has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .style import BLUE, GREY, MOST_NAMED, axes, cluster_labels, turned

if TYPE_CHECKING:
    from ..cluster import ThreeCPO


def cluster_sizes(model: ThreeCPO, ax: Any = None) -> Any:
    """Draw the number of rows in each cluster.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        A bar for each cluster under its name, and one for outliers if there are any.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.plot import cluster_sizes
    >>> X, _ = make_synth(300, random_state=0)
    >>> cluster_sizes(ThreeCPO(3, random_state=0).fit(X)).get_ylabel()
    'rows'
    """
    from ..results import figure_data
    from ..results.fitted import record_of

    part = figure_data.cluster_sizes(record_of(model))
    return draw(part, cluster_labels(model.cluster_names_, 24), axes(ax, (6.4, 4.8)))


def draw(part: dict[str, Any], labels: list[str], ax: Any) -> Any:
    """Draw from the numbers of ``figure_data.cluster_sizes``."""
    sizes = part["sizes"]
    bars = ax.bar(range(len(sizes)), sizes, color=BLUE)
    ticks = list(range(0, len(sizes), 1 + len(sizes) // (MOST_NAMED + 1)))
    shown = [labels[k] for k in ticks]
    if part["outliers"]:
        place = len(sizes)
        extra = ax.bar([place], [part["outliers"]], color=GREY, hatch="///")
        bars = [*bars, *extra]
        ticks, shown = [*ticks, place], [*shown, "outliers"]
    ax.set_xticks(ticks, shown, parse_math=False, **turned(labels))
    if len(sizes) <= MOST_NAMED:
        for bar in bars:
            ax.annotate(
                f"{bar.get_height():.0f}",
                (bar.get_x() + bar.get_width() / 2, bar.get_height()),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
            )
    ax.margins(y=0.08)
    ax.set_xlabel("cluster")
    ax.set_ylabel("rows")
    return ax
