"""Which columns differ most between the batches of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .._fit.record import FitRecord


def batch_columns(record: FitRecord, n: int) -> dict[str, list[Any]]:
    """List the columns whose batches explain the most likelihood."""
    from .._core.model import log

    names, effects = record.batch_names, record.batch_effects
    if record.sums.batches is None:
        keys = ("column", "batch", "effect", "least_batch", "least_effect", "evidence")
        return {key: [] for key in keys}
    evidence = (record.sums.batches.totals * log(effects)).sum(axis=0)
    best = np.argsort(-evidence, kind="stable")[:n]
    most, least = effects.argmax(axis=0), effects.argmin(axis=0)
    columns = record.column_names
    return {
        "column": [int(j) if columns is None else columns[j] for j in best],
        "batch": [names[most[j]] for j in best],
        "effect": [float(effects[most[j], j]) for j in best],
        "least_batch": [names[least[j]] for j in best],
        "least_effect": [float(effects[least[j], j]) for j in best],
        "evidence": [float(evidence[j]) for j in best],
    }
