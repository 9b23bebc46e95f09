"""Fits that go on from a record: over all rows, or with one cluster divided first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._core.codes import RELEVANT
from .._core.workers import Workers
from . import memory
from .starting import MERGE

if TYPE_CHECKING:
    from .._core.counts import Counts
    from .plan import Plan
    from .record import FitRecord


def refined(plan: Plan, record: FitRecord, counts: Counts) -> FitRecord:
    """Return the run over these rows that starts from a record."""
    plan = plan.with_column_weights(record.sums.column_weights)
    plan = replace(plan, settings=record.settings, init=record)
    return memory.fit(plan.with_clusters(record.n_clusters), counts)


def divided(
    plan: Plan, record: FitRecord, counts: Counts, cluster: int, into: int
) -> FitRecord:
    """Return the run over these rows that starts with a cluster of a record divided.

    Its rows are clustered by themselves first; the largest part keeps the number, and
    the others come behind all clusters.
    """
    with Workers(plan.n_jobs) as workers:
        labels = record.describe(counts, workers).nearest_labels.copy()
    members = np.flatnonzero(labels == cluster)
    if len(members) < into:
        message = (
            f"Cluster {cluster} has {len(members)} of these rows, too few for "
            f"into={into}."
        )
        raise ValueError(message)
    plan = plan.with_column_weights(record.sums.column_weights)
    alone = replace(
        plan,
        settings=replace(record.settings, outliers=None),
        init=MERGE,
        order="size",
        with_confidence=False,
    )
    part = memory.fit(alone.with_clusters(into), counts.rows(members))
    assert part.rows is not None
    numbers = np.append(cluster, record.n_clusters + np.arange(into - 1))
    labels[members] = numbers[part.rows.nearest_labels]
    groups = np.where(part.groups == RELEVANT, part.groups, record.groups)
    plan = replace(plan, settings=record.settings, init=labels, column_init=groups)
    return memory.fit(plan.with_clusters(record.n_clusters + into - 1), counts)
