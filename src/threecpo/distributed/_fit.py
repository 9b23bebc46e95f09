"""Blocks of rows in, fitted estimators and paths of them out."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

from .._core.search import FewRuns
from .._core.workers import Workers
from .._fit import driver
from .._fit.block_rows import SAMPLE_ROWS, TOL
from .._fit.driver import MemoryRows
from .._fit.row_results import target_of
from .._options import check_integer, check_non_negative
from .._progress import heard_by
from .._row_values import info_of_fit
from ..cluster.fitting import (
    PoissonClusterer,
    check_division,
    check_estimator,
    check_known_start,
    chooses_k,
    fitted_from,
    keep,
    parameters_of,
    plan_of,
    progress_of,
    refit_plan,
    warn_if_confounded,
    warn_unless_converged,
    with_known_rows,
)
from ..select.rough import RoughFits
from ..select.selection import (
    empty_path,
    keep_best,
    measure_reproducibility,
    numbers_of_auto,
    search_auto,
    whole_numbers,
)
from ._session import Session, advice_for, check_names, in_memory

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from .._fit.block_rows import BlockRows
    from .._fit.plan import Progress
    from .._fit.record import FitRecord
    from ..select import KPath

Model = TypeVar("Model", bound=PoissonClusterer)


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
    rare_clusters: bool = True,
    write_to: str | os.PathLike[str] | None = None,
    tol: float = TOL,
    progress: Progress | None = None,
    sample_weight: ArrayLike | None = None,
    batch: ArrayLike | None = None,
    known_labels: ArrayLike | None = None,
    hold_labels: bool = True,
) -> Model:
    """Fit an estimator to rows in blocks, from disk or on Dask.

    1. Look at every block once: are these counts, how many rows are there.
    2. Fit the estimator to a sample of the rows, in memory. Where that is all rows, the
       fit is finished, and the same as ``estimator.fit(X)``.
    3. From every run of the sample go on with all rows. In each pass every block is
       read once, for all runs that have not ended yet.
    4. Look again at rows that the best run explains badly, for clusters that the sample
       was too small for (``rare_clusters``).
    5. Look up labels and scores of the rows under the best run.

    The same seed gives the same labels and groups from disk and on any number of Dask
    workers, however the rows are cut into blocks; up to ``sample_rows`` rows they are
    also those of a fit in memory.

    Parameters
    ----------
    estimator : ThreeCPO
        What to fit. With ``init=model`` or labels there is no sample and one run. With
        ``n_clusters="auto"`` the sample says which numbers of clusters may be the best;
        these are compared after one pass over all rows, and the best of them is fitted
        as it would be alone. ``k_path_`` holds that fit and the others after one pass,
        which have not ``converged``.
    blocks : str, path-like, Dask array, list of functions, or counts in memory
        A file ``.h5ad``, an AnnData as zarr, a 10x file ``.h5`` or folder, a
        MatrixMarket file, or a folder of npz or parquet files (in the order of the
        numbers in their names); all but uncompressed npz files are read once into a
        scratch store. Or a Dask array cut along its rows, functions without arguments
        that return a block each, a CountTable, array, frame or sparse matrix.
    layer : str, default=None
        Matrix of an AnnData, as in :func:`threecpo.read_counts`.
    client : distributed.Client, default=None
        Dask cluster to work on; it reads the blocks there. Without one, threads of this
        process do (``n_jobs`` of the estimator); a Dask array uses the current client.
        Dask runs tasks again whose worker died, and waits for workers as long as its
        setting ``distributed.scheduler.no-workers-timeout`` says, by default for ever.
    max_memory : int or str, default=None
        Budget of each process for all that grows with the data, such as ``"2GB"``. It
        decides the size of blocks, the number of threads and how many runs share a
        pass; what cannot fit is an error beforehand. Python and its libraries take
        about 0.3 GB more.
    checkpoint : str or path-like, default=None
        Folder that keeps the state of all runs after each pass. The same call goes on
        from there after a crash, and ends with the same result (under
        ``assignment="paper"``, a run in a cycle may end elsewhere in it). With
        ``n_clusters="auto"`` it keeps complete fits; others are made again.
    scratch : str or path-like, default=None
        Existing folder for the scratch store that files are read into once, about 1.5
        bytes a stored count (logger ``threecpo.io.blocks`` tells how much), and which
        is removed at the end; None for the system's folder for temporary files. On a
        cluster all workers must see the folder.
    sample_rows : int or None, default=20000
        Number of rows to start from, drawn at random by their number; None for all
        rows, which must fit into memory then.
    rare_clusters : bool, default=True
        When the runs have ended, look for clusters that are too rare for the sample in
        the rows that fit their clusters worst, as many as half of ``sample_rows``,
        and make one more run from there, which counts if its loss is the lowest; up to
        three times, while that pays. Not with ``batch`` or a start that is given, and
        with ``n_clusters="auto"`` for the chosen number alone.
    write_to : str or path-like, default=None
        New folder for labels and scores of the rows, one file for each block (see
        :func:`read_rows`). The estimator then has no attributes of single rows.
    tol : float, default=1e-6
        End a run when a pass over all rows lowers its loss by less than this part of
        it; 0 goes on until nothing changes. Fits of the sample are not concerned.
    progress : Progress or None, default=None
        Listens to the runs; None prints them if the estimator is ``verbose``.
    sample_weight, batch, known_labels : array-like of shape (n_rows,) or None, \
