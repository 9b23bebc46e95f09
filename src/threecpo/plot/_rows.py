"""Figures of a fit's rows: the map, outliers, shares of clusters over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import NO_COUNTS, OUTLIER
from .style import (
    BLUE,
    GREY,
    MOST_NAMED,
    ORANGE,
    axes,
    cluster_labels,
    cluster_styles,
    legend,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

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

    record = record_of(model)
    part = figure_data.row_map(row_table(model, X), record.n_clusters)
    styles = cluster_styles(record.tree.leaves)
    labels = cluster_labels(model.cluster_names_)
    ax = axes(ax, (8.0, 4.8))
    ax.set_xlabel("rows with similar scores are near (no unit)")
    ax.set_xticks([])
    ax.set_yticks([])
    if part is None:
        return ax
    x, y, cluster = (np.asarray(part[name]) for name in ("x", "y", "cluster"))
    for k in np.unique(cluster).tolist():
        colour, marker, fill = GREY, "x", "full"
        if k >= 0:
            colour, marker = styles[k].colour, styles[k].marker
            fill = "full" if styles[k].filled else "none"
        look = {"color": colour, "fillstyle": fill}
        here = cluster == k
        called = labels[k] if k >= 0 else "outliers"
        ax.plot(x[here], y[here], marker, markersize=3, alpha=0.6, label=called, **look)
    if len(labels) <= MOST_NAMED:
        legend(ax)
    for k, centres in enumerate(part["centres"]):
        for centre in centres:
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
    part = figure_data.outliers(row_table(model), threshold)
    ax = axes(ax)
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


_OTHERS = {OUTLIER: "outliers", NO_COUNTS: "no counts"}
_HATCHES = {OUTLIER: "///", NO_COUNTS: "..."}


def cluster_shares(
    model: ThreeCPO,
    by: Iterable[Any],
    *,
    bins: int | str | None = None,
    ax: Any = None,
) -> Any:
    """Draw the share of each cluster in classes of rows or over time.

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
    from ..results.fitted import record_of
    from ..results.shares import parts_of

    record = record_of(model)
    values = by if hasattr(by, "__array__") else list(by)
    table = share_table(model, values, bins=bins)
    ordered = parts_of(values, record.n_rows, bins).ordered
    clusters = list(dict.fromkeys(table["cluster"].tolist()))
    parts, rows, shares = (
        table[name].reshape(-1, len(clusters)) for name in ("part", "rows", "share")
    )
    titles = [
        f"{shortened(part)} ({n})"
        for part, n in zip(parts[:, 0], rows[:, 0], strict=True)
    ]
    ax = axes(ax, (7.0, 4.0))
    styles, names = cluster_styles(record.tree.leaves), model.cluster_names_
    places = np.arange(len(titles))
    left = np.zeros(len(titles))
    for cluster, share in zip(clusters, shares.T, strict=True):
        colour, marker, called = GREY, "x", _OTHERS.get(cluster)
        if cluster >= 0:
            colour, marker = styles[cluster].colour, styles[cluster].marker
            called = f"{cluster}: {shortened(str(names[cluster]))}"
        look = {"color": colour, "label": called}
        if ordered:
            ax.plot(places, share, marker=marker, **look)
        else:
            width, hatch = np.nan_to_num(share), _HATCHES.get(cluster)
            ax.barh(places[::-1], width, left=left, hatch=hatch, **look)
            left += width
    if ordered:
        ticks = places[:: 1 + len(titles) // 25].tolist()
        turned = 90 if len(ticks) > 4 else 0
        ax.set_xticks(ticks, [titles[i] for i in ticks], rotation=turned)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("number of rows in brackets")
        ax.set_ylabel("share of the rows")
    else:
        ax.set_yticks(places[::-1], titles)
        ax.set_xlim(0, 1)
        ax.set_xlabel("share of the rows")
    legend(ax)
    return ax
