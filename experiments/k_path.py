"""Loss with v(K), and the number of relevant columns, over the number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._paths import N_CLUSTERS, THREECPO, cut_of, path_cells, runs_for_each_k
from ._result_files import axes

if TYPE_CHECKING:
    from ._study import Study

DATA_SETS = ("Synth", "GeneExp", "BBCSports")
COLUMNS = ("data_set", "K", "total", "relevant", "chosen")


def run(study: Study) -> None:
    data_sets = study.data(DATA_SETS, prepared=True)
    cells = {data: path_cells(study, data, THREECPO) for data in data_sets}
    found = study.measure(cells)
    figure, grid = axes(1, len(found), figsize=(3.4 * len(found), 2.8))
    rows = []
    for ax, (data, (values,)) in zip(grid[0], found.items(), strict=True):
        cut_of(study, data, THREECPO)
        k, totals = values["n_clusters"], values["curves"]["mdl"]
        relevant = values["curves"]["relevant"]
        best = k[int(np.argmin(totals))]
        ax.plot(k, totals, color="tab:blue", marker=".")
        ax.axvline(best, color="tab:red", linestyle="--")
        ax.set_title(f"{data.name}: {best} (truth {data.n_clusters})")
        ax.set_xlabel("clusters K")
        ax.set_ylabel("loss + v(K)", color="tab:blue")
        beside = ax.twinx()
        beside.grid(visible=False)
        beside.plot(k, relevant, color="tab:green")
        beside.set_ylabel("relevant columns", color="tab:green")
        rows += [
            dict(
                zip(
                    COLUMNS,
                    (data.name, *point, int(point[0] == best)),
                    strict=True,
                )
            )
            for point in zip(k, totals, relevant, strict=True)
        ]
    study.write_csv(COLUMNS, rows)
    study.write_page(
        "Loss over the number of clusters",
        f"Best of {runs_for_each_k(study)} runs for each K from {N_CLUSTERS[0]} to "
        f"{N_CLUSTERS[-1]}; the red line is the smallest loss + v(K).",
        study.write_figure(figure),
    )
