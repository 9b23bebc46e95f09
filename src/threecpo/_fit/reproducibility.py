"""How far two halves of the rows, clustered alone, agree on the clusters of all rows.

Each half is fitted for every number of clusters, and its model classifies the rows of
the other half. The agreement with their own labels is the adjusted Rand index, 1 if
both divide the rows alike and 0 for chance, whatever the number of clusters.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .._core.overlaps import adjusted_rand
from .._core.workers import Workers
from . import driver
from .driver import MemoryRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core.counts import Counts
    from .driver import FitRows
    from .plan import Plan
    from .record import FitRecord

# Most rows of two halves together, and stored counts of these.
MOST_ROWS = 20_000
MOST_COUNTS = 4_000_000
# Few rows are halved several times, up to so many rows in all: the smaller halves are,
# the more their agreement varies.
REPEATED_ROWS = 10_000
MOST_TIMES = 3
# Runs of each half for each number of clusters, and of tables with few stored counts.
RUNS = 3
FEW_COUNTS, RUNS_OF_FEW = 100_000, 6
# Of all seeds that one plan makes, that of the halves.
HALVES_KEY = 2**31 + 2


def reproducibility(
    plan: Plan, n_clusters: Sequence[int], rows: FitRows, workers: Workers
) -> dict[int, float]:
    """Mean agreement of two halves for each number of clusters above 1.

    Known clusters and seed columns play no part: held rows would always agree.
    """
    seed = plan.seed_of(HALVES_KEY)
    rng = np.random.default_rng(seed)
    kept = np.arange(rows.n_rows) if rows.info.kept is None else rows.info.kept
    stored = rows.n_stored / max(1, rows.n_rows)
    most = int(min(MOST_ROWS, MOST_COUNTS / max(1.0, stored), len(kept)))
    asked = sorted({k for k in n_clusters if 1 < k <= most // 2}, reverse=True)
    if not asked:
        return {}
    n_init = RUNS if rows.n_stored > FEW_COUNTS else RUNS_OF_FEW
    plan = plan.alone(max(asked), n_init)
    _, counts = rows.drawn(np.sort(rng.permutation(kept)[:most]), plan)
    counts = counts.with_rows(counts.row_info.unlabelled)
    asked = [k for k in asked if k <= counts.n_rows // 2]
    times = min(MOST_TIMES, max(1, REPEATED_ROWS // most))
    halves = [half for _ in range(times) for half in _halves(counts, rng)]
    fit = partial(_fits, plan, asked)
    found = list(workers.map(fit, zip(halves, seed.spawn(len(halves)), strict=True)))
    agreements = [
        [_agreement(*fits, rows) for fits in zip(found[i ^ 1], found[i], strict=True)]
        for i, rows in enumerate(halves)
    ]
    return dict(zip(asked, np.mean(agreements, axis=0).tolist(), strict=True))


def _halves(counts: Counts, rng: np.random.Generator) -> list[Counts]:
    """Two random halves of the rows, and of those of each batch."""
    order = rng.permutation(counts.n_rows)
    if counts.batches is not None:
        order = order[np.argsort(counts.batches[order], kind="stable")]
    return [counts.rows(np.sort(order[i::2])) for i in range(2)]


def _fits(
    plan: Plan, n_clusters: Sequence[int], half: tuple[Counts, np.random.SeedSequence]
) -> list[FitRecord]:
    counts, seed = half
    entropy = tuple(seed.generate_state(4).tolist())
    plan = replace(plan, entropy=entropy)
    with Workers(1) as workers:
        rows = MemoryRows(counts, workers)
        return [found.record for found in driver.fit_path(plan, n_clusters, rows)]


def _agreement(other: FitRecord, own: FitRecord, counts: Counts) -> float:
    """Agreement of the labels of rows with those that a fit of others gives them."""
    assert own.rows is not None
    classified = other.describe(counts)
    used = ~(own.empty_rows | other.describer.without_counts(classified))
    labels = own.rows.labels[used], classified.labels[used]
    weights = None if counts.weights is None else counts.weights[used]
    return adjusted_rand(*labels, weights)
