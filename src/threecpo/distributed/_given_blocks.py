"""Blocks of rows of the columns of a fitted model, opened where they are worked on."""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.matrices import from_sparse
from .._core.row_checks import known_batches
from .._core.workers import Workers
from .._fit.block_rows import BlockRows
from .._fit.budget import budget_of
from .._fit.engine import ThreadEngine
from .._options import check_choice, resolve_n_jobs
from .._validation import bad_entry_message
from ..io.blocks import BLOCK_COUNTS, open_blocks
from ..table import find_columns
from ._place import current_client_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from .._core.counts import Counts
    from .._fit.budget import MemoryBudget
    from .._fit.engine import Engine, Reader, T, Work
    from .._fit.record import FitRecord
    from ..cluster.fitting import PoissonClusterer
    from ..io.blocks import BlockSource
    from ..table import ColumnPlaces

logger = logging.getLogger("threecpo.distributed")


@dataclass(frozen=True)
class GivenBlocks:
    """Rows, where to work on them, and within what."""

    blocks: Any
    layer: str | None
    client: Any
    max_memory: int | str | None
    batch: ArrayLike | None
    missing: str = "error"


@contextmanager
def opened(model: PoissonClusterer, given: GivenBlocks) -> Iterator[CheckedBlocks]:
    """An engine over blocks that are counts of the columns of a model."""
    check_is_fitted(model)
    record, budget = model.record_, budget_of(given.max_memory)
    n_jobs = resolve_n_jobs(model.n_jobs)
    block_counts = budget.block_counts(n_jobs, BLOCK_COUNTS)
    with ExitStack() as stack:
        source = stack.enter_context(
            open_blocks(given.blocks, layer=given.layer, block_counts=block_counts)
        )
        over = _engine_of(source, given, n_jobs, budget, stack)
        readers: Sequence[Reader] = source.readers
        check_choice("missing", given.missing, ("error", "zero"))
        if given.missing == "zero":
            readers = _by_name(source, record)
        else:
            check_names(source, record)
        if given.batch is not None:
            readers = _in_batches(record, readers, over(readers), given.batch)
        yield CheckedBlocks(over(readers), record, source.row_names)


def _engine_of(
    source: BlockSource,
    given: GivenBlocks,
    n_jobs: int,
    budget: MemoryBudget,
    stack: ExitStack,
) -> Callable[[Sequence[Reader]], Engine]:
    """What makes engines over readers: on a cluster, or on threads of this process."""
    client = given.client or current_client_for(given.blocks)
    if client is not None:
        from ._dask import DaskEngine

        return partial(DaskEngine, client, advice="Run the same call again.")
    # Blocks of unknown size are worked on one by one where memory is short.
    threads = 1 if source.largest is None and budget.limit else n_jobs
    threads = budget.threads(threads, source.largest or 1)
    workers = stack.enter_context(Workers(threads))
    return lambda readers: ThreadEngine(readers, workers)


def check_names(source: BlockSource, record: FitRecord) -> None:
    """Refuse columns of other names."""
    theirs, ours = source.column_names, record.column_names
    if theirs is None or ours is None:
        return
    if len(theirs) == len(ours) and (np.asarray(theirs) == ours).all():
        return
    wrong = next(
        (i for i, (a, b) in enumerate(zip(theirs, ours, strict=False)) if a != b), None
    )
    what = (
        f"{len(theirs)} columns, not {len(ours)}"
        if wrong is None
        else f"column {wrong} called {theirs[wrong]!r}, not {ours[wrong]!r}"
    )
    message = f"{source.name} has {what}: these are not the columns of the model."
    raise ValueError(message)


def _by_name(source: BlockSource, record: FitRecord) -> Sequence[Reader]:
    """Readers of the columns of a record, of zeros where the source lacks them."""
    theirs, ours = source.column_names, record.column_names
    if theirs is None or ours is None:
        nameless = "the model" if ours is None else source.name
        message = f"missing='zero' finds columns by their names; {nameless} has none."
        raise ValueError(message)
    found = find_columns(ours.tolist(), list(map(str, theirs)))
    for names, done in ((found.missing, "taken for zeros"), (found.extra, "left out")):
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


def _in_batches(
    record: FitRecord, readers: Sequence[Reader], engine: Engine, batch: ArrayLike
) -> Sequence[Reader]:
    """Readers of the same blocks with the batches of their rows."""
    n_rows = engine.fold(lengths, list.__add__)
    if not record.batch_names:
        message = "This model was fitted without batch=; leave it out here, too."
        raise ValueError(message)
    codes = known_batches(batch, sum(n_rows), record.batch_names)
    rows = BlockRows(None, codes, (*record.batch_names, ""))
    return rows.readers(readers, n_rows)


class CheckedBlocks:
    """An engine whose blocks must be counts of the columns of a record.

    ``row_names`` are those of all rows, None where they have none.
    """

    def __init__(
        self, engine: Engine, record: FitRecord, row_names: Any = None
    ) -> None:
        self._engine, self.row_names = engine, row_names
        batches = record.sums.batches
        names = () if batches is None else (*record.batch_names, "")
        weights = record.sums.column_weights
        self._check = partial(_checked, record.n_columns, names, weights)

    def fold(self, work: Work[T], combine: Callable[[T, T], T]) -> T:
        return self._engine.fold(partial(self._check, work), combine)


def _checked(
    n_columns: int,
    batch_names: tuple[str, ...],
    column_weights: NDArray[np.float64] | None,
    work: Work[T],
    index: int,
    counts: Counts,
) -> T:
    """Do work on a block of counts; rows without a batch are of a mean one."""
    if counts.n_columns != n_columns:
        message = (
            f"Block {index} has {counts.n_columns} columns; the model was fitted on "
            f"{n_columns}."
        )
        raise ValueError(message)
    if counts.bad_entry is not None:
        message = bad_entry_message(counts.bad_entry, f"block {index}")
        raise ValueError(message)
    if batch_names and counts.batches is None:
        mean = np.full(counts.n_rows, len(batch_names) - 1, dtype=np.int32)
        counts = counts.with_rows(counts.weights, mean, batch_names)
    return work(index, counts.with_column_weights(column_weights))


def lengths(_: int, counts: Counts) -> list[int]:
    """Number of rows of a block, as those of every block."""
    return [counts.n_rows]
