"""One fit over blocks of rows, wherever they are."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .. import _options
from .._core import blocks as work
from .._core import seeding
from .._core.riding import Ride, Rider
from .._core.run import OUTLIER, Running
from .._core.search import best_of, first_groups
from .._core.statistics import Workers
from .._validation import bad_entry_message, fractional_message
from .._writing import new_folder
from ..cluster import _starts
from ..cluster._base import PoissonClusterer
from ..io.blocks import is_dask_array, open_blocks
from . import _rows
from ._checkpoint import Checkpoint
from ._memory import memory_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .._core.blocks import Engine, Look
    from .._core.run import Request, Run, Settings
    from .._core.statistics import Statistics
    from ..io.blocks import BlockSource
    from ._memory import Memory

Model = TypeVar("Model", bound=PoissonClusterer)

SAMPLE_ROWS = 20_000
# Of all seeds that one random_state makes, that of the sample.
SAMPLE_KEY = 2**31


def fit(
    estimator: Model,
    blocks: Any,
    *,
    layer: str | None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    sample_rows: int | None = SAMPLE_ROWS,
    write_to: str | os.PathLike[str] | None = None,
    drop_hopeless: bool = False,
) -> Model:
    """Fit an estimator to rows that come in blocks.

    1. Look at every block once: are these counts, how many rows are there.
    2. Fit the estimator to a sample of the rows, in memory. Where that is all rows, the
       fit is finished, and the same as ``estimator.fit(X)``.
    3. From every run of the sample go on with all rows. In each pass every block is
       read once, for all runs that have not ended yet.
    4. Look up labels and scores of the rows under the best run.

    The same seed gives the same labels and groups from memory, from disk and on any
    number of Dask workers, however the rows are cut into blocks.

    Parameters
    ----------
    estimator : ThreeCPO, PoissonL or PoissonC
        What to fit. With ``init=model`` or labels there is no sample and one run.
    blocks : str, path-like, Dask array, list of functions, or counts in memory
        A file ``.h5ad``, an AnnData as zarr, a folder of npz or parquet files (one
        block of rows each, in the order of their names), a MatrixMarket file or 10x
        folder (which is sorted into a temporary folder first); a Dask array cut along
        its rows; functions without arguments that return a block each; or an array,
        frame or sparse matrix.
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
    sample_rows : int or None, default=20000
        Number of rows to start from, drawn at random by their number; None for all
        rows, which must fit into memory then.
    write_to : str or path-like, default=None
        New folder for labels and scores of the rows, one file for each block (see
        :func:`read_rows`). The estimator then has no attributes of single rows.
    drop_hopeless : bool, default=False
        End runs that would need ten times their last gain to become the best.

    Returns
    -------
    estimator
        The estimator itself, fitted. Entries of ``history_`` are passes over all rows;
        ``rows_moved`` is -1 there, as labels are not kept between passes, but 0 where
        nothing changes any more.

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
    settings = _settings_of(estimator)
    memory = memory_of(max_memory)
    if sample_rows is not None:
        _options.check_integer("sample_rows", sample_rows, settings.n_clusters)
    target = None if write_to is None else Path(write_to)
    if target is not None:
        _rows.check_new(target)
    n_jobs = _options.resolve_n_jobs(estimator.n_jobs)
    block_counts = memory.block_counts(n_jobs)
    with ExitStack() as stack:
        source = stack.enter_context(
            open_blocks(blocks, layer=layer, block_counts=block_counts)
        )
        fitting = _Fitting(estimator, settings, source, memory, n_jobs)
        if client is None and is_dask_array(blocks):
            from ._dask import current_client

            client = current_client()
        fitting.start(client, stack)
        if target is None:
            memory.check_rows(fitting.n_rows)
        kept = (
            None
            if checkpoint is None
            else Checkpoint(
                Path(checkpoint), estimator, sample_rows, drop_hopeless=drop_hopeless
            )
        )
        best = fitting.search(sample_rows, kept, drop_hopeless=drop_hopeless)
        fitting.finish(best, target)
    estimator._warn_unless_converged(best, settings)
    return estimator


