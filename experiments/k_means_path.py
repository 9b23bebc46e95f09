"""Inertia, silhouette and BIC of the k-means methods over the number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._paths import K_MEANS, N_CLUSTERS, cut_of, path_cells, runs_for_each_k
from ._result_files import axes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._study import Study

DATA_SETS = ("Synth", "GeneExp", "BBCSports")
# What is minimised: silhouettes and BIC have their sign turned.
CURVES = {"elbow": ("loss", 1), "silhouette": ("silhouette", -1), "bic": ("bic", -1)}
TITLES = {"elbow": "inertia", "silhouette": "silhouette", "bic": "BIC"}
COLUMNS = ("data_set", "method", "criterion", "K", "value", "chosen")


def run(study: Study) -> None:
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
                            COLUMNS,
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
    study.write_csv(COLUMNS, rows)
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
