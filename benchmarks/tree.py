"""Measure the tree on every data set.

    python benchmarks/tree.py --data ../shared/data

writes tree.md in benchmarks/results; with ``--chosen`` instead
tree-chosen.md, which has fits of the chosen number of clusters. Data sets
are files as in the tests: a CSR matrix with ``labels``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from threecpo import CountTable, ThreeCPO

RESULTS = Path(__file__).parent / "results"


def load(path: Path) -> tuple[CountTable, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        parts = file["data"].astype(float), file["indices"], file["indptr"]
        return CountTable(sp.csr_array(parts, shape=tuple(file["shape"]))), file[
            "labels"
        ]


def timed(function):
    before = time.perf_counter()
    found = function()
    return found, time.perf_counter() - before


def of_the_tree(table: CountTable, true: np.ndarray) -> str:
    k = int(true.max()) + 1
    direct, fit_time = timed(lambda: ThreeCPO(k, random_state=0).fit(table))
    fine = ThreeCPO(2 * k, random_state=0).fit(table)
    _, tree_time = timed(lambda: fine.tree_)
    cut, cut_time = timed(lambda: fine.cut(k))
    _, merge_time = timed(lambda: fine.merge([[0, 1]]))
    refined, refine_time = timed(lambda: fine.cut(k, X=table))
    scores = [
        100 * adjusted_rand_score(true, model.labels_)
        for model in (direct, cut, refined)
    ]
    times = 1e3 * np.array([fit_time, tree_time, cut_time, merge_time, refine_time])
    cells = [f"{k}", *(f"{x:.1f}" for x in scores), *(f"{x:.1f}" for x in times)]
    return " | ".join(cells)


def of_the_chosen(table: CountTable, true: np.ndarray) -> str:
    k = int(true.max()) + 1
    model = ThreeCPO("auto", random_state=0).fit(table)
    direct = model.k_path_.estimator(k)
    cut = model.cut(k) if model.n_clusters_ >= k else None
    scores = [
        "" if each is None else f"{100 * adjusted_rand_score(true, each.labels_):.1f}"
        for each in (direct, model, cut)
    ]
    return " | ".join([f"{k}", f"{model.n_clusters_}", *scores])


def write(name: str, title: str, head: str, lines: list[str], notes: list[str]) -> None:
    rule = " | ".join(["---"] * (head.count("|") + 1))
    table = [f"| {line} |" for line in (head, rule, *lines)]
    text = "\n".join([f"# {title}", "", *table, "", *notes, ""])
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", help="names of data sets")
    parser.add_argument("--chosen", action="store_true", help="fits of chosen K")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tree, chosen = [], []
    paths = sorted(options.data.glob("*.npz"), key=lambda path: path.stat().st_size)
    for path in paths:
        if options.only and path.stem not in options.only:
            continue
        table, true = load(path)
        if options.chosen:
            chosen.append(f"{path.stem} | {of_the_chosen(table, true)}")
            print(chosen[-1], flush=True)
            head = "data | true K | chosen K | ARI direct | ARI chosen | ARI of cut(K)"
            note = "ARI times 100; cut(K) only where the chosen K is at least the true."
            write("tree-chosen", "Cutting a fit of chosen K", head, chosen, [note])
            continue
        tree.append(f"{path.stem} | {of_the_tree(table, true)}")
        print(tree[-1], flush=True)
        write(
            "tree",
            "Cutting a fit at twice the true K",
            "data | K | ARI direct | ARI of cut(K) | with X | fit ms | tree ms | cut ms"
            " | merge ms | cut with X ms",
            tree,
            ["ARI times 100 with the true classes; seed 0. Times on two shared cores."],
        )


if __name__ == "__main__":
    main()
