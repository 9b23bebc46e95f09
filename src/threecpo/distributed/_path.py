"""Blocks of rows in, fits of several numbers of clusters out."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from .._core.search import FewRuns
from .._core.workers import Workers
from .._fit.block_rows import SAMPLE_ROWS, TOL, BlockRequest
from .._options import check_integer, check_non_negative
from .._progress import heard_by
from ..cluster.fitting import check_estimator, keep, parameters_of
from ..select.rough import RoughFits
from ..select.selection import (
    empty_path,
    keep_best,
    measure_reproducibility,
    numbers_of_auto,
    search_auto,
    whole_numbers,
)
from ._session import (
    Session,
    advice_for,
    in_memory,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from .._fit.block_rows import BlockRows
    from .._fit.plan import Progress
    from ..cluster.fitting import PoissonClusterer
    from ..select import KPath


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
    how: dict[str, Any] = {
        "sample_rows": sample_rows,
        "tol": tol,
        "checkpoint": checkpoint,
    }
    rows: dict[str, Any] = {"sample_weight": sample_weight, "batch": batch}
    rows |= {"known_labels": known_labels, "hold_labels": hold_labels}
    plan = path.fitter.plan(max(wanted))
    with ExitStack() as stack, heard_by(progress, verbose) as heard:
        session = Session.opened(blocks, plan.n_jobs, stack, **place)
        request = BlockRequest(session.budget, **how, with_rows=False)
        _, found = session.rows_of_fit(plan, request, rows)
        fit_each = _fit_each(path, session, found, max(wanted), heard)
        few = FewRuns(plan.n_init) if found.beyond_sample else None
        path.add(fit_each(wanted, few))
        if getattr(estimator, "calibrates", False):
            with Workers(plan.n_jobs) as workers:
                measure_reproducibility(path, found, workers)
    return path


def fit_auto(
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
        request = BlockRequest(session.budget, **how)
        _, found = session.rows_of_fit(plan, request, rows)
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
        keep(estimator, path.best_record.with_parameters(parameters_of(estimator)))
        keep_best(estimator, path, found)


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
        gathered = rows.n_rows if rows.request.gathered else 0
        table = in_memory(session, rows, largest, gathered)
        return lambda ks, few: fitter.fit_each(table, ks, progress, few)
    plan = fitter.plan(largest)
    session.warn_if_fractional(rows, plan.name, stacklevel=3)
    names = session.names

    def fit_each(n_clusters: Sequence[int], few: FewRuns | None) -> list[Any]:
        return list(fitter.fits(plan, n_clusters, rows, names, progress, few))

    return fit_each
