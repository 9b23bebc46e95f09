"""The criterion over the number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import BLUE, CRITERION_TITLES, GREEN, ORANGE, axes, whole_ticks

if TYPE_CHECKING:
    from ..select import KPath


def k_path(path: KPath, ax: Any = None) -> Any:
    """Draw the criterion of a path and the number of relevant columns over K.

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

    return draw(figure_data.k_path(path_table(path)), axes(ax))


def draw(part: dict[str, Any], ax: Any) -> Any:
    """Draw from the numbers of ``figure_data.k_path``."""
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
