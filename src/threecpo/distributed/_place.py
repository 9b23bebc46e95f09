"""Where blocks of rows are worked on: threads of this process, or a Dask cluster."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core.row_checks import check_known
from .._core.workers import Workers
from .._fit.block_rows import BlockRows, WeightedRows
from .._fit.block_work import sample
from .._fit.budget import budget_of, check_all
from .._fit.checkpoint import Checkpoint
from .._fit.engine import FirstLook, ThreadEngine, UnchangedBlocks, look_at
from .._fit.given_rows import check_known_clusters, check_rule, without_rows
from .._fit.held_back import held_rows_over
from .._fit.plan import check_enough_rows
from .._fit.seed_rows import with_seed_blocks
from .._validation import bad_entry_message, fractional_message, held_codes
from ..io.blocks import BLOCK_COUNTS, is_dask_array, open_blocks
from ..table import CountTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import ExitStack

    from numpy.typing import ArrayLike

    from .._fit.budget import MemoryBudget
    from .._fit.engine import Engine, Reader
    from .._fit.held_back import HeldRows
    from .._fit.plan import Plan
    from .._fit.record import FitRecord
    from ..io.blocks import BlockSource

SAMPLE_ROWS = 20_000
TOL = 1e-6


@dataclass(frozen=True)
class GivenFit:
    """Rows to fit, where to work on them, and within what."""

    blocks: Any
    layer: str | None
    client: Any
    max_memory: int | str | None
    checkpoint: str | os.PathLike[str] | None
    sample_rows: int | None
    scratch: str | os.PathLike[str] | None
    sample_weight: ArrayLike | None
    batch: ArrayLike | None
    known_labels: ArrayLike | None = None
    tol: float = TOL
    second_look: bool = True

    @property
    def budget(self) -> MemoryBudget:
        return budget_of(self.max_memory)

    def checkpoint_of(
        self, plan: Plan, rows: BlockRows, ending: str = "", **options: Any
    ) -> Checkpoint | None:
        """Checkpoint of a fit, if one is asked for, in the folder with this ending."""
        if self.checkpoint is None:
            return None
        always = {"sample_rows": self.sample_rows, "tol": self.tol}
        options = always | options
        if not self.second_look:
            options["second_look"] = False
        if rows.given:
            options["rows"] = rows.digest
        return Checkpoint(Path(os.fspath(self.checkpoint) + ending), plan, options)

    def opened(self, plan: Plan, stack: ExitStack) -> OpenedBlocks:
        """Open the blocks until the stack is closed, and look at all of them once."""
        budget, blocks = self.budget, self.blocks
        block_counts = budget.block_counts(plan.n_jobs, BLOCK_COUNTS)
        source = stack.enter_context(
            open_blocks(
                blocks,
                layer=self.layer,
                block_counts=block_counts,
                scratch=self.scratch,
            )
        )
        client = self.client or current_client_for(blocks)
        if client is None:
            place = _on_threads(plan, source, budget, stack)
        else:
            advice = _advice(self.checkpoint)
            place = _on_cluster(plan, source, budget, client, advice)
        return OpenedBlocks(source, place)

    def with_rows(self, blocks: OpenedBlocks, plan: Plan) -> FitRows:
        """Give the rows their weights and batches, those that are held back too."""
        source, place = blocks
        plan = plan.for_columns(source.column_names, max(place.look.n_columns))
        rows = self._given_rows(plan, place.look.sums.n_rows)
        held = held_rows_over(place.engine, rows.weights, plan.max_row_size)
        rows = rows.held_back(held.weights)
        rows = with_seed_blocks(plan, rows, place.engine, place.look.sums.totals)
        return FitRows(*_with_rows(place, plan, rows), rows, held)

    def _given_rows(self, plan: Plan, n_rows: int) -> BlockRows:
        """What is given of the rows of all blocks, checked."""
        rows, known = BlockRows.of(self.sample_weight, self.batch, n_rows), None
        if self.known_labels is not None:
            known = check_known(self.known_labels, n_rows, plan.seed_names)
        if known is None:
            return rows
        return rows.with_known(*held_codes(*known, plan.hold_labels))


class OpenedBlocks(NamedTuple):
    """Blocks, and where they are worked on."""

    source: BlockSource
    place: Place

    def named(self, record: FitRecord) -> FitRecord:
        """Return a fit with the names of columns and rows."""
        source = self.source
        return record.with_names(columns=source.column_names, rows=source.row_names)

    def in_memory(
        self, budget: MemoryBudget, n_clusters: int, n_jobs: int, n_gathered: int
    ) -> CountTable:
        """All rows, for a fit in memory of so many clusters.

        Results of ``n_gathered`` rows are kept beside them.
        """
        source, look = self.source, self.place.look
        sizes = n_clusters, max(look.n_columns), n_jobs

        def check(budget: MemoryBudget) -> None:
            budget.check_rows(n_gathered)
            budget.check_sample(sum(look.n_stored), *sizes)

        check_all(budget, check)
        counts = sample(self.place.engine, look, np.arange(sum(look.n_rows)))
        return CountTable(
            counts, column_names=source.column_names, row_names=source.row_names
        )

    def warn_if_fractional(self, name: str, stacklevel: int) -> None:
        if self.place.look.fractional:
            message = fractional_message(self.source.readers[0](), name)
            warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


class FitRows(NamedTuple):
    """Blocks whose rows have weights and batches, and the plan of a fit to them."""

    place: Place
    plan: Plan
    rows: BlockRows
    held: HeldRows

    def check_known(self, n_clusters: int) -> None:
        """Refuse fewer clusters than are known, and known ones without rows."""
        known = self.rows.known_of_kept, self.rows.known_names
        check_known_clusters(n_clusters, *known)


def current_client_for(blocks: Any) -> Any:
    """Return the current client for a Dask array, else none."""
    from ._dask import current_client

    return current_client() if is_dask_array(blocks) else None


class Place(NamedTuple):
    """Where blocks are worked on, by how many threads, and what is known of them.

    ``fitted`` is where rows of weight 0 are left out, and ``look`` is what it finds;
    ``over`` makes an engine over other readers of the blocks.
    """

    engine: Engine
    look: FirstLook
    threads: int
    readers: Sequence[Reader]
    over: Callable[[Sequence[Reader]], Engine]

    @property
    def fitted(self) -> Engine:
        return WeightedRows(self.engine)

    @property
    def n_rows(self) -> tuple[int, ...]:
        return self.look.n_rows


def _with_rows(place: Place, plan: Plan, rows: BlockRows) -> tuple[Place, Plan]:
    """Give the rows what is given of them, and look at what a fit is made of."""
    if not rows.given:
        return place, plan
    plan = plan.with_known(len(rows.known_names))
    check_rule(plan.settings, max(1, len(rows.batch_names)))
    readers = rows.readers(place.readers, place.look.n_rows)
    engine = UnchangedBlocks(place.over(readers), place.look)
    place = place._replace(engine=engine)
    look = place.fitted.fold(partial(look_at, plan.settings.prior), FirstLook.and_then)
    check_enough_rows(plan.settings.n_clusters, sum(look.n_rows))
    if rows.kept is not None:
        plan = without_rows(plan, sum(place.look.n_rows), rows.kept)
    return place._replace(look=look), plan


def _on_threads(
    plan: Plan, source: BlockSource, budget: MemoryBudget, stack: ExitStack
) -> Place:
    """Look at all blocks once, by threads of this process."""
    readers = source.readers
    # Blocks of unknown size are looked at one by one where memory is short.
    threads = 1 if source.largest is None and budget.limit else plan.n_jobs
    with Workers(budget.threads(threads, source.largest or 1)) as workers:
        look = _first_look(plan, source, ThreadEngine(readers, workers))
    threads = budget.threads(plan.n_jobs, max(look.n_stored))
    workers = stack.enter_context(Workers(threads))

    def over(readers: Sequence[Reader]) -> Engine:
        return ThreadEngine(readers, workers)

    return Place(UnchangedBlocks(over(readers), look), look, threads, readers, over)


def _on_cluster(
    plan: Plan,
    source: BlockSource,
    budget: MemoryBudget,
    client: Any,
    advice: str,
) -> Place:
    """Look at all blocks once, by the workers of a client."""
    from ._dask import DaskEngine

    def over(readers: Sequence[Reader]) -> DaskEngine:
        return DaskEngine(client, readers, advice)

    cluster = over(source.readers)
    look = _first_look(plan, source, cluster)
    threads = budget.threads(1, max(look.n_stored))
    engine = UnchangedBlocks(cluster, look)
    return Place(engine, look, threads, source.readers, over)


def _advice(checkpoint: str | os.PathLike[str] | None) -> str:
    """How to continue after the cluster is lost."""
    if checkpoint is None:
        return "Run the fit again, with checkpoint= to be able to resume it next time."
    return f"Run the same call again to resume from {os.fspath(checkpoint)}."


def _first_look(plan: Plan, source: BlockSource, engine: Engine) -> FirstLook:
    """Check that the blocks are counts of the same columns."""
    look = engine.fold(partial(look_at, plan.settings.prior), FirstLook.and_then)
    if len(look.n_columns) > 1:
        widths = ", ".join(map(str, sorted(look.n_columns)))
        message = (
            f"The blocks of {source.name} have {widths} columns, not all the same."
        )
        raise ValueError(message)
    names = source.column_names
    if names is not None and len(names) not in look.n_columns:
        (width,) = look.n_columns
        message = f"{source.name} has {len(names)} names for {width} columns."
        raise ValueError(message)
    if look.bad is not None:
        raise ValueError(bad_entry_message(look.bad, plan.name))
    if look.fractional and source.not_whole is not None:
        raise ValueError(source.not_whole)
    check_enough_rows(plan.settings.n_clusters, sum(look.n_rows))
    return look
