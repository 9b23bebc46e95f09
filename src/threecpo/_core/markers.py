"""Which columns mark a cluster: how strongly, and on how much evidence.

The counts of cluster k are those of ``rows[k]`` rows of mean size. A column is expected
``clusters[k, j]`` times in such a row of the cluster and ``overall[j]`` times in one of
any cluster. docs/background/method.md argues the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .codes import NOISE, RELEVANT, SHARED
from .model import Scales, log, ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .codes import Floats, Groups
    from .model import SmoothedSums

# The size of a cluster's rows is then known to about 5 %.
ENOUGH_COUNTS = 400
# Rates that differ by less are equal but for rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class ExpectedCounts:
    """Expected count of each column in a row of mean size: by cluster, and overall.

    Rows of equal size have equal counts in C0 in every cluster. Where C0 does not show
    how large the rows of a cluster are, rows with equal totals are compared.
    """

    clusters: Floats
    overall: Floats
    rows: Floats

    @classmethod
    def of(cls, sums: SmoothedSums, groups: Groups) -> ExpectedCounts:
        """Expected counts of a fit, from its sums without the prior."""
        overall = sums.totals / sums.n_rows
        shared = groups == SHARED
        # A single column in C0 is only a choice of scale, and a few counts are not
        # enough to estimate it.
        enough = (sums.clusters[:, shared].sum(axis=1) >= ENOUGH_COUNTS).all()
        if np.count_nonzero(shared) > 1 and enough:
            rows = Scales.of(sums, groups).cluster_scales * sums.n_rows
        else:
            used = groups != NOISE
            mean_size = float(overall[used].sum())
            totals = sums.clusters[:, used].sum(axis=1)
            rows = sums.weight_sums[:-1].copy()
            if mean_size > 0:
                rows = totals / mean_size
        return cls(ratio(sums.clusters, rows[:, None]), overall, rows)

    @property
    def ratios(self) -> Floats:
        """Clusters over overall; 1 where a column has no counts at all."""
        return ratio(self.clusters, self.overall, 1.0)


@dataclass(frozen=True)
class Markers:
    """Relevant columns that are above average in a cluster, and how well they mark it.

    ``sums`` are those of the fit without the prior.
    """

    sums: SmoothedSums
    groups: Groups

    @cached_property
    def expected(self) -> ExpectedCounts:
        return ExpectedCounts.of(self.sums, self.groups)

    @cached_property
    def evidence(self) -> Floats:
        """Nats by which its own rate explains a cluster's counts better (K x m)."""
        expected = self.expected
        counts = expected.clusters * expected.rows[:, None]
        differences = expected.clusters - expected.overall
        gains = counts * log(expected.ratios) - expected.rows[:, None] * differences
        return np.maximum(gains, 0.0)

    @cached_property
    def above_average(self) -> NDArray[np.bool_]:
        """Where a relevant column is more frequent in a cluster than overall."""
        expected = self.expected
        above = expected.clusters > expected.overall * (1 + ROUNDING)
        return above & (self.groups == RELEVANT)

    @property
    def prices(self) -> Floats:
        """Nats that one more rate of each column costs.

        A single count pays as two do: its logarithm would be nothing, and whatever is
        seen once would mark the cluster it is seen in.
        """
        return log(np.maximum(self.sums.totals, 2.0))

    @property
    def even_count(self) -> float:
        """Count of each column if a row of mean size were spread evenly over C0, C1."""
        overall = self.expected.overall[self.groups != NOISE]
        return float(overall.mean()) if len(overall) else 0.0

    @cached_property
    def strength(self) -> Floats:
        """Shrunken log ratio to the overall count, 0 for columns that mark nothing.

        Both counts get the even count, as if one more row had been seen in which no
        column stands out. The logarithm is weighted by the evidence as a share of
        itself and the price of one more rate, the logarithm of the column's total.
        """
        expected, even = self.expected, self.even_count
        weights = ratio(self.evidence, self.evidence + self.prices)
        ratios = ratio(expected.clusters + even, expected.overall + even, 1.0)
        return np.where(self.above_average, weights * log(ratios), 0.0)

    @property
    def excess(self) -> Floats:
        """Expected count above the overall one: the paper's order of words."""
        return self.expected.clusters - self.expected.overall

    def clear(self, cluster: int, n: int) -> NDArray[np.intp]:
        """The best columns with more evidence than one more rate costs."""
        places = self.best(cluster, len(self.groups))
        paid = self.evidence[cluster, places] > self.prices[places]
        return places[paid][:n]

    def below(self, cluster: int, n: int) -> NDArray[np.intp]:
        """Relevant columns that a cluster has clearly less of, the least first."""
        expected, even = self.expected, self.even_count
        here = expected.clusters[cluster]
        lacking = (self.groups == RELEVANT) & (here < expected.overall)
        places = np.flatnonzero(lacking & (self.evidence[cluster] > self.prices))
        ratios = (here[places] + even) / (expected.overall[places] + even)
        return places[np.argsort(ratios, kind="stable")[:n]]

    def best(self, cluster: int, n: int, order: str = "marker") -> NDArray[np.intp]:
        """Columns that mark a cluster, the best first."""
        values = (self.excess if order == "excess" else self.strength)[cluster]
        places = np.flatnonzero(self.above_average[cluster])
        return places[np.argsort(-values[places], kind="stable")[:n]]
