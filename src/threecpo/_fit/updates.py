"""Fits changed without a search: clusters joined, rows added."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import FREE, NOISE, inner_labels
from .._core.confidence import probabilities
from .._core.model import loss
from .._core.overlaps import origins, shared_rows
from .._core.run import history_line, history_of
from .._core.sums import sum_by_labels
from .record import price_of
from .row_results import RowResults

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.codes import Floats, Groups, Ints
    from .._core.counts import Counts
    from .._core.model import ColumnStep
    from .._core.run import Settings
    from .._core.sums import Sums
    from .._core.workers import Workers
    from .describing import Confidence
    from .record import FitRecord


def joined(record: FitRecord, into: Ints) -> FitRecord:
    """Return the fit with its clusters in these new ones; rows choose as they did."""
    sums = record.sums.joined(into)
    settings = replace(record.settings, n_clusters=sums.n_clusters)
    new = replace(
        _resummed(record, sums, settings, moved=0),
        ranks=np.arange(sums.n_clusters, dtype=np.int32),
        parameters={**record.parameters, "n_clusters": sums.n_clusters},
        cluster_names=_names(record, into),
        fine=record.assigner.leading_to(into),
        confidence=record.confidence and record.confidence.joined(into),
    )
    if record.rows is not None:
        new = replace(new, rows=_rows(record, new, into))
    return new.taken(np.argsort(-sums.cluster_sizes, kind="stable"))


def _resummed(
    record: FitRecord, sums: Sums, settings: Settings, moved: int
) -> FitRecord:
    """Return the fit with other sums, after the column steps that they allow."""
    step, groups = regrouped(sums, record.groups, settings)
    value = loss(step.scores, groups)
    return replace(
        record,
        settings=settings,
        sums=sums,
        profile_sums=sums,
        groups=groups,
        column_scores=step.scores,
        price=price_of(settings, step.sums, groups),
        loss=value,
        history=history_of([history_line(value, record.groups, groups, moved)]),
        converged=True,
        restart_losses=np.array([value]),
    )


def _names(record: FitRecord, into: Ints) -> tuple[str, ...] | None:
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
    sums: Sums, groups: Groups, settings: Settings
) -> tuple[ColumnStep, Groups]:
    """Column steps between C1 and C0 while the loss falls: the last, and the groups."""
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


def _rows(record: FitRecord, new: FitRecord, into: Ints) -> RowResults:
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
            (new, replace(new, rows=rows).labels_of_rates),
        )
    )
    sizes = np.divide(
        rows.row_scales, before, out=_mean_sizes(record), where=before > 0
    )
    # The last bit tells rows that have no counts.
    describer = record.describer
    sizes[describer.without_counts(record.rows)] = describer.profile.prior_size
    return replace(rows, row_scales=sizes * after)


def _mean_sizes(record: FitRecord) -> Floats:
    """Mean size in each row's cluster, for rows of scale 0 whatever their size."""
    used, weights = record.groups != NOISE, record.sums.column_weights
    table = record.sums.table[:, used]
    totals = (table if weights is None else table * weights[used]).sum(axis=1)
    return (totals / np.maximum(record.sums.members, 1))[record.labels_of_rates]


def with_more_rows(
    record: FitRecord,
    counts: Counts,
    names: NDArray[np.object_] | None,
    workers: Workers,
) -> FitRecord:
    """Return the fit with more rows, which go where its profile puts them.

    The rows that were there stay where they are; new ones count no more than the
    longest row of the fit. Columns move between C1 and C0 only,
    as sizes of rows that are gone follow from the columns in use.
    """
    reduced, given = row_weights(counts.row_lengths(1), record.longest_row), counts
    counts = counts.with_rows(counts.row_info.weighted(reduced))
    found = record.describe(counts, workers).downweighted(reduced, given.weights)
    labels = record.describer.labels_of_rates(found)
    sums = _added(record, counts, labels)
    new = _resummed(record, sums, record.settings, counts.n_rows)
    history = {
        name: np.concatenate([values, new.history[name]])
        for name, values in record.history.items()
    }
    outlier_share = float(np.mean(found.outlier_scores > record.settings.threshold))
    return replace(
        new,
        history=history,
        converged=False,
        rows=_stacked(record.rows, found),
        row_names=_all_names(record, names),
        confidence=_confidence(record, counts, workers),
        drift=(*record.drift, outlier_share),
    )


def _added(record: FitRecord, counts: Counts, labels: Ints) -> Sums:
    """Sums of the fit and of the new rows that count."""
    n_clusters, before = record.n_clusters, record.sums
    if counts.weights is not None and not counts.weights.all():
        kept = np.flatnonzero(counts.weights)
        counts, labels = counts.rows(kept), labels[kept]
    # The number after the last batch stands for unknown ones, of which there are none.
    names = () if before.n_batches == 1 else record.batch_names
    counts = counts.with_rows(replace(counts.row_info, batch_names=names))
    inner = inner_labels(labels, n_clusters)
    prior = record.settings.prior
    sums = sum_by_labels(counts, inner, n_clusters, record.groups, prior)
    weighted = sums.sum_of_weights is not None or before.sum_of_weights is not None
    weight = sums.total_weight + before.total_weight
    sums.add(before)
    sums.sum_of_weights = weight if weighted else None
    return sums


def _stacked(before: RowResults | None, found: RowResults) -> RowResults | None:
    """Results of all rows so far; None where those of the fit are elsewhere."""
    if before is None:
        return None
    fill = {"row_weights": 1.0, "weights": 1.0, "known": np.int32(FREE)}
    parts = []
    for rows, other in ((before, found), (found, before)):
        missing: dict[str, Any] = {
            name: np.full(len(rows.labels), fill[name])
            for name in other.arrays().keys() - rows.arrays().keys()
        }
        reduced = missing.pop("row_weights", rows.row_weights)
        info = replace(rows.info, **missing)
        parts.append(replace(rows, row_weights=reduced, info=info))
    return RowResults.stacked(parts)


def _all_names(
    record: FitRecord, names: NDArray[np.object_] | None
) -> NDArray[np.object_] | None:
    if record.row_names is None or names is None or record.rows is None:
        return None
    return np.concatenate([record.row_names, names])


def _confidence(
    record: FitRecord, counts: Counts, workers: Workers
) -> Confidence | None:
    """T of the fit, and the probabilities of the new rows beside those of the old."""
    before = record.confidence
    if before is None or record.rows is None:
        return None
    scores = record.row_scores(counts, workers)
    found = probabilities(scores, before.temperature)
    both = np.concatenate([before.probabilities, found])
    return replace(before, probabilities=both, dispersion=None)


def kept_names(before: FitRecord, after: FitRecord) -> tuple[str, ...] | None:
    """Names given to clusters, where another fit to the same rows has these again."""
    names, old, new = before.cluster_names, before.rows, after.rows
    if names is None or after.cluster_names is not None or old is None or new is None:
        return after.cluster_names
    if len(old.labels) != len(new.labels):
        return None
    shape = before.n_clusters, after.n_clusters
    found = origins(shared_rows(old.labels, new.labels, shape))
    alone = [members[0] if len(members) == 1 else -1 for members in found]
    return tuple(
        names[old] if old >= 0 and alone.count(old) == 1 else "" for old in alone
    )


def row_weights(sizes: Floats, longest: float | None) -> Floats | None:
    """min(1, c / r_i) with c the size of the longest row; None: all 1."""
    if longest is None or not (sizes > longest).any():
        return None
    return np.divide(longest, sizes, out=np.ones(len(sizes)), where=sizes > longest)
