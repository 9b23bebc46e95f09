"""All that a report says, as one dict of plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..results import _parts
from ..results._shares import TypicalCounts
from ..results._tables import column_names_of
from ._packed import pack
from ._text import finite, number, percent, plain, plural, shown, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..cluster import ThreeCPO
    from ..results._csv import Table

    Part = dict[str, Any]

HEAT_MAP_COLUMNS = 50
OUTLIERS_LISTED = 20
# Scores that differ by less, in nats, are equal.
ROUNDING = 1e-6
# On the answer.
_WITHOUT_EFFECT = ("n_jobs", "verbose")
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
    """Collect what a report says about a fit, without the counts.

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

    if len(rows["row"]) != len(model.labels_):
        message = (
            f"rows has {len(rows['row'])} rows, but the model was fitted on "
            f"{len(model.labels_)}."
        )
        raise ValueError(message)
    named = column_names is not None or hasattr(model, "feature_names_in_")
    names = [
        shown(name) if named else f"column {name}"
        for name in column_names_of(model, column_names)
    ]
    n_top = 10 if model.n_clusters_ <= 20 else 5
    return {
        "title": shown(title) or "Clusters of counts",
        "findings": [_about_rows(model), _about_columns(model)],
        "n_rows": len(model.labels_),
        "n_columns": model.n_features_in_,
        "n_clusters": model.n_clusters_,
        "sizes": _parts.sizes(model),
        "clusters": _clusters(model, rows, names, n_top),
        "heat_map": _parts.heat_map(model, HEAT_MAP_COLUMNS, names),
        "groups": _parts.column_groups(model),
        "group_columns": _group_columns(model, names, n_top),
        "lone_shared": int((model.column_groups_ == 0).sum()) == 1,
        "columns": _columns(model, names),
        "convergence": _parts.convergence(model) | {"loss_text": number(model.loss_)},
        "path": None if path is None else _parts.k_path(path),
        "outliers": _outliers(model, rows),
        "map": _parts.row_map(rows, model.n_clusters_),
        "unclear": _unclear(model),
        "parameters": [
            [name, plain(value)]
            for name, value in sorted(model.get_params(deep=False).items())
            if name not in _WITHOUT_EFFECT
        ],
        "run": _flat(run or {}),
        "version": __version__,
    }


def _about_rows(model: ThreeCPO) -> str:
    part = _parts.sizes(model)
    sizes, n_rows = part["sizes"], len(model.labels_)
    outliers = ""
    if part["outliers"]:
        outliers = (
            f"; {plural(part['outliers'], 'row is an outlier', 'rows are outliers')}"
        )
    if len(sizes) == 1:
        return f"{plural(n_rows, 'row')}: one cluster only{outliers}."
    return (
        f"{plural(n_rows, 'row')} in {len(sizes)} clusters: the largest has "
        f"{plural(max(sizes), 'row')} ({percent(max(sizes) / n_rows)}), the smallest "
        f"{whole(min(sizes))}{outliers}."
    )


def _about_columns(model: ThreeCPO) -> str:
    relevant, shared, noise = _parts.column_groups(model)["columns"]
    if not relevant:
        return (
            f"None of the {plural(model.n_features_in_, 'column')} tells clusters "
            f"apart: {whole(shared)} only follow the size of a row and {whole(noise)} "
            "are noise."
        )
    follow = "follows" if shared == 1 else "follow"
    return (
        f"Of {plural(model.n_features_in_, 'column')}, {whole(relevant)} "
        f"{'tells' if relevant == 1 else 'tell'} the clusters apart, {whole(shared)} "
        f"only {follow} the size of a row and {whole(noise)} "
        f"{'is' if noise == 1 else 'are'} noise."
    )


def _clusters(model: ThreeCPO, rows: Table, names: list[str], n_top: int) -> list[Part]:
    """Size, clearness and best columns of each cluster."""
    typical = TypicalCounts.of(model)
    ratios, counts = typical.ratios, typical.without(model.prior)
    relevant = np.flatnonzero(model.column_groups_ == 1)
    out = []
    for k, size in enumerate(_parts.sizes(model)["sizes"]):
        margins = rows["margin"][rows["cluster"] == k]
        out.append(
            {
                "cluster": k,
                "size": size,
                "share": size / len(model.labels_),
                "margin": finite(float(np.median(margins))) if len(margins) else None,
                "columns": [
                    {
                        "name": names[j],
                        "rate": finite(counts.clusters[k, j]),
                        "overall": finite(counts.overall[j]),
                        "ratio": finite(ratios[k, j]),
                    }
                    for j in typical.best(k, relevant, n_top)
                ],
            }
        )
    return out


def _group_columns(model: ThreeCPO, names: list[str], n_top: int) -> list[Part]:
    """Largest columns of C0 and of C-."""
    counts = TypicalCounts.of(model).without(model.prior).overall
    out = []
    for group, name in _parts.GROUPS[1:]:
        places = np.flatnonzero(model.column_groups_ == group)
        largest = places[np.argsort(-counts[places], kind="stable")[:n_top]]
        columns = [{"name": names[j], "overall": finite(counts[j])} for j in largest]
        out.append({"group": name, "columns": columns})
    return out


def _columns(model: ThreeCPO, names: list[str]) -> Part:
    """All columns: group, how far behind the best group each is, typical counts."""
    scores = model.column_scores_
    with np.errstate(invalid="ignore"):
        behind = scores.max(axis=1, keepdims=True) - scores
    behind[behind < ROUNDING] = 0.0
    typical = TypicalCounts.of(model).without(model.prior)
    return {
        "names": names,
        "groups": model.column_groups_.tolist(),
        "overall": pack(typical.overall),
        "behind": [pack(behind[:, place]) for place in (2, 1, 0)],
        "rates": [pack(rates) for rates in typical.clusters],
    }


def _outliers(model: ThreeCPO, rows: Table) -> Part:
    scores = rows["outlier_score"]
    order = np.argsort(-scores, kind="stable")[:OUTLIERS_LISTED]
    numbered = all(name == str(i) for i, name in enumerate(rows["row"]))
    part = _parts.outliers(rows, model)
    return part | {
        "rule": model.outliers,
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


def _unclear(model: ThreeCPO) -> Part:
    count = int((model.margins_ < UNCLEAR_MARGIN).sum())
    return {"rows": count, "share": count / len(model.labels_)}


def _flat(run: Mapping[str, Any], before: str = "") -> list[list[str]]:
    """Facts as pairs of text, those of an inner mapping with its name in front."""
    pairs: list[list[str]] = []
    for key, value in run.items():
        name = f"{before}{key}"
        if hasattr(value, "items"):
            pairs += _flat(value, f"{name}: ")
        else:
            pairs.append([shown(name), plain(value)])
    return pairs
