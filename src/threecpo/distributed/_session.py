"""Blocks of rows, opened, and where they are worked on: threads or a Dask cluster."""

from __future__ import annotations

import logging
import os
import warnings
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from .._core.matrices import from_sparse
from .._core.workers import Workers
from .._fit.block_rows import BlockRequest, BlockRows
from .._fit.budget import budget_of, check_all
from .._fit.engine import PreparedBlocks, ThreadEngine, of_each, readers_with, scanned
from .._fit.plan import check_enough_rows
from .._options import check_choice
from .._row_values import info_of_fit
from .._validation import bad_entry_message, fractional_message
from ..cluster.fitting import info_of_new_rows
from ..io.blocks import BLOCK_COUNTS, is_dask_array, open_blocks
from ..table import CountTable, find_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager, ExitStack

    from .._core.counts import Counts
    from .._fit.budget import MemoryBudget
    from .._fit.engine import BlockSummary, Engine, Reader
    from .._fit.plan import Plan
    from .._fit.record import FitRecord
    from ..io.blocks import BlockSource
    from ..table import ColumnPlaces

logger = logging.getLogger("threecpo.distributed")


class Place(TypedDict, total=False):
    """Where blocks are, and where they are worked on."""

    layer: str | None
    client: Any
    max_memory: int | str | None


@dataclass(frozen=True)
class Session:
    """Blocks that stay open until a stack is closed, and what works on them."""

    source: BlockSource
    budget: MemoryBudget
    n_jobs: int
    stack: ExitStack
    client: Any
    advice: str

    @classmethod
    def opened(
        cls,
        blocks: Any,
        n_jobs: int,
        stack: ExitStack,
        *,
        layer: str | None = None,
        client: Any = None,
        max_memory: int | str | None = None,
        scratch: str | os.PathLike[str] | None = None,
        advice: str = "Run the same call again.",
    ) -> Session:
        """Open blocks of rows; a Dask array uses the current client."""
        from ._dask import current_client

        budget = budget_of(max_memory)
        how: dict[str, Any] = {"layer": layer, "scratch": scratch, "client": client}
        source = stack.enter_context(open_source(blocks, n_jobs, max_memory, **how))
        if client is None and is_dask_array(blocks):
            client = current_client()
        return cls(source, budget, n_jobs, stack, client, advice)

    def engines(
        self, n_threads: int | None = None
    ) -> Callable[[Sequence[Reader]], Engine]:
        """Return what makes engines over readers, of so many threads at most."""
        if self.client is not None:
            from ._dask import DaskEngine

            return partial(DaskEngine, self.client, advice=self.advice)
        if n_threads is None:
            # Blocks of unknown size are worked on one by one where memory is short.
            largest, budget = self.source.largest, self.budget
            n_threads = 1 if largest is None and budget.limit else self.n_jobs
            n_threads = budget.threads(n_threads, largest or 1)
        workers = self.stack.enter_context(Workers(n_threads))
        return partial(ThreadEngine, workers=workers)

    def rows(self, plan: Plan, how: dict[str, Any]) -> BlockRows:
        """Look at all blocks once and return their rows."""
        source, prior = self.source, plan.settings.prior
        engine = self.engines()(source.readers)
        summary = scanned(engine, prior)
        _check_summary(summary, source, plan)
        threads = self.budget.threads(
            1 if self.client is not None else self.n_jobs, max(summary.n_stored)
        )
        over = self.engines(threads)
        engine = engine if self.client is not None else over(source.readers)
        request = BlockRequest(self.budget, **how)
        seen = summary, summary, threads
        return BlockRows(source.readers, over, engine, *seen, request, prior)

    def rows_of_fit(
        self, plan: Plan, how: dict[str, Any], given: dict[str, Any]
    ) -> tuple[Plan, BlockRows]:
        """Return all rows with what is given of them, and the plan of their columns."""
        found = self.rows(plan, how)
        plan = plan.for_columns(self.source.column_names, len(found.totals))
        return plan, found.with_info(
            info_of_fit(found.n_rows, first_names=plan.seed_names, **given)
        )

    @property
    def names(self) -> dict[str, Any]:
        source = self.source
        return {"columns": source.column_names, "rows": source.row_names}

    def warn_if_fractional(self, rows: BlockRows, name: str, stacklevel: int) -> None:
        """Warn of values that are not whole numbers."""
        if rows.summary.fractional:
            message = fractional_message(self.source.readers[0](), name)
            warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


def open_source(
    blocks: Any,
    n_jobs: int,
    max_memory: int | str | None = None,
    *,
    layer: str | None = None,
    scratch: str | os.PathLike[str] | None = None,
    client: Any = None,
    **options: Any,
) -> AbstractContextManager[BlockSource]:
    """Open blocks for several calls, as each of them would."""
    block_counts = budget_of(max_memory).block_counts(n_jobs, BLOCK_COUNTS)
    how: dict[str, Any] = {"layer": layer, "block_counts": block_counts, **options}
    return open_blocks(blocks, scratch=scratch, shared=client is not None, **how)


