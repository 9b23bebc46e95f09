"""Whether two parts of some rows are more than the best that chance would divide.

The statistic is the likelihood that a division of the rows in two gains, with counts in
units of their dispersion. Clusters were found on the same rows, and any rows can be
divided with a gain. So it is compared with what the best divisions of tables gain that
are drawn from the null model, which is one cluster, measured on each in the same way,
with the same sizes of the two parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from .codes import all_relevant
from .drawn_tables import DrawnTables
from .model import log

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .codes import Floats
    from .counts import Counts
    from .workers import Workers

    # A numpy array, or a sparse one in rows.
    Table = Any

# Tables of few cells, not many of them zero, are dense.
MOST_DENSE_CELLS = 1 << 22
DENSE_SHARE = 0.15


def as_table(counts: Counts) -> Table:
    """Return the counts in the form that is quicker to work with."""
    n_cells = counts.n_rows * counts.n_columns
    matrix = counts.matrix()
    if matrix.nnz > DENSE_SHARE * n_cells and n_cells <= MOST_DENSE_CELLS:
        return matrix.toarray()
    return matrix


def without_empty(counts: Counts) -> tuple[Counts, NDArray[np.bool_]]:
    """Drop rows and columns without counts; also return which rows are left."""
    columns = np.bincount(counts.indices, counts.data, counts.n_columns) > 0
    rows = counts.row_lengths(1) > 0
    if not rows.all():
        counts = counts.rows(np.flatnonzero(rows))
    return counts.columns(columns), rows


def one_cluster(counts: Counts) -> DrawnTables:
    """Measure all rows as one cluster."""
    labels = np.zeros(counts.n_rows, np.int32)
    return DrawnTables.of(counts, labels, all_relevant(counts.n_columns))


# Tables that are drawn at first; if they leave a doubt, there are as many as below.
FIRST_DRAWS = 4
ALL_DRAWS = 20
# After the first tables a division is no longer in doubt if its p-value is above the
# one, or below this part of the level.
NO_DOUBT = 0.3
CLEAR_PART = 0.05
# Directions of most variance, on both sides of which divisions start.
DIRECTIONS = 2
POWER_STEPS = 3
MOST_STEPS = 10
# Steps end that gain less than this part.
LEAST_GAIN = 1e-3
# Part of the overall shares in those of each side, so that logarithms exist.
SMOOTHING = 1e-3


@dataclass(frozen=True)
class SplitResult:
    """Gain of a division and of the best ones of drawn tables, all in nats.

    ``z`` is how far it lies above them in standard deviations, ``p_value`` that of a
    t-test for one more value.
    """

    gain: float
    null_mean: float
    z: float
    p_value: float


def split_result(
    counts: Counts,
    inside: NDArray[np.bool_],
    level: float,
    seed: np.random.SeedSequence,
    workers: Workers,
) -> SplitResult:
    """Test the division of the rows into those inside and the rest."""
    counts, kept = without_empty(counts)
    inside = inside[kept]
    if inside.sum() * 2 > len(inside):
        inside = ~inside
    n_inside = int(inside.sum())
    if n_inside == 0 or counts.n_columns < 2:
        return SplitResult(0.0, 0.0, 0.0, 1.0)
    model = one_cluster(counts)
    found = _refined_gains(_in_units(counts, model), inside[:, None].astype(float))
    gain = float(found.max())
    seeds = seed.spawn(ALL_DRAWS)
    one = partial(_null_gain, model, n_inside)
    nulls = list(workers.map(one, seeds[:FIRST_DRAWS]))
    result = _compared(gain, nulls)
    if CLEAR_PART * level < result.p_value < NO_DOUBT:
        nulls += workers.map(one, seeds[FIRST_DRAWS:])
        result = _compared(gain, nulls)
    return result


def _compared(gain: float, nulls: list[float]) -> SplitResult:
    n, mean, sd = len(nulls), float(np.mean(nulls)), float(np.std(nulls, ddof=1))
    spread = max(sd * np.sqrt(1 + 1 / n), np.finfo(float).tiny)
    z = (gain - mean) / spread
    return SplitResult(gain, mean, z, float(stats.t.sf(z, n - 1)))


def _null_gain(
    model: DrawnTables, n_inside: int, seed: np.random.SeedSequence
) -> float:
    """Gain of the best division of a drawn table."""
    rng = np.random.default_rng(seed)
    counts, _ = without_empty(model.draw(rng))
    n_inside = min(n_inside, counts.n_rows // 2)
    if n_inside == 0 or counts.n_columns < 2:
        return 0.0
    units = _in_units(counts, one_cluster(counts))
    return float(_refined_gains(units, _starts(units, n_inside, rng)).max())


def _in_units(counts: Counts, model: DrawnTables) -> Table:
    """Counts over the dispersions of their columns."""
    table = as_table(counts)
    if isinstance(table, np.ndarray):
        return table / model.dispersions
    units = table.copy()
    units.data = units.data / model.dispersions[units.indices]
    return units


def _starts(units: Table, n_inside: int, rng: np.random.Generator) -> Floats:
    """Divisions by the directions of most variance: the rows at either end."""
    sizes, totals = np.asarray(units.sum(axis=1)), np.asarray(units.sum(axis=0))
    root_shares = np.sqrt(totals / totals.sum())
    directions = rng.standard_normal((len(totals), DIRECTIONS))
    for _ in range(POWER_STEPS):
        # Residuals over their deviations, X - r p over root r p, are never formed.
        places = units @ (directions / root_shares[:, None])
        places -= sizes[:, None] * (root_shares @ directions)
        places /= sizes[:, None]
        back = (units.T @ places) / root_shares[:, None]
        back -= np.outer(root_shares, sizes @ places)
        directions, _ = np.linalg.qr(back)
    scores = units @ (directions / root_shares[:, None])
    scores -= sizes[:, None] * (root_shares @ directions)
    return np.hstack([_ends(scores, n_inside), _ends(-scores, n_inside)])


def _ends(scores: Floats, n_inside: int) -> Floats:
    """Mark the rows of the largest scores in each column."""
    inside = np.zeros_like(scores)
    best = np.argpartition(-scores, n_inside - 1, axis=0)[:n_inside]
    np.put_along_axis(inside, best, 1.0, axis=0)
    return inside


def _refined_gains(units: Table, inside: Floats) -> Floats:
    """Move rows to the side that they fit until that gains nothing; return the gains.

    Each column of ``inside`` is a division, whose sizes are kept.
    """
    totals, n_inside = np.asarray(units.sum(axis=0)), int(inside[:, 0].sum())
    background = SMOOTHING * n_inside / len(inside) * totals
    gains = np.full(inside.shape[1], -np.inf)
    for _ in range(MOST_STEPS):
        sums = np.clip((units.T @ inside).T, 0.0, totals)
        now = _gains(sums, totals)
        if (now <= gains * (1 + LEAST_GAIN)).all():
            break
        gains = np.maximum(gains, now)
        near, far = sums + background, totals - sums + background
        weights = np.log(near / near.sum(axis=1, keepdims=True))
        weights -= np.log(far / far.sum(axis=1, keepdims=True))
        inside = _ends(units @ weights.T, n_inside)
    return gains


def _gains(sums: Floats, totals: Floats) -> Floats:
    """Likelihood that divisions gain, from the sums of one side."""

    def value(parts: Floats) -> Floats:
        whole = parts.sum(axis=-1)
        return (parts * log(parts)).sum(axis=-1) - whole * log(whole)

    return value(sums) + value(totals - sums) - value(totals[None])
