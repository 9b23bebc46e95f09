"""Blocks of other rows in, what a fitted model says of them out."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .._core.row_checks import known_batches
from .._core.workers import Workers
from .._fit import row_files
from .._fit.block_rows import BlockRows
from .._fit.budget import budget_of
from .._fit.engine import ThreadEngine
from .._options import check_non_negative, resolve_n_jobs
from .._validation import bad_entry_message
from .._writing import new_folder
from ..io.blocks import BLOCK_COUNTS, open_blocks
from ._door import current_client_for
from ._patience import SECONDS, Patience

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from .._core.counts import Counts
    from .._core.sums import Sums
    from .._fit.budget import MemoryBudget
    from .._fit.engine import Engine, Reader, T, Work
    from .._fit.record import FitRecord
    from .._fit.row_results import Placing, RowDescriber, RowScorer
    from ..cluster.fitting import PoissonClusterer
    from ..io.blocks import BlockSource

_ADVICE = "Call it again when the cluster is back."


def predict(
    model: PoissonClusterer,
    blocks: Any,
    *,
    layer: str | None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    write_to: str | os.PathLike[str] | None = None,
    patience: float = SECONDS,
    batch: ArrayLike | None = None,
) -> NDArray[np.int32] | None:
    """Cluster of each row that comes in blocks, under a fitted model.

    Every block is read once (twice with ``batch``).

    Parameters
    ----------
    model : ThreeCPO, PoissonL or PoissonC
        A fitted model, of a fit in memory or over blocks.
    blocks : str, path-like, Dask array, list of functions, or counts in memory
        Counts of the same columns, as in :func:`fit`.
    layer : str, default=None
        Matrix of an AnnData, as in :func:`threecpo.read_counts`.
    client : distributed.Client, default=None
        Dask cluster to work on, as in :func:`fit`.
    max_memory : int or str, default=None
        Budget of each process for all that grows with the data, such as ``"2GB"``.
    write_to : str or path-like, default=None
        New folder for labels and scores of the rows, one file for each block (see
        :func:`read_rows`), instead of an array.
    patience : float, default=300
        Seconds to wait for a Dask cluster that is lost, as in :func:`fit`.
    batch : array-like of shape (n_rows,) or None, default=None
        Batch of each row, as in :meth:`ThreeCPO.predict`.

    Returns
    -------
    ndarray of shape (n_rows,) or None
        The labels that ``model.predict`` would give; None with ``write_to``.

    Examples
    --------
    >>> from threecpo import ThreeCPO, distributed
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> model = ThreeCPO(3, random_state=0).fit(X)
    >>> readers = [lambda i=i: X[i : i + 250] for i in range(0, 1000, 250)]
    >>> bool((distributed.predict(model, readers) == model.labels_).all())
    True
    """
    given = _Given(blocks, layer, client, max_memory, patience, batch)
    target = _new_folder(write_to)
    with _opened(model, given) as engine:
        describer = model.record_.describer
        if target is None:
            found = engine.fold(partial(_labels, describer), list.__add__)
            return np.concatenate(found)
        row_files.written(engine, describer, target)
    return None


def row_scores(
    model: PoissonClusterer,
    blocks: Any,
    *,
    layer: str | None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    write_to: str | os.PathLike[str] | None = None,
    patience: float = SECONDS,
    batch: ArrayLike | None = None,
) -> NDArray[np.float64] | None:
    """Score in each cluster of each row that comes in blocks.

    Parameters
    ----------
    model, blocks, layer, client, max_memory, patience, batch
        As in :func:`predict`.
    write_to : str or path-like, default=None
        New folder for the scores, one file for each block, instead of an array:
        ``read_rows(folder, "scores")`` reads them.

    Returns
    -------
    ndarray of shape (n_rows, n_clusters_) or None
        The scores that ``model.row_scores`` would give; None with ``write_to``.

    Examples
    --------
    >>> from threecpo import ThreeCPO, distributed
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> model = ThreeCPO(3, random_state=0).fit(X)
    >>> readers = [lambda: X[:400], lambda: X[400:]]
    >>> distributed.row_scores(model, readers).shape
    (1000, 3)
    """
    given = _Given(blocks, layer, client, max_memory, patience, batch)
    target = _new_folder(write_to)
    with _opened(model, given) as engine:
        scorer = model.record_.row_scorer
        if target is None:
            found = engine.fold(partial(_scores, scorer), list.__add__)
            return np.concatenate(found)
        with new_folder(target) as folder:
            engine.fold(partial(_write_scores, folder, scorer), int.__add__)
    return None


def score(
    model: PoissonClusterer,
    blocks: Any,
    *,
    layer: str | None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    patience: float = SECONDS,
    batch: ArrayLike | None = None,
) -> float:
    """Minus the loss of rows that come in blocks, under a fitted model.

    Parameters
    ----------
    model, blocks, layer, client, max_memory, patience, batch
        As in :func:`predict`.

    Returns
    -------
    float
        What ``model.score`` would give; larger is better.

    Examples
    --------
    >>> from threecpo import ThreeCPO, distributed
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> model = ThreeCPO(3, random_state=0).fit(X)
    >>> found = distributed.score(model, [lambda: X[:400], lambda: X[400:]])
    >>> abs(found + model.loss_) < 1e-6
    True
    """
    given = _Given(blocks, layer, client, max_memory, patience, batch)
    with _opened(model, given) as engine:
        record = model.record_
        return record.score_of(engine.fold(partial(_sums, record.placing), _added))


def transform(
    model: PoissonClusterer,
    blocks: Any,
    *,
    layer: str | None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    write_to: str | os.PathLike[str] | None = None,
    patience: float = SECONDS,
) -> sp.csr_array | None:
    """Relevant columns of rows that come in blocks.

    Parameters
    ----------
    model, blocks, layer, client, max_memory, patience
        As in :func:`predict`; the model is a ThreeCPO.
    write_to : str or path-like, default=None
        New folder of npz files, one for each block, which :func:`fit` reads, instead of
        a matrix.

    Returns
    -------
    csr_array of shape (n_rows, n_relevant) or None
        The columns of C1; None with ``write_to``.

    Examples
    --------
    >>> from threecpo import ThreeCPO, distributed
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> model = ThreeCPO(3, random_state=0).fit(X)
    >>> distributed.transform(model, [lambda: X[:400], lambda: X[400:]]).shape
    (1000, 2)
    """
    given = _Given(blocks, layer, client, max_memory, patience, None)
    target = _new_folder(write_to)
    with _opened(model, given) as engine:
        mask = model.get_support()
        if target is None:
            parts = engine.fold(partial(_relevant, mask), list.__add__)
            return sp.vstack(parts, format="csr")
        names = getattr(model, "feature_names_in_", None)
        chosen = None if names is None else names[mask]
        with new_folder(target) as folder:
            engine.fold(partial(_write_relevant, folder, mask, chosen), int.__add__)
    return None


@dataclass(frozen=True)
class _Given:
    """Rows, where to work on them, and within what."""

    blocks: Any
    layer: str | None
    client: Any
    max_memory: int | str | None
    patience: float
    batch: ArrayLike | None


@contextmanager
def _opened(model: PoissonClusterer, given: _Given) -> Iterator[Engine]:
    """An engine over blocks that are counts of the columns of a model."""
    check_is_fitted(model)
    record, budget = model.record_, budget_of(given.max_memory)
    n_jobs = resolve_n_jobs(model.n_jobs)
    waiting = Patience(check_non_negative("patience", given.patience), _ADVICE)
    block_counts = budget.block_counts(n_jobs, BLOCK_COUNTS)
    with ExitStack() as stack:
        source = stack.enter_context(
            open_blocks(given.blocks, layer=given.layer, block_counts=block_counts)
        )
        _check_names(source, record)
        over = _engine_of(source, given, n_jobs, budget, waiting, stack)
        readers: Sequence[Reader] = source.readers
        if given.batch is not None:
            readers = _in_batches(record, readers, over(readers), given.batch)
        yield CheckedBlocks(over(readers), record)


def _engine_of(
    source: BlockSource,
    given: _Given,
    n_jobs: int,
    budget: MemoryBudget,
    waiting: Patience,
    stack: ExitStack,
) -> Callable[[Sequence[Reader]], Engine]:
    """What makes engines over readers: on a cluster, or on threads of this process."""
    client = given.client or current_client_for(given.blocks)
    if client is not None:
        from ._dask import Cluster

        def on_cluster(readers: Sequence[Reader]) -> Engine:
            cluster = Cluster(client, readers, waiting)
            stack.callback(cluster.close)
            return cluster

        return on_cluster
    # Blocks of unknown size are worked on one by one where memory is short.
    threads = 1 if source.largest is None and budget.limit else n_jobs
    threads = budget.threads(threads, source.largest or 1)
    workers = stack.enter_context(Workers(threads))
    return lambda readers: ThreadEngine(readers, workers)


def _check_names(source: BlockSource, record: FitRecord) -> None:
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


def _in_batches(
    record: FitRecord, readers: Sequence[Reader], engine: Engine, batch: ArrayLike
) -> Sequence[Reader]:
    """Readers of the same blocks with the batches of their rows."""
    n_rows = engine.fold(_lengths, list.__add__)
    if not record.batch_names:
        message = "This model was fitted without batch=; leave it out here, too."
        raise ValueError(message)
    codes = known_batches(batch, sum(n_rows), record.batch_names)
    rows = BlockRows(None, codes, (*record.batch_names, ""))
    return rows.readers(readers, n_rows)


class CheckedBlocks:
    """An engine whose blocks must be counts of the columns of a record."""

    def __init__(self, engine: Engine, record: FitRecord) -> None:
        self._engine = engine
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


def _new_folder(path: str | os.PathLike[str] | None) -> Path | None:
    target = None if path is None else Path(path)
    if target is not None:
        row_files.check_new(target)
    return target


def _lengths(_: int, counts: Counts) -> list[int]:
    return [counts.n_rows]


def _labels(describer: RowDescriber, _: int, counts: Counts) -> list[NDArray[np.int32]]:
    return [describer(counts).labels]


def _scores(scorer: RowScorer, _: int, counts: Counts) -> list[NDArray[np.float64]]:
    return [scorer(counts)]


def _sums(placing: Placing, _: int, counts: Counts) -> Sums:
    return placing(counts)


def _added(a: Sums, b: Sums) -> Sums:
    a.add(b)
    return a


def _relevant(mask: NDArray[np.bool_], _: int, counts: Counts) -> list[sp.csr_array]:
    return [counts.columns(mask).whole_matrix()]


def _write_scores(folder: Path, scorer: RowScorer, index: int, counts: Counts) -> int:
    row_files.save_block(folder, "scores", index, scorer(counts))
    return counts.n_rows


def _write_relevant(
    folder: Path, mask: NDArray[np.bool_], names: Any, index: int, counts: Counts
) -> int:
    from ..io.write import write_counts
    from ..table import CountTable

    chosen = CountTable(counts.columns(mask), column_names=names)
    write_counts(chosen, folder / f"block-{index:06d}.npz", force=True)
    return counts.n_rows
