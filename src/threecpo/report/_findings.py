"""The two sentences that a report begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..results import figure_data
from ._formatting import percent, plural, whole

if TYPE_CHECKING:
    from .._fit.record import FitRecord


def about_rows(record: FitRecord) -> str:
    """Clusters, their sizes and outliers."""
    part = figure_data.cluster_sizes(record)
    sizes, n_rows = part["sizes"], record.n_rows
    outliers = ""
    if part["outliers"]:
        outliers = (
            f"; {plural(part['outliers'], 'row is an outlier', 'rows are outliers')}"
        )
    if part["without_counts"]:
        n_empty = plural(part["without_counts"], "row holds", "rows hold")
        outliers += f"; {n_empty} none of the counts that tell, and are in no cluster"
    if len(sizes) == 1:
        return f"{plural(n_rows, 'row')}: one cluster only{outliers}."
    return (
        f"{plural(n_rows, 'row')} in {len(sizes)} clusters: the largest has "
        f"{plural(max(sizes), 'row')} ({percent(max(sizes) / n_rows)}), the smallest "
        f"{whole(min(sizes))}{outliers}."
    )


def about_columns(record: FitRecord) -> str:
    """Groups of columns."""
    relevant, shared, noise = figure_data.column_groups(record)["columns"]
    if not relevant:
        return (
            f"None of the {plural(record.n_columns, 'column')} tells clusters "
            f"apart: {whole(shared)} only follow the size of a row and {whole(noise)} "
            "are noise."
        )
    follow = "follows" if shared == 1 else "follow"
    return (
        f"Of {plural(record.n_columns, 'column')}, {whole(relevant)} "
        f"{'tells' if relevant == 1 else 'tell'} the clusters apart, {whole(shared)} "
        f"only {follow} the size of a row and {whole(noise)} "
        f"{'is' if noise == 1 else 'are'} noise."
    )
