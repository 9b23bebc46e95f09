"""Shares of the clusters in classes of rows, or over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import NO_COUNTS, OUTLIER
from .style import GREY, axes, cluster_style, legend, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..cluster import ThreeCPO

_OTHERS = {OUTLIER: "outliers", NO_COUNTS: "no counts"}
_HATCHES = {OUTLIER: "///", NO_COUNTS: "..."}


def cluster_shares(
    model: ThreeCPO,
    by: Iterable[Any],
    *,
    bins: int | str | None = None,
    ax: Any = None,
) -> Any:
    """Draw how large a part of each class, or of each time, the clusters are.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    by : sequence with a value for each row of the fit
        Names of classes, numbers or dates; see :func:`threecpo.results.share_table`.
    bins : int, "year", "month", "day" or None, default=None
        How numbers or dates are cut into parts.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        Bars of the shares for classes, lines over numbers and dates. Numbers of rows
        stand beside the parts.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.plot import cluster_shares
    >>> X, truth = make_synth(300, random_state=0)
    >>> model = ThreeCPO(3, random_state=0).fit(X)
    >>> cluster_shares(model, truth).get_ylabel()
    'share of the rows'
    """
    from ..results import share_table
    from ..results.row_parts import parts_of

    values = by if hasattr(by, "__array__") else list(by)
    table = share_table(model, values, bins=bins)
    ordered = parts_of(values, model.record_.n_rows, bins).ordered
    clusters = list(dict.fromkeys(table["cluster"].tolist()))
    parts, rows, shares = (
        table[name].reshape(-1, len(clusters)) for name in ("part", "rows", "share")
    )
    titles = [
        f"{shortened(part)} ({n})"
        for part, n in zip(parts[:, 0], rows[:, 0], strict=True)
    ]
    ax = axes(ax, (7.0, 4.0))
    if ordered:
        _lines(ax, titles, clusters, shares, model)
    else:
        _bars(ax, titles, clusters, shares, model)
    legend(ax)
    return ax


def _name(model: ThreeCPO, cluster: int) -> str:
    if cluster < 0:
        return _OTHERS[cluster]
    return f"{cluster}: {shortened(str(model.cluster_names_[cluster]))}"


def _style(cluster: int) -> tuple[str, str]:
    return cluster_style(cluster)[:2] if cluster >= 0 else (GREY, "x")


def _bars(
    ax: Any, titles: list[str], clusters: list[int], shares: Any, model: ThreeCPO
) -> None:
    places = np.arange(len(titles))[::-1]
    left = np.zeros(len(titles))
    for cluster, share in zip(clusters, np.nan_to_num(shares).T, strict=True):
        ax.barh(
            places,
            share,
            left=left,
            color=_style(cluster)[0],
            hatch=_HATCHES.get(cluster),
            label=_name(model, cluster),
        )
        left += share
    ax.set_yticks(places, titles)
    ax.set_xlim(0, 1)
    ax.set_xlabel("share of the rows")


def _lines(
    ax: Any, titles: list[str], clusters: list[int], shares: Any, model: ThreeCPO
) -> None:
    for cluster, share in zip(clusters, shares.T, strict=True):
        colour, marker = _style(cluster)
        name = _name(model, cluster)
        ax.plot(range(len(titles)), share, color=colour, marker=marker, label=name)
    ticks = range(0, len(titles), 1 + len(titles) // 25)
    turned = 90 if len(ticks) > 4 else 0
    ax.set_xticks(ticks, [titles[i] for i in ticks], rotation=turned)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("number of rows in brackets")
    ax.set_ylabel("share of the rows")
