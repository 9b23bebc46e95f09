"""Rows, columns, clusters, range, sparsity and imbalance of the data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .files import markdown_table
from .tables import COLUMNS, Entry, Spread, misses, paper_value, summary

if TYPE_CHECKING:
    from .data import Data
    from .study import Study

METRICS = ("n", "m", "K", "min", "max", "sparsity", "imbalance")


def characteristics(study: Study) -> None:
    """Rows, columns, clusters, range, sparsity and imbalance of the data sets."""
    entries = []
    for data in study.data(prepared=True):
        study.use(data)
        entries += [
            Entry(
                data.name,
                "",
                metric,
                Spread(value),
                paper_value("characteristics", data.name, "", metric),
            )
            for metric, value in zip(METRICS, measured(data), strict=True)
        ]
    study.write_csv(COLUMNS, (entry.row() for entry in entries))
    values = {(e.data_set, e.metric): e for e in entries}
    rows = [
        [name, *(_shown(values[name, metric]) for metric in METRICS)]
        for name in dict.fromkeys(entry.data_set for entry in entries)
    ]
    header = ["data set", *METRICS[:-2], "sparsity %", "imbalance"]
    study.write_page(
        "Data sets",
        summary(entries),
        "Rows, columns, clusters, smallest and largest count, percentage of zeros, "
        "smallest class over largest; *the paper's* value where it differs. Synth is "
        "another draw than the paper's.",
        markdown_table(header, rows),
        *misses(entries),
    )


def measured(data: Data) -> tuple[float, ...]:
    """Return the characteristics, rounded as the paper prints them."""
    n_rows, n_columns = data.X.shape
    zeros = 1 - data.X.nnz / (n_rows * n_columns)
    sizes = np.bincount(data.labels)
    sizes = sizes[sizes > 0]
    return (
        n_rows,
        n_columns,
        data.n_clusters,
        0 if zeros else int(data.X.data.min()),
        int(data.X.data.max()),
        round(100 * zeros),
        round(sizes.min() / sizes.max(), 2),
    )


def _shown(entry: Entry) -> str:
    ours = f"{entry.ours.mean:g}" if entry.ours.mean < 1e5 else f"{entry.ours.mean:.0f}"
    if entry.paper is None or entry.paper.mean == entry.ours.mean:
        return ours
    return f"{ours} (*{entry.paper.mean:g}*)"
