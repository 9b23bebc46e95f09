"""Fits of several numbers of clusters, and the choice among them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _options
from .._progress import heard_by
from ..cluster.fitting import (
    Model,
    as_table,
    check_estimator,
    copied,
    keep,
    parameters_of,
)
from ._path import KPath
from ._poisson import DEFAULT, PoissonFitter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike

    from .._core.rows import RowInfo
    from .._core.search import FewRuns
    from .._core.workers import Workers
    from .._fit.driver import FitRows
    from .._fit.plan import Progress
    from ..table import CountTable
    from ._path import FitEach
    from ._poisson import PoissonFit

# The first division is tested at this level, on about so many counts.
LEVEL = 0.05
MOST_COUNTS = 30_000
# Of all seeds that one plan makes, that of this test.
FIRST_DIVISION_KEY = 2**31 + 1


def select_n_clusters(
    X: ArrayLike | Any,
    n_clusters: Iterable[int] = range(2, 31),
    *,
    n_init: int | str | None = None,
    estimator: Any = None,
    criterion: str | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    progress: Progress | None = None,
    sample_weight: ArrayLike | None = None,
    batch: ArrayLike | None = None,
    known_labels: ArrayLike | None = None,
    hold_labels: bool = True,
) -> KPath:
    """Fit several numbers of clusters and choose among them.

    What does not depend on K is computed once, and the runs of all K share the threads.
    Every fit is the one that the estimator alone would give with the same ``n_init``
    and seed.

    Parameters
    ----------
    X : CountTable, array-like, frame, sparse matrix or Dask array of shape \
(n_rows, n_columns)
        Counts, 0 or more. A Dask array goes through
        :func:`threecpo.distributed.select_n_clusters`.
    n_clusters : iterable of int, default=range(2, 31)
        Numbers of clusters to try. With 1 among them, "no clusters" is an answer.
    n_init : int, "auto" or None, default=None
        Number of runs for each; the best is kept. Wins over the estimator's own. None
        is 20, or 4 where ``init`` is ``"merge"``. ``"auto"`` makes runs for each K
        until two agree, as in :class:`ThreeCPO`.
    estimator : estimator or None, default=None
        A ThreeCPO, whose options are kept. None is ``ThreeCPO()``.
    criterion : str or None, default=None
        ``"mdl"``, the description length of the paper, or ``"mdl-dispersion"`` (the
        default), which allows for counts that vary more than Poisson counts.
    random_state : int, RandomState, Generator or None, default=None
        Seed; wins over the estimator's own. None takes the estimator's.
    n_jobs : int or None, default=None
        Threads; None takes the estimator's. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar.
    progress : Progress or None, default=None
        Listens to the runs in place of the bar.
    sample_weight, batch, known_labels : array-like of shape (n_rows,) or None, \
default=None
        How often each row counts, its batch and its cluster where that is known, as in
        :meth:`ThreeCPO.fit`. No number of clusters may be below that of the known ones.
    hold_labels : bool, default=True
        Whether rows stay in their known clusters, as in :meth:`ThreeCPO.fit`.

    Returns
    -------
    KPath
        All fits, their table and picture, and the best of them. After an interrupt
        (Ctrl-C), with a warning, those that were finished.

    See Also
    --------
    ThreeCPO : ``n_clusters="auto"`` chooses in the same way, and leaves out numbers of
        clusters that cannot be the best.

    Notes
    -----
    ``"mdl"`` adds v(K) = L0(K) + n log K to the loss. Real counts often vary more than
    Poisson counts, and the Poisson likelihood takes every such excess for structure;
    ``"mdl-dispersion"`` divides the likelihood of each column by its dispersion.

    Examples
    --------
    >>> from threecpo import select_n_clusters
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> path = select_n_clusters(X, range(1, 6), random_state=0)
    >>> path
    KPath of ThreeCPO, K = 1 to 5 by 'mdl-dispersion': 3 clusters.
    >>> path.best_estimator.column_groups_
    array([ 1,  1,  0,  0, -1, -1], dtype=int8)
    """
    if n_init is not None:
        _options.check_integer("n_init", n_init, 1, ("auto",))
    options: dict[str, Any] = {"n_init": n_init, "random_state": random_state}
    options["n_jobs"] = n_jobs
    path = empty_path(estimator, criterion, **options)
    wanted = whole_numbers(n_clusters)
    rows: dict[str, Any] = {"sample_weight": sample_weight, "batch": batch}
    rows |= {"known_labels": known_labels, "hold_labels": hold_labels}
    heard: dict[str, Any] = {"verbose": verbose, "progress": progress}
    if hasattr(X, "__dask_graph__"):
        from ..distributed import select_n_clusters

        given = {"estimator": estimator, "criterion": criterion}
        return select_n_clusters(X, wanted, **options, **given, **heard, **rows)
    X = as_table(X, path.fitter.estimator, **rows)
    try:
        path.extend(X, wanted, **heard)
    except KeyboardInterrupt:
        if not len(path.n_clusters):
            raise
        missing = ", ".join(str(k) for k in sorted({*wanted} - {*path.n_clusters}))
        message = (
            f"Interrupted: the path keeps what it has, without K = {missing}; "
            "path.extend(X, ...) adds them."
        )
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    else:
        if getattr(estimator, "calibrates", False):
            path.reproducibility(X)
    return path


def whole_numbers(n_clusters: Any) -> list[int]:
    """Numbers of clusters, each once and checked."""
    if not np.iterable(n_clusters) or isinstance(n_clusters, str):
        message = (
            f"n_clusters={n_clusters!r} must be several numbers, such as range(2, 31)."
        )
        raise ValueError(message)
    wanted = sorted({_options.check_integer("n_clusters", k, 1) for k in n_clusters})
    if not wanted:
        message = "n_clusters is empty; pass numbers to try, such as range(2, 31)."
        raise ValueError(message)
    return wanted


def numbers_of_auto(estimator: Any, n_rows: int, info: RowInfo) -> range:
    """Numbers of clusters that ``n_clusters="auto"`` tries: at most one a row."""
    largest = _options.check_integer("max_clusters", estimator.max_clusters, 1)
    least = max(1, len(info.known_names), len(estimator.seed_columns or ()))
    if least > largest:
        message = f"max_clusters={largest}, but {least} clusters are known."
        raise ValueError(message)
    n_kept = n_rows if info.kept is None else len(info.kept)
    return range(least, min(largest, n_kept) + 1)


def empty_path(estimator: Any, criterion: str | None, **options: Any) -> KPath:
    """Return a path to be extended; options win over the estimator's, if not None."""
    if estimator is None:
        from ..cluster import ThreeCPO

        estimator = ThreeCPO()
    check_estimator(estimator)
    own = estimator.get_params(deep=False)
    given = {k: v for k, v in options.items() if v is not None and k in own}
    if "n_init" in options:
        init = own.get("init")
        merging = isinstance(init, str) and init == "merge"
        given = {"n_init": 4 if merging else 20} | given
    seed = _options.fixed_seed((own | given).get("random_state"))
    estimator = copied(estimator, **given | {"random_state": seed})
    return KPath(PoissonFitter(estimator), DEFAULT if criterion is None else criterion)


