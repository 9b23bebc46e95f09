"""How a fit came to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import BLUE, ORANGE, axes, whole_ticks

if TYPE_CHECKING:
    from ..cluster import ThreeCPO


def convergence(model: ThreeCPO, ax: Any = None) -> Any:
    """Draw the loss of the kept run, and how many rows moved, over its iterations.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes of the loss; those of the moved rows share its iterations.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.plot import convergence
    >>> X, _ = make_synth(300, random_state=0)
    >>> convergence(ThreeCPO(3, random_state=0).fit(X)).get_xlabel()
    'iteration'
    """
    from ..results import figure_data
    from ..results.fitted import record_of

    return draw(figure_data.convergence(record_of(model)), axes(ax))


def draw(part: dict[str, Any], ax: Any) -> Any:
    """Draw from the numbers of ``figure_data.convergence``."""
    iterations = range(1, len(part["loss"]) + 1)
    ax.plot(
        iterations, np.array(part["loss"], float), color=BLUE, marker="o", markersize=4
    )
    ax.set_xlabel("iteration")
    ax.set_ylabel("loss (●)")
    whole_ticks(ax.xaxis)
    beside = ax.twinx()
    beside.plot(
        iterations,
        part["rows_moved"],
        color=ORANGE,
        marker="s",
        markersize=4,
        linestyle="--",
    )
    beside.set_ylabel("rows moved (■)")
    beside.set_ylim(bottom=0)
    whole_ticks(beside.yaxis)
    return ax
