"""Blocks of rows in, a fitted estimator out."""

from __future__ import annotations

import os
import warnings
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .._core.workers import Workers
from .._fit import row_files
from .._fit.block_rows import BlockRows, WeightedRows
from .._fit.blocks import BlockFit
from .._fit.budget import budget_of
from .._fit.checkpoint import Checkpoint
from .._fit.confidence import described_over
from .._fit.engine import ThreadEngine, UnchangedBlocks, WeightedColumns
from .._fit.first_look import FirstLook, look_at
from .._fit.given_rows import check_rule, without_rows
from .._fit.held_back import row_weights_over, weights_over
from .._fit.plan import check_enough_rows
from .._options import check_integer, check_non_negative
from .._validation import bad_entry_message, fractional_message
from ..cluster.fitting import (
    PoissonClusterer,
    keep,
    plan_of,
    progress_of,
    warn_if_confounded,
    warn_unless_converged,
)
from ..io.blocks import BLOCK_COUNTS, is_dask_array, open_blocks
from ._patience import SECONDS, Patience

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from .._fit.budget import MemoryBudget
    from .._fit.engine import Engine, Reader
    from .._fit.plan import Plan
    from .._fit.progress import Progress
    from .._fit.record import FitRecord
    from ..io.blocks import BlockSource

Model = TypeVar("Model", bound=PoissonClusterer)

SAMPLE_ROWS = 20_000


