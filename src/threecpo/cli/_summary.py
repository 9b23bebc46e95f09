"""What a terminal shows of a fit: a table of clusters, and a few sentences."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from .._labels import LABEL
from ..report.words import nouns
from ._output_paths import REPORT
from ._printing import number_of, print_json, print_line, print_table

if TYPE_CHECKING:
    from pathlib import Path


def print_summary(facts: dict[str, Any], target: Path, *, as_json: bool) -> None:
    """Print what was found and where it is, or all of it as JSON."""
    if as_json:
        print_json(facts | {"output": target.absolute()})
        return
    from ..results.facts import separation_line

    row, column = nouns(**facts.get("nouns", {}))
    relevant = facts["column_groups"]["relevant"]
    read = facts.get("input", {}).get("description")
    print_line(
        f"{row.count(facts['rows'], plain=True)} in "
        f"{number_of(len(facts['cluster_sizes']), 'cluster')}; {relevant} of "
        f"{column.count(facts['columns'], plain=True)} relevant"
        + (f" ({read})" if read else "")
    )
    print_table(_clusters(facts))
    if "choice" in facts:
        print_line(facts["choice"]["sentence"])
    if "agreement" in facts:
        print_line(f"Agreement {_agreement(facts['agreement'])}")
    if line := separation_line(facts, column.many):
        print_line(f"{line[0].upper()}{line[1:]}")
    page = target / REPORT
    print_line(f"Report: {page}" if page.exists() else f"Results: {target}")


def _agreement(found: dict[str, dict[str, float]]) -> str:
    """How well clusters agree with each kind of labels."""
    return "; ".join(
        f"with {'the labels' if kind == LABEL else kind}: "
        f"ARI {scores['ARI']:.2f}, purity {scores['purity']:.2f}"
        for kind, scores in found.items()
    )


def origin_texts(found: list[list[int]]) -> list[str]:
    """Old clusters of each new one: ``3 + 6``, ``part of 2``."""
    times = Counter(old for members in found for old in members)
    return [
        " + ".join(f"{'part of ' * (times[old] > 1)}{old}" for old in members)
        for members in found
    ]


def _clusters(facts: dict[str, Any]) -> dict[str, list[Any]]:
    """A line for each cluster, and for rows that are in none."""
    sizes = facts["cluster_sizes"]
    changed = "changed_from" in facts
    first = "new" if changed else "cluster"
    columns: dict[str, list[Any]] = {first: [str(k) for k in range(len(sizes))]}
    if changed:
        columns["= old"] = origin_texts(facts["changed_from"]["origins"])
    columns |= {"size": list(sizes), "name": list(facts["cluster_names"])}
    for kind, texts in list(facts.get("main_labels", {}).items())[:1]:
        columns["main label" if kind == LABEL else f"main {kind}"] = list(texts)
    if any(facts.get("stability", {}).get("verdicts", ())):
        columns["verdict"] = list(facts["stability"]["verdicts"])
    others = {"outliers": facts["outliers"], "empty": facts["rows_without_counts"]}
    for name, size in others.items():
        if size:
            for each, values in columns.items():
                values.append({first: name, "size": size}.get(each, ""))
    return columns
