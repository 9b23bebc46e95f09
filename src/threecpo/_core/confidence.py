"""How sure the cluster of a row is: scores without the row, over their dispersion.

A row has helped to make its cluster, so it is scored in it as if it had not. Scores of
counts that vary more than Poisson counts are too far apart; they are divided by how
much more they vary, T, in the direction from one cluster to the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .batch_model import exposures_of, rates_of
from .codes import NOISE, RELEVANT, SHARED
from .loops import columns as column_loops
from .loops import left_out as left_out_loops
from .loops.left_out import LeftOut
from .loops.records import rows_of
from .model import ratio, weight_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .codes import Floats, Groups, Ints
    from .counts import Counts
    from .model import SmoothedSums
    from .workers import Workers

# Floor of a numerator where there is no prior.
LEAST = 1e-3
# Pairs of clusters with fewer rows between them say nothing about T.
ROWS_PER_PAIR = 5


class LeftOutScores(NamedTuple):
    """Score of every row in every cluster, in its own as if it were not there.

    ``owner`` is the cluster whose sums a row is in (-1: none), ``rivals`` the best
    other one, ``differences`` how much better the first scores, ``sizes`` is r_i;
    ``weights`` and ``batches`` are None where all are the same. T needs no ``scores``:
    they are None where there was no room for them.
    """

    scores: Floats | None
    differences: Floats
    owner: Ints
    rivals: Ints
    sizes: Floats
    weights: Floats | None = None
    batches: Ints | None = None


def stacked(parts: Sequence[LeftOutScores]) -> LeftOutScores:
    """Return what is known of the rows of several blocks below each other."""
    columns = zip(*parts, strict=True)
    return LeftOutScores._make(
        None if each[0] is None else np.concatenate(each) for each in columns
    )


def left_out_scores(
    counts: Counts, owner: Ints, terms: LeftOut, exact: Floats, workers: Workers
) -> LeftOutScores:
    """Exact scores S, and for its own cluster S', at least the best other score.

    Writes into ``exact``. Of a row of weight w one copy is left out, or w of it where
    that is less; a row of weight 0 is in no cluster.
    """
    labels = np.ascontiguousarray(owner, dtype=np.int32)
    if counts.weights is not None:
        labels = np.where(counts.weights > 0, labels, np.int32(-1))
    rivals, sizes = np.zeros(counts.n_rows, np.int32), np.empty(counts.n_rows)
    rows = rows_of(counts)

    def one(block: tuple[int, int]) -> None:
        out = exact, rivals, sizes
        left_out_loops.score_left_out(rows, block, labels, terms, *out)

    for _ in workers.map(one, counts.blocks):
        pass
    batches = counts.batches if len(terms.effects) else None
    every, differences = np.arange(counts.n_rows), np.zeros(counts.n_rows)
    if exact.shape[1] > 1:
        with np.errstate(invalid="ignore"):
            differences = exact[every, labels] - exact[every, rivals]
    of_rows = differences, labels, rivals, sizes, counts.weights, batches
    return LeftOutScores(exact, *of_rows)


def temperature(found: LeftOutScores, sums: SmoothedSums, groups: Groups) -> float:
    """T: how many times more scores vary between two clusters than of Poisson counts.

    1 at least, and 1 where no two clusters have enough rows between them.
    """
    return max(1.0, dispersion_ratio(found, sums, groups))


def dispersion_ratio(found: LeftOutScores, sums: SmoothedSums, groups: Groups) -> float:
    """T before it is raised to 1; NaN where nothing tells it.

    Scores vary, in rows of a whose best other cluster is b, around the mean of those in
    the same batch. Pairs with few rows say nothing.
    """
    expected = _variances(sums, groups)
    k, _, n_batches = expected.shape
    n_cells = expected.size
    inside = np.flatnonzero(found.owner >= 0)
    if k == 1 or not len(inside):
        return np.nan
    own, rival = found.owner[inside].astype(np.intp), found.rivals[inside]
    z = found.differences[inside]
    r = np.maximum(found.sizes[inside], 1.0)
    cell = (own * k + rival) * n_batches
    if found.batches is not None:
        cell += found.batches[inside]
    cell = np.where(np.isfinite(z), cell, n_cells)
    z = np.where(np.isfinite(z), z, 0.0)
    w = None if found.weights is None else found.weights[inside]

    def added(values: Floats | None) -> Floats:
        # bincount adds in the order of the rows, for any blocks and threads.
        if values is not None and w is not None:
            values = w * values
        weights = w if values is None else values
        return np.bincount(cell, weights, n_cells + 1).astype(np.float64, copy=False)

    n, sum_z, sum_r = added(None), added(z), added(r)
    mean = sum_z / np.where(sum_r > 0, sum_r, 1.0)
    squares = added((z - r * mean[cell]) ** 2 / r)
    # Light rows count once, heavy ones as often as their weight says.
    enough = np.maximum(n, np.bincount(cell, None, n_cells + 1)) >= ROWS_PER_PAIR
    shape = expected.shape
    measured = np.where(enough, squares, 0.0)[:-1].reshape(shape)
    expected = np.where(enough[:-1], n[:-1], 0.0).reshape(shape) * expected
    measured, expected = measured.sum(axis=2), expected.sum(axis=2)
    return float(measured.sum() / expected.sum()) if expected.sum() > 0 else np.nan


def probabilities(row_scores: Floats, temperature: float) -> Floats:
    """Softmax of scores over T; equal shares where a row fits no cluster at all."""
    top = row_scores.max(axis=1, keepdims=True)
    top[~np.isfinite(top)] = 0.0
    out = np.exp((row_scores - top) / temperature)
    total = out.sum(axis=1, keepdims=True)
    out[total[:, 0] == 0] = 1.0
    out /= out.sum(axis=1, keepdims=True)
    return out


def of_joined(fine: Floats, into: Ints) -> Floats:
    """Probabilities of joined clusters: each is as likely as the best in it."""
    out = np.zeros((len(fine), int(into.max()) + 1))
    for column, cluster in zip(fine.T, into.tolist(), strict=True):
        np.maximum(out[:, cluster], column, out=out[:, cluster])
    out /= out.sum(axis=1, keepdims=True)
    return out


def left_out_terms(sums: SmoothedSums, groups: Groups) -> LeftOut:
    """What scores rows without themselves, from the sums that they are in."""
    prior, floor = sums.prior, sums.prior or LEAST
    slots = np.empty(len(groups), dtype=np.int32)
    column_loops.fill_slots(groups, slots)
    weights = sums.column_weights
    own = 1.0 if weights is None else weights[groups == RELEVANT]
    values = _numerators(sums, groups)
    inside, (rates, effects) = values[:, :-1], _rates(sums, groups)
    nothing = np.maximum(inside - own * prior, own * floor)
    terms = own * prior * np.log(nothing)
    logs = own * prior * np.log(rates[:, :-1]) if len(rates) else np.zeros_like(inside)
    with np.errstate(divide="ignore"):
        lighter = own * prior * np.log(inside) if prior else np.zeros_like(inside)
    expected = rates[:, None, :-1] * effects[:, :-1] if len(rates) else np.ones(1)
    arrays = (
        slots,
        np.ones(len(groups)) if weights is None else weights.copy(),
        values,
        np.ascontiguousarray(terms),
        (terms + logs).sum(axis=1),
        (nothing[:, None] * expected).sum(axis=2),
        (lighter + logs).sum(axis=1),
        (inside[:, None] * expected).sum(axis=2),
        rates,
        effects,
    )
    for array in arrays:
        array.setflags(write=False)
    used = float(weight_of(weights, groups != NOISE))
    shared = float(weight_of(weights, groups == SHARED))
    return LeftOut(*arrays, prior, used, shared, floor)


def _numerators(sums: SmoothedSums, groups: Groups) -> Floats:
    """Sums of each cluster in C1 and, last, over C0."""
    shared = sums.clusters[:, groups == SHARED].sum(axis=1)
    return np.ascontiguousarray(
        np.column_stack([sums.clusters[:, groups == RELEVANT], shared])
    )


def _rates(sums: SmoothedSums, groups: Groups) -> tuple[Floats, Floats]:
    """Rate of each cluster over its numerator, and the effects of the batches.

    What batches and other rows expect of a column is held when a row is left out.
    Empty where there is one batch.
    """
    if sums.batches is None:
        return np.empty((0, 0)), np.empty((0, 0))
    found = rates_of(sums, groups)
    inverse = ratio(1.0, exposures_of(found.scales, found.batches), 1.0)
    return inverse, np.ascontiguousarray(found.batches)


def _variances(sums: SmoothedSums, groups: Groups) -> Floats:
    """V_ab by batch: variance of the score of a against b, for one count of a.

    A count of weight w adds w times its score to the sum, and w to the size: for one of
    size, it varies w times as much.
    """
    values, (rates, effects) = _numerators(sums, groups), _rates(sums, groups)
    values = np.maximum(values, sums.prior or LEAST)
    if len(rates):
        values *= rates
    if not (groups == SHARED).any():
        values, effects = values[:, :-1], effects[:, :-1]
    k, logs, weights = len(values), np.log(values), _variance_weights(sums, groups)
    out = np.empty((k, k, max(1, len(effects))))
    for batch in range(out.shape[2]):
        here = values * effects[batch] if len(effects) else values
        totals = here.sum(axis=1, keepdims=True)
        totals = np.maximum(totals, np.finfo(float).tiny)
        shares, own = here / totals, logs - np.log(totals)
        for a, share in enumerate(shares):
            difference = own[a] - own
            mean = (share * difference).sum(axis=1)
            if weights is not None:
                around = (difference - mean[:, None]) ** 2
                out[a, :, batch] = (share * weights[batch] * around).sum(axis=1)
                continue
            square = (share * difference**2).sum(axis=1)
            out[a, :, batch] = np.maximum(square - mean**2, 0.0)
    return out


def _variance_weights(sums: SmoothedSums, groups: Groups) -> Floats | None:
    """Weights of the columns of C1 and of a count of C0, by batch; None: all 1."""
    if sums.column_weights is None:
        return None
    weights, shared = sums.column_weights, groups == SHARED
    totals = sums.totals[None] if sums.batches is None else sums.batches.totals
    out = np.tile(weights[groups == RELEVANT], (len(totals), 1))
    if not shared.any():
        return out
    counts = np.maximum(totals[:, shared], np.finfo(float).tiny)
    mean = (counts * weights[shared]).sum(axis=1) / counts.sum(axis=1)
    return np.column_stack([out, mean])
