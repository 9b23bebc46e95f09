"""Labels that users bring, beside the clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..results.label_comparison import compared_labels
from ._formatting import percent, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..results.label_comparison import LabelComparison
    from .words import Noun

    Part = dict[str, Any]

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
        "sizes": counts.sum(axis=1).tolist(),
        "codes": codes,
        "counts": counts.T[:n_clusters].tolist(),
        "sentences": [_sentence(compared, k) for k in range(n_clusters)],
        "agreement": _agreement(compared, n_clusters, rows),
    }


def _sentence(compared: LabelComparison, k: int) -> str:
    """The largest labels of a cluster: 59 % NK cells, 32 % CD8 T cells."""
    shares, labels = compared.shares[k], compared.labels
    return ", ".join(
        f"{percent(shares[j])} {_quoted(shown(labels[j]))}" for j in compared.largest(k)
    )


def _quoted(value: str) -> str:
    """A value that starts with a number would be taken for one."""
    return value if value[:1].isalpha() else f"“{value}”"


def _agreement(compared: LabelComparison, n_clusters: int, rows: Noun) -> str:
    """How well clusters and label agree, in a sentence."""
    scores = compared.scores
    if not scores:
        return ""
    n_values = len(compared.labels)
    pure = percent(scores["purity"])
    first = f"{n_clusters} clusters beside {n_values} values: {pure} of the {rows.many}"
    parts = [f"{first} carry the most frequent value of their cluster (purity)"]
    parts.append(f"homogeneity {scores['homogeneity']:.2f}")
    parts.append(f"adjusted Rand index {scores['ARI']:.2f}")
    lost = int((compared.of_rows == "").sum())
    left_out = f" {rows.count(lost)} without a value are left out." if lost else ""
    return f"{', '.join(parts)}.{left_out}"
