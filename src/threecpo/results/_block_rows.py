"""Tables of rows that come in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..table import CountTable
from ._fit_tables import placed_rows
from ._row_coordinates import LAID_OUT, row_map
from .fitted import names_array, record_of, rows_of, table_of_rows

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
        ``layer``, ``client``, ``max_memory`` and ``batch`` of
        :func:`threecpo.distributed.predict`; with ``missing="zero"`` columns are found
        by their names, those that are missing taken for zeros and others left out.

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


def block_row_table(
    model: ThreeCPO,
    blocks: Any,
    *,
    row_names: Iterable[Any] | None = None,
    **options: Any,
) -> Table:
    """Table of the rows that a model was fitted on, which come in blocks.

    The map is made of 5000 rows, which are drawn by their number; the others have no
    place in it.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model that holds results of its rows.
    blocks : str, path-like, Dask array, list of functions, or counts in memory
        The counts it was fitted on, as in :func:`threecpo.distributed.fit`; they are
        read twice.
    row_names : sequence of str, default=None
        Names of the rows; None takes those of the fit, else their numbers, from 0.
    **options
        ``layer`` and ``max_memory`` of :func:`threecpo.distributed.predict`.

    Returns
    -------
    dict of str to ndarray
        The columns of :func:`row_table`; ``map_x`` and ``map_y`` are NaN for rows that
        were not drawn.

    Examples
    --------
    >>> from threecpo import ThreeCPO, distributed
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.results import block_row_table
    >>> X, _ = make_synth(random_state=0)
    >>> readers = [lambda: X[:400], lambda: X[400:]]
    >>> model = distributed.fit(ThreeCPO(3, random_state=0), readers)
    >>> rows = block_row_table(model, readers)
    >>> bool((rows["cluster"] == model.labels_).all())
    True
    """
    from ..distributed.describing import drawn_rows

    record = record_of(model)
    rows_of(record)  # says why there are none before anything is read
    drawn = drawn_rows(model, blocks, LAID_OUT, **options)
    places = np.full((drawn.n_rows, 2), np.nan)
    names = record.column_names
    places[drawn.numbers] = row_map(model, CountTable(drawn.counts, column_names=names))
    return placed_rows(model, places, None, row_names)