def advice_for(checkpoint: str | os.PathLike[str] | None) -> str:
    """Say how to continue after the cluster is lost."""
    if checkpoint is None:
        return "Run the fit again, with checkpoint= to be able to resume it next time."
    return f"Run the same call again to resume from {os.fspath(checkpoint)}."


def in_memory(
    session: Session, rows: BlockRows, n_clusters: int, n_gathered: int
) -> CountTable:
    """Return all rows as a table, if the budget has room for a fit in memory."""
    source, sizes = session.source, (n_clusters, len(rows.totals), session.n_jobs)

    def check(budget: MemoryBudget) -> None:
        budget.check_rows(n_gathered)
        budget.check_sample(rows.n_stored, *sizes)

    check_all(session.budget, check)
    counts = rows.taken(np.arange(rows.n_rows))
    return CountTable(
        counts, column_names=source.column_names, row_names=source.row_names
    )


def _check_summary(summary: BlockSummary, source: BlockSource, plan: Plan) -> None:
    """Refuse blocks that are not counts of the same columns."""
    if len(summary.n_columns) > 1:
        widths = ", ".join(map(str, sorted(summary.n_columns)))
        message = (
            f"The blocks of {source.name} have {widths} columns, not all the same."
        )
        raise ValueError(message)
    names = source.column_names
    if names is not None and len(names) not in summary.n_columns:
        (width,) = summary.n_columns
        message = f"{source.name} has {len(names)} names for {width} columns."
        raise ValueError(message)
    if summary.bad is not None:
        raise ValueError(bad_entry_message(summary.bad, plan.name))
    if summary.fractional and source.not_whole is not None:
        raise ValueError(source.not_whole)
    check_enough_rows(plan.settings.n_clusters, sum(summary.n_rows))


def rows_of_model(
    session: Session,
    record: FitRecord,
    *,
    sample_weight: Any = None,
    batch: Any = None,
    missing: str = "error",
) -> Engine:
    """Return an engine over blocks that must be counts of the columns of a fit."""
    check_choice("missing", missing, ("error", "zero"))
    source, over = session.source, session.engines()
    readers: Sequence[Reader] = source.readers
    if missing == "zero":
        readers = _by_name(source, record)
    else:
        check_names(source, record)
    engine = over(readers)
    if batch is not None or sample_weight is not None:
        n_rows = lengths(engine)
        given = {"sample_weight": sample_weight, "batch": batch}
        info = info_of_new_rows(record, sum(n_rows), **given)
        engine = over(readers_with(info, readers, np.cumsum([0, *n_rows])))
    prepare = partial(_checked, record.n_columns, record.in_batches)
    return PreparedBlocks(engine, prepare)


def check_names(source: BlockSource, record: FitRecord) -> None:
    theirs, ours = source.column_names, record.column_names
    if theirs is None or ours is None:
        return
    if list(theirs) == list(ours):
        return
    pairs = enumerate(zip(theirs, ours, strict=False))
    wrong = (f"column {i} called {a!r}, not {b!r}" for i, (a, b) in pairs if a != b)
    what = next(wrong, f"{len(theirs)} columns, not {len(ours)}")
    message = f"{source.name} has {what}: these are not the columns of the model."
    raise ValueError(message)


def _by_name(source: BlockSource, record: FitRecord) -> Sequence[Reader]:
    """Readers of the columns of a record, of zeros where the source lacks them."""
    theirs, ours = source.column_names, record.column_names
    if theirs is None or ours is None:
        nameless = "the model" if ours is None else source.name
        message = (
            f"missing='zero' finds columns by name, but {nameless} has no column names."
        )
        raise ValueError(message)
    found = find_columns(ours.tolist(), list(map(str, theirs)))
    for names, done in ((found.missing, "read as zeros"), (found.extra, "ignored")):
        if names:
            first = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
            logger.warning(
                "Columns of %s %s: %d, %s.", source.name, done, len(names), first
            )
    return [partial(_taken, read, found, len(theirs)) for read in source.readers]


def _taken(read: Reader, found: ColumnPlaces, n_names: int) -> Counts:
    """Counts of the wanted columns of a block."""
    counts = read()
    if counts.n_columns != n_names:
        message = f"A block has {counts.n_columns} columns and {n_names} names of them."
        raise ValueError(message)
    return from_sparse(found.taken(counts.matrix()))


def _checked(
    n_columns: int, in_batches: Callable[[Counts], Counts], index: int, counts: Counts
) -> Counts:
    """Return a block as the fit takes it, if it holds counts of its columns."""
    if counts.n_columns != n_columns:
        message = (
            f"Block {index} has {counts.n_columns} columns; the model was fitted on "
            f"{n_columns}."
        )
        raise ValueError(message)
    if counts.bad_entry is not None:
        message = bad_entry_message(counts.bad_entry, f"block {index}")
        raise ValueError(message)
    return in_batches(counts)


def lengths(engine: Engine) -> list[int]:
    return of_each(engine, attrgetter("n_rows"))
