"""Everything that the report shows, as plain values."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.codes import OUTLIER
from .._plain import plain
from ..plot.style import shortened
from ..results import figure_data
from ..results.fitted import (
    SURE,
    column_names_of,
    expected_counts,
    in_words,
    record_of,
    row_confidence,
)
from ..results.label_comparison import labels_in
from ._clusters import clusters, label_parts, tree_part
from ._findings import (
    about_columns,
    about_rows,
    how_sure,
    lead,
    trusted_nodes,
)
from .words import finite, nouns, number, one_line, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from .._fit.record import FitRecord
    from ..cluster import ThreeCPO
    from ..results import Table
    from .words import Noun

    Part = dict[str, Any]

# Words of confidence as numbers; -1 outside of clusters.
_SURE = {word: code for code, word in enumerate(SURE)} | {"": -1}


def pack(values: NDArray[np.float64]) -> str:
    """Values of 0 or more, as base64 text; below 1e-30 they are 0."""
    known = np.isfinite(values)
    positive = known & (values >= 1e-30)
    safe = np.minimum(np.where(positive, values, 1.0), 9e33)
    power = np.floor(np.log10(safe)).astype(np.int64) - 2
    digits = np.rint(safe / 10.0**power).astype(np.int64)
    # 999.7 is 1000, and a logarithm may be off by its last bit.
    full = digits >= 1000
    digits[full], power[full] = 100, power[full] + 1
    codes = np.where(positive, digits * 64 + power + 32, 32)
    codes = np.where(known, codes, 0xFFFF)  # which stands for no number
    return b64encode(codes.astype("<u2").tobytes()).decode()


# Markers in the heat map; two for each cluster where there are many.
HEAT_MAP_COLUMNS = 30
OUTLIERS_LISTED = 20
# Parameters that do not change the result.
WITHOUT_EFFECT = ("n_jobs", "verbose")


def summarise(
    model: ThreeCPO,
    rows: Table,
    *,
    column_names: Iterable[Any] | None = None,
    path: Table | None = None,
    run: Mapping[str, Any] | None = None,
    title: str = "",
    labels: Mapping[str, Any] | Any = None,
    row_titles: Iterable[Any] | None = None,
    row_noun: str = "rows",
    column_noun: str = "columns",
    choice: Mapping[str, Any] | None = None,
    stability: Table | None = None,
    map_counts: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Collect the content of a report, as plain values that ``json.dumps`` takes.

    ``rows`` is a table of rows, ``path`` one of a path, ``choice`` its facts and
    ``stability`` what ``ThreeCPO.stability`` returns: made just now, or read back from
    files. ``map_counts`` are those of ``figure_data.map_counts``, ``row_titles`` what
    people know rows by. The others are as in ``Report``.
    """
    from .. import __version__

    record = record_of(model)
    if len(rows["row"]) != record.n_rows:
        message = (
            f"rows has {len(rows['row'])} rows, but the model was fitted on "
            f"{record.n_rows}."
        )
        raise ValueError(message)
    row, column = nouns(row_noun, column_noun)
    numbered = column_names is None and record.column_names is None
    names = _shown(column_names_of(record, column_names), column, numbered=numbered)
    row_names = _shown(rows["row"], row, numbered=_are_numbers(rows["row"]))
    titles = _titles(rows, row_titles)
    given = labels_in(rows) if labels is None else labels
    beside = label_parts(given, rows["cluster"], record.n_clusters, row)
    trusted = trusted_nodes(record, stability)
    chosen = _path(path, choice or {})
    tree, expected = tree_part(model, names, trusted), expected_counts(record)
    return {
        "title": shown(title) or "Clusters of counts",
        "words": {"rows": row.as_words(), "columns": column.as_words()},
        "lead": lead(record, row, column, chosen),
        "about_rows": about_rows(record, row),
        "about_columns": about_columns(record, row, column),
        "clusters": clusters(record, rows, names, titles, beside, trusted, tree),
        "tree": tree,
        "labels": [
            {key: value for key, value in part.items() if key != "codes"}
            for part in beside
        ],
        "path": chosen,
        "map": _map(record, rows, titles or row_names, beside, map_counts),
        "outliers": _outliers(record, rows, row_names),
        "sure": how_sure(record, row, column),
        "run": _flat(run or {}),
        "heat_map": figure_data.heat_map(
            record, max(HEAT_MAP_COLUMNS, 2 * record.n_clusters), names
        ),
        "groups": figure_data.column_groups(record),
        "columns": {
            "names": names,
            "groups": record.groups.tolist(),
            "strength": pack(record.markers.strength.max(axis=0)),
            "overall": pack(expected.overall),
            "rates": [pack(rates) for rates in expected.clusters],
        },
        "transform": record.transform,
        "n_rows": record.n_rows,
        "n_columns": record.n_columns,
        "n_clusters": record.n_clusters,
        "order": list(record.tree.leaves),
        "sizes": figure_data.cluster_sizes(record),
        "convergence": {
            "iterations": record.n_iter,
            "restarts": plain(record.restart_losses),
            "loss": number(record.loss),
        },
        "parameters": [
            [name, one_line(value)]
            for name, value in sorted(record.parameters.items())
            if name not in WITHOUT_EFFECT
        ],
        "version": __version__,
    }


