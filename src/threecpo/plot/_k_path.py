"""The criterion over the number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._axes import BLUE, GREEN, ORANGE, axes, whole_ticks

if TYPE_CHECKING:
    from ..select import KPath

TITLES = {
    "mdl": "loss + v(K)",
    "mdl-dispersion": "loss over dispersion + v(K)",
    "elbow": "inertia",
    "silhouette": "silhouette",
    "bic": "BIC",
}


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
    from ..results import path_table
    from ..results._parts import k_path

    return draw(k_path(path_table(path)), axes(ax))


def draw(part: dict[str, Any], ax: Any) -> Any:
    """Draw from the numbers of ``results._parts.k_path``."""
    k = part["n_clusters"]
    ax.plot(k, np.array(part["values"], float), color=BLUE, marker="o", markersize=3)
    ax.set_xlabel("clusters K")
    ax.set_ylabel(f"{TITLES[part['criterion']]} (●)")
    ax.axvline(k[part["best"]], color=ORANGE, linestyle="--")
    found = part["found"]
    ax.set_title(f"{found} clusters" if found > 1 else "no clusters found")
    whole_ticks(ax.xaxis)
    if "relevant" in part:
        beside = ax.twinx()
        beside.plot(k, part["relevant"], color=GREEN, marker="s", markersize=3)
        beside.set_ylabel("relevant columns (■)")
    return ax
