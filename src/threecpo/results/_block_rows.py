"""Tables of rows that come in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .fitted import names_array, record_of, table_of_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..cluster import ThreeCPO
    from ._csv_tables import Table


def predicted_block_rows(
    model: ThreeCPO,
    blocks: Any,
    *,
    row_names: Iterable[Any] | None = None,
    **options: Any,
) -> Table:
    """Table of other rows, which come in blocks, under a fitted model.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    blocks : str, path-like, Dask array, list of functions, or counts in memory
        Counts of the model's columns, as in :func:`threecpo.distributed.fit`.
    row_names : sequence of str, default=None
        Names of the rows; None takes those of a 10x file, else their numbers, from 0.
    **options
        ``layer``, ``client``, ``max_memory``, ``patience`` and ``batch`` of
        :func:`threecpo.distributed.predict`.

    Returns
    -------
    dict of str to ndarray
        The columns of :func:`predicted_rows`.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.results import predicted_block_rows
    >>> X, _ = make_synth(random_state=0)
    >>> model = ThreeCPO(3, random_state=0).fit(X)
    >>> rows = predicted_block_rows(model, [lambda: X[:400], lambda: X[400:]])
    >>> bool((rows["cluster"] == model.labels_).all())
    True
    """
    from ..distributed.describing import described_rows

    found = described_rows(model, blocks, **options)
    given = found.names if row_names is None else row_names
    names = names_array("row_names", given, len(found.results.labels), of="blocks")
    return table_of_rows(record_of(model), names, found.results)
