"""The number of clusters: curves over K, and what the criteria choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..kmeans_path import CRITERIA
from .cells import Cell
from .files import axes
from .measures import path, scores
from .tables import (
    COLUMNS,
    DENSE,
    Entry,
    grid,
    misses,
    paper_value,
    spread,
    summary,
    threecpo,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .cells import Values
    from .data import Data
    from .study import Study

DATA_SETS = ("Synth", "GeneExp", "BBCSports")
N_CLUSTERS = tuple(range(2, 31))
THREECPO = "3CPO"
MDL = ("mdl", "mdl-dispersion")
K_MEANS = ("SKM", "KM", "STD+KM", "MM+KM", "RF+KM", "RCA+KM")
METRICS = ("K", "ARI", "Purity")
PAPER_CRITERIA = {"silhouette": "silhouette", "elbow": "elbow", "bic": "BIC"}
DISPERSION = "3CPO dispersion"
# The paper has one path of 3CPO; a few of them tell how far it hangs on the seed.
PATHS = 3
# Entries that are too many for methods that make them dense.
LARGE_PATH = 10**7
# Stored counts from which paths have fewer runs, and those of k-means fewer K.
MANY_COUNTS = 5 * 10**6
FEW_RUNS = 3
FEW_K = (*range(2, 11), 15, 20, 25, 30)
# Methods whose runs take many iterations, and how many rows are too many for them.
SLOW = ("RF+KM",)
MANY_ROWS = 10**4
# What is minimised: silhouettes and BIC have their sign turned.
CURVES = {"elbow": ("loss", 1), "silhouette": ("silhouette", -1), "bic": ("bic", -1)}
TITLES = {"elbow": "inertia", "silhouette": "silhouette", "bic": "BIC"}
K_PATH_COLUMNS = ("data_set", "K", "total", "relevant", "chosen")
K_MEANS_COLUMNS = ("data_set", "method", "criterion", "K", "value", "chosen")


def k_path(study: Study) -> None:
    """Loss with v(K) and number of relevant columns over the number of clusters."""
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
                    K_PATH_COLUMNS,
                    (data.name, *point, int(point[0] == best)),
                    strict=True,
                )
            )
            for point in zip(k, totals, relevant, strict=True)
        ]
    study.write_csv(K_PATH_COLUMNS, rows)
    study.write_page(
        "Loss over the number of clusters",
        f"Best of {runs_for_each_k(study)} runs for each K from {N_CLUSTERS[0]} to "
        f"{N_CLUSTERS[-1]}; the red line is the smallest loss + v(K).",
        study.write_figure(figure),
    )


def k_means_path(study: Study) -> None:
    """Inertia, silhouette and BIC of k-means over the number of clusters."""
    data_sets = study.data(DATA_SETS)
    names = study.chosen(K_MEANS)
    cells = {(d.name, n): path_cells(study, d, n) for d in data_sets for n in names}
    values = study.measure(cells)
    data_sets = [d for d in data_sets if any(d.name == name for name, _ in values)]
    height = 2.4 * len(data_sets)
    figure, grid = axes(len(data_sets), len(CURVES), figsize=(9, height + 0.4))
    rows = []
    for line, data in zip(grid, data_sets, strict=True):
        for ax, (criterion, (curve, sign)) in zip(line, CURVES.items(), strict=True):
            for name in (n for n in names if (data.name, n) in values):
                (found,) = values[data.name, name]
                cut_of(study, data, name)
                k = np.array(found["n_clusters"])
                value = sign * np.array(found["curves"][curve])
                chosen = found["choices"][criterion]["K"]
                rows += [
                    dict(
                        zip(
                            K_MEANS_COLUMNS,
                            (
                                data.name,
                                name,
                                criterion,
                                *point,
                                int(point[0] == chosen),
                            ),
                            strict=True,
                        )
                    )
                    for point in zip(k.tolist(), value.tolist(), strict=True)
                ]
                shown = value if criterion == "silhouette" else scaled(value)
                (drawn,) = ax.plot(k, shown, linewidth=1, label=name)
                at = k == chosen
                ax.plot(k[at], shown[at], "o", color=drawn.get_color())
            ax.set_title(f"{data.name}: {TITLES[criterion]}", fontsize=9)
    for ax in grid[-1]:
        ax.set_xlabel("clusters K")
    grid[0, -1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    study.write_csv(K_MEANS_COLUMNS, rows)
    study.write_page(
        "k-means over the number of clusters",
        f"Best of {runs_for_each_k(study)} runs for each K from {N_CLUSTERS[0]} to "
        f"{N_CLUSTERS[-1]}. Inertia and BIC are scaled to 0…1 for each method; dots "
        "are the chosen K.",
        study.write_figure(figure),
    )


def scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return them from 0 to 1."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low if high > low else 1.0)


def number_of_clusters(study: Study) -> None:
    """The number of clusters that 3CPO, TauCC and the k-means criteria choose."""
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


def runs_for_each_k(study: Study) -> int:
    """The paper's paths have twice as many runs as its executions."""
    return 2 * study.options.restarts


def path_cells(study: Study, data: Data, method: str, paths: int = 1) -> list[Cell]:
    """Paths of 3CPO, or of a k-means, with the paper's twenty runs for each K."""
    what = _protocol(study, data, method)
    make = threecpo() if method == THREECPO else study.known(method)
    options = {
        "n_clusters": what.n_clusters,
        "criteria": MDL if method == THREECPO else CRITERIA,
        "runs": what.runs,
    }
    return [
        Cell(path, data, make(2, random_state=seed), options, title=f"{method} over K")
        for seed in range(paths)
    ]


def cut_of(study: Study, data: Data, method: str) -> str:
    """Say what was run for each K where that is less than asked for, and note it."""
    what = _protocol(study, data, method)
    if what == (N_CLUSTERS, runs_for_each_k(study)):
        return ""
    cut = f"best of {what.runs} for each K"
    if what.n_clusters != N_CLUSTERS:
        cut += " of " + ", ".join(map(str, what.n_clusters))
    study.note(f"† {method} on {data.name}: {cut}.")
    return cut


def _protocol(study: Study, data: Data, method: str) -> PathProtocol:
    return path_protocol(method, data, N_CLUSTERS, runs_for_each_k(study))


class PathProtocol(NamedTuple):
    """Numbers of clusters, and runs for each."""

    n_clusters: tuple[int, ...]
    runs: int


def path_protocol(
    method: str, data: Data, n_clusters: tuple[int, ...], runs: int
) -> PathProtocol:
    """Return what is run of a path; less than asked for where that takes too long."""
    n_rows, n_columns = data.X.shape
    many = data.X.nnz >= MANY_COUNTS
    if method == "3CPO":
        return PathProtocol(n_clusters, min(runs, FEW_RUNS) if many else runs)
    if many:
        return PathProtocol(tuple(k for k in n_clusters if k in FEW_K), 1)
    if method in DENSE and n_rows * n_columns > LARGE_PATH:
        runs = 1
    if method in SLOW and n_rows > MANY_ROWS:
        runs = min(runs, FEW_RUNS)
    return PathProtocol(n_clusters, runs)
