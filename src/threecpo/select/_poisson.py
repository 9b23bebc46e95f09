"""Paths of the Poisson clusterers, and description lengths that choose along them.

Derivation and evidence: docs/background/method.md.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import free
from .._validation import warn_if_fractional
from ..cluster.fitting import as_table, copied, plan_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from .._core.counts import Counts
    from .._core.rows import RowInfo
    from .._core.search import FewRuns
    from .._fit.block_rows import BlockRows
    from .._fit.driver import FitRows
    from .._fit.plan import Plan, Progress
    from .._fit.record import FitRecord
    from ..cluster.fitting import PoissonClusterer


def label_cost(n_clusters: int, n_rows: float) -> float:
    """v(K) = L0(K) + n log K, with Rissanen's universal prior for whole numbers."""
    cost, term = np.log(2.865064), np.log(n_clusters)
    while term > 0:
        cost, term = cost + term, np.log(term)
    return float(cost + n_rows * np.log(n_clusters))


def mdl(fits: Sequence[PoissonFit]) -> NDArray[np.float64]:
    """Loss plus v(K) of every fit (the paper's criterion)."""
    return np.array([fit.loss + fit.label_cost for fit in fits])


def mdl_dispersion(fits: Sequence[PoissonFit]) -> NDArray[np.float64]:
    """The same for counts in units of their dispersion, less what labels regain."""
    return scaled(fits, reference(fits).dispersions)


def reference(fits: Sequence[PoissonFit]) -> PoissonFit:
    """Return the fit whose dispersions are the units.

    It must choose itself: from the smallest K with several clusters, the choice becomes
    the reference until it repeats (or until choices take turns: then the smallest of
    them is chosen).
    """
    place = next((i for i, fit in enumerate(fits) if fit.n_found > 1), 0)
    seen: list[int] = []
    while place not in seen:
        seen.append(place)
        place = int(np.argmin(scaled(fits, fits[place].dispersions)))
    turns = seen[seen.index(place) :]
    return fits[turns[turns.index(min(turns)) - 1]]


