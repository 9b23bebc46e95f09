"""What the cards of a report say of each cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..cluster.naming import clearest_rows, cluster_names_of, least_clear_rows
from ..results import figure_data
from ..results.fitted import mean_confidence
from ._formatting import cut, finite, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core.markers import Markers
    from .._fit.record import FitRecord
    from ..results import Table

    Part = dict[str, Any]

TYPICAL_ROWS = 3


def n_top(record: FitRecord) -> int:
    """Columns to list for each cluster and group."""
    return 10 if record.n_clusters <= 20 else 5


def clusters(
    record: FitRecord,
    rows: Table,
    names: list[str],
    row_names: Sequence[str],
    labels: list[Part],
    trusted: list[Part] | None,
) -> list[Part]:
    """Name, size, clearness, best columns, labels and typical rows of each cluster.

    ``trusted`` is what was measured of each cluster and join.
    """
    cluster_names = cluster_names_of(record, np.array(names, dtype=object))
    confidence, markers = mean_confidence(record), record.markers
    out = []
    for k, size in enumerate(figure_data.cluster_sizes(record)["sizes"]):
        margins = rows["margin"][rows["cluster"] == k]
        out.append(
            {
                "cluster": k,
                "name": shown(cluster_names[k]),
                "size": size,
                "share": size / record.n_rows,
                "margin": finite(float(np.median(margins))) if len(margins) else None,
                "confidence": confidence[k],
                "trusted": trusted and trusted[k],
                "columns": _markers(markers, k, names, n_top(record)),
                "labels": [
                    [part["name"], part["sentences"][k]]
                    for part in labels
                    if part["sentences"][k]
                ],
                "typical": _typical(record, k, size, rows, row_names),
            }
        )
    return out


def _markers(markers: Markers, cluster: int, names: list[str], most: int) -> list[Part]:
    expected, ratios = markers.expected, markers.expected.ratios
    return [
        {
            "name": names[j],
            "rate": finite(expected.clusters[cluster, j]),
            "overall": finite(expected.overall[j]),
            "ratio": finite(ratios[cluster, j]),
            "evidence": finite(markers.evidence[cluster, j]),
        }
        for j in markers.best(cluster, most)
    ]


def _typical(
    record: FitRecord, cluster: int, size: int, rows: Table, row_names: Sequence[str]
) -> dict[str, list[Part]]:
    """Rows with the largest and with the smallest margin, no row twice."""
    if record.n_clusters == 1:
        return {"clearest": [], "least_clear": []}
    parts = {
        "clearest": clearest_rows(record, cluster, TYPICAL_ROWS),
        "least_clear": least_clear_rows(
            record, cluster, max(0, min(TYPICAL_ROWS, size - TYPICAL_ROWS))
        ),
    }
    return {
        kind: [
            {"row": cut(row_names[i]), "margin": finite(float(rows["margin"][i]))}
            for i in places.tolist()
            if rows["cluster"][i] == cluster
        ]
        for kind, places in parts.items()
    }
