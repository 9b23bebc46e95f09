"""Tables of a fit's columns, clusters and path; what is typical of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import GROUP_NAMES, NOISE, RELEVANT, SHARED
from .._options import check_choice, check_integer
from .._parameters import MARKER_ORDERS
from .._validation import check_counts
from ..cluster.naming import (
    SEPARATOR,
    clearest_rows,
    cluster_names_of,
    least_clear_rows,
    names_array,
)
from ..table import CountTable
from ._trust_tables import cluster_verdicts
from .fitted import (
    check_n_rows,
    column_names_of,
    expected_counts,
    in_own_units,
    mean_confidence,
    named_columns,
    record_of,
    row_names_of,
    rows_of,
    sizes_of,
)
from .table_files import TEXT, column_of, table_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from .._fit.record import FitRecord
    from ..cluster.fitting import PoissonClusterer
    from ..select import KPath
    from .table_files import Table

    Values = NDArray[np.float64]


def column_table(
    model: PoissonClusterer, *, column_names: Iterable[Any] | None = None
) -> Table:
    """Table of the columns of a fitted model.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    column_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or their numbers, from 0.

    Returns
    -------
    dict of str to ndarray
        ``column``, ``group`` (1, 0 or -1), ``noise_score``, ``shared_score``,
        ``relevant_score``; and the counts expected in a row of mean size, ``overall``
        and in each cluster, ``here_0`` to ``here_{K-1}``. Where columns are held back,
        also the ``weight`` of each.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import column_table
    >>> X = [[9, 0, 5], [8, 1, 5], [0, 9, 5], [1, 8, 5]]
    >>> list(column_table(ThreeCPO(2, random_state=0).fit(X)))[:5]
    ['column', 'group', 'noise_score', 'shared_score', 'relevant_score']
    """
    record = record_of(model)
    scores, expected = record.column_scores, expected_counts(record)
    weights = record.sums.column_weights
    held = {} if weights is None else {"weight": weights}
    return {
        "column": column_names_of(record, column_names),
        "group": record.groups.astype(np.int64),
        "noise_score": scores[:, 0],
        "shared_score": scores[:, 1],
        "relevant_score": scores[:, 2],
        "overall": expected.overall,
        **{f"here_{k}": counts for k, counts in enumerate(expected.clusters)},
        **held,
    }


TOP = (
    *("group", "cluster", "name", "rank", "column"),
    *("here", "overall", "ratio", "evidence"),
)


def top_table(
    model: PoissonClusterer,
    n: int = 10,
    *,
    order: str = "marker",
    feature_names: Iterable[Any] | None = None,
) -> Table:
    """Table of the columns that mark each cluster, then the largest of C0 and of C-.

    ``ThreeCPO.top_columns`` gives the same as a frame. Columns without names are
    numbers.
    """
    record, n = record_of(model), check_integer("n", n, 1)
    check_choice("order", order, MARKER_ORDERS)
    given = feature_names
    if given is not None:
        given = names_array("feature_names", given, record.n_columns)
    columns, kind = named_columns(record, given)
    markers = record.markers
    expected = expected_counts(record)
    lines: list[tuple[Any, ...]] = []
    for k, name in enumerate(cluster_names_of(record, given)):
        for rank, j in enumerate(markers.best(k, n, order), start=1):
            counts = expected.clusters[k, j], expected.overall[j], expected.ratios[k, j]
            line = RELEVANT, k, name, rank, columns[j], *counts, markers.evidence[k, j]
            lines.append(line)
    for group in (SHARED, NOISE):
        places = np.flatnonzero(record.groups == group)
        largest = np.argsort(-expected.overall[places], kind="stable")[:n]
        for rank, j in enumerate(places[largest], start=1):
            here = expected.overall[j]
            line = group, -1, GROUP_NAMES[group], rank, columns[j], here, here, 1.0, 0.0
            lines.append(line)
    return table_of(TOP, lines, column=kind)


def path_table(path: KPath) -> Table:
    """Table of a path over the number of clusters.

    Parameters
    ----------
    path : KPath
        What :func:`threecpo.select_n_clusters` returns.

    Returns
    -------
    dict of str to ndarray
        The columns of ``KPath.to_table`` and the name of the ``criterion``.

    Examples
    --------
    >>> from threecpo import select_n_clusters
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.results import path_table
    >>> X, _ = make_synth(300, random_state=0)
    >>> path = select_n_clusters(X, range(1, 5), n_init=3, random_state=0)
    >>> path_table(path)["n_clusters"].tolist()
    [1, 2, 3, 4]
    """
    criterion = [path.criterion] * len(path.n_clusters)
    return path.to_table() | {"criterion": column_of(criterion, TEXT)}


MARKERS_LISTED = 10


def cluster_table(
    model: PoissonClusterer,
    *,
    column_names: Iterable[Any] | None = None,
    stability: Any = None,
) -> Table:
    """Table of the clusters of a fitted model.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    column_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or their numbers, from 0.
    stability : dict of str to ndarray or frame, default=None
        What ``model.stability(X)`` returned: adds the column ``verdict``.

    Returns
    -------
    dict of str to ndarray
        ``cluster``, ``name``, ``size`` (rows), ``share`` (of all rows), mean
        ``confidence`` in its rows (NaN where it was not measured) and ``verdict``
        (stable, doubtful or not distinct); of the tree the
        ``tree_order`` (its place in the drawn tree), ``joins`` (the node or cluster
        that it is joined with; -1 for a single cluster) and ``join_height``; and
        ``markers``, up to ten columns that mark the cluster, the best first.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import cluster_table
    >>> X = [[90, 0, 50], [80, 1, 50], [0, 90, 50], [1, 80, 50], [2, 70, 40]]
    >>> table = cluster_table(ThreeCPO(2, random_state=0).fit(X), column_names="abc")
    >>> table["name"].tolist(), table["size"].tolist()
    (['b', 'a'], [3, 2])
    """
    record = record_of(model)
    columns = column_names_of(record, column_names)
    given = columns if column_names is not None else None
    markers, sizes = record.markers, sizes_of(record)
    listed = (
        SEPARATOR.join(columns[markers.best(k, MARKERS_LISTED)])
        for k in range(record.n_clusters)
    )
    judged = {}
    if stability is not None:
        judged["verdict"] = column_of(cluster_verdicts(record, stability), TEXT)
    return {
        "cluster": np.arange(record.n_clusters),
        "name": cluster_names_of(record, given),
        "size": sizes,
        "share": sizes / record.n_rows,
        "confidence": np.array(mean_confidence(record), dtype=np.float64),
        **judged,
        **_in_the_tree(record),
        "markers": column_of(listed, TEXT),
    }


def _in_the_tree(record: FitRecord) -> Table:
    """Where each cluster stands in the tree, and what it is joined with."""
    n = record.n_clusters
    joins, heights = np.full(n, -1), np.zeros(n)
    for left, right, height, _ in record.tree.linkage.tolist():
        for one, other in ((int(left), int(right)), (int(right), int(left))):
            if one < n:
                joins[one], heights[one] = other, height
    return {
        "tree_order": np.argsort(record.tree.leaves),
        "joins": joins,
        "join_height": heights,
    }


TYPICAL = ("cluster", "name", "kind", "rank", "place", "row", "margin")


def typical_rows(
    model: PoissonClusterer,
    X: Any = None,
    n: int = 3,
    *,
    row_names: Iterable[Any] | None = None,
) -> Table:
    """Table of the clearest and the least clear rows of each cluster.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model.
    X : CountTable, default=None
        The table of the fit, for the names of its rows; the counts are not needed.
    n : int, default=3
        Most rows to list for each cluster and kind.
    row_names : sequence of str, default=None
        Names of the rows; None takes those of X, else of the fit, else their numbers.

    Returns
    -------
    dict of str to ndarray
        ``cluster``, its ``name``, ``kind`` (``"clear"`` or ``"unclear"``), ``rank``
        (from 1), ``place`` (number of the row, from 0), ``row`` (its name) and
        ``margin``, by how many nats the cluster fits better than the next best.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.results import typical_rows
    >>> X = [[90, 0, 50], [80, 1, 50], [0, 90, 50], [1, 80, 50], [9, 40, 40]]
    >>> table = typical_rows(ThreeCPO(2, random_state=0).fit(X), n=1, row_names="abcde")
    >>> table["row"].tolist(), table["kind"].tolist()
    (['c', 'e', 'a', 'b'], ['clear', 'unclear', 'clear', 'unclear'])
    """
    record = record_of(model)
    rows, n = rows_of(record), check_integer("n", n, 1)
    names, clusters = row_names_of(record, X, row_names), cluster_names_of(record)
    kinds = {"clear": clearest_rows, "unclear": least_clear_rows}
    lines = [
        (k, clusters[k], kind, rank, place, names[place], rows.margins[place])
        for k in range(record.n_clusters)
        for kind, chosen in kinds.items()
        for rank, place in enumerate(chosen(record, k, n).tolist(), start=1)
    ]
    return table_of(TYPICAL, lines)


def indicator_table(
    model: PoissonClusterer,
    X: Any,
    *,
    permutations: int = 0,
    random_state: int = 0,
    column_names: Iterable[Any] | None = None,
) -> Table:
    """Table of indicator values of columns, as ecologists use them.

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
        The clusters come from the same counts, so small values do not mean that there
        are clusters.
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
    check_n_rows(record, counts.n_rows)
    inside = np.flatnonzero(labels >= 0)
    matrix, labels = counts.matrix()[inside], labels[inside]
    there = type(matrix)(
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
    shape = n_clusters, len(labels)
    members = type(matrix)((ones, (labels, rows)), shape=shape)
    means = (members @ matrix).toarray() / sizes
    totals = means.sum(axis=0)
    shares = np.divide(means, totals, out=np.zeros_like(means), where=totals > 0)
    return shares, (members @ there).toarray() / sizes


# Cells of the user's own table in a workbook; more of them nobody reads there.
MOST_CELLS = 2_000_000


def workbook(
    model: PoissonClusterer, rows: Table, X: Any = None, stability: Table | None = None
) -> dict[str, Table]:
    """Sheets of what a fit found: rows, clusters, their columns, and the own table."""
    record = record_of(model)
    names = column_names_of(record)
    expected = expected_counts(record)
    profile = {"column": names} | {
        f"{k} {name}": expected.clusters[k]
        for k, name in enumerate(cluster_names_of(record).tolist())
    }
    sheets = {
        "rows": rows,
        "clusters": cluster_table(model, stability=stability),
        "profile": profile | {"overall": expected.overall},
        "markers": top_table(model),
        "columns": column_table(model),
    }
    n_rows, n_columns = record.n_rows, record.n_columns
    if isinstance(X, CountTable) and n_rows * n_columns <= MOST_CELLS:
        own = {"row": rows["row"], "cluster": rows["cluster"], "name": rows["name"]}
        values = check_counts(X, model, reset=False).matrix().toarray()
        values = in_own_units(record, values).round(9)
        for called, column in zip(names, values.T, strict=True):
            name = called
            while name in own:  # a column of the user may be called as one of ours
                name += "'"
            own[name] = column
        sheets["table"] = own
    return sheets
