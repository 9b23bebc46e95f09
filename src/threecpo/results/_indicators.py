"""Indicator values of columns, as ecologists know them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._options import check_integer
from .._validation import check_counts
from ..cluster.naming import cluster_names_of
from .fitted import column_names_of, record_of, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ..cluster import ThreeCPO
    from ._csv_tables import Table

    Values = NDArray[np.float64]


def indicator_table(
    model: ThreeCPO,
    X: Any,
    *,
    permutations: int = 0,
    random_state: int = 0,
    column_names: Iterable[Any] | None = None,
) -> Table:
    """Indicator value of each column for the cluster that it indicates best.

    The index of Dufrêne and Legendre: *specificity*, the mean count of the column in
    the cluster's rows over the sum of its means in all clusters, times *fidelity*, the
    share of the cluster's rows that have the column. Outliers are left out.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    X : CountTable, array-like, frame or sparse matrix of shape (n_rows, n_columns)
        The counts that it was fitted on.
    permutations : int, default=0
        How often rows are put in clusters by chance, for ``p_value``; 0 leaves it out.
        The clusters come from the same counts, so small values say that a column is no
        chance finding given the clusters, not that there are clusters.
    random_state : int, default=0
        Seed of the permutations.
    column_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or their numbers, from 0.

    Returns
    -------
    dict of str to ndarray
        ``column``, ``cluster`` (-1 for a column without counts), its ``name``,
        ``specificity``, ``fidelity``, ``indicator`` (their product) and, if asked for,
        ``p_value``: the share of permutations, the found clusters counted as one, whose
        best indicator value is as high.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import indicator_table
    >>> X = [[90, 0, 50], [80, 1, 50], [0, 90, 50], [1, 80, 50], [2, 70, 40]]
    >>> model = ThreeCPO(2, random_state=0).fit(X)
    >>> table = indicator_table(model, X, column_names=["ants", "bees", "worms"])
    >>> table["cluster"].tolist(), table["indicator"].round(2).tolist()
    ([1, 0, 1], [0.99, 0.99, 0.52])
    """
    record = record_of(model)
    permutations = check_integer("permutations", permutations, 0)
    counts = check_counts(X, model, reset=False)
    labels = rows_of(record).labels
    if counts.n_rows != len(labels):
        message = (
            f"X has {counts.n_rows} rows, but the model was fitted on {len(labels)}; "
            "pass the counts of the fit."
        )
        raise ValueError(message)
    inside = np.flatnonzero(labels >= 0)
    matrix, labels = counts.matrix()[inside], labels[inside]
    there = sp.csr_array(
        (np.ones(len(matrix.data)), matrix.indices, matrix.indptr), shape=matrix.shape
    )
    specificity, fidelity = _parts(matrix, there, labels, record.n_clusters)
    values = specificity * fidelity
    best, columns = values.argmax(axis=0), np.arange(record.n_columns)
    highest = values[best, columns]
    names = np.append(cluster_names_of(record), "")
    best_or_none = np.where(specificity.any(axis=0), best, -1)
    table = {
        "column": column_names_of(record, column_names),
        "cluster": best_or_none.astype(np.int64),
        "name": names[best_or_none],
        "specificity": specificity[best, columns],
        "fidelity": fidelity[best, columns],
        "indicator": highest,
    }
    if permutations:
        generator = np.random.default_rng(random_state)
        as_high = np.ones(record.n_columns)
        for _ in range(permutations):
            mixed = generator.permutation(labels)
            values = np.multiply(*_parts(matrix, there, mixed, record.n_clusters))
            # Sums of other rows round differently.
            as_high += values.max(axis=0) >= highest * (1 - 1e-9)
        table["p_value"] = as_high / (permutations + 1)
    return table


def _parts(
    matrix: sp.csr_array,
    there: sp.csr_array,
    labels: NDArray[np.int32],
    n_clusters: int,
) -> tuple[Values, Values]:
    """Specificity and fidelity of each column (columns) in each cluster (rows)."""
    sizes = np.maximum(np.bincount(labels, minlength=n_clusters), 1)[:, None]
    ones, rows = np.ones(len(labels)), np.arange(len(labels))
    members = sp.csr_array((ones, (labels, rows)), shape=(n_clusters, len(labels)))
    means = (members @ matrix).toarray() / sizes
    totals = means.sum(axis=0)
    shares = np.divide(means, totals, out=np.zeros_like(means), where=totals > 0)
    return shares, (members @ there).toarray() / sizes
