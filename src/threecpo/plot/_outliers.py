"""How well rows fit the background compared with their cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .style import BLUE, ORANGE, axes

if TYPE_CHECKING:
    from ..cluster import ThreeCPO


def outliers(model: ThreeCPO, ax: Any = None) -> Any:
    """Draw a histogram of the outlier scores.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        A histogram in which the bars right of the threshold are hatched. It ends at the
        1st and 99th percentile; the rows beyond are in its last bars.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.plot import outliers
    >>> X, _ = make_synth(300, random_state=0)
    >>> outliers(ThreeCPO(3, random_state=0).fit(X)).get_ylabel()
    'rows'
    """
    from ..results import figure_data, row_table
    from ..results.fitted import record_of

    threshold = record_of(model).settings.threshold
    return draw(figure_data.outliers(row_table(model), threshold), axes(ax))


def draw(part: dict[str, Any], ax: Any) -> Any:
    """Draw from the numbers of ``figure_data.outliers``."""
    edges, threshold = part["edges"], part["threshold"]
    for left, right, count in zip(edges[:-1], edges[1:], part["counts"], strict=True):
        beyond = left >= threshold
        ax.bar(
            left,
            count,
            width=right - left,
            align="edge",
            color=ORANGE if beyond else BLUE,
            hatch="///" if beyond else None,
        )
    ax.axvline(threshold, color=ORANGE, linestyle="--")
    ax.set_xlabel(
        "outlier score in nats (right of the line: the background fits better)"
    )
    ax.set_ylabel("rows")
    return ax
