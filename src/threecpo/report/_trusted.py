"""How far clusters and joins can be trusted, in numbers and in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ._formatting import finite, number

if TYPE_CHECKING:
    from .._fit.record import FitRecord
    from ..results import Table
    from .words import Noun

    Part = dict[str, Any]

# Jaccard indices of clusters that are called stable, and that dissolve (Hennig, 2007).
STABLE, DISSOLVES = 0.75, 0.5


def trusted_nodes(record: FitRecord, table: Table | None) -> list[Part] | None:
    """What ``ThreeCPO.stability`` found for each cluster, and then for each join."""
    if table is None:
        return None
    n_clusters, n_nodes = record.n_clusters, 2 * record.n_clusters - 1
    if len(table["node"]) != n_nodes:
        message = (
            f"stability has {len(table['node'])} lines, but {n_clusters} clusters and "
            f"their joins are {n_nodes}: pass that of this fit."
        )
        raise ValueError(message)
    lines = zip(
        *(table[name] for name in ("jaccard", "p_adjusted", "real")), strict=True
    )
    return [
        _node(float(jaccard), float(p_value), real=bool(real), join=i >= n_clusters)
        for i, (jaccard, p_value, real) in enumerate(lines)
    ]


def _node(jaccard: float, p_value: float, *, real: bool, join: bool) -> Part:
    return {
        "jaccard": finite(jaccard),
        "again": _found_again(jaccard),
        "real": real,
        "division": _division(p_value, real=real) if join else _set_apart(real=real),
    }


def _found_again(jaccard: float) -> str:
    if math.isnan(jaccard):
        return ""
    verdict = "between stable and dissolved"
    if jaccard >= STABLE:
        verdict = "stable"
    elif jaccard < DISSOLVES:
        verdict = "dissolves"
    return f"{jaccard:.2f}, {verdict}"


def _set_apart(*, real: bool) -> str:
    return (
        "set apart by a division that is more than chance"
        if real
        else "the division that sets it apart may be chance"
    )


def _division(p_value: float, *, real: bool) -> str:
    if math.isnan(p_value):
        return "not tested, as a division above it may be chance"
    chance = f"adjusted p {number(p_value)}"
    return f"{'more than chance' if real else 'may be chance'} ({chance})"


def spread(record: FitRecord, rows: Noun, columns: Noun) -> Part:
    """φ and T of the fit, and what they mean."""
    found = record.confidence
    if found is None:
        return {"dispersion": None, "temperature": None, "sentences": []}
    sentences = []
    if found.dispersion is not None:
        sentences.append(
            f"Within the clusters the counts of a typical {columns.one} vary "
            f"{number(found.dispersion)} times as much as Poisson counts would (φ, the "
            f"median of the {columns.many})."
        )
    times = number(found.temperature)
    meaning = (
        f"as those of Poisson counts would, so {rows.with_article} is about as sure as "
        f"its scores divided by {times} say"
        if found.temperature > 1
        else "as those of Poisson counts, so scores are taken as they are"
    )
    sentences.append(
        f"Differences between the scores of two clusters vary {times} times as much "
        f"(T) {meaning}; confidence is the probability of the own cluster by that."
    )
    return {
        "dispersion": found.dispersion and finite(found.dispersion),
        "temperature": finite(found.temperature),
        "sentences": sentences,
    }
