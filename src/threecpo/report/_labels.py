"""Labels that users bring, beside the clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..results import agreement
from ._formatting import percent, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from .words import Noun

    Part = dict[str, Any]

# More values than this: the largest are shown, the others together.
MOST_VALUES = 20
OTHERS, UNKNOWN = "other", ""
# Smaller shares of a cluster are not worth a word.
_SMALL, _NAMED = 0.05, 3


def label_parts(
    labels: Mapping[str, Any] | None,
    clusters: NDArray[np.int64],
    n_clusters: int,
    rows: Noun,
) -> list[Part]:
    """Cross table, sentences and agreement of every label."""
    out = []
    for name, given in (labels or {}).items():
        texts = [_text(value) for value in given]
        if len(texts) != len(clusters):
            message = (
                f"labels[{name!r}] has {len(texts)} values, but the model was fitted "
                f"on {len(clusters)} rows."
            )
            raise ValueError(message)
        out.append(_part(shown(str(name)), texts, clusters, n_clusters, rows))
    return out


def _text(value: Any) -> str:
    """A value as text; what is not known is empty."""
    unknown = value is None or value != value  # noqa: PLR0124 - NaN of any kind
    return UNKNOWN if unknown else shown(str(value))


def _part(
    name: str,
    texts: list[str],
    clusters: NDArray[np.int64],
    n_clusters: int,
    rows: Noun,
) -> Part:
    values, codes = np.unique(np.array(texts, dtype=object), return_inverse=True)
    known = values != UNKNOWN
    sizes = np.where(known, np.bincount(codes, minlength=len(values)), 0)
    order = np.argsort(-sizes, kind="stable")[: int(known.sum())]
    kept = order if len(order) <= MOST_VALUES else order[: MOST_VALUES - 1]
    place = np.full(len(values), -1)
    place[known] = len(kept)
    place[kept] = np.arange(len(kept))
    coded = place[codes]
    listed = [str(values[i]) for i in kept]
    if len(kept) < len(order):
        listed.append(OTHERS)
    counts = np.zeros((n_clusters, len(listed)), dtype=np.int64)
    here = (clusters >= 0) & (coded >= 0)
    np.add.at(counts, (clusters[here], coded[here]), 1)
    full = np.where(known[codes], codes, -1)
    return {
        "name": name,
        "values": listed,
        "sizes": np.bincount(coded[coded >= 0], minlength=len(listed)).tolist(),
        "codes": coded,
        "counts": counts.tolist(),
        "sentences": [_sentence(line, listed) for line in counts],
        "agreement": _agreement(full, clusters, len(order), n_clusters, rows),
    }


def _sentence(counts: NDArray[np.int64], values: list[str]) -> str:
    """The largest labels of a cluster: 59 % NK cells, 32 % CD8 T cells."""
    total = int(counts.sum())
    if not total:
        return ""
    order = np.argsort(-counts, kind="stable")[:_NAMED]
    named = [
        f"{percent(counts[i] / total)} {_quoted(values[i])}"
        for place, i in enumerate(order)
        if counts[i] and (not place or counts[i] >= _SMALL * total)
    ]
    return ", ".join(named)


def _quoted(value: str) -> str:
    """A value that starts with a number would be taken for one."""
    return value if value[:1].isalpha() else f"“{value}”"


def _agreement(
    codes: NDArray[np.int64],
    clusters: NDArray[np.int64],
    n_values: int,
    n_clusters: int,
    rows: Noun,
) -> str:
    """How well clusters and label agree, in a sentence."""
    n_known = int((codes >= 0).sum())
    if not n_known:
        return ""
    scores = agreement(codes, clusters)
    pure = percent(scores["purity"])
    first = f"{n_clusters} clusters beside {n_values} values: {pure} of the {rows.many}"
    parts = [f"{first} carry the most frequent value of their cluster (purity)"]
    if "homogeneity" in scores:
        parts.append(f"homogeneity {scores['homogeneity']:.2f}")
    parts.append(f"adjusted Rand index {scores['ARI']:.2f}")
    lost = len(codes) - n_known
    left_out = f" {rows.count(lost)} without a value are left out." if lost else ""
    return f"{', '.join(parts)}.{left_out}"