default=None
        How often each row counts, its batch and its cluster where that is known, as in
        :meth:`ThreeCPO.fit`, of the rows of all blocks in their order. The sample has
        rows of every known cluster.
    hold_labels : bool, default=True
        Whether rows stay in their known clusters, as in :meth:`ThreeCPO.fit`.

    Returns
    -------
    estimator
        The estimator itself, fitted. Entries of ``history_`` are passes over all rows;
        ``rows_moved`` is -1 there, as labels are not kept between passes, but 0 where
        nothing changes any more.

    Raises
    ------
    ClusterLostError
        The connection to the Dask scheduler was lost, or Dask gave up a task. With
        ``checkpoint`` the same call resumes after the last finished pass.

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
    check_estimator(estimator)
    check_known_start(estimator, known_labels)
    seed = estimator.random_state
    if checkpoint is not None and seed is not None and not isinstance(seed, Integral):
        message = (
            "checkpoint= does not support a generator as random_state: it cannot be "
            "compared with that of a later call. Use a number."
        )
        raise ValueError(message)
    check_non_negative("tol", tol)
    place = {"layer": layer, "client": client, "max_memory": max_memory}
    place |= {"scratch": scratch, "advice": advice_for(checkpoint)}
    how: dict[str, Any] = {"sample_rows": sample_rows, "tol": tol}
    how |= {"checkpoint": checkpoint, "rare_clusters": rare_clusters}
    how["write_to"] = target_of(write_to)
    rows: dict[str, Any] = {"sample_weight": sample_weight, "batch": batch}
    rows |= {"known_labels": known_labels, "hold_labels": hold_labels}
    if chooses_k(estimator):
        _fit_auto(estimator, blocks, place, how, rows, progress)
        return estimator
    heard = progress_of(estimator) if progress is None else progress
    plan = plan_of(estimator)
    if sample_rows is not None:
        check_integer("sample_rows", sample_rows, plan.settings.n_clusters)
    with ExitStack() as stack:
        session = Session.opened(blocks, plan.n_jobs, stack, **place)
        plan, found = session.rows_of_fit(plan, how, rows)
        session.warn_if_fractional(found, plan.name, stacklevel=2)

        def kept(record: FitRecord) -> object:
            return keep(estimator, record.with_names(**session.names))

        # Should the rows fail to be described, the model is there.
        record = driver.fit(plan, found, heard, kept)
        kept(record)
    warn_unless_converged(record, stacklevel=2)
    warn_if_confounded(record, stacklevel=2)
    return estimator


