"""The number of clusters by both criteria and by split halves, beside the truth.

python benchmarks/number_of_clusters.py --datasets bbcsports bbcnews
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import adjusted_rand_score

from _common import DATA, DataSet, Report, load, missing_data, parser_of, say
from threecpo import select_n_clusters

if TYPE_CHECKING:
    import argparse

# These take minutes: no split halves.
LARGE = ("celllines_li", "pbmc_kang")


def main() -> None:
    parser = parser_of(__doc__, data=True)
    parser.add_argument("--datasets", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--runs", type=int, default=4, help="runs for each K")
    parser.add_argument("--largest", type=int, default=30, help="largest K")
    parser.add_argument("--splits", type=int, default=5, help="0 leaves halves out")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    missing = missing_data(options.data, options.datasets)
    if missing:
        parser.error(missing)
    report = Report(options.output)
    rows, curves = [], []
    for name in options.datasets:
        row, curve = line(name, options)
        rows.append(row)
        curves.append(curve)
        say(" | ".join(map(str, row)))
    report.add(
        f"K = 1 to {options.largest}, seed {options.seed}, best of {options.runs} "
        "merging runs for each K. ARI times 100."
    )
    header = ["data", "truth", "mdl-dispersion", "ARI", "mdl", "ARI"]
    report.add_table([*header, "at true K"], rows)
    report.add(
        f"Agreement of two halves of the rows (mean ARI of {options.splits} splits, "
        "5 runs each):"
    )
    shown = ["data", "truth", "most stable K", "2", "3", "5", "8", "10", "15", "20"]
    report.add_table(shown, [curve for curve in curves if curve])
    report.write()


def line(name: str, options: argparse.Namespace) -> tuple[list[object], list[object]]:
    data = load(options.data, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = select_n_clusters(
            data.matrix,
            range(1, options.largest + 1),
            n_init=options.runs,
            random_state=options.seed,
        )
    truth = data.n_clusters
    row: list[object] = [name, truth]
    for criterion in ("mdl-dispersion", "mdl"):
        chosen = path.choose(criterion)
        row += [chosen.best_k, agreement(data, chosen.best_estimator)]
    row.append(agreement(data, path.estimator(truth)))
    compared = options.splits and name not in LARGE
    return row, halves(data, options) if compared else []


def halves(data: DataSet, options: argparse.Namespace) -> list[object]:
    wanted = [*range(2, options.largest + 1)]
    found = halves_agree(
        data.matrix, wanted, n_splits=options.splits, seed=options.seed
    )
    mean = dict(zip(wanted, found.tolist(), strict=True))
    shown = [f"{mean[k]:.2f}" for k in (2, 3, 5, 8, 10, 15, 20)]
    return [data.name, data.n_clusters, max(mean, key=mean.__getitem__), *shown]


def halves_agree(matrix, wanted: list[int], *, n_splits: int, seed: int):
    """Adjusted Rand index of models of two halves of the rows, for each K."""
    rng = np.random.default_rng(seed)
    agreement = np.empty((n_splits, len(wanted)))
    for split in agreement:
        order = rng.permutation(matrix.shape[0])
        labels = []
        for half in (np.sort(order[::2]), np.sort(order[1::2])):
            seed = int(rng.integers(2**31 - 1))
            path = select_n_clusters(matrix[half], wanted, n_init=5, random_state=seed)
            labels.append([path.estimator(k).predict(matrix) for k in wanted])
        split[:] = [adjusted_rand_score(a, b) for a, b in zip(*labels, strict=True)]
    return agreement.mean(axis=0)


def agreement(data: DataSet, model) -> str:
    return f"{100 * adjusted_rand_score(data.labels, model.labels_):.1f}"


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
