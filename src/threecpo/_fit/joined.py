"""A fit with some of its clusters joined, from its sums alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._core.codes import NOISE, RELEVANT
from .._core.model import loss
from .._core.run import history_line, history_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.model import ColumnStep
    from .._core.run import Settings
    from .._core.sums import Sums
    from .record import FitRecord
    from .row_results import RowResults


def joined(record: FitRecord, into: NDArray[np.int32]) -> FitRecord:
    """Return the fit with its clusters in these new ones, numbered by size.

    Columns move between C1 and C0 only, so that row sizes stay what they are. Rows go
    on to choose among the clusters of the fit as it was.
    """
    sums = record.sums.joined(into)
    settings = replace(record.settings, n_clusters=sums.n_clusters)
    step, groups = regrouped(sums, record.groups, settings)
    prices = settings.price(step.sums.totals, sums.n_clusters, sums.mass)
    value = loss(step.scores, groups)
    new = replace(
        record,
        settings=settings,
        sums=sums,
        profile_sums=sums,
        groups=groups,
        ranks=np.arange(sums.n_clusters, dtype=np.int32),
        column_scores=step.scores,
        price=float(prices[groups == RELEVANT].sum()),
        loss=value,
        history=history_of([history_line(value, record.groups, groups, moved=0)]),
        converged=True,
        restart_losses=np.array([value]),
        parameters={**record.parameters, "n_clusters": sums.n_clusters},
        cluster_names=_names(record, into),
        fine=record.chooser.leading_to(into),
        confidence=record.confidence and record.confidence.joined(into),
    )
    if record.rows is not None:
        new = new.with_rows(_rows(record, new, into))
    return new.taken(np.argsort(-sums.cluster_sizes, kind="stable"))


def _names(record: FitRecord, into: NDArray[np.int32]) -> tuple[str, ...] | None:
    """Names that were given to clusters which stay alone."""
    if record.cluster_names is None:
        return None
    alone = np.bincount(into) == 1
    names = [""] * len(alone)
    for name, new in zip(record.cluster_names, into.tolist(), strict=True):
        if alone[new]:
            names[new] = name
    return tuple(names)


def regrouped(
    sums: Sums, groups: NDArray[np.int8], settings: Settings
) -> tuple[ColumnStep, NDArray[np.int8]]:
    """Column steps between C1 and C0 until nothing changes: the last, and the groups.

    No step raises the loss; where rounding does, the groups before it are kept.
    """
    smoothed = sums.smoothed(settings.prior)
    noise = groups == NOISE
    inside = tuple(group for group in settings.groups if group != NOISE)
    within = replace(settings, groups=inside)
    seen = {groups.tobytes()}
    step = settings.column_step(smoothed, groups)
    while True:
        chosen = within.column_step(smoothed, groups).groups
        chosen = np.where(noise, np.int8(NOISE), chosen)
        if chosen.tobytes() in seen:
            return step, groups
        seen.add(chosen.tobytes())
        after = settings.column_step(smoothed, chosen)
        if loss(after.scores, chosen) > loss(step.scores, groups):
            return step, groups
        step, groups = after, chosen


def _rows(record: FitRecord, new: FitRecord, into: NDArray[np.int32]) -> RowResults:
    """Results of the rows; margins are those before, which the new ones are above."""
    assert record.rows is not None
    rows = record.rows.renumbered(into)
    if not (record.groups != NOISE).any():
        return rows
    batches = 0 if rows.batches is None else rows.batches
    before, after = (
        each.row_factors[each_labels, batches]
        for each, each_labels in (
            (record, record.labels_of_rates),
            (new, new.with_rows(rows).labels_of_rates),
        )
    )
    sizes = np.divide(
        rows.row_scales, before, out=_mean_sizes(record), where=before > 0
    )
    # The last bit tells rows that have no counts.
    describer = record.describer
    sizes[describer.without_counts(record.rows)] = describer.profile.prior_size
    return replace(rows, row_scales=sizes * after)


def _mean_sizes(record: FitRecord) -> NDArray[np.float64]:
    """Mean size of the rows of each row's cluster.

    Only rows of a cluster without counts in C0 and without a prior need it: their
    scales are 0, whatever their size.
    """
    used, weights = record.groups != NOISE, record.sums.column_weights
    table = record.sums.table[:, used]
    totals = (table if weights is None else table * weights[used]).sum(axis=1)
    return (totals / np.maximum(record.sums.members, 1))[record.labels_of_rates]
