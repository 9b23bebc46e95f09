"""Blocks of other rows in, what a fitted model says of them out."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from .._core.rows import NOTHING
from .._fit.engine import add_sums, each_block, rows_of
from .._fit.row_results import RowResults, save_block, target_of, written
from .._options import resolve_n_jobs
from .._writing import new_folder
from ..cluster.fitting import check_is_fitted
from ._session import Place, RowsOfModel, Session, lengths

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from .._core.counts import Counts
    from .._core.sums import Sums
    from .._fit.row_results import RowDescriber, RowScorer, RowSummer
    from ..cluster.fitting import PoissonClusterer


def predict(
    model: PoissonClusterer,
    blocks: Any,
    *,
    write_to: str | os.PathLike[str] | None = None,
    batch: ArrayLike | None = None,
    **place: Unpack[Place],
) -> NDArray[np.int32] | None:
    """Return the cluster of each row in blocks.

    Every block is read once (twice with ``batch``).

    Parameters
    ----------
    model : ThreeCPO
        A fitted model, of a fit in memory or over blocks.
    blocks : str, path-like, Dask array, list of functions, or counts in memory
        Counts of the same columns, as in :func:`fit`.
    layer, client, max_memory
        As in :func:`fit`.
    write_to : str or path-like, default=None
        New folder for labels and scores of the rows, one file for each block (see
        :func:`read_rows`), instead of an array.
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
    target = target_of(write_to)
    with opened(model, blocks, place, batch=batch) as engine:
        describer = model.record_.describer
        if target is not None:
            written(engine, describer, target)
            return None
        found = engine.fold(partial(each_block, describer.labels), list.__add__)
        return np.concatenate(found)


def predict_proba(
    model: PoissonClusterer,
    blocks: Any,
    *,
    write_to: str | os.PathLike[str] | None = None,
    batch: ArrayLike | None = None,
    **place: Unpack[Place],
) -> NDArray[np.float64] | None:
    """Return the posterior probability of each cluster for rows in blocks.

    Parameters
    ----------
    model, blocks, layer, client, max_memory, batch
        As in :func:`predict`; the model is a ThreeCPO with a ``temperature_``.
    write_to : str or path-like, default=None
        New folder for them, one file for each block, instead of an array:
        ``read_rows(folder, "probabilities")`` reads them.

    Returns
    -------
    ndarray of shape (n_rows, n_clusters) or None
        What ``model.predict_proba`` would give; None with ``write_to``.

    Examples
    --------
    >>> from threecpo import ThreeCPO, distributed
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(random_state=0)
    >>> model = ThreeCPO(3, random_state=0).fit(X)
    >>> readers = [lambda: X[:400], lambda: X[400:]]
    >>> distributed.predict_proba(model, readers).sum(axis=1).round(9).tolist()[:2]
    [1.0, 1.0]
    """
    target = target_of(write_to)
    with opened(model, blocks, place, batch=batch) as engine:
        scorer = ScaledScores(model.record_.row_scorer, model.temperature_)
        if target is None:
            return np.concatenate(
                engine.fold(partial(each_block, scorer), list.__add__)
            )
        with new_folder(target) as folder:
            engine.fold(partial(_write_probabilities, folder, scorer), int.__add__)
    return None


def score(
    model: PoissonClusterer,
    blocks: Any,
    *,
    sample_weight: ArrayLike | None = None,
    batch: ArrayLike | None = None,
    **place: Unpack[Place],
) -> float:
    """Return the negative loss of rows in blocks.

    Parameters
    ----------
    model, blocks, layer, client, max_memory, batch
        As in :func:`predict`.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        How often each row counts.

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
    given = {"batch": batch, "sample_weight": sample_weight}
    with opened(model, blocks, place, **given) as engine:
        record = model.record_
        return record.score_of(
            engine.fold(partial(_summed, record.row_summer), add_sums)
        )


@contextmanager
def opened(
    model: PoissonClusterer, blocks: Any, place: Place, **given: Any
) -> Iterator[RowsOfModel]:
    """An engine over blocks that are counts of the columns of a model."""
    check_is_fitted(model)
    with ExitStack() as stack:
        n_jobs = resolve_n_jobs(model.n_jobs)
        session = Session.opened(blocks, n_jobs, stack, **place)
        yield RowsOfModel(session, model.record_, **given)


@dataclass(frozen=True, eq=False)
class ScaledScores:
    """Probabilities of clusters: scores of rows over T."""

    scorer: RowScorer
    temperature: float

    def __call__(self, counts: Counts) -> NDArray[np.float64]:
        from .._core.confidence import probabilities

        return probabilities(self.scorer(counts), self.temperature)


def _summed(row_summer: RowSummer, _: int, counts: Counts) -> Sums:
    return row_summer(counts)


def _write_probabilities(
    folder: Path, scorer: ScaledScores, index: int, counts: Counts
) -> int:
    save_block(folder, "probabilities", index, scorer(counts))
    return counts.n_rows


class DescribedRows(NamedTuple):
    """Results of rows under a model, and their names, if they have any."""

    results: RowResults
    names: NDArray[np.object_] | None


def described_rows(
    model: PoissonClusterer,
    blocks: Any,
    *,
    batch: ArrayLike | None = None,
    missing: str = "error",
    **place: Unpack[Place],
) -> DescribedRows:
    """All results of rows in blocks; ``missing="zero"`` finds columns by name."""
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
    model: PoissonClusterer, blocks: Any, most: int, **place: Unpack[Place]
) -> DrawnRows:
    """At most so many rows, drawn by their number, the same for any blocks."""
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