def fit_auto(estimator: Any, table: CountTable, progress: Progress | None) -> Any:
    """Fit ``ThreeCPO(n_clusters="auto")``: the best fit of a path from K = 1.

    It begins with the number of known clusters, and has no more than there are rows.
    Numbers of clusters that cannot be the best are left out.
    """
    from .._core.workers import Workers
    from .._fit.driver import MemoryRows

    path = empty_path(estimator, estimator.criterion)
    n_jobs = path.fitter.plan(1).n_jobs  # which checks all parameters
    wanted = numbers_of_auto(estimator, table.shape[0], table.counts.row_info)
    with heard_by(progress, estimator.verbose) as heard, Workers(n_jobs) as workers:
        rows = MemoryRows(table.counts, workers)

        def fit_each(
            n_clusters: Sequence[int], few: FewRuns | None
        ) -> Iterator[PoissonFit]:
            return path.fitter.fit_each(table, n_clusters, heard, few)

        search_auto(estimator, path, wanted, fit_each, rows, workers)
        return keep_best(estimator, path, rows)


def search_auto(
    estimator: Any,
    path: KPath,
    wanted: range,
    fit_each: FitEach,
    rows: FitRows,
    workers: Workers,
    first: range | None = None,
) -> None:
    """Search a path; another search follows a first division that fails.

    If ``first`` is given, the first search is limited to it and its fits are rough.
    """
    rough = first is not None
    path.search(first or wanted, fit_each, rough=rough)
    check_first_division(path, rows, workers)
    if path.undivided:
        path.search(wanted, fit_each, rough=rough)
    if estimator.calibrates:
        measure_reproducibility(path, rows, workers)


def keep_best(estimator: Model, path: KPath, rows: FitRows) -> Model:
    """Make an estimator the best fit of a path, with all results of its rows."""
    from .._fit import driver

    best = replace(path.best_record, parameters=parameters_of(estimator))
    assert best.plan is not None
    plan = replace(best.plan, calibrated=estimator.calibrates)
    keep(estimator, driver.describe(plan, replace(best, plan=plan), rows))
    estimator.k_path_ = path
    return estimator


def measure_reproducibility(path: KPath, rows: FitRows, workers: Workers) -> None:
    """Measure what :meth:`KPath.reproducibility` does, of rows in memory or blocks."""
    from .._fit.reproducibility import reproducibility

    record = path.best_record
    assert record.plan is not None
    plan = record.plan.with_column_weights(record.sums.column_weights)
    asked = [k for k in path.choice.to_measure if k not in path.agreements]
    path.agreements |= reproducibility(plan, asked, rows, workers)


def check_first_division(path: KPath, rows: FitRows, workers: Workers) -> None:
    """Let the chosen clusters show against the dispersion that one cluster leaves.

    That of columns in clusters is smaller, and clusters were made to make it so. The
    first division of the tree is tested on a sample of the rows.
    """
    from .._core.codes import NOISE
    from .._fit.distinct import division_result, thinned, work_of

    record, labels = path.best_record, path.best_labels
    chosen_by = path.criterion == DEFAULT
    if record.n_clusters == 1 or path.n_clusters[0] > 1 or not chosen_by:
        return
    plan, tree = record.plan, record.tree
    assert plan is not None
    inside = np.isin(labels, tree.members[int(tree.linkage[-1, 0])])
    divided = np.flatnonzero(labels >= 0)
    seed = plan.seed_of(FIRST_DIVISION_KEY)
    used = record.groups != NOISE
    work = work_of(rows.n_stored, rows.n_rows, len(used))
    kept = MOST_COUNTS * rows.n_rows / max(1, work * len(divided))
    members = thinned(divided, inside, kept, np.random.default_rng(seed))
    counts = rows.taken(members)
    counts = counts.with_rows(counts.row_info.unlabelled)
    counts = counts.with_column_weights(record.sums.column_weights).columns(used)
    result = division_result(counts, inside[members], plan, LEVEL, seed, workers)
    path.undivided = not result.p_value <= LEVEL