def _fit_auto(
    estimator: Any,
    blocks: Any,
    place: dict[str, Any],
    how: dict[str, Any],
    rows: dict[str, Any],
    progress: Progress | None,
) -> None:
    """Fit the number of clusters that is the best of a path."""
    path = empty_path(estimator, estimator.criterion)
    plan = path.fitter.plan(1)
    with ExitStack() as stack, heard_by(progress, estimator.verbose) as heard:
        session = Session.opened(blocks, plan.n_jobs, stack, **place)
        _, found = session.rows_of_fit(plan, how, rows)
        wanted = numbers_of_auto(estimator, found.n_rows, found.info)
        fit_each = _fit_each(path, session, found, max(wanted), heard)
        with Workers(plan.n_jobs) as workers:
            first = None
            if found.beyond_sample:
                names = session.names
                fit_each = RoughFits(path, found, names, fit_each, heard, workers)
                first = fit_each.numbers(wanted)
            search_auto(estimator, path, wanted, fit_each, found, workers, first)
        # Should the description of the rows fail.
        parameters = parameters_of(estimator)
        keep(estimator, replace(path.best_record, parameters=parameters))
        keep_best(estimator, path, found)


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
    hold_labels: bool = True,
) -> KPath:
    """Fit several numbers of clusters to rows in blocks and choose among them.

    The sample is fitted for every number as :func:`threecpo.select_n_clusters` does;
    where it is all rows, that is the result. Beyond that the best run of each number
    goes on with all rows: as many as ``max_memory`` holds share one reading. Two more
    readings (or two for each of such groups) find what the criterion needs.

    Parameters
    ----------
    blocks : str, path-like, Dask array, list of functions, or counts in memory
        As in :func:`fit`.
    n_clusters, n_init, criterion, random_state, n_jobs, verbose, progress
        As in :func:`threecpo.select_n_clusters`.
    estimator : ThreeCPO or None, default=None
        Its options are kept. None is ``ThreeCPO()``.
    layer, client, max_memory, sample_rows, tol, scratch
        As in :func:`fit`.
    checkpoint : str or path-like, default=None
        Folder that keeps the state of every number of clusters after each pass. The
        same call goes on from there after a crash, and ends with the same result.
    sample_weight, batch, known_labels : array-like of shape (n_rows,) or None, \
default=None
        As in :func:`fit`; no number of clusters may be below that of the known ones.
    hold_labels : bool, default=True
        As in :func:`fit`.

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
    check_non_negative("tol", tol)
    place = {"layer": layer, "client": client, "max_memory": max_memory}
    place |= {"scratch": scratch, "advice": advice_for(checkpoint)}
    how: dict[str, Any] = {"sample_rows": sample_rows, "tol": tol}
    how |= {"checkpoint": checkpoint, "with_rows": False}
    rows: dict[str, Any] = {"sample_weight": sample_weight, "batch": batch}
    rows |= {"known_labels": known_labels, "hold_labels": hold_labels}
    plan = path.fitter.plan(max(wanted))
    with ExitStack() as stack, heard_by(progress, verbose) as heard:
        session = Session.opened(blocks, plan.n_jobs, stack, **place)
        _, found = session.rows_of_fit(plan, how, rows)
        fit_each = _fit_each(path, session, found, max(wanted), heard)
        few = FewRuns(plan.n_init) if found.beyond_sample else None
        path.add(fit_each(wanted, few))
        if getattr(estimator, "calibrates", False):
            with Workers(plan.n_jobs) as workers:
                measure_reproducibility(path, found, workers)
    return path


def _fit_each(
    path: KPath,
    session: Session,
    rows: BlockRows,
    largest: int,
    progress: Progress | None,
) -> Callable[[Sequence[int], FewRuns | None], Iterable[Any]]:
    """Return what makes fits: of all rows in memory, where the sample is all."""
    fitter, sample_rows = path.fitter, rows.request.sample_rows
    if sample_rows is not None:
        check_integer("sample_rows", sample_rows, largest)
    if not rows.beyond_sample:
        table = in_memory(session, rows, largest, rows.n_gathered)
        return lambda ks, few: fitter.fit_each(table, ks, progress, few)
    plan = fitter.plan(largest)
    session.warn_if_fractional(rows, plan.name, stacklevel=3)
    names = session.names

    def fit_each(n_clusters: Sequence[int], few: FewRuns | None) -> list[Any]:
        return list(fitter.fits(plan, n_clusters, rows, names, progress, few))

    return fit_each


def split(
    model: Model,
    blocks: Any,
    cluster: int,
    into: int = 2,
    *,
    layer: str | None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    scratch: str | os.PathLike[str] | None = None,
    sample_rows: int | None = SAMPLE_ROWS,
    tol: float = TOL,
    sample_weight: ArrayLike | None = None,
    batch: ArrayLike | None = None,
) -> Model:
    """Split one cluster of a model fitted to rows in blocks.

    The rows of the cluster, or as many of them as ``sample_rows``, are clustered by
    themselves in memory; from there a run over all rows goes on to its end. Up to
    ``sample_rows`` rows in all it is the result of :meth:`ThreeCPO.split` in memory.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model, which stays as it is.
    blocks : str, path-like, Dask array, list of functions, or counts in memory
        Counts of the same columns, such as those of the fit, as in :func:`fit`.
    cluster : int
        The cluster to divide.
    into : int, default=2
        Number of clusters that it becomes.
    layer, client, max_memory, scratch, sample_rows, tol
        As in :func:`fit`.
    sample_weight, batch : array-like of shape (n_rows,) or None, default=None
        Weights and batches of these rows; a model of several batches needs theirs.

    Returns
    -------
    ThreeCPO
        A new fitted model.

    Examples
    --------
    >>> from threecpo import ThreeCPO, distributed
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> readers = [lambda i=i: X[i : i + 250] for i in range(0, 1000, 250)]
    >>> model = ThreeCPO(2, random_state=0).fit(X)
    >>> distributed.split(model, readers, 0, sample_rows=400).n_clusters_
    3
    """
    check_division(model, cluster, into, batch)
    if sample_rows is not None:
        check_integer("sample_rows", sample_rows, into)
    check_non_negative("tol", tol)
    place = {"layer": layer, "client": client, "max_memory": max_memory}
    how = {"sample_rows": sample_rows, "tol": tol}
    rows = {"sample_weight": sample_weight, "batch": batch}
    step = partial(driver.divide, cluster=cluster, into=into)
    place["scratch"] = scratch
    return refitted(model, blocks, step, rows=rows, place=place, how=how)


def refitted(
    model: Any,
    blocks: Any,
    step: Callable[..., FitRecord],
    *,
    rows: dict[str, Any],
    record: FitRecord | None = None,
    place: dict[str, Any] | None = None,
    how: dict[str, Any] | None = None,
) -> Any:
    """Return a new model of rows in blocks that goes on from a fitted one."""
    plan, record = refit_plan(model), record or model.record_
    one = replace(record.settings, n_clusters=1)
    with ExitStack() as stack:
        session = Session.opened(blocks, plan.n_jobs, stack, **place or {})
        check_names(session.source, record)
        found = session.rows(replace(plan, settings=one), how or {})
        if len(found.totals) != record.n_columns:
            message = (
                f"{session.source.name} has {len(found.totals)} columns; the model was "
                f"fitted on {record.n_columns}."
            )
            raise ValueError(message)
        known = rows.pop("known_labels", None)
        info = info_of_fit(found.n_rows, first_names=plan.seed_names, **rows)
        info = with_known_rows(model.record_, info, found.n_rows, known)
        found = found.with_info(info)
        if found.beyond_sample:
            reached = step(plan, record, rows=found)
        else:
            sizes = record.n_clusters + 1, found.n_rows
            counts = in_memory(session, found, *sizes).counts
            workers = stack.enter_context(Workers(plan.n_jobs))
            reached = step(plan, record, rows=MemoryRows(counts, workers))
        columns, names = model.record_.column_names, session.source.row_names
        new = fitted_from(model, reached.with_names(columns=columns, rows=names))
    warn_unless_converged(reached, stacklevel=3)
    return new
