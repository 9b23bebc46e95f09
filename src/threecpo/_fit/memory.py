"""Fits to counts in memory, for one number of clusters or several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.search import best_of
from .._core.workers import Workers
from .given_rows import weighted_rows
from .held_back import product, row_weights, weights_by
from .plan import check_enough_rows
from .progress import report_to
from .record import FitRecord
from .starting import search_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._core.counts import Counts
    from .plan import Plan
    from .progress import Progress


def fit(plan: Plan, counts: Counts, progress: Progress | None = None) -> FitRecord:
    """Return the best run of a plan."""
    (record,) = fit_path(plan, [plan.settings.n_clusters], counts, progress)
    return record


def fit_path(
    plan: Plan,
    n_clusters: Sequence[int],
    counts: Counts,
    progress: Progress | None = None,
) -> Iterator[FitRecord]:
    """Yield the fit for each number of clusters as soon as it is finished.

    What does not depend on the number is done once. A search that comes down from one
    number to the next expects them to fall. Columns are held back by their dispersion
    in a first fit, that with the most clusters.
    """
    if plan.max_dispersion is not None:
        first = fit(
            plan.with_column_weights(None).with_clusters(max(n_clusters)),
            counts,
            progress,
        )
        weights = weights_by(first, counts, plan.max_dispersion)
        if weights is None and len(n_clusters) == 1:
            yield first
            return
        plan = plan.with_column_weights(weights)
    yield from _fit_path(plan, n_clusters, counts, progress)


def _fit_path(
    plan: Plan,
    n_clusters: Sequence[int],
    counts: Counts,
    progress: Progress | None,
) -> Iterator[FitRecord]:
    """Yield the fits with the weights that the columns have in the plan."""
    plans = [plan.with_clusters(k) for k in n_clusters]
    held = row_weights(counts.row_lengths(1), counts.weights, plan.max_row_size)
    weights = product(counts.weights, held)
    given = counts.with_rows(weights, counts.batches, counts.batch_names)
    given = given.with_column_weights(plan.column_weights)
    first, used = weighted_rows(plans[0], given)
    for each in plans:
        check_enough_rows(each.settings.n_clusters, used.n_rows)
    with Workers(plan.n_jobs) as workers:
        search = search_for(first, used, workers)
        seeds = plan.seeds(search.n_runs)
        if progress is not None:
            progress.start(len(plans) * search.n_runs)
        settings = [each.settings for each in plans]
        found = search.find(settings, seeds, workers, report_to(progress))
        for each, runs in zip(plans, found, strict=True):
            losses = [run.loss for run in runs]
            record = FitRecord.of(best_of(runs), each, losses)
            record = record.with_batches(counts.batch_names)
            yield record.with_rows(record.describe(counts, workers).held_back(held))