def _settings_of(estimator: Any) -> Settings:
    if not isinstance(estimator, PoissonClusterer):
        message = f"{estimator!r} is none of ThreeCPO, PoissonL and PoissonC."
        raise TypeError(message)
    if isinstance(estimator.n_clusters, str):
        message = (
            f"n_clusters={estimator.n_clusters!r} needs all rows in memory; choose a "
            "number with threecpo.select_n_clusters on some of the rows."
        )
        raise ValueError(message)
    estimator.__dict__.pop("k_path_", None)
    return estimator._settings()


class _Fitting:
    """A fit on its way: the source, where it is worked on, what is known of it."""

    engine: Engine
    look: Look
    threads: int

    def __init__(
        self,
        estimator: PoissonClusterer,
        settings: Settings,
        source: BlockSource,
        memory: Memory,
        n_jobs: int,
    ) -> None:
        self.estimator = estimator
        self.settings = settings
        self.source = source
        self.memory = memory
        self.n_jobs = n_jobs

    @property
    def n_rows(self) -> int:
        return self.look.statistics.n_rows

    @property
    def n_columns(self) -> int:
        return len(self.look.statistics.totals)

    def start(self, client: Any, stack: ExitStack) -> None:
        """Choose where to work, and look at all blocks once."""
        readers = self.source.readers
        if client is not None:
            from ._dask import Cluster

            cluster = Cluster(client, readers)
            self.look = self._first_look(cluster)
            self.threads = self.memory.threads(1, max(self.look.n_stored))
            self.engine = work.Unchanged(cluster, self.look)
            return
        largest = self.source.largest
        # Blocks of unknown size are looked at one by one where memory is short.
        threads = 1 if largest is None and self.memory.limit else self.n_jobs
        with Workers(self.memory.threads(threads, largest or 1)) as workers:
            self.look = self._first_look(work.Threads(readers, workers))
        self.threads = self.memory.threads(self.n_jobs, max(self.look.n_stored))
        workers = stack.enter_context(Workers(self.threads))
        self.engine = work.Unchanged(work.Threads(readers, workers), self.look)

    def _first_look(self, engine: Engine) -> Look:
        """Check that the blocks are counts of the same columns."""
        look = engine.fold(
            partial(work.look_at, self.settings.prior), work.Look.and_then
        )
        name, model = self.source.name, type(self.estimator).__name__
        if len(look.n_columns) > 1:
            widths = ", ".join(map(str, sorted(look.n_columns)))
            message = f"The blocks of {name} have {widths} columns, not all the same."
            raise ValueError(message)
        names = self.source.column_names
        if names is not None and len(names) not in look.n_columns:
            (width,) = look.n_columns
            message = f"{name} has {len(names)} names for {width} columns."
            raise ValueError(message)
        if look.bad is not None:
            raise ValueError(bad_entry_message(look.bad, model))
        if look.fractional and self.source.not_whole is not None:
            raise ValueError(self.source.not_whole)
        if look.fractional:
            message = fractional_message(self.source.readers[0](), model)
            warnings.warn(message, UserWarning, stacklevel=5)
        _options.check_enough_rows(self.settings.n_clusters, sum(look.n_rows))
        self.estimator.n_features_in_ = len(look.statistics.totals)
        self.estimator.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.estimator.feature_names_in_ = names
        return look

    def search(
        self, sample_rows: int | None, kept: Checkpoint | None, *, drop_hopeless: bool
    ) -> Run:
        """Return the best run over all rows."""
        statistics = self.look.statistics
        seats = self.memory.seats(
            self.settings.n_clusters, self.n_columns, self.threads
        )
        ride = None if kept is None else kept.load(self.settings, statistics)
        if ride is None:
            if isinstance(self.estimator.init, str):
                runs, everything = self._runs_of_sample(sample_rows)
                if everything:
                    self.estimator.restart_losses_ = np.array([r.loss for r in runs])
                    return best_of(runs)
                riders = [Rider.after(run, self.settings) for run in runs]
                del runs
            else:
                riders = [self._given_start()]
            totals, n_rows = statistics.totals, statistics.n_rows
            ride = Ride(riders, self.settings, totals, n_rows, drop_hopeless)
            if kept is not None:
                kept.save(ride)
        report = self.estimator._tell if self.estimator.verbose else None
        after_pass = None if kept is None else kept.save
        best = ride.go_on(self._pass, seats, after_pass, report)
        self.estimator.restart_losses_ = ride.losses
        return best

    def _pass(self, requests: Sequence[Request]) -> list[Statistics]:
        return self.engine.fold(partial(work.answer, requests), work.add_each)

    def _runs_of_sample(self, sample_rows: int | None) -> tuple[list[Run], bool]:
        """Runs over rows drawn at random, and whether those are all rows."""
        estimator, settings = self.estimator, self.settings
        n_sampled = min(sample_rows or self.n_rows, self.n_rows)
        n_stored = sum(self.look.n_stored) * n_sampled / self.n_rows
        self.memory.check_sample(
            n_stored, settings.n_clusters, self.n_columns, self.n_jobs
        )
        n_init = _options.check_integer("n_init", estimator.n_init, 1)
        seeds = _options.restart_seeds(estimator.random_state, n_init)
        own_seed = np.random.SeedSequence(seeds[0].entropy, spawn_key=(SAMPLE_KEY,))
        counts = work.sample(self.engine, self.look, n_sampled, own_seed)
        everything = n_sampled == self.n_rows
        report = estimator._tell if estimator.verbose and everything else None
        plan = _starts.plan(estimator, counts, settings)
        with Workers(self.n_jobs) as workers:
            (runs,) = plan.search([settings], seeds, workers, report)
        return runs, everything

    def _given_start(self) -> Rider:
        """Start from labels, or from where a model puts the rows."""
        estimator, settings = self.estimator, self.settings
        init, prior, n_clusters = estimator.init, settings.prior, settings.n_clusters
        sums: work.Work[list[Statistics]]
        if isinstance(init, PoissonClusterer):
            groups = _starts.groups_of_model(estimator, self.n_columns, settings)
            fitted = init._fitted
            place = (fitted, fitted.profile(), settings.outliers)
            sums = partial(work.sum_placed, *place, n_clusters, groups, prior)
        else:
            labels = _starts.given_labels(init, self.n_rows, settings)
            labels = np.where(labels == OUTLIER, np.int32(n_clusters), labels)
            groups = self._first_groups()
            parts = np.split(labels, self.look.first_rows[1:-1])
            sums = partial(work.sum_given, parts, n_clusters, groups, prior)
        (statistics,) = self.engine.fold(sums, work.add_each)
        return Rider(groups, running=Running(statistics, groups, settings))

    def _first_groups(self) -> NDArray[np.int8]:
        estimator, settings = self.estimator, self.settings

        def information() -> NDArray[np.float64]:
            above = self.engine.fold(
                partial(work.x_log_x_above, settings.prior), np.add
            )
            return seeding.information_of(self.look.statistics, above, settings.prior)

        first = _starts.first_columns(estimator, self.n_columns, settings, information)
        (seed,) = _options.restart_seeds(estimator.random_state, 1)
        rng = np.random.default_rng(seed)
        return first_groups(first, rng, settings.n_clusters, self.n_columns)

    def finish(self, best: Run, target: Path | None) -> None:
        """Keep the model, and what it tells of the rows."""
        estimator = self.estimator
        estimator._store(best, self.settings)
        fitted, names = estimator._fitted, estimator._row_results
        if target is None:
            estimator._store_rows(_rows.gathered(self.engine, fitted, names))
            return
        for name in names:
            estimator.__dict__.pop(f"{name}_", None)
        with new_folder(target) as folder:
            _rows.written(self.engine, fitted, names, folder)
