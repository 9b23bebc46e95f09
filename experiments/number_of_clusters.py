"""The number of clusters that 3CPO, TauCC and the k-means criteria choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._comparison_tables import COLUMNS, Entry, grid, misses, spread, summary
from ._measured_cells import Cell
from ._measures import scores
from ._paper import paper_value
from ._paths import (
    CRITERIA,
    K_MEANS,
    MDL,
    N_CLUSTERS,
    THREECPO,
    cut_of,
    path_cells,
    runs_for_each_k,
)

if TYPE_CHECKING:
    from ._data import Data
    from ._measured_cells import Values
    from ._study import Study

METRICS = ("K", "ARI", "Purity")
PAPER_CRITERIA = {"silhouette": "silhouette", "elbow": "elbow", "bic": "BIC"}
DISPERSION = "3CPO dispersion"
# The paper has one path of 3CPO; a few of them tell how far it hangs on the seed.
PATHS = 3


def run(study: Study) -> None:
    data_sets = study.data()
    prepared = [d for d in study.data(prepared=True) if d not in data_sets]
    planned = _planned(study, data_sets, study.chosen([THREECPO, "TauCC", *K_MEANS]))
    planned |= _planned(study, prepared, study.chosen([THREECPO, *K_MEANS]))
    entries = []
    for (data, name), values in study.measure(planned).items():
        runs = planned[data, name][0].options.get("runs", 1)
        cut = "" if name == "TauCC" else cut_of(study, data, name)
        entries += [
            entry._replace(executions=len(values), restarts=runs, cut=cut)
            for entry in _entries(data, name, values)
        ]
    study.write_csv(COLUMNS, (entry.row() for entry in entries))
    parts = []
    for metric in METRICS:
        mine = [entry for entry in entries if entry.metric == metric]
        parts += [f"## {metric}", grid(mine, "method")]
    study.write_page(
        "The number of clusters",
        f"K from {N_CLUSTERS[0]} to {N_CLUSTERS[-1]}, best of "
        f"{runs_for_each_k(study)} runs for each K; 3CPO: mean of "
        f"{min(PATHS, study.options.executions)} such paths; TauCC: mean of "
        f"{study.options.executions} runs; the others: one path. *3CPO* chooses by "
        "the paper's criterion, *3CPO dispersion* by `mdl-dispersion`, which allows "
        "for counts that vary more than Poisson counts and is not in the paper.",
        summary(entries),
        "In each cell: ours, *the paper's*, and the difference in standard deviations. "
        "The paper has none here, so all that is not the same is in **bold** wherever "
        "ours are one path.",
        *parts,
        *misses([entry for entry in entries if entry.metric == "K"]),
    )


def _planned(
    study: Study, data_sets: list[Data], names: list[str]
) -> dict[tuple[Data, str], list[Cell]]:
    planned = {}
    for data in data_sets:
        for name in names:
            if name == "TauCC":
                make = study.known(name)
                seeds = study.seeds
                cells = [
                    Cell(
                        scores,
                        data,
                        make(
                            data.n_clusters,
                            random_state=seed,
                            n_init=study.options.restarts,
                        ),
                        title=f"TauCC {seed}",
                    )
                    for seed in seeds
                ]
            else:
                paths = min(PATHS, study.options.executions) if name == THREECPO else 1
                cells = path_cells(study, data, name, paths)
            planned[data, name] = cells
    return planned


def _entries(data: Data, name: str, values: list[Values]) -> list[Entry]:
    if name == "TauCC":
        found = {name: [{**value, "K": value["clusters"]} for value in values]}
    elif name == THREECPO:
        titles = dict(zip(MDL, (THREECPO, DISPERSION), strict=True))
        found = {titles[c]: [value["choices"][c] for value in values] for c in MDL}
    else:
        found = {
            f"{name} {PAPER_CRITERIA[c]}": [value["choices"][c] for value in values]
            for c in CRITERIA
        }
    return [
        Entry(
            data.name,
            title,
            metric,
            spread(mine, metric),
            paper_value("number of clusters", data.name, title, metric),
        )
        for title, mine in found.items()
        for metric in METRICS
    ]
