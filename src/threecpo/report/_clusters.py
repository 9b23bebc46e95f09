"""Parts of the summary about clusters: markers, labels, the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..cluster.naming import clearest_rows, cluster_names_of, least_clear_rows
from ..plot.style import shortened
from ..results import tree_figure
from ..results.fitted import expected_counts, in_words, mean_confidence, sizes_of
from ..results.label_comparison import compared_labels, percent
from .words import finite, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .._fit.record import FitRecord
    from ..cluster import ThreeCPO
    from ..results import Table
    from ..results.label_comparison import LabelComparison
    from .words import Noun

    Part = dict[str, Any]

TYPICAL_ROWS = 3
MARKERS_SHOWN = 5
LESS_SHOWN = 5
# Longest name of a row or a join.
LONGEST = 80


def clusters(
    record: FitRecord,
    rows: Table,
    names: list[str],
    titles: Sequence[str] | None,
    labels: list[Part],
    trusted: list[Part] | None,
    tree: Part | None,
) -> list[Part]:
    """Name, size, markers, labels, relatives and typical rows of each cluster.

    ``trusted`` is what was measured of each cluster and join; ``titles`` are None where
    rows have numbers only.
    """
    cluster_names = cluster_names_of(record, np.array(names, dtype=object))
    confidence, markers = mean_confidence(record), record.markers
    relatives, expected = _relatives(tree), expected_counts(record)
    ratios = expected.ratios
    out = []
    for k, size in enumerate(sizes_of(record).tolist()):
        mean = confidence[k]
        out.append(
            {
                "cluster": k,
                "name": shown(cluster_names[k]),
                "size": size,
                "share": size / record.n_rows,
                "confidence": mean,
                "sure": in_words(mean),
                "trusted": trusted and trusted[k],
                "columns": [
                    {
                        "name": names[j],
                        "rate": finite(expected.clusters[k, j]),
                        "overall": finite(expected.overall[j]),
                        "ratio": finite(ratios[k, j]),
                    }
                    for j in markers.best(k, MARKERS_SHOWN)
                ],
                "less": [names[j] for j in markers.below(k, LESS_SHOWN)],
                "relative": relatives.get(k),
                "main": labels[0]["largest"][k] if labels else "",
                "labels": [
                    [part["name"], part["sentences"][k]]
                    for part in labels
                    if part["sentences"][k]
                ],
                "typical": _typical(record, k, size, rows, titles),
            }
        )
    return out


def _relatives(tree: Part | None) -> dict[int, Part]:
    """For each cluster the branch it is joined with, and what tells them apart."""
    if tree is None:
        return {}
    return {
        own["node"]: {
            "node": other["node"],
            "clusters": sorted({*node["clusters"]} - {own["node"]}),
            "more": own["columns"],
            "less": other["columns"],
        }
        for node in tree["nodes"]
        for own, other in (node["apart"], node["apart"][::-1])
        if own["node"] < len(tree["leaves"])
    }


def _typical(
    record: FitRecord,
    cluster: int,
    size: int,
    rows: Table,
    titles: Sequence[str] | None,
) -> dict[str, list[str]]:
    """Rows with the clearest and the least clear membership, no row twice."""
    if record.n_clusters == 1 or titles is None:
        return {"clearest": [], "least_clear": []}
    few = max(0, min(TYPICAL_ROWS, size - TYPICAL_ROWS))
    parts = {
        "clearest": clearest_rows(record, cluster, TYPICAL_ROWS),
        "least_clear": least_clear_rows(record, cluster, few),
    }
    return {
        kind: [
            shortened(titles[i], LONGEST)
            for i in places
            if rows["cluster"][i] == cluster
        ]
        for kind, places in parts.items()
    }


# More values than this: the largest are shown, the others together.
MOST_VALUES = 20
OTHERS = "other"


def label_parts(
    labels: Any,
    clusters: NDArray[np.int64],
    n_clusters: int,
    rows: Noun,
) -> list[Part]:
    """Cross table, sentences and agreement of every label."""
    names = [str(k) for k in range(n_clusters)]
    compared = compared_labels(labels, clusters, names)
    return [_part(each, n_clusters, rows) for each in compared.values()]


def _part(compared: LabelComparison, n_clusters: int, rows: Noun) -> Part:
    sizes = compared.counts.sum(axis=0)
    order = np.argsort(-sizes, kind="stable")
    kept = order if len(order) <= MOST_VALUES else order[: MOST_VALUES - 1]
    place = np.full(len(order) + 1, len(kept))
    place[kept], place[-1] = np.arange(len(kept)), -1
    listed = [shown(compared.labels[j]) for j in kept]
    if len(kept) < len(order):
        listed.append(OTHERS)
    number = {label: j for j, label in enumerate(compared.labels)} | {"": -1}
    codes = place[[number[text] for text in compared.of_rows]]
    counts = np.zeros((len(listed), len(compared.counts)), dtype=np.int64)
    np.add.at(counts, place[:-1], compared.counts.T)
    return {
        "name": shown(str(compared.name)),
        "values": listed,
        "codes": codes,
        "counts": counts.T[:n_clusters].tolist(),
        "sentences": [shown(compared.made_of(k)) for k in range(n_clusters)],
        "largest": [shown(compared.made_of(k, 1)) for k in range(n_clusters)],
        "agreement": _agreement(compared, rows),
    }


def _agreement(compared: LabelComparison, rows: Noun) -> str:
    """How well clusters and label agree, in a sentence."""
    scores = compared.scores
    if not scores:
        return ""
    lost = int((compared.of_rows == "").sum())
    left_out = f" {rows.count(lost)} without a value are left out." if lost else ""
    return (
        f"{percent(scores['purity'])} of the {rows.many} carry the most frequent value "
        f"of their cluster (purity; homogeneity {scores['homogeneity']:.2f}, adjusted "
        f"Rand index {scores['ARI'] + 0.0:.2f}).{left_out}"
    )


def tree_part(
    model: ThreeCPO, names: list[str], trusted: list[Part] | None
) -> Part | None:
    """Clusters in tree order and the joins, the highest first; None for one cluster."""
    if model.n_clusters_ < 2:
        return None
    figure = tree_figure(model, column_names=names)
    return {
        "leaves": figure["leaves"],
        "highest": figure["nodes"][-1]["height"],
        "nodes": [_node(node, trusted) for node in reversed(figure["nodes"])],
    }


def _node(node: Part, trusted: list[Part] | None) -> Part:
    kept = ("node", "rows", "clusters", "place", "path", "height")
    return {name: node[name] for name in kept} | {
        "name": shortened(shown(node["name"]), LONGEST),
        "apart": [
            {
                "node": node[side],
                "name": shortened(shown(node[f"{side}_name"]), LONGEST),
                "columns": node[f"{side}_markers"],
            }
            for side in ("left", "right")
        ],
        "trusted": trusted and trusted[node["node"]],
    }