def scaled(
    fits: Sequence[PoissonFit], dispersions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Totals of counts over their dispersions, groups chosen again.

    What holds a column back already, its weight, is a part of that.
    """
    totals = []
    for fit in fits:
        unit = dispersions * fit.column_weights
        scores = fit.likelihoods / unit[:, None]
        scores[:, 2] -= fit.prices_in(unit)
        totals.append(fit.label_cost - fit.regained - scores.max(axis=1).sum())
    return np.array(totals)


DEFAULT = "mdl-dispersion"
CRITERIA = {DEFAULT: mdl_dispersion, "mdl": mdl}


@dataclass(frozen=True)
class PoissonFit:
    """A described fit of a path, and what the criteria need beside it.

    ``regained`` is what the labels of ambiguous rows cost less than log K, by the fit's
    own ``dispersions``. ``likelihoods`` are the column scores without prices.
    """

    record: FitRecord
    labels: NDArray[Any] = field(repr=False)
    dispersions: NDArray[np.float64] = field(repr=False)
    regained: float
    seconds: float
    likelihoods: NDArray[np.float64] = field(repr=False)

    @property
    def n_clusters(self) -> int:
        return self.record.settings.n_clusters

    @property
    def n_found(self) -> int:
        return self.record.n_clusters

    @property
    def loss(self) -> float:
        return self.record.loss

    @property
    def label_cost(self) -> float:
        return label_cost(self.n_found, self.record.sums.total_weight)

    def prices_in(self, unit: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Price of every column in C1, its counts in these units."""
        totals, n_rows = self.record.totals / unit, self.record.sums.total_weight
        return self.record.settings.price(totals, self.n_found, n_rows)

    @property
    def column_weights(self) -> NDArray[np.float64] | float:
        weights = self.record.sums.column_weights
        return 1.0 if weights is None else weights

    def slim(self) -> PoissonFit:
        """Return the fit without labels and results of its rows."""
        record = replace(self.record, rows=None, profile_sums=self.record.sums)
        return replace(self, record=record, labels=self.labels[:0])

    @classmethod
    def of(
        cls,
        record: FitRecord,
        *described: Any,
        groups: NDArray[np.int8] | None = None,
    ) -> PoissonFit:
        """Return a described fit; row sizes may be those of other groups."""
        # Those of a record stay with it, and a path has many records.
        smoothed = record.sums.smoothed(record.settings.prior)
        groups = record.groups if groups is None else groups
        step = record.settings.column_step(smoothed, groups, free)
        values = record, *described, step.scores
        return cls(*values)


class PoissonFitter:
    """How an estimator is fitted for each K."""

    def __init__(self, estimator: PoissonClusterer) -> None:
        self.estimator = estimator
        # Measured once: fits that are added later have the same loss.
        self._weighted = False
        self._column_weights: NDArray[np.float64] | None = None
        self.info: RowInfo | None = None
        self.shape = (0, 0)
        if not isinstance(getattr(estimator, "init", ""), str):
            message = (
                "A path over the number of clusters needs init by name: labels and "
                "models have their own number."
            )
            raise ValueError(message)

    def plan(self, n_clusters: int) -> Plan:
        """Plan of the estimator for this number of clusters."""
        return plan_of(copied(self.estimator, n_clusters=n_clusters))

    def take_weights(self, other: PoissonFitter) -> None:
        """Use the weights of columns that were measured for other fits."""
        self._weighted, self._column_weights = other._weighted, other._column_weights

    def fit_each(
        self,
        X: Any,
        n_clusters: Sequence[int],
        progress: Progress | None,
        few: FewRuns | None = None,
    ) -> Iterator[PoissonFit]:
        """Fit every K on the same threads; what does not depend on K is done once.

        Fits that are added later are of the rows of the first ones. They are those of
        the estimator alone, unless they are to have ``few`` runs.
        """
        from .._core.workers import Workers
        from .._fit.driver import MemoryRows

        plan = self.plan(max(n_clusters))
        table = as_table(X, self.estimator)
        counts = self.with_own_info(table.counts)
        if self.info is None:  # else they were warned of
            warn_if_fractional(counts, plan.name)
        names = {"columns": table.column_names, "rows": table.row_names}
        with Workers(plan.n_jobs) as workers:
            rows = MemoryRows(counts, workers)
            yield from self.fits(plan, n_clusters, rows, names, progress, few)

    def with_own_info(self, counts: Counts) -> Counts:
        """Return counts of the path with what belonged to their rows, if none does."""
        if self.info is None:
            return counts
        if self.shape != counts.shape:
            found, own = (f"{n} x {m}" for n, m in (counts.shape, self.shape))
            message = f"X is {found}, but the path {own}; pass the counts of the path."
            raise ValueError(message)
        given = counts.row_info.arrays()
        return counts if given else counts.with_rows(self.info)

    def fits(
        self,
        plan: Plan,
        n_clusters: Sequence[int],
        rows: FitRows,
        names: dict[str, Any],
        progress: Progress | None,
        few: FewRuns | None = None,
    ) -> Iterator[PoissonFit]:
        """Yield fits to rows in memory or in blocks, with what the criteria need."""
        from .._fit.driver import fit_path

        n_asked = plan.n_init
        if few is not None:
            plan = replace(plan, n_init=few.n_runs)
            n_clusters = sorted(n_clusters, reverse=True)
        self.info, self.shape = rows.info, (rows.n_rows, len(rows.totals))
        plan = plan.for_columns(names["columns"], len(rows.totals))
        if self._weighted:
            plan = plan.with_column_weights(self._column_weights)
        before = time.perf_counter()
        for found in fit_path(plan, n_clusters, rows, progress, few):
            record, now = found.record, time.perf_counter()
            self._weighted, self._column_weights = True, record.sums.column_weights
            assert record.plan is not None
            record = replace(record, plan=replace(record.plan, n_init=n_asked))
            described = *found[1:], now - before
            yield PoissonFit.of(record.with_names(**names), *described)
            before = now

    def after_one_pass(
        self,
        plan: Plan,
        sampled: Sequence[PoissonFit],
        rows: BlockRows,
        names: dict[str, Any],
        progress: Progress | None,
    ) -> Iterator[PoissonFit]:
        """Yield fits of a sample after one pass over all rows.

        Dispersions, and what labels regain of a row, are those of the sample.
        """
        from .._fit.driver import one_pass

        plan = plan.for_columns(names["columns"], len(rows.totals))
        plan = plan.with_column_weights(self._column_weights)
        starts = [fit.record for fit in sampled]
        before = time.perf_counter()
        made = one_pass(plan, starts, rows, progress)
        for fit, (record, labels) in zip(sampled, made, strict=True):
            now = time.perf_counter()
            part = record.sums.total_weight / fit.record.sums.total_weight
            rest = labels, fit.dispersions, fit.regained * part
            seconds = fit.seconds + now - before
            named, groups = record.with_names(**names), fit.record.groups
            yield PoissonFit.of(named, *rest, seconds, groups=groups)
            before = now
