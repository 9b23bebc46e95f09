"""Fits to counts in memory, for one number of clusters or several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.search import best_of
from .._core.workers import Workers
from .confidence import described
from .given_rows import weighted_rows
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
    """Return the best run of a plan, with how sure it is of its rows if asked for."""
    with Workers(plan.n_jobs) as workers:
        n_clusters = [plan.settings.n_clusters]
        (record,) = _records(plan, n_clusters, counts, workers, progress)
        return described(record, counts, workers, sure=plan.with_confidence)


def fit_path(
    plan: Plan,
    n_clusters: Sequence[int],
    counts: Counts,
    progress: Progress | None = None,
) -> Iterator[FitRecord]:
    """Yield the fit for each number of clusters as soon as it is finished.

    What does not depend on the number is done once. A search that comes down from one
    number to the next expects them to fall.
    """
    with Workers(plan.n_jobs) as workers:
        for record in _records(plan, n_clusters, counts, workers, progress):
            yield described(record, counts, workers, sure=False)


def _records(
    plan: Plan,
    n_clusters: Sequence[int],
    counts: Counts,
    workers: Workers,
    progress: Progress | None,
) -> Iterator[FitRecord]:
    """Yield the fits without results of the rows."""
    plans = [plan.with_clusters(k) for k in n_clusters]
    first, used = weighted_rows(plans[0], counts)
    for each in plans:
        check_enough_rows(each.settings.n_clusters, used.n_rows)
    search = search_for(first, used, workers)
    seeds = plan.seeds(search.n_runs)
    if progress is not None:
        progress.start(len(plans) * search.n_runs)
    settings = [each.settings for each in plans]
    found = search.find(settings, seeds, workers, report_to(progress))
    for each, runs in zip(plans, found, strict=True):
        losses = [run.loss for run in runs]
        record = FitRecord.of(best_of(runs), each, losses)
        yield record.with_batches(counts.batch_names)
