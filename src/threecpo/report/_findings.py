"""Sentences of the summary: what was found, and how far to trust it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..results import cluster_verdicts, figure_data
from ..results.dominance import separation, separation_line
from ..results.facts import known_facts
from ..results.fitted import SURE, held_columns, in_words, row_confidence
from ..results.label_comparison import percent
from .words import number, shown, whole

if TYPE_CHECKING:
    from .._fit.record import FitRecord
    from ..results import Table
    from .words import Noun

    Part = dict[str, Any]

# Columns that are held back and named.
HELD_LISTED = 5


def lead(record: FitRecord, rows: Noun, columns: Noun, path: Part | None) -> str:
    """The finding in one plain sentence: clusters, columns, and other numbers."""
    n_clusters = record.n_clusters
    relevant = figure_data.column_groups(record)["columns"][0]
    told_apart = f"told apart by {whole(relevant)} of {columns.count(record.n_columns)}"
    if n_clusters == 1:
        shows = "shows" if record.n_rows == 1 else "show"
        text = f"{rows.count(record.n_rows)} that {shows} no clusters"
    else:
        text = f"{rows.count(record.n_rows)} in {n_clusters} clusters, {told_apart}"
    doubts = path["doubts"] if path else ""
    return f"{text}; {doubts}." if doubts else f"{text}."


def about_rows(record: FitRecord, rows: Noun) -> str:
    """Rows outside of clusters, downweighted rows and rows of known clusters."""
    part = figure_data.cluster_sizes(record)
    sentences = []
    if part["outliers"]:
        verb = "is an outlier" if part["outliers"] == 1 else "are outliers"
        sentences.append(f"{rows.count(part['outliers'])} {verb}.")
    if part["without_counts"]:
        verb = "has" if part["without_counts"] == 1 else "have"
        sentences.append(
            f"{rows.count(part['without_counts'])} {verb} no counts in the columns "
            "that are used and belong to no cluster."
        )
    return f"{' '.join(sentences)}{_held_rows(record, rows)}".strip()


def _held_rows(record: FitRecord, rows: Noun) -> str:
    known = _known_rows(record, rows)
    weights = None if record.rows is None else record.rows.row_weights
    if weights is None:
        return known
    n_held = int((weights < 1).sum())
    verb = "is" if n_held == 1 else "are"
    return f"{known} {rows.count(n_held)} with many counts {verb} downweighted."


def _known_rows(record: FitRecord, rows: Noun) -> str:
    """Rows that were held in clusters, and what the counts say of that."""
    facts = known_facts(record)
    if not facts["rows"]:
        return ""
    verb = "was" if facts["rows"] == 1 else "were"
    against = f"; {whole(facts['against'])} of them would fit another cluster better"
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
        f"{'is' if len(held) == 1 else 'are'} downweighted: {listed}"
        f"{more if len(held) > HELD_LISTED else ''}.{fixed}"
    )


def _fixed_columns(record: FitRecord, columns: Noun) -> str:
    """Columns whose groups were given."""
    fixed = list(known_facts(record)["fixed_groups"].items())
    if not fixed:
        return ""
    listed = ", ".join(f"{shown(name)} ({kind})" for name, kind in fixed[:HELD_LISTED])
    more = f" and {whole(len(fixed) - HELD_LISTED)} more"
    have = "has a fixed group" if len(fixed) == 1 else "have fixed groups"
    return (
        f" {columns.count(len(fixed))} {have}: {listed}"
        f"{more if len(fixed) > HELD_LISTED else ''}."
    )


def about_columns(record: FitRecord, rows: Noun, columns: Noun) -> str:
    """Groups of columns."""
    relevant, shared, noise = figure_data.column_groups(record)["columns"]
    follow = "follows" if shared == 1 else "follow"
    said = {
        f"{'tells' if relevant == 1 else 'tell'} the clusters apart": relevant,
        f"only {follow} the size of {rows.with_article}": shared,
        f"{'is' if noise == 1 else 'are'} noise": noise,
    }
    parts = [f"{whole(n)} {text}" for text, n in said.items() if n]
    text = f"Of {columns.count(record.n_columns)}, {_listed(parts)}."
    if not relevant:
        text = f"No {columns.one} tells clusters apart. {text}"
    return f"{text}{_held_columns(record, columns)}"


def about_separation(record: FitRecord, columns: Noun) -> list[str]:
    """The few columns that make most of what separates the clusters, if so few do."""
    facts = {"columns": record.n_columns, "separation": separation(record)}
    line = separation_line(facts, columns.many)
    return [f"{shown(line[0].upper() + line[1:])}."] if line else []


def trusted_nodes(record: FitRecord, table: Table | None) -> list[Part] | None:
    """What ``ThreeCPO.stability`` found for each cluster, and then for each join."""
    if table is None or record.n_clusters == 1:
        return None
    verdicts = [*cluster_verdicts(record, table), *[""] * (record.n_clusters - 1)]
    measured = (table[name] for name in ("jaccard", "p_adjusted", "distinct"))
    return [
        {
            "verdict": verdict,
            "again": "" if math.isnan(jaccard) else f"{jaccard:.2f}",
            "distinct": bool(distinct),
            "test": _adjusted(float(p_value)),
        }
        for verdict, jaccard, p_value, distinct in zip(verdicts, *measured, strict=True)
    ]


def _adjusted(p_value: float) -> str:
    if math.isnan(p_value):
        return "not tested"
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def how_sure(record: FitRecord, rows: Noun, columns: Noun) -> Part | None:
    """Rows that are clear, likely and doubtful; None where that was not measured."""
    own, found = row_confidence(record), record.confidence
    if own is None or found is None:
        return None
    words = [in_words(p) for p in own[~np.isnan(own)].tolist()]
    counts = {word: words.count(word) for word in SURE}
    times = f"T = {number(found.temperature)}"
    notes = [f"Confidence allows for the extra variability of real counts ({times})."]
    if found.dispersion is not None:
        notes.append(
            f"Within clusters, the counts of a typical {columns.one} vary "
            f"{number(found.dispersion)} times as much as Poisson counts (φ)."
        )
    shares = [
        f"{rows.count(n)} ({percent(n / len(words))}) "
        f"{'is' if n == 1 else 'are'} {word}"
        for word, n in counts.items()
        if n
    ]
    return {"counts": counts, "sentence": f"{_listed(shares)}.", "notes": notes}


def _listed(parts: list[str]) -> str:
    """Parts of a sentence: a, b and c."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
