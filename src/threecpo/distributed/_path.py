"""Blocks of rows in, a path over the number of clusters out."""

from __future__ import annotations

import time
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._fit.budget import OF_ROW
from .._fit.described_path import described_each
from .._fit.plan import check_enough_rows
from .._options import check_integer, check_non_negative
from .._progress import RunBar
from ..cluster.fitting import as_table, check_estimator, parameters_of
from ..select.fitting import (
    PoissonFit,
    check_known_path,
    empty_path,
    largest_of_auto,
    whole_numbers,
)
from ._fit_steps import (
    block_fit,
    first_of_two,
    held_back,
    holding,
    keep_over,
    released,
    with_columns,
)
from ._place import SAMPLE_ROWS, TOL, GivenFit

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from numpy.typing import ArrayLike

    from .._fit.blocks import BlockFit
    from .._fit.checkpoint import Checkpoint
    from .._fit.plan import Plan
    from .._fit.progress import Progress
    from .._fit.record import FitRecord
    from ..cluster.fitting import PoissonClusterer
    from ..select import KPath
    from ..table import CountTable
    from ._place import FitRows, OpenedBlocks


def select_n_clusters(
    blocks: Any,
    n_clusters: Iterable[int] = range(2, 31),
    *,
    n_init: int | str | None = None,
    estimator: PoissonClusterer | None = None,
    criterion: str | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    layer: str | None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    sample_rows: int | None = SAMPLE_ROWS,
    tol: float = TOL,
    scratch: str | os.PathLike[str] | None = None,
    verbose: int = 0,
    progress: Progress | None = None,
    sample_weight: ArrayLike | None = None,
    batch: ArrayLike | None = None,
    known_labels: ArrayLike | None = None,
) -> KPath:
    """Fit several numbers of clusters to rows in blocks, and choose among them.

    The sample is fitted for every number as :func:`threecpo.select_n_clusters` does;
    where it is all rows, that is the result. Beyond that the best run of each number
    goes on with all rows: as many as ``max_memory`` holds share one reading. One more
    reading (or as many as there are such groups) finds what the criterion needs.

    Parameters
    ----------
    blocks : str, path-like, Dask array, list of functions, or counts in memory
        As in :func:`fit`.
    n_clusters, n_init, criterion, random_state, n_jobs, verbose, progress
        As in :func:`threecpo.select_n_clusters`.
    estimator : ThreeCPO, PoissonL, PoissonC or None, default=None
        Its options are kept. None is ``ThreeCPO()``.
    layer, client, max_memory, sample_rows, tol, scratch
        As in :func:`fit`.
    checkpoint : str or path-like, default=None
        Folder that keeps the state of every number of clusters after each pass. The
        same call goes on from there after a crash, and ends with the same result.
    sample_weight, batch, known_labels : array-like of shape (n_rows,) or None, \
default=None
        As in :func:`fit`; no number of clusters may be below that of the known ones.

    Returns
    -------
    KPath
        All fits, their table and picture, and the best of them. Beyond
        ``sample_rows`` rows its fits hold results of the rows where ``max_memory`` has
        room for them; :func:`predict` finds them again.

    Examples
    --------
    >>> from threecpo import distributed
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> readers = [lambda i=i: X[i : i + 250] for i in range(0, 1000, 250)]
    >>> distributed.select_n_clusters(
    ...     readers, range(1, 6), sample_rows=400, random_state=0
    ... )
    KPath of ThreeCPO, K = 1 to 5 by 'mdl-dispersion': 3 clusters.
    """
    if estimator is not None:
        check_estimator(estimator)
    options = {"n_init": n_init, "random_state": random_state, "n_jobs": n_jobs}
    path = empty_path(estimator, criterion, **options)
    wanted = whole_numbers(n_clusters)
    given = GivenFit(
        blocks,
        layer,
        client,
        max_memory,
        checkpoint,
        sample_rows,
        scratch,
        sample_weight,
        batch,
        known_labels,
        check_non_negative("tol", tol),
    )
    with ExitStack() as stack, _heard(progress, verbose) as heard:
        PathOverBlocks.opened(path, given, max(wanted), stack).extend(wanted, heard)
    return path


def fit_auto(
    estimator: Any, given: GivenFit, target: Path | None, progress: Progress | None
) -> None:
    """Fit the number of clusters that is the best of a path."""
    largest = largest_of_auto(estimator)
    path = empty_path(estimator, estimator.criterion)
    with ExitStack() as stack, _heard(progress, estimator.verbose) as heard:
        over = PathOverBlocks.opened(path, given, 1, stack)
        n_rows = sum(over.blocks.place.n_rows)
        gathered = n_rows if target is None else 0
        least = max(1, len(over.fitted.rows.known_names))
        check_known_path(least, largest)
        over.extend(range(least, min(largest, n_rows) + 1), heard, gathered)
        best = path.best_record.with_parameters(parameters_of(estimator))
        keep_over(estimator, best, over.fitted, given.budget, target)
    estimator.k_path_ = path


def _heard(progress: Progress | None, verbose: int) -> AbstractContextManager[Any]:
    return RunBar() if verbose and progress is None else nullcontext(progress)


