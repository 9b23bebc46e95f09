"""Blocks of other rows in, what a fitted model says of them out."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._core.rows import NOTHING
from .._fit.engine import add_sums, of_each, on_counts, rows_of
from .._fit.row_results import RowResults, target_of, written
from .._options import resolve_n_jobs
from ..cluster.fitting import check_is_fitted
from ._session import Place, Session, lengths, rows_of_model

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from .._core.codes import Floats, Ints
    from .._core.counts import Counts
    from .._fit.engine import Engine
    from ..cluster.fitting import PoissonClusterer


def predict(
    model: PoissonClusterer,
    blocks: Any,
    *,
    write_to: str | os.PathLike[str] | None = None,
    batch: ArrayLike | None = None,
    **place: Unpack[Place],
) -> Ints | None:
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
    with opened(model, blocks, place, batch=batch) as (_, engine):
        describer = model.record_.describer
        if target is None:
            return np.concatenate(of_each(engine, describer.labels))
        written(engine, target, describer.results)
    return None


def predict_proba(
    model: PoissonClusterer,
    blocks: Any,
    *,
    write_to: str | os.PathLike[str] | None = None,
    batch: ArrayLike | None = None,
    **place: Unpack[Place],
) -> Floats | None:
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
    with opened(model, blocks, place, batch=batch) as (_, engine):
        scorer = model.record_.row_scorer
        results = partial(_probabilities, scorer, model.temperature_)
        if target is None:
            found = of_each(engine, results)
            return np.concatenate([each["probabilities"] for each in found])
        written(engine, target, results)
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
    with opened(model, blocks, place, **given) as (_, engine):
        record = model.record_
        work = partial(on_counts, record.row_summer)
        return record.score_of(engine.fold(work, add_sums))


@contextmanager
def opened(
    model: PoissonClusterer, blocks: Any, place: Place, **given: Any
) -> Iterator[tuple[Session, Engine]]:
    """An engine over blocks that are counts of the columns of a model."""
    check_is_fitted(model)
    with ExitStack() as stack:
        n_jobs = resolve_n_jobs(model.n_jobs)
        session = Session.opened(blocks, n_jobs, stack, **place)
        yield session, rows_of_model(session, model.record_, **given)


def _probabilities(
    scorer: Callable[[Counts], Floats], temperature: float, counts: Counts
) -> dict[str, Floats]:
    from .._core.confidence import probabilities

    return {"probabilities": probabilities(scorer(counts), temperature)}


def described_rows(
    model: PoissonClusterer,
    blocks: Any,
    *,
    batch: ArrayLike | None = None,
    missing: str = "error",
    **place: Unpack[Place],
) -> tuple[RowResults, NDArray[np.object_] | None]:
    """All results of rows in blocks, and their names, if they have any.

    ``missing="zero"`` finds columns by name.
    """
    given = {"batch": batch, "missing": missing}
    with opened(model, blocks, place, **given) as (session, engine):
        found = RowResults.stacked(of_each(engine, model.record_.describer))
        return replace(found, info=NOTHING), session.source.row_names


def drawn_rows(
    model: PoissonClusterer, blocks: Any, most: int, **place: Unpack[Place]
) -> tuple[int, NDArray[np.int64], Counts]:
    """Number of all rows, numbers of at most so many that are drawn, their counts.

    Rows are drawn by their number, the same for any blocks.
    """
    with opened(model, blocks, place) as (_, engine):
        firsts = np.concatenate([[0], np.cumsum(lengths(engine))])
        n_rows = int(firsts[-1])
        drawn = np.arange(n_rows)
        if n_rows > most:
            rng = np.random.default_rng(0)
            drawn = np.sort(rng.choice(n_rows, most, replace=False))
        return n_rows, drawn, rows_of(engine, firsts, drawn)
