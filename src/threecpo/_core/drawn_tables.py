"""Tables drawn from clusters: counts of independent columns, each with its dispersion.

Rows keep their sizes, as a fit takes sizes as given: without dispersion the counts of a
row are multinomial. A column of dispersion φ varies φ times as much as that, since its
rate in each row is drawn from a gamma distribution. The clusters can be shrunk towards
one cluster, which is the null model of all tests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .codes import NOISE, inner_labels
from .dispersion import RatioTerms
from .matrices import from_sparse
from .rows import NOTHING
from .sums import sum_by_labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from .codes import Floats, Groups, Ints
    from .counts import Counts
    from .rows import RowInfo

    # Counts with their rows and columns.
    Entries = tuple[Floats, NDArray[np.intp], NDArray[np.intp]]

# The excess of a row grows with its size, as that of negative binomial counts does, if
# a power of this at least fits; as sizes vary with the counts, it is found too small.
LEAST_POWER = 0.25
# Columns with more counts than this per row are drawn cell by cell.
MANY_COUNTS = 0.5
POISSON = 1e-9
# Rows whose factors lie within such a ratio share one where they have few counts.
FACTOR_STEP = 1.25
# Part of the variance of a row that one column is taken to have at most.
LARGEST_PART = 0.9
# Tables drawn to see how much of the excess is lost; of single columns with an excess
# well above this.
MATCHING_DRAWS = 4
LEAST_EXCESS = 0.05
MOST_STRETCH = 10.0


@dataclass(frozen=True, eq=False)
class DrawnTables:
    """What tables are drawn from: sizes of rows, profiles and dispersions of columns.

    Each row has the profile ``profiles[lines[i]]``, which sums to 1; ``flat`` columns
    are beside it and have a mean of their own, whatever the size of the row. The
    dispersions φ_j are 1 at least; their excesses grow with the size of rows to a
    power, and are drawn ``stretches`` times as large. ``null`` is one cluster, to which
    ``shrunk`` leads; None where there is no other.
    """

    sizes: Floats
    lines: Ints
    profiles: Floats
    dispersions: Floats
    power: float
    stretches: Floats
    flat: NDArray[np.bool_]
    null: DrawnTables | None = None
    row_info: RowInfo = NOTHING
    column_weights: Floats | None = None

    @classmethod
    def of(cls, counts: Counts, labels: Ints, groups: Groups) -> DrawnTables:
        """Measure clusters of rows; -1 is an outlier.

        Columns of C0 have the same rates in all clusters, those of C- are flat.
        """
        n_clusters = max(1, int(labels.max(initial=0)) + 1)
        flat, n_batches = groups == NOISE, counts.n_batches
        lines = inner_labels(labels, n_clusters) * np.int32(n_batches)
        if counts.batches is not None:
            lines = lines + counts.batches
        own = cls(
            sizes=np.asarray(counts.matrix() @ (~flat).astype(float)),
            lines=lines.astype(np.int32),
            flat=flat,
            row_info=counts.row_info,
            column_weights=counts.column_weights,
            stretches=np.ones(counts.n_columns),
            **_measured(counts, labels, n_clusters, groups),
        )
        if n_clusters == 1:
            return own._matched(labels, 1, groups)
        one = np.zeros(counts.n_rows, np.int32)
        joined = _measured(counts, one, 1, groups)
        joined["profiles"] = np.tile(
            joined["profiles"][:n_batches], (n_clusters + 1, 1)
        )
        null = replace(own, **joined)._matched(one, 1, groups)
        return replace(own._matched(labels, n_clusters, groups), null=null)

    def _matched(self, labels: Ints, n_clusters: int, groups: Groups) -> DrawnTables:
        """Stretch excesses until they show although drawn rows keep their sizes."""
        rng, now = np.random.default_rng(0), self
        wanted = np.where(self.flat, 0.0, self.dispersions - 1)
        means = np.bincount(self.lines, self.sizes, len(self.profiles)) @ self.profiles
        means /= max(1, len(self.lines))
        weights = means / (1 + means) / self.dispersions**2
        if float(weights @ wanted) <= POISSON:
            return self
        for step in range(1, MATCHING_DRAWS + 1):
            drawn = _measured(now.draw(rng), labels, n_clusters, groups)
            shown = drawn["dispersions"] - 1
            together = weights @ wanted / max(float(weights @ shown), POISSON)
            apart = (wanted + LEAST_EXCESS) / (together * shown + LEAST_EXCESS)
            # Ever smaller steps: draws are noisy, and this takes their mean.
            stretches = now.stretches * (together * apart) ** (1 / step)
            stretches = np.clip(stretches, 1 / MOST_STRETCH, MOST_STRETCH)
            now = replace(now, stretches=np.where(self.flat, 1.0, stretches))
        return now

    def shrunk(self, share: float) -> DrawnTables:
        """Leave this share of the way from one cluster (0) to the clusters (1)."""
        null = self.null or self

        def between(name: str) -> Any:
            overall, own = getattr(null, name), getattr(self, name)
            return overall + share * (own - overall)

        names = "profiles", "dispersions", "power", "stretches"
        return replace(self, **{name: between(name) for name in names})

    @property
    def row_factors(self) -> Floats:
        """How many times the mean excess of a column the rows have; 1 on average."""
        mean = self.sizes.mean() if len(self.sizes) else 0.0
        if not self.power or not mean:
            return np.ones(len(self.sizes))
        factors = (self.sizes / mean) ** self.power
        return factors / factors.mean()

    def draw(self, rng: np.random.Generator) -> Counts:
        """Draw a table of the same rows and columns."""
        n_rows, n_columns = len(self.lines), len(self.flat)
        whole = np.floor(self.sizes)
        sizes = (whole + (rng.random(n_rows) < self.sizes - whole)).astype(np.int64)
        mean = np.bincount(self.lines, sizes, len(self.profiles)) @ self.profiles
        many = (mean > MANY_COUNTS * n_rows) & ~self.flat
        few = np.flatnonzero(~many & ~self.flat)
        drawn, left = self._cells(rng, sizes, np.flatnonzero(many), few)
        parts = [drawn, *self._groups(rng, left, few), *self._flat_cells(rng)]
        data, row, column = (np.concatenate(each) for each in zip(*parts, strict=True))
        matrix = sp.coo_array((data, (row, column)), shape=(n_rows, n_columns)).tocsr()
        counts = from_sparse(matrix).with_rows(self.row_info)
        return counts.with_column_weights(self.column_weights)

    @property
    def _excess(self) -> Floats:
        """φ_j - 1 of counts before the sizes of their rows were given.

        Given its size, the part w of the variance of a row that a column has makes
        φ_j smaller by the factor 1 - w.
        """
        means = np.bincount(self.lines, self.sizes, len(self.profiles)) @ self.profiles
        inside = ~self.flat & (means > 0)
        spread, found = self.dispersions, self.dispersions.copy()
        for _ in range(20):
            parts = np.where(inside, found * means, 0.0)
            parts /= max(parts.sum(), np.finfo(float).tiny)
            found = spread / (1 - np.minimum(parts, LARGEST_PART))
        return np.where(spread > 1 + POISSON, self.stretches * (found - 1), 0.0)

    def _cells(
        self,
        rng: np.random.Generator,
        sizes: NDArray[np.int64],
        many: NDArray[np.intp],
        few: NDArray[np.intp],
    ) -> tuple[Entries, NDArray[np.int64]]:
        """Counts of columns with many, and what is left of each row for the others."""
        if not len(many):
            nothing = np.zeros(0, np.intp)
            return (np.zeros(0), nothing, nothing), sizes
        excess = self._excess
        own, others = self.profiles[:, many], self.profiles[:, few]
        rest = others.sum(axis=1)
        of_rest = others @ excess[few] / np.maximum(rest, np.finfo(float).tiny)
        shares = np.column_stack([own, rest])[self.lines]
        spread = np.column_stack([np.tile(excess[many], (len(own), 1)), of_rest])
        spread = spread[self.lines] * self.row_factors[:, None]
        rates = shares * sizes[:, None]
        varying = (spread > POISSON) & (rates > 0)
        shapes = rates[varying] / spread[varying]
        rates[varying] = rng.standard_gamma(shapes) * spread[varying]
        totals = rates.sum(axis=1, keepdims=True)
        rates = np.divide(rates, totals, out=shares, where=totals > 0)
        # Shares of nothing but rounding errors; the last takes what others leave.
        rates /= np.maximum(rates.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        drawn = rng.multinomial(sizes, rates)
        cells = sp.coo_array(drawn[:, :-1])
        row = cells.row.astype(np.intp)
        return (cells.data.astype(float), row, many[cells.col]), drawn[:, -1]

    def _groups(
        self,
        rng: np.random.Generator,
        sizes: NDArray[np.int64],
        columns: NDArray[np.intp],
    ) -> Iterator[Entries]:
        """Counts of columns with few: groups of them until a row has its size.

        A negative binomial count is a sum of groups whose sizes have the logarithmic
        distribution, so that only cells with counts are visited.
        """
        excess, factors = self._excess[columns], self.row_factors
        steps = np.zeros(len(sizes), np.int64)
        if (excess > POISSON).any() and self.power:
            with np.errstate(divide="ignore"):
                steps = np.round(np.log(factors) / np.log(FACTOR_STEP))
            steps = np.nan_to_num(steps, neginf=0.0).astype(np.int64)
        filled = np.flatnonzero(sizes > 0) if len(columns) else np.zeros(0, np.intp)
        kinds, kind = np.unique(
            np.column_stack([self.lines[filled], steps[filled]]),
            axis=0,
            return_inverse=True,
        )
        order = np.argsort(kind.ravel(), kind="stable")
        ends = np.searchsorted(kind.ravel()[order], np.arange(1, len(kinds)))
        for (line, step), places in zip(kinds, np.split(order, ends), strict=False):
            rows = filled[places]
            own = excess * FACTOR_STEP ** float(step)
            cumulative = np.cumsum(self.profiles[line, columns] * _group_rate(own))
            if not cumulative[-1] > 0:
                continue
            row = np.repeat(rows, sizes[rows])
            at = rng.random(len(row)) * cumulative[-1]
            place = np.searchsorted(cumulative, at, side="right")
            place = np.minimum(place, len(columns) - 1)
            groups = np.ones(len(row))
            several = own[place] > POISSON
            spread = own[place[several]]
            groups[several] = rng.logseries(spread / (1 + spread))
            if several.any():
                ended = np.cumsum(groups)
                first = np.cumsum(sizes[rows]) - sizes[rows]
                before = np.repeat(ended[first] - groups[first], sizes[rows])
                room = np.repeat(sizes[rows], sizes[rows]) - (ended - groups - before)
                groups = np.minimum(groups, room)
                kept = groups > 0
                groups, row, place = groups[kept], row[kept], place[kept]
            yield groups, row, columns[place]

    def _flat_cells(self, rng: np.random.Generator) -> Iterator[Entries]:
        """Counts of columns that do not grow with the row, as groups in any rows."""
        flat = np.flatnonzero(self.flat)
        excess = np.maximum(self.dispersions[flat] - 1, 0.0)
        for line in np.unique(self.lines) if len(flat) else ():
            rows = np.flatnonzero(self.lines == line)
            rates = self.profiles[line, flat] * _group_rate(excess)
            place = np.repeat(np.arange(len(flat)), rng.poisson(len(rows) * rates))
            groups, own = np.ones(len(place)), excess[place]
            several = own > POISSON
            groups[several] = rng.logseries(own[several] / (1 + own[several]))
            row = rows[rng.integers(len(rows), size=len(place))]
            yield groups, row, flat[place]


def _group_rate(excess: Floats) -> Floats:
    """Groups for each count: log(1 + e) / e."""
    safe = np.maximum(excess, POISSON)
    return np.log1p(safe) / safe


def _measured(
    counts: Counts, labels: Ints, n_clusters: int, groups: Groups
) -> dict[str, Any]:
    """Profiles by cluster (last: outliers) and batch, dispersions and their power."""
    inner = inner_labels(labels, n_clusters)
    sums = sum_by_labels(counts, inner, n_clusters, groups, 0.0).smoothed(0.0)
    terms, used = RatioTerms.of(sums, groups), groups != NOISE
    spread = np.maximum(1.0, terms.dispersions(terms.ratio_sums(counts, labels)))
    profiles = terms.shares.copy()
    total = profiles[:, used].sum(axis=1, keepdims=True)
    profiles[:, used] /= np.maximum(total, np.finfo(float).tiny)
    lines = inner * np.int32(terms.n_batches)
    if terms.n_batches > 1:
        assert counts.batches is not None
        lines = lines + counts.batches
    power = _power(counts, lines, profiles, spread, used)
    return {"profiles": profiles, "dispersions": spread, "power": power}


def _power(
    counts: Counts,
    lines: Ints,
    profiles: Floats,
    spread: Floats,
    used: NDArray[np.bool_],
) -> float:
    """Power of the size with which the excess of the rows grows.

    That of the least gamma deviance of what is observed in rows.
    """
    sizes = np.asarray(counts.matrix() @ used.astype(float))
    filled = sizes > 0
    if not filled.any() or not (spread[used] > 1 + POISSON).any():
        return 0.0
    means = profiles.mean(axis=0) * sizes.mean()
    weights = np.where(used, means / (1 + means) / spread**2, 0.0)
    row = np.repeat(np.arange(counts.n_rows), np.diff(counts.indptr))
    column, data = counts.indices, counts.data
    share = profiles[lines[row], column]
    inside = used[column] & (share > 0)
    ratio = np.divide(data, share * sizes[row], out=np.zeros(len(data)), where=inside)
    terms = weights[column] * data * (ratio - 2)
    # Pearson's statistic of each row, and what is expected of it.
    observed = sizes * (profiles @ weights)[lines]
    observed = (observed + np.bincount(row, terms, counts.n_rows))[filled]
    relative = sizes[filled] / sizes[filled].mean()
    least, excess = weights.sum(), weights @ (spread - 1)

    def deviance(power: float) -> float:
        factors = relative**power
        expected = least + excess * factors / factors.mean()
        return float((np.log(expected) + observed / expected).sum())

    nearest = min(np.linspace(0.0, 1.0, 21).tolist(), key=deviance)
    return 1.0 if nearest > LEAST_POWER else 0.0
