"""Measure the tree and the confidence in rows on every data set.

    python benchmarks/tree_and_confidence.py --data ../shared/data

writes tree.md and confidence.md in benchmarks/results; with ``--chosen`` instead
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
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from threecpo import CountTable, ThreeCPO
from threecpo._core import confidence
from threecpo._core.workers import Workers

RESULTS = Path(__file__).parent.parent / "docs" / "results"
BINS = 15
N_POISSON = 4000


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


def calibration_error(sure: np.ndarray, right: np.ndarray) -> float:
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, sure - right, BINS)
    return float(np.abs(gaps).sum() / len(sure))


def of_the_tree(table: CountTable, true: np.ndarray) -> tuple[str, ThreeCPO]:
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
    return " | ".join(cells), direct


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


def of_the_confidence(model: ThreeCPO, table: CountTable, true: np.ndarray) -> str:
    labels, k = model.labels_, int(true.max()) + 1
    named = [
        np.bincount(true[labels == c], minlength=k).argmax()
        for c in range(model.n_clusters_)
    ]
    right = np.array(named)[labels] == true
    before = confidence.probabilities(model.row_scores(table), 1.0)
    record = model.record_
    with Workers(2) as workers:
        args = record.labels_of_rates, record.smoothed, record.groups
        found, seconds = timed(
            lambda: confidence.left_out_scores(table.counts, *args, workers)
        )
    by_pair = pair_probabilities(found, record)
    cells = [f"{right.mean():.3f}", f"{model.temperature_:.2f}"]
    for each in (before, model.probabilities_, by_pair):
        sure = each[np.arange(len(labels)), labels]
        auc = np.nan if right.all() else roc_auc_score(right, sure)
        mean, error = sure.mean(), calibration_error(sure, right)
        cells.append(f"{mean:.3f} | {error:.3f} | {auc:.3f}")
    cells.append(f"{1e3 * seconds:.0f}")
    return " | ".join(cells)


def pair_probabilities(found, record) -> np.ndarray:
    """What a T of its own for each pair of clusters would give."""
    measured, expected = confidence.pair_sums(found, record.smoothed, record.groups)
    known = expected > 0
    ratio = measured / np.where(known, expected, 1.0)
    t = np.where(known, np.maximum(1.0, ratio), record.confidence.temperature)
    owner = np.where(found.owner < 0, 0, found.owner)
    own = found.scores[np.arange(len(owner)), owner][:, None]
    return confidence.probabilities((found.scores - own) / t[owner], 1.0)


def poisson_ratios(n_clusters: int, seeds: int = 20) -> list[float]:
    """T before it is raised to 1, of fits to Poisson counts."""
    ratios = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        shares = rng.dirichlet(np.full(40, 3.0), size=n_clusters)
        sizes = rng.gamma(10.0, 10.0, (N_POISSON, 1))
        Y = rng.poisson(sizes * shares[rng.integers(n_clusters, size=N_POISSON)])
        table = CountTable(Y)
        record = ThreeCPO(n_clusters, random_state=0).fit(table).record_
        args = record.labels_of_rates, record.smoothed, record.groups
        with Workers(1) as workers:
            found = confidence.left_out_scores(table.counts, *args, workers)
        ratios.append(confidence.dispersion_ratio(found, *args[1:]))
    return ratios


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
    tree, sure, chosen = [], [], []
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
        line, model = of_the_tree(table, true)
        tree.append(f"{path.stem} | {line}")
        sure.append(f"{path.stem} | {of_the_confidence(model, table, true)}")
        print(tree[-1], sure[-1], sep="\n", flush=True)
        write(
            "tree",
            "Cutting a fit at twice the true K",
            "data | K | ARI direct | ARI of cut(K) | with X | fit ms | tree ms | cut ms"
            " | merge ms | cut with X ms",
            tree,
            ["ARI times 100 with the true classes; seed 0. Times on two shared cores."],
        )
        write_confidence(sure, [])
    if options.chosen:
        return
    notes = []
    for k in (2, 3, 5, 10):
        ratios = poisson_ratios(k)
        notes.append(
            f"- {k} clusters: {min(ratios):.3f} to {max(ratios):.3f}, mean "
            f"{np.mean(ratios):.3f}"
        )
        print(notes[-1], flush=True)
    write_confidence(sure, notes)


def write_confidence(lines: list[str], poisson: list[str]) -> None:
    columns = [
        f"{w} {x}"
        for w in ("softmax", "T", "T by pair")
        for x in ("mean", "ECE", "AUC")
    ]
    notes = [
        "Mean confidence in the own cluster, its calibration error (15 bins, clusters",
        "named by the majority of their rows) and the area under the curve of",
        "confidence against being in that majority: for the bare softmax of the",
        "scores, for `probabilities_`, and with a T of its own for each pair of",
        "clusters, which is not used: it is worse where clusters overlap most.",
    ]
    if poisson:
        notes += [
            "",
            "On 4000 rows of Poisson counts T before it is raised to 1, over 20 seeds:",
            "",
            *poisson,
            "",
            "With more than two clusters it is below 1: a row is compared with the",
            "best of all other clusters, and the least of several differences varies",
            "less than each of them does.",
        ]
    head = f"data | right | T | {' | '.join(columns)} | ms"
    write("confidence", "How sure a row's cluster is", head, lines, notes)


if __name__ == "__main__":
    main()
