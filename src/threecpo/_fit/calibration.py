"""How many rows are in their right cluster, as drawn tables of the same gain show it.

All centres were fitted to the labels that they explain, so that clusters look further
apart than they are. The profiles of a fit are therefore shrunk towards one cluster;
tables are drawn from them, and fitted by the same search. Where these gain as much over
one cluster as the data do, the share of rows that come back into their clusters is
about the share that is right. Confidence is that high on average: T is raised until it
is.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import brentq, linear_sum_assignment

from .._core.codes import NOISE, RELEVANT, free
from .._core.confidence import probabilities
from .._core.drawn_tables import DrawnTables
from .._core.overlaps import shared_rows
from .._core.sums import sum_by_labels
from .._core.workers import Workers
from . import driver
from .describing import LeaveOneOutDescriber
from .distinct import work_of

if TYPE_CHECKING:
    from .._core.codes import Floats, Groups, Ints
    from .._core.counts import Counts
    from .driver import FitRows
    from .plan import Plan
    from .record import FitRecord

    Labels = Ints

# The sample has about MOST_COUNTS counts. It grows to MANY_ROWS rows as long as they
# have at most MANY_COUNTS, because too small a sample understates confidence. It has
# at least LEAST_ROWS rows.
MOST_COUNTS = 200_000
MANY_COUNTS, MANY_ROWS = 1_500_000, 5_000
LEAST_ROWS = 2_000
# Tables for each share of the way to one cluster, and shares tried between both ends.
DRAWS = 2
STEPS = 3
MOST_TEMPERATURE = 1e6
# Of all seeds that one plan makes, that of the sample and its tables.
CALIBRATION_KEY = 2**31 + 2


class _Drawn(NamedTuple):
    """Of tables drawn at this share of the way: mean gain, and rows that come back."""

    share: float
    gain: float
    right: float
    each: list[tuple[float, float]]


def calibrated(record: FitRecord, plan: Plan, rows: FitRows) -> FitRecord:
    """Return a fit whose confidence is, on average, the share of rows that is right."""
    found = record.confidence
    if found is None or record.n_clusters == 1:
        return record
    seed = plan.seed_of(CALIBRATION_KEY)
    rng, every = np.random.default_rng(seed), np.arange(rows.n_rows)
    work = work_of(rows.n_stored, rows.n_rows, len(record.groups))
    n_drawn = sample_size(rows.n_rows, work)
    counts = rows.taken(np.sort(rng.permutation(every)[:n_drawn]))
    with Workers(plan.n_jobs) as workers:
        _, scored, _ = LeaveOneOutDescriber.of(record)(counts, workers)
        assert scored.scores is not None
        inside = np.flatnonzero(scored.owner >= 0)
        own = np.unique(scored.owner[inside], return_inverse=True)[1].astype(np.int32)
        counts = counts.with_rows(counts.row_info.unlabelled).rows(inside)
        given = record, plan, counts, own, seed, workers
        right = _right(*given, whole=n_drawn == rows.n_rows)
    value = _temperature(scored.scores[inside], scored.owner[inside], right)
    return replace(record, confidence=found.at(max(value, found.temperature)))


def sample_size(n_rows: int, n_counts: int) -> int:
    """Number of rows in the sample that tables are drawn for."""
    each = max(1, n_counts) / n_rows
    wanted = max(MOST_COUNTS / each, min(MANY_COUNTS / each, MANY_ROWS), LEAST_ROWS)
    return min(n_rows, round(wanted))


def _right(
    record: FitRecord,
    plan: Plan,
    counts: Counts,
    labels: Labels,
    seed: np.random.SeedSequence,
    workers: Workers,
    *,
    whole: bool,
) -> float:
    """Share of rows in their right cluster in drawn tables that gain what these do."""
    counts = counts.with_column_weights(record.sums.column_weights)
    n_clusters = min(record.n_clusters, counts.n_rows)
    plan = plan.alone(n_clusters, plan.n_init, outliers=None)
    plan = plan.with_column_weights(record.sums.column_weights)
    plan = replace(plan, max_row_size=None)
    tables = DrawnTables.of(counts, labels, _used(record))
    sample, *seeds = seed.spawn(1 + DRAWS)
    wanted = _gain(record, plan, counts, labels)
    if not whole:  # labels that were found in more rows mostly gain less in these
        wanted = max(wanted, _gain_and_labels(record, plan, counts, sample)[0])
    one = partial(_gain_and_right, record, plan, tables, labels)

    def drawn(share: float) -> _Drawn:
        found = list(workers.map(partial(one, share), seeds))
        gain, right = np.mean(found, axis=0).tolist()
        return _Drawn(share, gain, right, found)

    high = drawn(1.0)
    if wanted >= high.gain:  # the search did better than in some of these tables
        near = replace(plan, init=labels, column_init=record.groups)
        again = partial(_gain_and_right, record, near, tables, labels, 1.0)
        return max([*high.each, *workers.map(again, seeds)])[1]
    low = drawn(0.0)
    if wanted <= low.gain:
        return low.right
    for _ in range(STEPS):
        part = np.clip((wanted - low.gain) / (high.gain - low.gain), 0.1, 0.9)
        middle = drawn(low.share + float(part) * (high.share - low.share))
        low, high = (low, middle) if wanted < middle.gain else (middle, high)
    part = np.clip((wanted - low.gain) / max(high.gain - low.gain, 1e-9), 0, 1)
    return float(low.right + part * (high.right - low.right))


def _gain_and_right(
    record: FitRecord,
    plan: Plan,
    tables: DrawnTables,
    labels: Labels,
    share: float,
    seed: np.random.SeedSequence,
) -> tuple[float, float]:
    """Gain of a drawn table that was fitted, and its rows that came back."""
    counts = tables.shrunk(share).draw(np.random.default_rng(seed))
    gain, found = _gain_and_labels(record, plan, counts, seed)
    shared = shared_rows(labels, found)
    return gain, float(shared[linear_sum_assignment(-shared)].sum() / len(labels))


def _gain_and_labels(
    record: FitRecord, plan: Plan, counts: Counts, seed: np.random.SeedSequence
) -> tuple[float, Labels]:
    found = driver.fit_alone(plan, counts, seed.generate_state(4).tolist())
    labels = found.labels_of_rates
    return _gain(record, plan, counts, labels), labels


def _gain(record: FitRecord, plan: Plan, counts: Counts, labels: Labels) -> float:
    """Likelihood that clusters gain over one, in the columns that the fit uses."""
    n_clusters, prior = int(labels.max()) + 1, record.settings.prior
    groups = _used(record)
    sums = sum_by_labels(counts, labels, n_clusters, groups, prior)
    step = plan.settings.column_step(sums.smoothed(prior), groups, free)
    used = (groups != NOISE) & (sums.totals > 0)
    return float((step.scores[used, 2] - step.scores[used, 1]).sum())


def _used(record: FitRecord) -> Groups:
    """Groups with every column that the fit uses in C1.

    Columns of C0 may also differ between clusters, too little to pay their price. And
    where C0 is small, row scales from it alone would vary by chance.
    """
    return np.where(record.groups == NOISE, NOISE, RELEVANT).astype(np.int8)


def _temperature(scores: Floats, own: Labels, right: float) -> float:
    """T at which rows are in their clusters with this probability on average."""
    every = np.arange(len(own))

    def excess(log_t: float) -> float:
        return float(probabilities(scores, np.exp(log_t))[every, own].mean() - right)

    highest = np.log(MOST_TEMPERATURE)
    if excess(0.0) <= 0:
        return 1.0
    if excess(highest) >= 0:
        return MOST_TEMPERATURE
    return float(np.exp(brentq(excess, 0.0, highest, xtol=1e-3)))
