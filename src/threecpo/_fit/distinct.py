"""Whether a division of rows is more than independent columns of its dispersion give.

Clusters were found on the same rows, and any rows can be divided with a gain. So the
gain of a division is compared with those of tables that are drawn from one cluster with
the measured dispersions, and divided by the search of the fit itself.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import RELEVANT, all_relevant, free
from .._core.drawn_tables import DrawnTables
from .._core.split_test import (
    DENSE_SHARE,
    NOTHING_TO_TEST,
    TOO_FEW_COUNTS,
    SplitResult,
    mixture_gain,
)
from .._core.workers import Workers
from . import driver
from .driver import MemoryRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .plan import Plan

# Tables that are drawn at first; if they leave a doubt, there are as many as below.
FIRST_DRAWS = 4
ALL_DRAWS = 20
# After the first tables a division is no longer in doubt if its p-value is above the
# one, or below this part of the level.
NO_DOUBT = 0.3
CLEAR_PART = 0.05
# Runs that divide a drawn table.
RUNS = 2
# Rows of less on average, without those of none, hardly say which columns go together:
# what they leave of a dispersion is too little to be measured.
LEAST_SIZE = 2.0
# The fewest rows of the smaller part of a sample, if there are as many, for which it
# takes this many times more counts.
FEWEST_ROWS = 20
AT_MOST_TIMES = 4


def division_result(
    counts: Counts,
    inside: NDArray[np.bool_],
    plan: Plan,
    level: float,
    seed: np.random.SeedSequence,
    workers: Workers,
) -> SplitResult:
    """Test the division of rows into those inside and the others.

    ``counts`` have the columns that the fit uses. In drawn tables all of them may tell
    two clusters apart at no price, so that nothing is found there less easily.
    """
    sizes = counts.row_lengths(1)
    if sizes.sum() < LEAST_SIZE * np.count_nonzero(sizes):
        return TOO_FEW_COUNTS
    gain = mixture_gain(counts, inside)
    if gain <= 0:
        return NOTHING_TO_TEST
    one = np.zeros(counts.n_rows, np.int32)
    null = DrawnTables.of(counts, one, all_relevant(counts.n_columns))
    plan = plan_of_drawn(plan, 2, RUNS)
    every = replace(plan.settings, groups=(RELEVANT,), price=free, fixed_groups=())
    plan = replace(plan, settings=every).with_column_weights(counts.column_weights)
    gain_of = partial(_null_gain, null, plan)
    seeds = seed.spawn(ALL_DRAWS)
    nulls = list(workers.map(gain_of, seeds[:FIRST_DRAWS]))
    result = SplitResult.of(gain, nulls)
    if CLEAR_PART * level < result.p_value < NO_DOUBT:
        nulls += workers.map(gain_of, seeds[FIRST_DRAWS:])
        result = SplitResult.of(gain, nulls)
    return result


def plan_of_drawn(plan: Plan, n_clusters: int, n_runs: Any) -> Plan:
    """Return the plan by which drawn tables are fitted: that of the fit, other runs."""
    settings = replace(plan.settings, outliers=None, n_known=0)
    return replace(
        plan.by_name.with_clusters(n_clusters),
        settings=replace(settings, n_clusters=n_clusters),
        n_init=n_runs,
        n_jobs=1,
        given_seeds=None,
        seed_columns=(),
        with_confidence=False,
        calibrated=False,
    )


def _null_gain(null: DrawnTables, plan: Plan, seed: np.random.SeedSequence) -> float:
    """Gain of the division that the search finds in a drawn table."""
    rng = np.random.default_rng(seed)
    counts = null.draw(rng)
    plan = replace(plan, entropy=tuple(rng.integers(2**32, size=4).tolist()))
    with Workers(1) as workers:
        found = driver.fit(plan, MemoryRows(counts, workers))
    return mixture_gain(counts, found.labels_of_rates == 0)


def work_of(n_stored: int, n_rows: int, n_columns: int) -> int:
    """Counts that are worked on; cells if few of them are zero."""
    cells = n_rows * n_columns
    return cells if n_stored > DENSE_SHARE * cells else n_stored


def thinned(
    rows: NDArray[np.intp],
    inside: NDArray[np.bool_],
    kept: float,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """A share of the rows, or some more if they are few, both parts in proportion.

    From a part that was found as the best of many rows, more than its share would be
    better than the best of the fewer rows of a drawn table.
    """
    parts = [rows[inside[rows]], rows[~inside[rows]]]
    smaller = min(map(len, parts))
    kept = max(kept, min(AT_MOST_TIMES * kept, FEWEST_ROWS / max(1, smaller)))
    if kept >= 1:
        return rows
    chosen = [
        rng.permutation(part)[: max(1, round(kept * len(part)))] for part in parts
    ]
    return np.sort(np.concatenate(chosen))
