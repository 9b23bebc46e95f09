"""Clusters against the columns that tell them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._extras import require
from .style import axes, cluster_labels, shortened, turned

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
    """Draw how far the rates of each cluster's best columns are from the overall rate.

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
    return draw(part, labels, axes(ax, figure_size(part, labels)))


def figure_size(part: dict[str, Any], labels: list[str]) -> tuple[float, float]:
    """Inches that leave every column a line of text, and names of clusters room."""
    n_clusters, n_columns = len(part["powers"]), len(part["columns"])
    below = 0.06 * max(map(len, labels))
    return (min(3.2 + 0.35 * n_clusters, 8.0), 1.1 + below + 0.19 * n_columns)


def draw(part: dict[str, Any], labels: list[str], ax: Any) -> Any:
    """Draw from the numbers of ``figure_data.heat_map``."""
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


def _colours() -> Any:
    """Blue for less, orange for more; transparent between, on any background."""
    colors = require("matplotlib.colors", "plot", "A figure")
    less, more = (0.16, 0.42, 0.75), (0.80, 0.40, 0.05)
    steps = np.linspace(-1.0, 1.0, 257)
    rgba = [(*(less if step < 0 else more), abs(step) ** 0.8) for step in steps]
    return colors.ListedColormap(rgba, "threecpo")