def fit(
    estimator: Model,
    blocks: Any,
    *,
    layer: str | None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    scratch: str | os.PathLike[str] | None = None,
    sample_rows: int | None = SAMPLE_ROWS,
    write_to: str | os.PathLike[str] | None = None,
    drop_hopeless: bool = False,
    patience: float = SECONDS,
    progress: Progress | None = None,
    sample_weight: ArrayLike | None = None,
    batch: ArrayLike | None = None,
) -> Model:
    """Fit an estimator to rows that come in blocks.

    1. Look at every block once: are these counts, how many rows are there.
    2. Fit the estimator to a sample of the rows, in memory. Where that is all rows, the
       fit is finished, and the same as ``estimator.fit(X)``.
    3. From every run of the sample go on with all rows. In each pass every block is
       read once, for all runs that have not ended yet.
    4. Look up labels and scores of the rows under the best run.

    The same seed gives the same labels and groups from disk and on any number of Dask
    workers, however the rows are cut into blocks; up to ``sample_rows`` rows they are
    also those of a fit in memory.

    Parameters
    ----------
    estimator : ThreeCPO, PoissonL or PoissonC
        What to fit. With ``init=model`` or labels there is no sample and one run.
    blocks : str, path-like, Dask array, list of functions, or counts in memory
        A file ``.h5ad``, an AnnData as zarr, a folder of npz or parquet files (one
        block of rows each, in the order of their names), a MatrixMarket file or 10x
        folder (which is sorted into a temporary folder first); a Dask array cut along
        its rows; functions without arguments that return a block each; or a
        CountTable, array, frame or sparse matrix.
    layer : str, default=None
        Matrix of an AnnData, as in :func:`threecpo.read_counts`.
    client : distributed.Client, default=None
        Dask cluster to work on; it reads the blocks there. Without one, threads of this
        process do (``n_jobs`` of the estimator); a Dask array uses the current client.
    max_memory : int or str, default=None
        Budget of each process for all that grows with the data, such as ``"2GB"``. It
        decides the size of blocks, the number of threads and how many runs share a
        pass; what cannot fit is an error beforehand. Python and its libraries take
        about 0.3 GB more.
    checkpoint : str or path-like, default=None
        Folder that keeps the state of all runs after each pass. The same call goes on
        from there after a crash, and ends with the same result.
    scratch : str or path-like, default=None
        Existing folder with room for the counts of an h5ad, zarr or 10x file without
        compression, about 4 bytes a stored count (logger ``threecpo.io.blocks`` tells
        how much). They are unpacked once, at the first look, instead of in every pass,
        and removed at the end. On a cluster all workers must see the folder.
    sample_rows : int or None, default=20000
        Number of rows to start from, drawn at random by their number; None for all
        rows, which must fit into memory then.
    write_to : str or path-like, default=None
        New folder for labels and scores of the rows, one file for each block (see
        :func:`read_rows`). The estimator then has no attributes of single rows.
    drop_hopeless : bool, default=False
        End runs that would need ten times their last gain to become the best.
    patience : float, default=300
        Seconds that one pass waits, in all, for a Dask cluster without workers or
        without its scheduler. When that is back at the same address, the pass is asked
        for again, and the result is the same. Logger ``threecpo.distributed`` warns
        every 10 seconds meanwhile. Without ``client`` there is nothing to wait for.
    progress : Progress or None, default=None
        Listens to the runs; None prints them if the estimator is ``verbose``.
    sample_weight, batch : array-like of shape (n_rows,) or None, default=None
        How often each row counts, and its batch, as in :meth:`ThreeCPO.fit`, of the
        rows of all blocks in their order.

    Returns
    -------
    estimator
        The estimator itself, fitted. Entries of ``history_`` are passes over all rows;
        ``rows_moved`` is -1 there, as labels are not kept between passes, but 0 where
        nothing changes any more.

    Raises
    ------
    ClusterLostError
        The Dask cluster did not come back in time. With ``checkpoint`` the same call
        goes on after the last finished pass.

    Examples
    --------
    >>> from threecpo import ThreeCPO, distributed
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> readers = [lambda i=i: X[i : i + 250] for i in range(0, 1000, 250)]
    >>> model = ThreeCPO(n_clusters=3, random_state=0)
    >>> distributed.fit(model, readers, sample_rows=400).column_groups_
    array([ 1,  1,  0,  0, -1, -1], dtype=int8)
    """
    plan = _plan(estimator)
    budget = budget_of(max_memory)
    if sample_rows is not None:
        check_integer("sample_rows", sample_rows, plan.settings.n_clusters)
    waiting = Patience(check_non_negative("patience", patience), _advice(checkpoint))
    target = None if write_to is None else Path(write_to)
    if target is not None:
        row_files.check_new(target)
    options = {"sample_rows": sample_rows, "drop_hopeless": drop_hopeless}
    heard = progress_of(estimator) if progress is None else progress
    block_counts = budget.block_counts(plan.n_jobs, BLOCK_COUNTS)
    with ExitStack() as stack:
        source = stack.enter_context(
            open_blocks(blocks, layer=layer, block_counts=block_counts, scratch=scratch)
        )
        client = client or current_client_for(blocks)
        if client is None:
            work = _on_threads(plan, source, budget, stack)
        else:
            work = _on_cluster(plan, source, budget, client, waiting, stack)
        plan = plan.for_columns(source.column_names, len(work.look.sums.totals))
        rows = BlockRows.of(sample_weight, batch, work.look.sums.n_rows)
        rows = rows.without_deepest(work.engine, plan.hold_out)
        held = row_weights_over(work.engine, rows.weights, plan.max_row_size)
        rows = rows.held_back(held)
        work, plan = _with_rows(work, plan, rows)
        if target is None:
            budget.check_rows(sum(work.n_rows))
        given = options | ({"rows": rows.digest} if rows.given else {})
        fitting = BlockFit(plan, work.fitted, work.look, budget, work.threads, heard)

        def fitted(fitting: BlockFit, folder: str) -> FitRecord:
            kept = Checkpoint(Path(folder), fitting.plan, given) if folder else None
            return fitting.fit(sample_rows, kept, drop_hopeless=drop_hopeless)

        folder = "" if checkpoint is None else os.fspath(checkpoint)
        record = _held_back(fitting, fitted, folder)
        record = record.with_names(columns=source.column_names, rows=source.row_names)
        record = record.with_batches(rows.batch_names)
        # Probabilities, a number for each row and cluster, are left out of a budget.
        sure = plan.with_confidence and budget.limit is None
        _keep(estimator, record, work.engine, target, held, sure=sure)
    warn_unless_converged(record, stacklevel=2)
    warn_if_confounded(record, stacklevel=2)
    return estimator


