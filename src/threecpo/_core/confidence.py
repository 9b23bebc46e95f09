"""How sure the cluster of a row is: scores without the row, over their dispersion.

A row has helped to make its cluster, so it is scored in it as if it had not. Scores of
counts that vary more than Poisson counts are too far apart; they are divided by how
much more they vary, T, in the direction from one cluster to the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .codes import RELEVANT, SHARED
from .describe import scores
from .loops import columns as column_loops
from .loops import left_out as left_out_loops
from .loops.left_out import LeftOut
from .loops.records import rows_of
from .rules import EXACT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .counts import Counts
    from .model import SmoothedSums
    from .workers import Workers

# Floor of a numerator where there is no prior.
LEAST = 1e-3
# Pairs of clusters with fewer rows between them say nothing about T.
ROWS_PER_PAIR = 5


class LeftOutScores(NamedTuple):
    """Score of every row in every cluster, in its own as if it were not there.

    ``owner`` is the cluster whose sums a row is in (-1: none), ``sizes`` is r_i.
    """

    scores: NDArray[np.float64]
    owner: NDArray[np.int32]
    sizes: NDArray[np.float64]


def left_out_scores(
    counts: Counts,
    owner: NDArray[np.int32],
    sums: SmoothedSums,
    groups: NDArray[np.int8],
    workers: Workers,
) -> LeftOutScores:
    """Exact scores S, for its own cluster S'; that is raised to the best other one."""
    out = scores(counts, EXACT.profile(sums, groups), workers)
    own, sizes = np.zeros(counts.n_rows), np.empty(counts.n_rows)
    rows, terms = rows_of(counts), _terms(sums, groups)
    labels = np.ascontiguousarray(owner, dtype=np.int32)

    def one(block: tuple[int, int]) -> None:
        left_out_loops.score_left_out(rows, block, labels, terms, sizes, own)

    for _ in workers.map(one, counts.blocks):
        pass
    inside = np.flatnonzero(labels >= 0)
    places = inside, labels[inside]
    out[places] = -np.inf
    out[places] = np.maximum(own[inside], out[inside].max(axis=1))
    return LeftOutScores(out, labels, sizes)


def temperature(
    found: LeftOutScores, sums: SmoothedSums, groups: NDArray[np.int8]
) -> float:
    """T: how many times more scores vary between two clusters than of Poisson counts.

    1 at least, and 1 where no two clusters have enough rows between them.
    """
    return max(1.0, dispersion_ratio(found, sums, groups))


def dispersion_ratio(
    found: LeftOutScores, sums: SmoothedSums, groups: NDArray[np.int8]
) -> float:
    """T before it is raised to 1; NaN where nothing tells it."""
    measured, expected = pair_sums(found, sums, groups)
    return float(measured.sum() / expected.sum()) if expected.sum() > 0 else np.nan


def pair_sums(
    found: LeftOutScores, sums: SmoothedSums, groups: NDArray[np.int8]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Variance between each pair of clusters, measured and of Poisson counts (K x K).

    Row a, column b: of rows of a whose best other cluster is b. 0 for pairs with few.
    """
    k = found.scores.shape[1]
    measured, expected = np.zeros((k, k)), np.zeros((k, k))
    inside = np.flatnonzero(found.owner >= 0)
    if k == 1 or not len(inside):
        return measured, expected
    own = found.owner[inside]
    others = found.scores[inside]
    top = others[np.arange(len(inside)), own]
    others[np.arange(len(inside)), own] = -np.inf
    best = others.argmax(axis=1)
    with np.errstate(invalid="ignore"):
        z = top - others[np.arange(len(inside)), best]
    r = np.maximum(found.sizes[inside], 1.0)
    pair = np.where(np.isfinite(z), own * k + best, k * k)
    z = np.where(np.isfinite(z), z, 0.0)
    # bincount adds in the order of the rows, for any blocks and threads.
    n, sum_z, sum_r = (
        np.bincount(pair, weights, k * k + 1) for weights in (None, z, r)
    )
    mean = sum_z / np.maximum(sum_r, 1.0)
    squares = np.bincount(pair, (z - r * mean[pair]) ** 2 / r, k * k + 1)
    enough = n[:-1] >= ROWS_PER_PAIR
    variances = _variances(sums, groups).ravel()
    measured.ravel()[enough] = squares[:-1][enough]
    expected.ravel()[enough] = (n[:-1] * variances)[enough]
    return measured, expected


def probabilities(
    row_scores: NDArray[np.float64], temperature: float
) -> NDArray[np.float64]:
    """Softmax of scores over T; equal shares where a row fits no cluster at all."""
    top = row_scores.max(axis=1, keepdims=True)
    top[~np.isfinite(top)] = 0.0
    out = np.exp((row_scores - top) / temperature)
    total = out.sum(axis=1, keepdims=True)
    out[total[:, 0] == 0] = 1.0
    out /= out.sum(axis=1, keepdims=True)
    return out


def of_joined(
    fine: NDArray[np.float64], into: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Probabilities of joined clusters: each is as likely as the best in it."""
    out = np.zeros((len(fine), int(into.max()) + 1))
    for column, cluster in zip(fine.T, into.tolist(), strict=True):
        np.maximum(out[:, cluster], column, out=out[:, cluster])
    out /= out.sum(axis=1, keepdims=True)
    return out


def _terms(sums: SmoothedSums, groups: NDArray[np.int8]) -> LeftOut:
    shared, relevant = groups == SHARED, groups == RELEVANT
    floor = sums.prior or LEAST
    slots = np.empty(len(groups), dtype=np.int32)
    column_loops.fill_slots(groups, slots)
    inside = np.ascontiguousarray(sums.clusters[:, relevant])
    priors = np.full(inside.shape[1], sums.prior)
    if sums.column_weights is not None:
        priors *= sums.column_weights[relevant]
    nothing = np.maximum(inside - priors, floor)
    terms = priors * np.log(nothing)
    arrays = (
        slots,
        inside,
        sums.clusters[:, shared].sum(axis=1),
        terms,
        terms.sum(axis=1),
        nothing.sum(axis=1),
        priors,
    )
    for array in arrays:
        array.setflags(write=False)
    return LeftOut(
        *arrays,
        shared_prior=sums.prior_in(shared),
        size_prior=sums.prior_in(shared | relevant),
        has_shared=bool(shared.any()),
        floor=floor,
    )


def _variances(sums: SmoothedSums, groups: NDArray[np.int8]) -> NDArray[np.float64]:
    """V_ab: variance of the score of a against b, for one count of cluster a."""
    values = sums.clusters[:, groups == RELEVANT]
    if (groups == SHARED).any():
        shared = sums.clusters[:, groups == SHARED].sum(axis=1, keepdims=True)
        values = np.hstack([values, shared])
    values = np.maximum(values, sums.prior or LEAST)
    shares = values / values.sum(axis=1, keepdims=True)
    logs = np.log(shares)
    out = np.empty((len(shares), len(shares)))
    for a, (share, log) in enumerate(zip(shares, logs, strict=True)):
        difference = log - logs
        mean = difference @ share
        out[a] = np.maximum(difference**2 @ share - mean**2, 0.0)
    return out
