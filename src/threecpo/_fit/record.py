"""The record of a fit: all that it found, and what follows from that for other rows."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import model
from .._core.batch_model import BatchScales, batch_effects
from .._core.codes import NOISE, RELEVANT
from .._core.markers import Markers
from .._core.merging import cluster_tree
from .._core.model import SmoothedSums
from .._core.rows import read_only
from .._core.rules import EXACT
from .._core.workers import SERIAL
from .row_results import RowDescriber, RowResults, in_batches_of, score_rows, sum_placed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from .._core.codes import Floats, Groups, Ints
    from .._core.counts import Counts
    from .._core.loops.records import Profile
    from .._core.merging import Tree
    from .._core.model import Rates
    from .._core.rows import RowInfo
    from .._core.rules import Rule
    from .._core.run import Run, Settings
    from .._core.sums import Sums
    from .._core.workers import Workers
    from .describing import Confidence
    from .plan import Plan


NO_ROWS = (
    "This model has no results of its rows: they were written to disk (write_to=; "
    "threecpo.distributed.read_rows reads them) or left out of its file (save(..., "
    "rows=False)). Use predict(X) for their labels, or refine(X) for all results."
)


@dataclass(frozen=True, eq=False)
class Assigner:
    """Clusters among which rows choose, and the cluster that each is now part of.

    ``ranks`` break ties. ``into`` is None where no clusters were joined; otherwise
    sums and groups are those of the fit before, by which rows go on to be placed.
    """

    sums: Sums
    groups: Groups
    ranks: Ints
    into: Ints | None = None

    def profile(self, rule: Rule, prior: float, threshold: float) -> Profile:
        return rule.profile(
            self.sums.smoothed(prior),
            self.groups,
            background=True,
            threshold=threshold,
            ranks=self.ranks,
        )

    @property
    def clusters(self) -> Ints:
        if self.into is None:
            return np.arange(self.sums.n_clusters, dtype=np.int32)
        return self.into

    def leading_to(self, new: Ints) -> Assigner:
        """Return the same choices, each cluster become part of a new one."""
        return replace(self, into=new[self.clusters].astype(np.int32))


@dataclass(frozen=True, eq=False)
class FitRecord:
    """A finished fit; nothing in it changes any more.

    ``profile_sums`` and ``ranks`` (how ties are broken) make the profile that produced
    the labels; at a fixed point these are the sums of the labels themselves. ``price``
    is what the columns of C1 cost together, a part of the loss. ``rows`` is None where
    the results of the rows were written elsewhere. ``cluster_names`` are those that
    somebody gave, an empty one where nobody did. ``parameters`` are those of the
    estimator, as plain values. ``fine`` is set where clusters were joined: rows are
    placed by the clusters before that. ``confidence`` is None where it
    was not measured. ``drift`` is the share of rows that fit no cluster, of each time
    that rows were added. Rows count no more than one of size ``longest_row``. ``plan``
    is what was asked, with starts by name alone: what is done later follows it, not an
    estimator whose parameters may have changed. ``transform`` is the function of numpy
    that made the values of counts, if any.
    """

    settings: Settings
    sums: Sums
    profile_sums: Sums
    groups: Groups
    ranks: Ints
    column_scores: Floats
    price: float
    loss: float
    history: Mapping[str, NDArray[Any]]
    converged: bool
    restart_losses: Floats
    rows: RowResults | None = None
    row_names: NDArray[np.object_] | None = None
    column_names: NDArray[np.object_] | None = None
    cluster_names: tuple[str, ...] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    fine: Assigner | None = None
    confidence: Confidence | None = None
    batch_names: tuple[str, ...] = ()
    drift: tuple[float, ...] = ()
    longest_row: float | None = None
    plan: Plan | None = None
    transform: str = ""

    def __post_init__(self) -> None:
        # Runs that go on from here may still write to the arrays themselves.
        views = _read_only_arrays(self)
        for name in ("sums", "profile_sums"):
            sums = getattr(self, name)
            views[name] = replace(sums, **_read_only_arrays(sums))
        views["history"] = {name: read_only(v) for name, v in self.history.items()}
        for name, view in views.items():
            object.__setattr__(self, name, view)

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: what follows from them is computed again."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def of(
        cls, run: Run, plan: Plan, restart_losses: Sequence[float], info: RowInfo
    ) -> FitRecord:
        """Record the kept run of a plan to rows of which this is known."""
        settings = plan.settings
        if not np.isfinite(run.loss):
            message = (
                f"The loss of this fit is {run.loss}: with column totals up to "
                f"{run.sums.totals.max(initial=0.0):g} and prior={settings.prior:g} it "
                "cannot be computed. Scale the values to the size of counts."
            )
            raise ValueError(message)
        smoothed, known = run.sums.smoothed(settings.prior), info.known_names
        # Known clusters have the numbers that they had at the start.
        names = tuple(known[k] if k < len(known) else "" for k in run.numbers.tolist())
        return cls(
            settings=settings,
            sums=run.sums,
            profile_sums=run.profile_sums,
            groups=run.groups,
            ranks=run.ranks,
            column_scores=run.column_scores,
            price=price_of(settings, smoothed, run.groups),
            loss=run.loss,
            history=run.history,
            converged=bool(run.converged),
            restart_losses=np.asarray(restart_losses, dtype=np.float64),
            parameters=plan.parameters,
            cluster_names=names if any(names) else None,
            batch_names=info.batch_names,
            plan=plan.by_name,
        )

    @property
    def n_clusters(self) -> int:
        return self.sums.n_clusters

    @property
    def cluster_sizes(self) -> NDArray[np.int64]:
        """Rows in each cluster, without outliers and rows that have no counts."""
        if self.rows is None:
            return self.sums.cluster_sizes
        labels = self.rows.labels
        inside = (labels >= 0) & ~self.empty_rows
        return np.bincount(labels[inside], minlength=self.n_clusters)

    @cached_property
    def empty_rows(self) -> NDArray[np.bool_]:
        """Which rows of the fit have no counts in C1 and C0."""
        assert self.rows is not None
        return read_only(self.describer.without_counts(self.rows))

    @property
    def n_rows(self) -> int:
        """Number of rows of the fit, with those of weight 0."""
        return self.sums.n_rows if self.rows is None else len(self.rows.labels)

    @property
    def n_columns(self) -> int:
        return len(self.groups)

    @property
    def n_iter(self) -> int:
        return len(self.history["loss"])

    @property
    def labels_of_rates(self) -> Ints:
        """Labels that the rates belong to: outliers decided at the end are in it."""
        assert self.rows is not None
        final = self.settings.outliers == "final"
        return self.rows.nearest_labels if final else self.rows.labels

    @cached_property
    def smoothed(self) -> SmoothedSums:
        """The sums with the prior in them."""
        return self.sums.smoothed(self.settings.prior)

    @property
    def totals(self) -> Floats:
        """Those of the smoothed sums, without the others."""
        totals = self.sums.totals + self.settings.prior * self.sums.total_weight
        weights = self.sums.column_weights
        return totals if weights is None else totals * weights

    @cached_property
    def rates(self) -> Rates:
        """Rates of every column in every role."""
        return model.rates(self.smoothed, self.groups)

    @cached_property
    def markers(self) -> Markers:
        """Which columns mark each cluster."""
        return Markers(self.sums.unweighted.smoothed(0.0), self.groups)

    def markers_of(self, *unions: list[int], among_all: bool = False) -> Markers:
        """Which columns mark unions of clusters against their rows, or all rows."""
        table, sizes = self.sums.clusters, self.sums.cluster_weights
        members = [k for union in unions for k in union]
        totals, n_rows = table[members].sum(axis=0), float(sizes[members].sum())
        if among_all:
            totals, n_rows = self.sums.totals, self.sums.total_weight
        sums = SmoothedSums(
            clusters=np.array([table[union].sum(axis=0) for union in unions]),
            outliers=np.zeros(self.n_columns),
            totals=totals,
            count_log_sizes=np.zeros(self.n_columns),
            weight_sums=np.array([*(sizes[union].sum() for union in unions), 0.0]),
            n_rows=n_rows,
            prior=0.0,
        )
        return Markers(sums, self.groups)

    @cached_property
    def tree(self) -> Tree:
        return cluster_tree(self.sums, self.groups, self.settings.prior)

    @property
    def assigner(self) -> Assigner:
        """What chooses the cluster of a row."""
        return self.fine or Assigner(self.profile_sums, self.groups, self.ranks)

    def profile(self, *, exact: bool = False) -> Profile:
        rule, settings = EXACT if exact else self.settings.rule, self.settings
        return self.assigner.profile(rule, settings.prior, settings.threshold)

    @property
    def describer(self) -> RowDescriber:
        """What describes rows by this fit."""
        return RowDescriber(
            self.profile(),
            self.assigner.clusters,
            self.settings.outliers,
            self.settings.threshold,
            self.row_factors,
            with_sizes=bool((self.groups != NOISE).any()),
            in_batches=self.in_batches,
        )

    @property
    def row_factors(self) -> Floats:
        """λ^R_i / r_i by cluster (last: outliers) and batch (last: a mean one)."""
        # Not those that stay with the record: a path has many records.
        smoothed = self.sums.smoothed(self.settings.prior)
        if self.sums.n_batches > 1:
            return BatchScales.of(smoothed, self.groups).row_factors
        return model.Scales.of(smoothed, self.groups).row_factors[:, None]

    @property
    def batch_effects(self) -> Floats:
        """How many times more of each column a batch has than a mean one."""
        if self.sums.n_batches == 1:
            return np.ones((len(self.batch_names), self.n_columns))
        return batch_effects(self.smoothed, self.groups)

    @property
    def in_batches(self) -> Callable[[Counts], Counts]:
        """What gives counts the column weights of the fit, and its batches numbers."""
        names = () if self.sums.n_batches == 1 else self.batch_names
        return partial(in_batches_of, names, self.sums.column_weights)

    def describe(self, counts: Counts, workers: Workers = SERIAL) -> RowResults:
        """Results of rows, those of the fit or others with the same columns."""
        return self.describer(counts, workers)

    @property
    def row_scorer(self) -> Callable[..., Floats]:
        """What scores rows by this fit in every cluster; joined ones: the best part."""
        return partial(score_rows, self.profile(exact=True), self.assigner.clusters)

    def row_scores(self, counts: Counts, workers: Workers = SERIAL) -> Floats:
        return self.row_scorer(self.in_batches(counts), workers)

    @property
    def row_summer(self) -> Callable[..., Sums]:
        """What sums up rows where this fit puts them."""
        sizes = self.n_clusters, self.groups, self.settings.prior
        return partial(sum_placed, self.describer.rated, *sizes)

    def score(self, counts: Counts, workers: Workers = SERIAL) -> float:
        """Minus the loss of rows under the fitted rates, their sizes fitted to them."""
        return self.score_of(self.row_summer(self.in_batches(counts), workers))

    def score_of(self, sums: Sums) -> float:
        smoothed = sums.smoothed(self.settings.prior)
        return model.log_likelihood(smoothed, self.groups, self.smoothed) - self.price

    def taken(self, order: NDArray[np.intp]) -> FitRecord:
        """Return the same fit with its clusters in this order."""
        new = np.empty(len(order), dtype=np.int32)
        new[order] = np.arange(len(order))
        names = self.cluster_names
        return replace(
            self,
            sums=self.sums.take(order),
            profile_sums=self.profile_sums.take(order),
            ranks=self.ranks[order],
            rows=None if self.rows is None else self.rows.renumbered(new),
            cluster_names=names and tuple(names[k] for k in order),
            fine=None if self.fine is None else self.fine.leading_to(new),
            confidence=None
            if self.confidence is None
            else self.confidence.taken(order),
        )

    def without_rows(self) -> FitRecord:
        """Return the same fit without anything about single rows."""
        sure = self.confidence and replace(self.confidence, probabilities=None)
        return replace(self, rows=None, row_names=None, confidence=sure)

    def with_names(self, *, columns: Any, rows: Any) -> FitRecord:
        """Return the same fit with these names of its columns and rows, or none."""
        return replace(self, column_names=columns, row_names=rows)


def price_of(settings: Settings, sums: SmoothedSums, groups: Groups) -> float:
    """What the columns of C1 cost together."""
    prices = settings.price(sums.totals, sums.n_clusters, sums.n_rows)
    return float(prices[groups == RELEVANT].sum())


def _read_only_arrays(of: FitRecord | Sums) -> dict[str, Any]:
    """Arrays among the fields, as views that cannot be written to."""
    named = ((each.name, getattr(of, each.name)) for each in fields(of))
    return {name: read_only(v) for name, v in named if isinstance(v, np.ndarray)}