def _path(path: Table | None, choice: Mapping[str, Any]) -> Part | None:
    """The criterion over K, the choice in words, and what lies one level below."""
    if path is None:
        return None
    part = figure_data.k_path(path)
    return part | {
        "sentence": choice.get("sentence", part["sentence"]),
        "next_k": choice.get("next_k"),
        "below": choice.get("below", []),
    }


def _map(
    record: FitRecord,
    rows: Table,
    titles: Sequence[str],
    labels: list[Part],
    map_counts: Mapping[str, Any] | None,
) -> Part | None:
    """Points of the map with what a person may ask of each."""
    part = figure_data.row_map(rows, record.n_clusters)
    if part is None:
        return None
    drawn = np.array(part.pop("shown"))
    sure = row_confidence(record)
    return part | {
        "names": [shortened(titles[i], 60) for i in drawn.tolist()],
        "labels": [label["codes"][drawn].tolist() for label in labels],
        "sure": None if sure is None else [_SURE[in_words(p)] for p in sure[drawn]],
        "by_column": map_counts,
    }


def _titles(rows: Table, given: Iterable[Any] | None) -> list[str] | None:
    """What people know rows by: titles, else names; None for numbers."""
    titles = rows.get("title", rows["row"]) if given is None else given
    listed = [shown(str(title)) for title in titles]
    return None if _are_numbers(listed) else listed


def _are_numbers(names: Iterable[str]) -> bool:
    return all(name == str(i) for i, name in enumerate(names))


def _shown(names: Iterable[str], noun: Noun, *, numbered: bool) -> list[str]:
    """Names as a page can show them; numbers with a word in front."""
    return [f"{noun.one} {name}" if numbered else shown(name) for name in names]


def _outliers(record: FitRecord, rows: Table, row_names: Sequence[str]) -> Part | None:
    """Rows that fit no cluster; None where they were not asked for."""
    if record.settings.outliers is None:
        return None
    scores = rows["outlier_score"]
    order = np.argsort(-scores, kind="stable")[:OUTLIERS_LISTED]
    part = figure_data.outliers(rows, record.settings.threshold)
    return part | {
        "marked": int((rows["cluster"] == OUTLIER).sum()),
        "listed": [
            {
                "row": row_names[i],
                "score": finite(scores[i]),
                "nearest": int(rows["nearest"][i]),
            }
            for i in order
            if scores[i] > part["threshold"] or rows["cluster"][i] == OUTLIER
        ],
    }


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
