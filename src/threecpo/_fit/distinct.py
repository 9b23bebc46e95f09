"""Whether a division of rows is more than independent columns of its dispersion give.

Clusters were found on the same rows, and any rows can be divided with a gain. So the
gain of a division is compared with those of tables that are drawn from one cluster with
the measured dispersions, and divided by the search of the fit itself.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaincc

from .._core.codes import RELEVANT, all_relevant, free
from .._core.dispersion import dispersions
from .._core.drawn_tables import DrawnTables
from .._core.merging import cluster_tree, join_clusters
from .._core.split_test import (
    DENSE_SHARE,
    NO_COMMON_BATCH,
    NOTHING_TO_TEST,
    TOO_FEW_COUNTS,
    SplitResult,
    mixture_gain,
)
from .._core.sums import sum_by_labels
from . import driver

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core.codes import Ints
    from .._core.counts import Counts
    from .._core.workers import Workers
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
# Permutations, over the level; they end when so many of them reached the gain.
PERMUTATIONS = 5
ENOUGH = 20


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
    every = {"groups": (RELEVANT,), "price": free, "fixed_groups": ()}
    plan = plan.alone(2, RUNS, outliers=None, **every)
    plan = plan.with_column_weights(counts.column_weights)
    gain_of = partial(_null_gain, null, plan)
    seeds = seed.spawn(ALL_DRAWS)
    nulls = list(workers.map(gain_of, seeds[:FIRST_DRAWS]))
    result = SplitResult.of(gain, nulls)
    if CLEAR_PART * level < result.p_value < NO_DOUBT:
        nulls += workers.map(gain_of, seeds[FIRST_DRAWS:])
        result = SplitResult.of(gain, nulls)
    return result


def label_result(
    plan: Plan,
    workers: Workers,
    counts: Counts,
    labels: Ints,
    inside: NDArray[np.bool_],
    level: float,
    seed: np.random.SeedSequence,
    *,
    independent: bool,
) -> SplitResult:
    """Test a division of rows that somebody labelled.

    Labels that are not ``independent`` of the counts must pass the test of a division,
    too. It would not do alone: it goes on from the labels to better divisions, which
    rows may have whatever the labels say.
    """
    batches = np.zeros(len(inside), np.int32)
    if counts.batches is not None:
        batches = counts.batches
    sides = np.unique(np.column_stack([batches, inside]), axis=0)
    if len(sides) == len(np.unique(batches)):
        return NO_COMMON_BATCH
    prior = plan.settings.prior
    permuted = _permutation_result(counts, labels, batches, prior, level, seed)
    if independent:
        return permuted
    found = division_result(counts, inside, plan, level, seed, workers)
    p_value = float(np.maximum(found.p_value, permuted.p_value))
    return replace(found, p_value=p_value)


def _permutation_result(
    counts: Counts,
    labels: Ints,
    batches: Ints,
    prior: float,
    level: float,
    seed: np.random.SeedSequence,
) -> SplitResult:
    """Compare the gain of the first division of labels with those of permuted labels.

    Labels are permuted within batches; each time their groups are merged into two.
    """
    names, codes = np.unique(labels, return_inverse=True)
    columns, k = all_relevant(counts.n_columns), len(names)
    one = np.zeros(len(codes), np.int32)
    sums = sum_by_labels(counts, one, 1, columns, 0.0).smoothed(0.0)
    weights = 1 / np.maximum(1.0, dispersions(counts, one, sums, columns))

    def gain_of(codes: Ints) -> float:
        sums = sum_by_labels(counts, codes, k, columns, prior)
        if k > 2:
            tree = cluster_tree(sums, columns, prior)
            first = tree.members[int(tree.linkage[-1, 0])]
            sums = sums.joined((~np.isin(np.arange(k), first)).astype(np.int32))
        sums = replace(sums, column_weights=weights)
        return float(join_clusters(sums, columns, 1, prior).lost[0])

    gain, rng = gain_of(codes.astype(np.int32)), np.random.default_rng(seed)
    permuted, places = codes.astype(np.int32), np.argsort(batches, kind="stable")
    nulls: list[float] = []
    n_most, n_reached = int(np.ceil(PERMUTATIONS / level)) - 1, 0
    while len(nulls) < n_most and n_reached < ENOUGH:
        permuted[places] = codes[np.lexsort((rng.random(len(codes)), batches))]
        nulls.append(gain_of(permuted))
        n_reached += nulls[-1] >= gain
    n, mean, sd = len(nulls), float(np.mean(nulls)), float(np.std(nulls, ddof=1))
    # Besag and Clifford (1991) if it ended early; beyond all gains a gamma's tail.
    p_value = n_reached / n if n_reached == ENOUGH else (n_reached + 1) / (n + 1)
    if not n_reached and sd > 0:
        tail = gammaincc((mean / sd) ** 2, gain * mean / sd**2)
        p_value = min(p_value, float(tail))
    z = (gain - mean) / sd if sd > 0 else 0.0
    return SplitResult(gain, mean, z, float(p_value))


def _null_gain(null: DrawnTables, plan: Plan, seed: np.random.SeedSequence) -> float:
    """Gain of the division that the search finds in a drawn table."""
    rng = np.random.default_rng(seed)
    counts = null.draw(rng)
    found = driver.fit_alone(plan, counts, rng.integers(2**32, size=4).tolist())
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
