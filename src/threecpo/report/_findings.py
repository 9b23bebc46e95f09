"""Sentences of the summary: what was found, and how far to trust it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..results import cluster_verdicts, figure_data
from ..results.facts import known_facts, separation, separation_line
from ..results.fitted import SURE, held_columns, in_words, row_confidence, rows_of
from ..results.label_comparison import percent
from .words import number, shown, whole

if TYPE_CHECKING:
    from .._fit.record import FitRecord
    from ..results import Table
    from .words import Noun

    Part = dict[str, Any]

# Columns of one kind that are named.
MOST_LISTED = 5


def lead(record: FitRecord, rows: Noun, columns: Noun, path: Part | None) -> str:
    """The finding in one plain sentence: clusters, columns, and other numbers."""
    n_rows, n_clusters = record.n_rows, record.n_clusters
    if n_clusters == 1:
        text = f"{rows.count(n_rows, 'that shows', 'that show')} no clusters"
    else:
        relevant = whole(figure_data.column_groups(record)["relevant"])
        told_apart = f"told apart by {relevant} of {columns.count(record.n_columns)}"
        text = f"{rows.count(n_rows)} in {n_clusters} clusters, {told_apart}"
    doubts = path["doubts"] if path else ""
    return f"{text}; {doubts}." if doubts else f"{text}."


def about_rows(record: FitRecord, rows: Noun) -> str:
    """Rows outside of clusters, rows of known clusters and downweighted rows."""
    sizes, known = figure_data.cluster_sizes(record), known_facts(record)
    weights = rows_of(record).row_weights
    sentences = []
    if n := sizes["outliers"]:
        sentences.append(f"{rows.count(n, 'is an outlier', 'are outliers')}.")
    if n := sizes["without_counts"]:
        sentences.append(
            f"{rows.count(n, 'has', 'have')} no counts in the columns that are used "
            "and belong to no cluster."
        )
    if n := known["rows"]:
        held = f"{rows.count(n, 'was', 'were')} held in known clusters"
        against = (
            f"; {whole(known['against'])} of them would fit another cluster better"
        )
        sentences.append(f"{held}{against if known['against'] else ''}.")
    if weights is not None:
        many = rows.count(
            int((weights < 1).sum()), "with many counts is", "with many counts are"
        )
        sentences.append(f"{many} downweighted.")
    return " ".join(sentences)


def about_columns(record: FitRecord, rows: Noun, columns: Noun) -> list[str]:
    """Groups of columns, and the few that separate the clusters, if so few do."""
    relevant, shared, noise = figure_data.column_groups(record).values()
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
    if held := held_columns(record):
        many = columns.count(
            len(held), "varies too much and is", "vary too much and are"
        )
        text += f" {many} downweighted: {_first([shown(name) for name in held])}."
    if fixed := known_facts(record)["fixed_groups"]:
        many = columns.count(len(fixed), "has a fixed group", "have fixed groups")
        listed = [f"{shown(name)} ({kind})" for name, kind in fixed.items()]
        text += f" {many}: {_first(listed)}."
    facts = {"columns": record.n_columns, "separation": separation(record)}
    line = separation_line(facts, columns.many)
    return [text, f"{shown(line[0].upper() + line[1:])}."] if line else [text]


def _first(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {whole(len(names) - MOST_LISTED)} more"
    listed = ", ".join(names[:MOST_LISTED])
    return f"{listed}{more if len(names) > MOST_LISTED else ''}"


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