def _held_back(
    fitting: BlockFit, fitted: Callable[[BlockFit, str], FitRecord], folder: str
) -> FitRecord:
    """Fit, and again with the columns held back that vary too much in the first.

    The first has a checkpoint of its own, beside the other.
    """
    plan = fitting.plan
    if plan.max_dispersion is None:
        return fitted(fitting, folder)
    first = replace(fitting, plan=plan.with_column_weights(None))
    record = fitted(first, folder and f"{folder}-first")
    weights = weights_over(fitting.engine, record, plan.max_dispersion)
    if weights is None:
        return record
    engine = WeightedColumns(fitting.engine, weights)
    look = engine.fold(partial(look_at, plan.settings.prior), FirstLook.and_then)
    plan = plan.with_column_weights(weights)
    return fitted(replace(fitting, plan=plan, engine=engine, look=look), folder)


def current_client_for(blocks: Any) -> Any:
    """Return the current client for a Dask array, else none."""
    from ._dask import current_client

    return current_client() if is_dask_array(blocks) else None


def _keep(
    estimator: PoissonClusterer,
    record: FitRecord,
    engine: Engine,
    target: Path | None,
    held: NDArray[np.float64] | None,
    *,
    sure: bool,
) -> None:
    """Keep a record, then its rows: if these fail, the model is there."""
    keep(estimator, record)
    if target is None:
        record = described_over(engine, record, sure=sure)
        assert record.rows is not None
        keep(estimator, record.with_rows(record.rows.held_back(held)))
    else:
        row_files.written(engine, record.describer, target)


def _plan(estimator: Any) -> Plan:
    if not isinstance(estimator, PoissonClusterer):
        message = f"{estimator!r} is none of ThreeCPO, PoissonL and PoissonC."
        raise TypeError(message)
    if isinstance(estimator.n_clusters, str):
        message = (
            f"n_clusters={estimator.n_clusters!r} needs all rows in memory; choose a "
            "number with threecpo.select_n_clusters on some of the rows."
        )
        raise ValueError(message)
    return plan_of(estimator)


class _Place(NamedTuple):
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


def _with_rows(place: _Place, plan: Plan, rows: BlockRows) -> tuple[_Place, Plan]:
    """Give the rows their weights and batches, and look at what a fit is made of."""
    if not rows.given:
        return place, plan
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
) -> _Place:
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

    return _Place(UnchangedBlocks(over(readers), look), look, threads, readers, over)


def _on_cluster(
    plan: Plan,
    source: BlockSource,
    budget: MemoryBudget,
    client: Any,
    patience: Patience,
    stack: ExitStack,
) -> _Place:
    """Look at all blocks once, by the workers of a client."""
    from ._dask import Cluster

    def over(readers: Sequence[Reader]) -> Cluster:
        cluster = Cluster(client, readers, patience)
        stack.callback(cluster.close)
        return cluster

    cluster = over(source.readers)
    look = _first_look(plan, source, cluster)
    threads = budget.threads(1, max(look.n_stored))
    engine = UnchangedBlocks(cluster, look)
    return _Place(engine, look, threads, source.readers, over)


def _advice(checkpoint: str | os.PathLike[str] | None) -> str:
    """How to go on after the cluster is lost."""
    if checkpoint is None:
        return (
            "Call fit again when the cluster is back; with checkpoint= such a call "
            "goes on after the last finished pass."
        )
    return (
        f"The state after the last finished pass is in {os.fspath(checkpoint)}: make "
        "the same call when the cluster is back, and it goes on from there."
    )


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
    if look.fractional:
        message = fractional_message(source.readers[0](), plan.name)
        warnings.warn(message, UserWarning, stacklevel=4)
    check_enough_rows(plan.settings.n_clusters, sum(look.n_rows))
    return look