@dataclass(frozen=True)
class PathOverBlocks:
    """A path to be extended, and the blocks that it is of."""

    path: KPath
    given: GivenFit
    blocks: OpenedBlocks
    fitted: FitRows

    @classmethod
    def opened(
        cls, path: KPath, given: GivenFit, n_clusters: int, stack: ExitStack
    ) -> PathOverBlocks:
        """Open the blocks, of which there must be rows for so many clusters."""
        plan = path.fitter.plan(n_clusters)
        blocks = given.opened(plan, stack)
        return cls(path, given, blocks, given.with_rows(blocks, plan))

    def extend(
        self, wanted: Sequence[int], progress: Progress | None, n_gathered: int = 0
    ) -> None:
        """Add fits: of all rows in memory, where the sample is all of them.

        Results of so many rows are kept afterwards.
        """
        largest, sample_rows = max(wanted), self.given.sample_rows
        n_rows = sum(self.blocks.place.n_rows)
        if sample_rows is not None:
            check_integer("sample_rows", sample_rows, largest)
        check_enough_rows(largest, sum(self.fitted.place.n_rows))
        for k in (min(wanted), largest):
            self.fitted.check_known(k)
        if sample_rows is None or sample_rows >= n_rows:
            table = self._in_memory(largest, n_gathered)
            self.path.extend(table, wanted, progress=progress)
            return
        self.blocks.warn_if_fractional(self.fitted.plan.name, stacklevel=3)
        falling = sorted(set(wanted), reverse=self.path.fitter.largest_first)
        self.path.add(self._fits(falling, sample_rows, progress, n_gathered))

    def _in_memory(self, largest: int, n_gathered: int) -> CountTable:
        """All rows, which must fit into memory."""
        given, n_jobs = self.given, self.fitted.plan.n_jobs
        sizes = largest, n_jobs, n_gathered
        table = self.blocks.in_memory(given.budget, *sizes)
        rows = {
            "sample_weight": given.sample_weight,
            "batch": given.batch,
            "known_labels": given.known_labels,
        }
        return as_table(table, self.path.fitter.estimator, **rows)

    def _fits(
        self,
        wanted: Sequence[int],
        sample_rows: int,
        progress: Progress | None,
        n_gathered: int,
    ) -> Iterator[PoissonFit]:
        """Fits over blocks, with what the criteria need of them."""
        before = time.perf_counter()
        place, _, rows, held = self.fitted
        n_rows, budget = sum(place.n_rows), self.given.budget
        fitting = block_fit(self.fitted, self.given, progress)
        fitting = replace(fitting, plan=fitting.plan.with_clusters(max(wanted)))
        fitting.check_memory(sample_rows, wanted, n_gathered)
        fitting = self._fitting(max(wanted), progress)
        kept = self._checkpoints(fitting.plan, wanted)
        records = [
            self.blocks.named(record).with_batches(rows.batch_names)
            for record in fitting.fit_each(wanted, sample_rows, kept)
        ]
        if rows.only_started_from:
            records = [self._released(record, progress) for record in records]
        room = budget.holds(2 * n_rows * OF_ROW * len(wanted))
        lines = fitting.lines_at_once
        described = list(described_each(place.engine, records, lines, with_rows=room))
        seconds = (time.perf_counter() - before) / len(wanted)
        for fit in described:
            record, fractional = fit.record, place.look.fractional
            record = record.held_back(held)
            facts = fit.labels, fit.dispersions, seconds
            yield PoissonFit.described(record, *facts, fractional=fractional)

    def _fitting(self, largest: int, progress: Progress | None) -> BlockFit:
        """What fits blocks, columns that vary too much held back."""
        plan, rows, given = self.fitted.plan, self.fitted.rows, self.given
        fitting = block_fit(self.fitted, given, progress)
        fitting = replace(fitting, plan=plan.with_clusters(largest))
        fitting = holding(fitting) if rows.only_started_from else fitting
        if plan.max_dispersion is None:
            return fitting
        first = first_of_two(fitting)
        checkpoint = given.checkpoint_of(first.plan, rows, "-first", path=True)
        record = first.fit(given.sample_rows, checkpoint)
        return held_back(fitting, record.with_batches(rows.batch_names))

    def _released(self, first: FitRecord, progress: Progress | None) -> FitRecord:
        """The fit that goes on from one that held rows which may leave."""
        fitting = block_fit(self.fitted, self.given, progress)
        plan = fitting.plan.with_clusters(first.settings.n_clusters)
        weights = first.sums.column_weights
        plan = plan.with_column_weights(weights)
        if weights is not None:
            fitting = with_columns(fitting, weights)
        fitting = released(replace(fitting, plan=plan), first)
        found = fitting.fit(self.given.sample_rows, None)
        return self.blocks.named(found).with_batches(self.fitted.rows.batch_names)

    def _checkpoints(self, plan: Plan, wanted: Sequence[int]) -> list[Checkpoint]:
        """One for each number of clusters; none where nothing is to be kept."""
        found = [
            self.given.checkpoint_of(
                plan.with_clusters(k), self.fitted.rows, f"/k-{k}", path=list(wanted)
            )
            for k in wanted
        ]
        return [each for each in found if each is not None]
