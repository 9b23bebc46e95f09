"""What other rooms need of rows in blocks: results of them, and some of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core.rows import NOTHING
from .._fit.block_work import rows_of
from .._fit.row_results import RowResults
from ._predict import opened
from ._session import lengths

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .._core.counts import Counts
    from .._fit.row_results import RowDescriber
    from ..cluster.fitting import PoissonClusterer


class DescribedRows(NamedTuple):
    """Results of rows under a model, and their names, if they have any."""

    results: RowResults
    names: NDArray[np.object_] | None


def described_rows(
    model: PoissonClusterer,
    blocks: Any,
    *,
    layer: str | None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    batch: ArrayLike | None = None,
    missing: str = "error",
) -> DescribedRows:
    """All results of rows in blocks, as in ``distributed.predict``.

    Columns must be those of the model; where ``missing`` is ``"zero"`` they are found
    by their names, with zeros for those that are missing.
    """
    place = {"layer": layer, "client": client, "max_memory": max_memory}
    with opened(model, blocks, place, batch=batch, missing=missing) as engine:
        describer = model.record_.describer
        parts = engine.fold(partial(_describe, describer), list.__add__)
        return DescribedRows(RowResults.stacked(parts), engine.row_names)


class DrawnRows(NamedTuple):
    """Some of all rows: their numbers, ascending, and their counts."""

    n_rows: int
    numbers: NDArray[np.int64]
    counts: Counts


def drawn_rows(
    model: PoissonClusterer,
    blocks: Any,
    most: int,
    *,
    layer: str | None = None,
    max_memory: int | str | None = None,
) -> DrawnRows:
    """At most so many rows, drawn by their number, the same for any blocks."""
    place = {"layer": layer, "max_memory": max_memory}
    with opened(model, blocks, place) as engine:
        firsts = np.concatenate([[0], np.cumsum(engine.fold(lengths, list.__add__))])
        n_rows = int(firsts[-1])
        drawn = np.arange(n_rows)
        if n_rows > most:
            rng = np.random.default_rng(0)
            drawn = np.sort(rng.choice(n_rows, most, replace=False))
        return DrawnRows(n_rows, drawn, rows_of(engine, firsts, drawn))


def _describe(describer: RowDescriber, _: int, counts: Counts) -> list[RowResults]:
    return [replace(describer(counts), info=NOTHING)]
