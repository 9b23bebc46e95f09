"""Steps that a fit over blocks and a path of them share, before and after passes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from .._fit.block_rows import HeldRows
from .._fit.blocks import BlockFit
from .._fit.budget import OF_ROW
from .._fit.confidence import described_over, written_over
from .._fit.engine import FirstLook, WeightedColumns, look_at
from .._fit.held_back import weights_over
from ..cluster.fitting import keep

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from .._fit.budget import MemoryBudget
    from .._fit.progress import Progress
    from .._fit.record import FitRecord
    from ..cluster.fitting import PoissonClusterer
    from ._place import FitRows, GivenFit

# Numbers for each row and cluster while the confidence of a fit is measured.
OF_PROBABILITIES = 3


def block_fit(fitted: FitRows, given: GivenFit, progress: Progress | None) -> BlockFit:
    """What fits these rows."""
    place, plan, rows, _ = fitted
    seen = place.fitted, place.look, given.budget, place.threads
    known = rows.known_of_kept, rows.known_names
    return BlockFit(plan, *seen, progress, *known, given.tol, given.second_look)


def holding(fitting: BlockFit) -> BlockFit:
    """The fit that holds rows which may leave their clusters afterwards."""
    return replace(fitting, engine=HeldRows(fitting.engine))


def released(fitting: BlockFit, first: FitRecord) -> BlockFit:
    """The fit that goes on from one that held such rows."""
    return replace(fitting, plan=replace(fitting.plan, init=first))


def first_of_two(fitting: BlockFit) -> BlockFit:
    """The fit that tells which columns vary too much."""
    plan = fitting.plan.with_column_weights(None)
    return replace(fitting, plan=plan, second_look=False)


def held_back(fitting: BlockFit, first: FitRecord) -> BlockFit:
    """The fit with the columns held back that vary too much in the first one."""
    plan = fitting.plan
    assert plan.max_dispersion is not None
    weights = weights_over(fitting.engine, first, plan.max_dispersion)
    plan = plan.with_column_weights(weights)
    if weights is None:
        return replace(fitting, plan=plan)
    return with_columns(replace(fitting, plan=plan), weights)


def with_columns(fitting: BlockFit, weights: NDArray[np.float64]) -> BlockFit:
    """The fit of rows whose columns have these weights."""
    engine, prior = (
        WeightedColumns(fitting.engine, weights),
        fitting.plan.settings.prior,
    )
    look = engine.fold(partial(look_at, prior), FirstLook.and_then)
    return replace(fitting, engine=engine, look=look)


def keep_over(
    estimator: PoissonClusterer,
    record: FitRecord,
    fitted: FitRows,
    budget: MemoryBudget,
    target: Path | None,
) -> None:
    """Keep a record, then its rows: if these fail, the model is there."""
    engine, n_rows = fitted.place.engine, sum(fitted.place.n_rows)
    sure = fitted.plan.with_confidence
    record = replace(record, longest_row=fitted.held.longest)
    keep(estimator, record if target is None else replace(record, rows=None))
    if target is not None:
        # Rows are written where they are too many for memory: no limit tells nothing.
        sure = sure and budget.limit is not None and budget.holds(n_rows * OF_ROW)
        keep(estimator, written_over(engine, record, target, sure=sure))
        return
    if sure or record.rows is None:
        room = budget.holds(n_rows * record.n_clusters * 8 * OF_PROBABILITIES)
        record = described_over(engine, record, sure=sure, with_probabilities=room)
    keep(estimator, record.held_back(fitted.held))
