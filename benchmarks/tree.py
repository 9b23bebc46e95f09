"""Cuts of fits of twice the true K, and of fits of chosen K, on every data set.

python benchmarks/tree.py ../shared/data --output benchmarks/results/tree.md
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.metrics import adjusted_rand_score

from _common import DataSet, Report, labelled_files, parser_of, read_file, say
from threecpo import ThreeCPO

if TYPE_CHECKING:
    from collections.abc import Callable

INTRODUCTION = """\
# Cutting a fit

`python benchmarks/tree.py ../shared/data`. ARI × 100 with the true classes, seed 0.

A fit of twice the true K, cut at K; *with X* refits the cut; milliseconds:"""


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    before = time.perf_counter()
    found = function()
    return found, 1e3 * (time.perf_counter() - before)


def score(data: DataSet, model: ThreeCPO) -> str:
    return f"{100 * adjusted_rand_score(data.labels, model.labels_):.1f}"


def of_twice(data: DataSet) -> list[object]:
    k, X = data.n_clusters, data.matrix
    direct, fit_time = timed(lambda: ThreeCPO(k, random_state=0).fit(X))
    fine = ThreeCPO(2 * k, random_state=0).fit(X)
    _, tree_time = timed(lambda: fine.tree_)
    cut, cut_time = timed(lambda: fine.cut(k))
    _, merge_time = timed(lambda: fine.merge([[0, 1]]))
    refined, refine_time = timed(lambda: fine.cut(k, X=X))
    times = fit_time, tree_time, cut_time, merge_time, refine_time
    scores = [score(data, model) for model in (direct, cut, refined)]
    return [data.name, k, *scores, *(f"{each:.1f}" for each in times)]


def of_chosen(data: DataSet) -> list[object]:
    k = data.n_clusters
    model = ThreeCPO("auto", random_state=0).fit(data.matrix)
    cut = score(data, model.cut(k)) if model.n_clusters_ >= k else ""
    direct = model.k_path_.estimator(k)
    scores = score(data, direct), score(data, model), cut
    return [data.name, k, model.n_clusters_, *scores]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="folders of .npz files")
    parser.add_argument("--only", nargs="*", help="names of data sets")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    twice, chosen = [], []
    for path in labelled_files(options.folders):
        if options.only and path.stem not in options.only:
            continue
        data = read_file(path)
        twice.append(of_twice(data))
        chosen.append(of_chosen(data))
        say(f"{twice[-1]} {chosen[-1]}")
    report = Report(options.output)
    report.add(INTRODUCTION)
    header = ["data", "K", "ARI direct", "ARI of cut(K)", "with X", "fit ms", "tree ms"]
    report.add_table([*header, "cut ms", "merge ms", "cut with X ms"], twice)
    report.add("A fit of chosen K, cut at the true K where the chosen K is as large:")
    header = ["data", "true K", "chosen K", "ARI direct", "ARI chosen", "ARI of cut(K)"]
    report.add_table(header, chosen)
    report.write()


if __name__ == "__main__":
    main()
