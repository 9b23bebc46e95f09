"""Fits to counts in memory, for one number of clusters or several."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .._core.crossing import best_of
from .._core.workers import Workers
from .confidence import described
from .given_rows import check_known_clusters, weighted_rows
from .held_back import held_rows, product, weights_by
from .plan import check_enough_rows
from .progress import report_to
from .record import FitRecord
from .seed_rows import with_seed_rows
from .starting import search_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .._core.counts import Counts
    from .plan import Plan
    from .progress import Progress


def fit(plan: Plan, counts: Counts, progress: Progress | None = None) -> FitRecord:
    """Return the best run of a plan, with how sure it is of its rows if asked for."""
    n_clusters, sure = [plan.settings.n_clusters], plan.with_confidence
    (record,) = _described(plan, n_clusters, counts, progress, sure=sure)
    return record


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
    return _described(plan, n_clusters, counts, progress, sure=False)


def _described(
    plan: Plan,
    n_clusters: Sequence[int],
    counts: Counts,
    progress: Progress | None,
    *,
    sure: bool,
) -> Iterator[FitRecord]:
    """Yield the fits with results of their rows.

    Columns are held back by their dispersion in a first fit, the one with the most
    clusters.
    """
    held = held_rows(counts.row_lengths(1), counts.weights, plan.max_row_size)
    weights = product(counts.weights, held.weights)
    counts = counts.with_rows(weights, counts.batches, counts.batch_names)
    counts = with_seed_rows(plan, counts)
    with Workers(plan.n_jobs) as workers:
        records: Iterable[FitRecord] = ()
        if plan.max_dispersion is not None:
            plain, most = plan.with_column_weights(None), max(n_clusters)
            (first,) = _records(plain, [most], counts, workers, progress)
            first = described(first, counts, workers, sure=False)
            found = weights_by(first, counts, plan.max_dispersion)
            plan = plan.with_column_weights(found)
            records = [first] if found is None and len(n_clusters) == 1 else ()
        weighted = counts.with_column_weights(plan.column_weights)
        records = records or _records(plan, n_clusters, weighted, workers, progress)
        for record in records:
            done = described(record, counts, workers, sure=sure)
            yield done.held_back(held)


def _records(
    plan: Plan,
    n_clusters: Sequence[int],
    counts: Counts,
    workers: Workers,
    progress: Progress | None,
) -> Iterator[FitRecord]:
    """Yield the fits without results of the rows."""
    plans = [plan.with_known(counts.n_known).with_clusters(k) for k in n_clusters]
    first, used = weighted_rows(plans[0], counts)
    for each in plans:
        check_enough_rows(each.settings.n_clusters, used.n_rows)
        if isinstance(first.init, str):
            known = used.known, used.known_names
            check_known_clusters(each.settings.n_clusters, *known)
    search = search_for(first, used.all_held, workers)
    seeds = plan.seeds(search.n_runs)
    if progress is not None:
        progress.start(len(plans) * search.n_runs)
    settings = [each.settings for each in plans]
    found = search.find(settings, seeds, workers, report_to(progress))
    for each, runs in zip(plans, found, strict=True):
        losses = [run.loss for run in runs]
        record = FitRecord.of(best_of(runs), each, losses, counts.known_names)
        record = record.with_batches(counts.batch_names)
        if used.only_started_from:
            record = _released(each, record, used, workers)
        yield record


def _released(
    plan: Plan, record: FitRecord, counts: Counts, workers: Workers
) -> FitRecord:
    """Go on from a fit that held rows which may leave their clusters now."""
    search = search_for(replace(plan, init=record), counts, workers)
    ((run,),) = search.find([plan.settings], plan.seeds(1), workers)
    released = FitRecord.of(run, plan, [run.loss], counts.known_names)
    return released.with_batches(counts.batch_names)
