"""Where rows sit between clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import GREY, MOST_NAMED, axes, cluster_labels, cluster_style, legend

if TYPE_CHECKING:
    from ..cluster import ThreeCPO


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
    from ..results import figure_data, row_table
    from ..results.fitted import record_of

    part = figure_data.row_map(row_table(model, X), record_of(model).n_clusters)
    return draw(part, cluster_labels(model.cluster_names_), axes(ax, (8.0, 4.8)))


def draw(part: dict[str, Any] | None, labels: list[str], ax: Any) -> Any:
    """Draw from the numbers of ``figure_data.row_map``."""
    ax.set_xlabel("rows with similar scores are near (no unit)")
    ax.set_xticks([])
    ax.set_yticks([])
    if part is None:
        return ax
    x, y, cluster = (np.asarray(part[name]) for name in ("x", "y", "cluster"))
    for k in np.unique(cluster).tolist():
        colour, marker, filled = cluster_style(k) if k >= 0 else (GREY, "x", True)
        look = {"color": colour, "fillstyle": "full" if filled else "none"}
        here = cluster == k
        called = labels[k] if k >= 0 else "outliers"
        ax.plot(x[here], y[here], marker, markersize=3, alpha=0.6, label=called, **look)
    if len(labels) <= MOST_NAMED:
        legend(ax)
    for k, centre in enumerate(part["centres"]):
        if centre is not None:
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
