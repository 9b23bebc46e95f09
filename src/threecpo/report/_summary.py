"""The content of a report as one dict of plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import GROUP_NAMES, NOISE, SHARED
from .._plain import plain
from ..cluster.naming import cluster_names_of
from ..results import figure_data
from ..results.fitted import column_names_of, record_of, rows_of
from ._findings import about_columns, about_rows
from ._formatting import finite, number, one_line, shown
from ._packed_numbers import pack

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .._fit.record import FitRecord
    from ..cluster import ThreeCPO
    from ..results import Table

    Part = dict[str, Any]

HEAT_MAP_COLUMNS = 50
OUTLIERS_LISTED = 20
# Scores that differ by less, in nats, are equal.
ROUNDING = 1e-6
# Parameters that do not change the result.
WITHOUT_EFFECT = ("n_jobs", "verbose")
# Less than a factor of 20 between the likelihoods of the two best clusters.
UNCLEAR_MARGIN = 3.0


def summarise(
    model: ThreeCPO,
    rows: Table,
    *,
    column_names: Iterable[Any] | None = None,
    path: Table | None = None,
    run: Mapping[str, Any] | None = None,
    title: str = "",
) -> dict[str, Any]:
    """Collect the content of a report about a fit, without the counts.

    Parameters
    ----------
    model : ThreeCPO
        A fitted or loaded model.
    rows : dict of str to ndarray
        What :func:`threecpo.results.row_table` returns, or a file of it read back. With
        a map of NaN the report has no map.
    column_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or their numbers, from 0.
    path : dict of str to ndarray, default=None
        What :func:`threecpo.results.path_table` returns, if the number of clusters was
        chosen.
    run : mapping, default=None
        Facts about the run that the report lists: plain values, or mappings of them.
    title : str, default=""
        Heading of the report, such as the name of the data.

    Returns
    -------
    dict
        Strings, numbers, lists and dicts that ``json.dumps`` takes; for :func:`render`.

    Examples
    --------
    >>> from threecpo import ThreeCPO, report, results
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(300, random_state=0)
    >>> model = ThreeCPO(3, random_state=0).fit(X)
    >>> summary = report.summarise(model, results.row_table(model, X))
    >>> summary["findings"][1]
    'Of 6 columns, 2 tell the clusters apart, 2 only follow the size of a row and 2 \
are noise.'
    """
    from .. import __version__

    record = record_of(model)
    _check_rows(record, rows)
    names = _names(record, column_names)
    return {
        "title": shown(title) or "Clusters of counts",
        "findings": [about_rows(record), about_columns(record)],
        "n_rows": record.n_rows,
        "n_columns": record.n_columns,
        "n_clusters": record.n_clusters,
        "sizes": figure_data.cluster_sizes(record),
        "clusters": _clusters(record, rows, names),
        "heat_map": figure_data.heat_map(record, HEAT_MAP_COLUMNS, names),
        "groups": figure_data.column_groups(record),
        "group_columns": _group_columns(record, names),
        "lone_shared": int((record.groups == SHARED).sum()) == 1,
        "columns": _columns(record, names),
        "convergence": _convergence(record),
        "path": None if path is None else figure_data.k_path(path),
        "outliers": _outliers(record, rows),
        "map": figure_data.row_map(rows, record.n_clusters),
        "unclear": _unclear(record),
        "parameters": _parameters(record),
        "run": _flat(run or {}),
        "version": __version__,
    }


def _check_rows(record: FitRecord, rows: Table) -> None:
    if len(rows["row"]) != len(rows_of(record).labels):
        message = (
            f"rows has {len(rows['row'])} rows, but the model was fitted on "
            f"{record.n_rows}."
        )
        raise ValueError(message)


def _names(record: FitRecord, given: Iterable[Any] | None) -> list[str]:
    """Names as a page can show them; numbers with a word in front."""
    named = given is not None or record.column_names is not None
    return [
        shown(name) if named else f"column {name}"
        for name in column_names_of(record, given)
    ]


def _n_top(record: FitRecord) -> int:
    """Columns to list for each cluster and group."""
    return 10 if record.n_clusters <= 20 else 5


def _clusters(record: FitRecord, rows: Table, names: list[str]) -> list[Part]:
    """Size, clearness and best columns of each cluster."""
    markers = record.markers
    expected, ratios = markers.expected, markers.expected.ratios
    cluster_names = cluster_names_of(record, np.array(names, dtype=object))
    out = []
    for k, size in enumerate(figure_data.cluster_sizes(record)["sizes"]):
        margins = rows["margin"][rows["cluster"] == k]
        best = markers.best(k, _n_top(record))
        out.append(
            {
                "cluster": k,
                "name": shown(cluster_names[k]),
                "size": size,
                "share": size / record.n_rows,
                "margin": finite(float(np.median(margins))) if len(margins) else None,
                "columns": [
                    {
                        "name": names[j],
                        "rate": finite(expected.clusters[k, j]),
                        "overall": finite(expected.overall[j]),
                        "ratio": finite(ratios[k, j]),
                        "evidence": finite(markers.evidence[k, j]),
                    }
                    for j in best
                ],
            }
        )
    return out


def _group_columns(record: FitRecord, names: list[str]) -> list[Part]:
    """Largest columns of C0 and of C-."""
    counts = record.markers.expected.overall
    out = []
    for group in (SHARED, NOISE):
        places = np.flatnonzero(record.groups == group)
        order = np.argsort(-counts[places], kind="stable")[: _n_top(record)]
        columns = [
            {"name": names[j], "overall": finite(counts[j])} for j in places[order]
        ]
        out.append({"group": GROUP_NAMES[group], "columns": columns})
    return out


def _columns(record: FitRecord, names: list[str]) -> Part:
    """All columns: group, how far behind the best group each is, typical counts."""
    scores = record.column_scores
    with np.errstate(invalid="ignore"):
        behind = scores.max(axis=1, keepdims=True) - scores
    behind[behind < ROUNDING] = 0.0
    expected = record.markers.expected
    return {
        "names": names,
        "groups": record.groups.tolist(),
        "overall": pack(expected.overall),
        "behind": [pack(behind[:, place]) for place in (2, 1, 0)],
        "rates": [pack(rates) for rates in expected.clusters],
    }


def _convergence(record: FitRecord) -> Part:
    return figure_data.convergence(record) | {"loss_text": number(record.loss)}


def _outliers(record: FitRecord, rows: Table) -> Part:
    scores = rows["outlier_score"]
    order = np.argsort(-scores, kind="stable")[:OUTLIERS_LISTED]
    numbered = all(name == str(i) for i, name in enumerate(rows["row"]))
    part = figure_data.outliers(rows, record.settings.threshold)
    return part | {
        "rule": record.settings.outliers,
        "marked": int((rows["cluster"] < 0).sum()),
        "listed": [
            {
                "row": f"row {i}" if numbered else shown(rows["row"][i]),
                "score": finite(scores[i]),
                "nearest": int(rows["nearest"][i]),
                "marked": bool(rows["cluster"][i] < 0),
            }
            for i in order
            if scores[i] > part["threshold"] or rows["cluster"][i] < 0
        ],
    }


def _unclear(record: FitRecord) -> Part:
    count = int((rows_of(record).margins < UNCLEAR_MARGIN).sum())
    return {"rows": count, "share": count / record.n_rows}


def _parameters(record: FitRecord) -> list[list[str]]:
    """Parameters that the fit used."""
    return [
        [name, one_line(value)]
        for name, value in sorted(record.parameters.items())
        if name not in WITHOUT_EFFECT
    ]


def _flat(run: Mapping[str, Any], before: str = "") -> list[list[str]]:
    """Facts as pairs of text, those of an inner mapping with its name in front."""
    pairs: list[list[str]] = []
    for key, value in run.items():
        name = f"{before}{key}"
        if hasattr(value, "items"):
            pairs += _flat(value, f"{name}: ")
        else:
            pairs.append([shown(name), one_line(plain(value))])
    return pairs
