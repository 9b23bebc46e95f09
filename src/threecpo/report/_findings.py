"""The sentences that a report begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..results import figure_data
from ..results.fitted import held_columns
from ..results.known import known_facts
from ..results.steering import separation, separation_line
from ._formatting import percent, shown, whole

if TYPE_CHECKING:
    from .._fit.record import FitRecord
    from .words import Noun

# Columns that are held back and named.
HELD_LISTED = 5


def about_rows(record: FitRecord, rows: Noun, doubts: str = "") -> str:
    """Clusters, what speaks against their number, their sizes, and outliers."""
    part = figure_data.cluster_sizes(record)
    sizes, n_rows = part["sizes"], record.n_rows
    outliers = ""
    if part["outliers"]:
        verb = "is an outlier" if part["outliers"] == 1 else "are outliers"
        outliers = f"; {rows.count(part['outliers'])} {verb}"
    if part["without_counts"]:
        verb = "holds" if part["without_counts"] == 1 else "hold"
        outliers += (
            f"; {rows.count(part['without_counts'])} {verb} none of the counts that "
            "tell, and are in no cluster"
        )
    held = _held_rows(record, rows)
    but = f", but {doubts}" if doubts else ""
    if len(sizes) == 1:
        return f"{rows.count(n_rows)}: one cluster only{but}{outliers}.{held}"
    return (
        f"{rows.count(n_rows)} in {len(sizes)} clusters{but}: the largest has "
        f"{rows.count(max(sizes))} ({percent(max(sizes) / n_rows)}), the smallest "
        f"{whole(min(sizes))}{outliers}.{held}"
    )


def _held_rows(record: FitRecord, rows: Noun) -> str:
    known = _known_rows(record, rows)
    weights = None if record.rows is None else record.rows.row_weights
    if weights is None:
        return known
    n_held = int((weights < 1).sum())
    verb = "counts" if n_held == 1 else "count"
    return f"{known} {rows.count(n_held)} of many counts {verb} for less."


def _known_rows(record: FitRecord, rows: Noun) -> str:
    """Rows that were held in clusters, and what the counts say of that."""
    facts = known_facts(record)
    if not facts["rows"]:
        return ""
    verb = "was" if facts["rows"] == 1 else "were"
    against = f"; {whole(facts['against'])} of them would fit another better"
    return (
        f" {rows.count(facts['rows'])} {verb} held in known clusters"
        f"{against if facts['against'] else ''}."
    )


def _held_columns(record: FitRecord, columns: Noun) -> str:
    fixed = _fixed_columns(record, columns)
    held = held_columns(record)
    if not held:
        return fixed
    listed = ", ".join(shown(name) for name in held[:HELD_LISTED])
    more = f" and {whole(len(held) - HELD_LISTED)} more"
    verb = "varies" if len(held) == 1 else "vary"
    return (
        f" {columns.count(len(held))} {verb} too much and "
        f"{'counts' if len(held) == 1 else 'count'} for less: {listed}"
        f"{more if len(held) > HELD_LISTED else ''}.{fixed}"
    )


def _fixed_columns(record: FitRecord, columns: Noun) -> str:
    """Columns whose groups were given."""
    fixed = list(known_facts(record)["fixed_groups"].items())
    if not fixed:
        return ""
    listed = ", ".join(f"{shown(name)} ({kind})" for name, kind in fixed[:HELD_LISTED])
    more = f" and {whole(len(fixed) - HELD_LISTED)} more"
    have = "has a group that was" if len(fixed) == 1 else "have groups that were"
    return (
        f" {columns.count(len(fixed))} {have} given: {listed}"
        f"{more if len(fixed) > HELD_LISTED else ''}."
    )


def about_columns(record: FitRecord, rows: Noun, columns: Noun) -> str:
    """Groups of columns."""
    relevant, shared, noise = figure_data.column_groups(record)["columns"]
    if not relevant:
        return (
            f"None of the {columns.count(record.n_columns)} tells clusters "
            f"apart: {whole(shared)} only follow the size of {rows.with_article} and "
            f"{whole(noise)} are noise.{_held_columns(record, columns)}"
        )
    follow = "follows" if shared == 1 else "follow"
    return (
        f"Of {columns.count(record.n_columns)}, {whole(relevant)} "
        f"{'tells' if relevant == 1 else 'tell'} the clusters apart, {whole(shared)} "
        f"only {follow} the size of {rows.with_article} and {whole(noise)} "
        f"{'is' if noise == 1 else 'are'} noise.{_held_columns(record, columns)}"
    )


def about_separation(record: FitRecord, columns: Noun) -> list[str]:
    """The few columns that make most of what separates the clusters, if so few do."""
    facts = {"columns": record.n_columns, "separation": separation(record)}
    line = separation_line(facts, columns.many)
    return [f"{shown(line[0].upper() + line[1:])}."] if line else []
