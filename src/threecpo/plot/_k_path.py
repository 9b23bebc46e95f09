"""The criterion over the number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._extras import require

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
    if ax is None:
        pyplot = require("matplotlib.pyplot", "plot", "A figure")
        _, ax = pyplot.subplots(layout="constrained")
    table = path.to_frame()
    values = table["loss"] if path.criterion == "elbow" else table["total"]
    if path.criterion in ("silhouette", "bic"):
        values = -values
    k = path.n_clusters
    blue, green, red = "tab:blue", "tab:green", "tab:red"
    ax.plot(k, values, color=blue, marker="o", markersize=3)
    ax.set_xlabel("clusters K")
    ax.set_ylabel(TITLES[path.criterion], color=blue)
    ax.axvline(k[path.totals.argmin()], color=red, linestyle="--")
    found = f"{path.best_k} clusters" if path.best_k > 1 else "no clusters found"
    ax.set_title(found)
    ax.xaxis.get_major_locator().set_params(integer=True)
    if "relevant" in table:
        beside = ax.twinx()
        beside.plot(k, table["relevant"], color=green, marker=".", markersize=4)
        beside.set_ylabel("relevant columns", color=green)
    return ax
