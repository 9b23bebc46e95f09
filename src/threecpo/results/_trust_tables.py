"""Tables of what to distrust: stability, batches, and what was downweighted."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .._options import check_integer, check_robust
from .fitted import (
    in_words,
    lightest,
    mean_confidence,
    named_columns,
    record_of,
    rows_of,
)
from .table_files import TEXT, WHOLE, column_of, table_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from .._core.split_test import SplitResult
    from .._fit.record import FitRecord
    from .._fit.stability import Stability
    from ..cluster.fitting import PoissonClusterer
    from .table_files import Table


def downweighted_columns(model: PoissonClusterer) -> Table:
    """Columns that ``robust`` downweights, the least weight first."""
    record = record_of(model)
    columns, _ = named_columns(record)
    weights, order = model.column_weights_, lightest(model.column_weights_)
    most = check_robust(record.parameters.get("robust")).columns or np.nan
    return {
        "column": columns[order],
        "group": record.groups[order].astype(WHOLE),
        "dispersion": most / weights[order],
        "weight": weights[order],
    }


def downweighted_rows(model: PoissonClusterer) -> Table:
    """Rows that ``robust`` downweights, the least weight first."""
    record, weights = record_of(model), model.row_weights_
    names, order = record.row_names, lightest(weights)
    return {
        "row": order if names is None else names[order],
        "label": rows_of(record).labels[order].astype(WHOLE),
        "weight": weights[order],
    }


BATCHES = ("column", "batch", "effect", "least_batch", "least_effect", "evidence")


def batch_table(model: PoissonClusterer, n: int = 10) -> Table:
    """Columns whose batches explain the most likelihood."""
    from .._core.model import log  # compiled loops, which the other tables do without

    record, n = record_of(model), check_integer("n", n, 1)
    columns, kind = named_columns(record)
    if record.sums.n_batches == 1:
        return table_of(BATCHES, [], column=kind)
    names, effects = record.batch_names, record.batch_effects
    evidence = (record.sums.batch_totals * log(effects)).sum(axis=0)
    most, least = effects.argmax(axis=0), effects.argmin(axis=0)
    lines = [
        (
            *(columns[j], names[most[j]], effects[most[j], j]),
            *(names[least[j]], effects[least[j], j], evidence[j]),
        )
        for j in np.argsort(-evidence, kind="stable")[:n]
    ]
    return table_of(BATCHES, lines, column=kind)


# Clusters are stable from this Jaccard index on (Hennig, 2007).
STABLE = 0.75
DOUBTFUL = "doubtful"


def stability_table(found: Stability, record: FitRecord) -> Table:
    """What was measured of each cluster and join, as ``ThreeCPO.stability`` says."""
    missing = np.full(len(found.members), np.nan)
    mean, spread = missing, missing
    if len(found.jaccards):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # nodes in no half
            mean = np.nanmean(found.jaccards, axis=0)
            spread = np.nanstd(found.jaccards, axis=0)
    below = (" ".join(map(str, sorted(members))) for members in found.members)
    return {
        "node": np.arange(len(found.members)),
        "clusters": column_of(below, TEXT),
        "rows": found.sizes,
        "jaccard": mean,
        "jaccard_sd": spread,
        **columns_of_tests(found.splits),
        "p_adjusted": found.adjusted,
        "distinct": found.distinct,
        "verdict": column_of(_verdicts(found, mean, record), TEXT),
    }


def columns_of_tests(splits: Sequence[SplitResult | None]) -> Table:
    """Columns of what tests found, NaN where nothing was tested."""
    names = {"gain": "gain", "expected": "null_mean", "z": "z", "p_value": "p_value"}
    return {
        column: np.array([np.nan if s is None else getattr(s, name) for s in splits])
        for column, name in names.items()
    }


def _verdicts(
    found: Stability, jaccards: NDArray[np.float64], record: FitRecord
) -> list[str]:
    """One word for each cluster from test, halves and confidence; none for joins."""
    verdicts, n = [""] * len(found.members), record.n_clusters
    measured = n > 1 and len(found.jaccards)
    for k, confidence in enumerate(mean_confidence(record) if measured else ()):
        again = jaccards[k] >= STABLE and in_words(confidence) != DOUBTFUL
        verdicts[k] = DOUBTFUL
        if again and found.distinct[k]:
            verdicts[k] = "stable"
        elif not again and found.adjusted[k] > found.level:
            verdicts[k] = "not distinct"
    return verdicts


def cluster_verdicts(record: FitRecord, table: Mapping[str, Any]) -> list[str]:
    """Verdicts of the clusters in what ``ThreeCPO.stability`` returned for this fit."""
    n_clusters, n_nodes = record.n_clusters, 2 * record.n_clusters - 1
    if len(table["node"]) != n_nodes:
        message = (
            f"stability has {len(table['node'])} lines, but {n_clusters} clusters and "
            f"their joins are {n_nodes}: pass that of this fit."
        )
        raise ValueError(message)
    return list(table["verdict"][:n_clusters])
