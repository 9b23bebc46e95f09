"""Fits that go on from a record: over all rows, or with one cluster divided first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .._core.codes import RELEVANT
from .._core.workers import Workers
from . import memory
from .starting import MERGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .plan import Plan
    from .record import FitRecord


def refined(plan: Plan, record: FitRecord, counts: Counts) -> FitRecord:
    """Return the run over these rows that starts from a record."""
    plan = plan.with_column_weights(record.sums.column_weights)
    plan = replace(plan, settings=record.settings, init=record)
    return memory.fit(plan.with_clusters(record.n_clusters), counts)


def divided(division: Division, counts: Counts) -> FitRecord:
    """Return the run over these rows that starts with a cluster divided."""
    with Workers(division.plan.n_jobs) as workers:
        labels = division.record.describe(counts, workers).nearest_labels
    members = division.members(labels)
    part = division.part(counts.rows(members))
    assert part.rows is not None
    start = division.start(labels, members, part, part.rows.nearest_labels)
    return memory.fit(start, counts)


@dataclass(frozen=True)
class Division:
    """A cluster of a record that is to be divided into several.

    Its rows are clustered by themselves; the largest part keeps the number, and the
    others come behind all clusters. That is the start of a run over all rows.
    """

    plan: Plan
    record: FitRecord
    cluster: int
    into: int

    @property
    def n_clusters(self) -> int:
        """Number of clusters afterwards."""
        return self.record.n_clusters + self.into - 1

    def members(self, labels: NDArray[np.int32]) -> NDArray[np.intp]:
        """Rows of the cluster, which must be enough to be divided."""
        members = np.flatnonzero(labels == self.cluster)
        if len(members) < self.into:
            message = (
                f"Cluster {self.cluster} has {len(members)} of these rows, too few for "
                f"into={self.into}."
            )
            raise ValueError(message)
        return members

    def part(self, counts: Counts) -> FitRecord:
        """Fit to rows of the cluster alone."""
        alone = replace(
            self.plan.with_column_weights(self.record.sums.column_weights),
            settings=replace(self.record.settings, outliers=None),
            init=MERGE,
            with_confidence=False,
        )
        return memory.fit(alone.with_clusters(self.into), counts)

    def start(
        self,
        labels: NDArray[np.int32],
        members: NDArray[np.intp],
        part: FitRecord,
        part_labels: NDArray[np.int32],
    ) -> Plan:
        """Plan of the run over all rows, of which the members are in these parts."""
        record = self.record
        numbers = np.append(self.cluster, np.arange(record.n_clusters, self.n_clusters))
        labels = labels.copy()
        labels[members] = numbers[part_labels]
        groups = np.where(part.groups == RELEVANT, part.groups, record.groups)
        plan = self.plan.with_column_weights(record.sums.column_weights)
        plan = replace(plan, settings=record.settings, init=labels, column_init=groups)
        return plan.with_clusters(self.n_clusters)
