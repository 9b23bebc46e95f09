"""How many columns, and how many counts, each group has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .style import GROUPS, axes

if TYPE_CHECKING:
    from ..cluster import ThreeCPO


def column_groups(model: ThreeCPO, ax: Any = None) -> Any:
    """Draw what part of the columns, and of all counts, each group of columns holds.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        Two bars, cut into relevant, shared and noise.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.plot import column_groups
    >>> X, _ = make_synth(300, random_state=0)
    >>> column_groups(ThreeCPO(3, random_state=0).fit(X)).get_xlabel()
    'share in %'
    """
    from ..results import figure_data
    from ..results.fitted import record_of

    part = figure_data.column_groups(record_of(model))
    return draw(part, axes(ax, (6.4, 2.2)))


def draw(part: dict[str, Any], ax: Any) -> Any:
    """Draw from the numbers of ``figure_data.column_groups``."""
    whole = sum(part["columns"])
    left = [0.0, 0.0]
    for group, n_columns, counts in zip(
        part["groups"], part["columns"], part["counts"], strict=True
    ):
        widths = [100 * counts, 100 * n_columns / whole]
        ax.barh([0, 1], widths, left=left, color=GROUPS[group], label=group, height=0.6)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    ax.set_yticks([0, 1], ["counts", "columns"])
    ax.set_xlim(0, 100)
    ax.set_xlabel("share in %")
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=3,
        frameon=False,
        borderpad=0,
    )
    return ax
