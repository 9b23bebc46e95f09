"""Blocks of rows and a fitted model in, a fit with one cluster divided out."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._fit.block_work import rows_of, rows_to_sample
from .._fit.budget import check_all
from .._fit.given_rows import without_rows
from .._options import check_integer, check_non_negative
from ..cluster.fitting import (
    PoissonClusterer,
    division_of,
    fitted_from,
    warn_unless_converged,
)
from ._fit_steps import block_fit, keep_over, with_columns
from ._given_blocks import CheckedBlocks, check_names
from ._place import SAMPLE_ROWS, TOL, GivenFit

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

    from .._core.counts import Counts
    from .._fit.budget import MemoryBudget
    from .._fit.plan import Plan
    from .._fit.record import FitRecord
    from .._fit.refined import Division
    from .._fit.row_results import RowDescriber
    from ._place import FitRows, OpenedBlocks

Model = TypeVar("Model", bound=PoissonClusterer)


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
    """Return a fit with one cluster divided, to rows that come in blocks.

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
    division = division_of(model, cluster, into, batch)
    if sample_rows is not None:
        check_integer("sample_rows", sample_rows, into)
    given = GivenFit(
        blocks,
        layer,
        client,
        max_memory,
        None,
        sample_rows,
        scratch,
        sample_weight,
        batch,
        tol=check_non_negative("tol", tol),
    )
    rows = {"sample_weight": sample_weight, "batch": batch}
    budget, plan = given.budget, division.plan
    with ExitStack() as stack:
        # Seeds and fixed columns are those of the record.
        plain = replace(plan, given_seeds=None, fixed_groups=None)
        opened = given.opened(plain, stack)
        check_names(opened.source, model.record_)
        n_rows = sum(opened.place.n_rows)
        if sample_rows is None or n_rows <= sample_rows:
            sizes = division.n_clusters, plan.n_jobs, n_rows
            table = opened.in_memory(budget, *sizes)
            return model.split(table, cluster, into, **rows)
        fitted = given.with_rows(opened, plain)
        # Long rows have their weights by now.
        division = replace(division, plan=replace(plan, max_row_size=None))
        start = _start(division, opened, fitted, given, sample_rows)
        record = _run(start, fitted, given).with_batches(fitted.rows.batch_names)
        columns, names = model.record_.column_names, opened.source.row_names
        new = fitted_from(model, record.with_names(columns=columns, rows=names))
        keep_over(new, new.record_, fitted, budget, None)
    warn_unless_converged(new.record_, stacklevel=2)
    return new


def _start(
    division: Division,
    opened: OpenedBlocks,
    fitted: FitRows,
    given: GivenFit,
    sample_rows: int,
) -> Plan:
    """Start with the cluster divided as a sample of its rows is."""
    engine, look = fitted.place.engine, opened.place.look
    n_rows, plan = sum(look.n_rows), division.plan

    def labels_by(record: FitRecord) -> NDArray[np.int32]:
        checked = CheckedBlocks(engine, record)
        found = checked.fold(partial(_nearest, record.describer), list.__add__)
        return np.concatenate(found)

    labels = labels_by(division.record)
    members = division.members(labels)
    n_drawn = min(len(members), sample_rows)
    drawn = members[rows_to_sample(len(members), n_drawn, plan.sample_seed)]
    n_stored = sum(look.n_stored) * n_drawn / n_rows
    sizes = division.into, max(look.n_columns), plan.n_jobs

    def check(budget: MemoryBudget) -> None:
        budget.check_rows(n_rows)
        budget.check_sample(n_stored, *sizes)

    check_all(given.budget, check)
    part = division.part(rows_of(engine, look.first_rows, drawn))
    return division.start(labels, members, part, labels_by(part)[members])


def _run(start: Plan, fitted: FitRows, given: GivenFit) -> FitRecord:
    """Run over all rows from a start of labels."""
    kept = fitted.rows.kept
    if kept is not None:
        start = without_rows(start, len(np.asarray(start.init)), kept)
    fitting = replace(block_fit(fitted, given, None), plan=start)
    if start.column_weights is not None:
        fitting = with_columns(fitting, start.column_weights)
    return fitting.fit(given.sample_rows, None)


def _nearest(
    describer: RowDescriber, _: int, counts: Counts
) -> list[NDArray[np.int32]]:
    return [describer(counts).nearest_labels]
