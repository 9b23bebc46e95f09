"""The methods that the paper compares with: speed, memory, parity.

    python benchmarks/baselines.py --only speed parity --clustpy-python PATH

Sections: speed (PoissonL, PoissonC and SKM beside clustpy's), parity (both programs
from the same start), memory (every method on 20Newsgroups, each in a process of its
own). Their results stand beside the paper's in paper/results.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import adjusted_rand_score

from _common import HERE, Report, in_child, load, missing_data, parser_of, say
from paper import methods
from paper.kmeans import cosine
from paper.poisson import PoissonC, PoissonL
from threecpo._core import seeding
from threecpo._core.kmeans import lloyd
from threecpo._core.workers import Workers
from threecpo._validation import check_counts

if TYPE_CHECKING:
    import argparse

SETS = ("wholesales", "sporta", "bbcsports", "bbcnews", "newsgroups20")
PEERS = ("PoissonL", "PoissonC", "SKM")
SCRIPT = HERE / "_fit.py"


def speed(options: argparse.Namespace, report: Report) -> None:
    if not options.clustpy_python:
        report.add("Left out: no interpreter with clustpy (--clustpy-python).")
        return
    path, rows = options.data / "bbcnews.npz", []
    n_clusters = load(options.data, "bbcnews").n_clusters
    for method in PEERS:
        words = (method, path, n_clusters, 10, 0)
        ours = median(
            in_child(SCRIPT, "threecpo", *words)["seconds"]
            for _ in range(options.repeats)
        )
        theirs = in_child(SCRIPT, "clustpy", *words, python=options.clustpy_python)[
            "seconds"
        ]
        rows.append([method, f"{ours:.3f}", f"{theirs:.1f}", f"{theirs / ours:.0f}×"])
        say(f"{method}: {rows[-1]}")
    report.add("BBCNews, 10 restarts:")
    report.add_table(["method", "threecpo s", "clustpy s", "faster"], rows)


def parity(options: argparse.Namespace, report: Report) -> None:
    """Both programs from the same start, their labels scored by one formula."""
    if not options.clustpy_python:
        return
    rows = []
    for name in SETS[:4]:
        data = load(options.data, name)
        counts, K = check_counts(data.matrix), data.n_clusters
        for method in PEERS:
            rng = np.random.default_rng(0)
            start, own = start_and_labels(method, counts, K, rng)
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "start.npy"
                np.save(file, start)
                words = (method, options.data / f"{name}.npz", K, 1, 0, file)
                found = in_child(
                    SCRIPT, "clustpy", *words, python=options.clustpy_python
                )
            peer = np.array(found["labels"])
            losses = [loss_of(method, data.matrix, one) for one in (own, peer)]
            same = adjusted_rand_score(own, peer)
            away = abs(losses[0] - losses[1]) / abs(losses[1])
            rows.append([name, method, *(f"{x:.6f}" for x in losses)])
            rows[-1] += [f"{away:.1e}", f"{same:.4f}"]
            say(f"{rows[-1]}")
    header = [
        "data set",
        "method",
        "loss threecpo",
        "loss clustpy",
        "relative difference",
    ]
    report.add("The same start for both; losses by one formula from the final labels:")
    report.add_table([*header, "ARI of both"], rows)


def start_and_labels(method, counts, n_clusters, rng):
    workers = Workers(1)
    if method == "SKM":
        rows = counts.scaled(2)
        start = seeding.k_means(rows)(rng, n_clusters)
        return start, lloyd(rows, start, n_clusters, workers, rule=cosine).labels
    kind = PoissonL if method == "PoissonL" else PoissonC
    start = seeding.random_labels(counts)(rng, n_clusters)
    return start, kind(n_clusters, init=start).fit(counts.matrix()).labels_


def loss_of(method: str, matrix, labels) -> float:
    X = matrix.toarray() + (0.0 if method == "SKM" else 1e-3)
    if method == "SKM":
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
        sums = np.array([X[labels == k].sum(axis=0) for k in np.unique(labels)])
        return float(len(X) - np.linalg.norm(sums, axis=1).sum())
    total = 0.0
    for k in np.unique(labels):
        mine = X[labels == k]
        sums = mine.sum(axis=0)
        mu = np.outer(mine.sum(axis=1), sums / sums.sum())
        total -= float((mine * np.log(mu) - mu).sum())
    return total


def memory(options: argparse.Namespace, report: Report) -> None:
    path, rows = options.data / "newsgroups20.npz", []
    for method in options.methods or methods():
        found = in_child(SCRIPT, "threecpo", method, path, 20, 2, 0)
        rows.append([method, f"{found['seconds']:.1f}", f"{found['peak']:.0f}"])
        say(f"{method}: {rows[-1]}")
    report.add("20Newsgroups (18846 × 2000), K = 20, 2 restarts, peak of the process:")
    report.add_table(["method", "seconds", "peak MB"], rows)


SECTIONS = {"speed": speed, "parity": parity, "memory": memory}


def main() -> int:
    parser = parser_of(__doc__, data=True)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--methods", nargs="+", choices=methods())
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--clustpy-python", default=os.environ.get("THREECPO_CLUSTPY_PYTHON")
    )
    options = parser.parse_args()
    message = missing_data(options.data, SETS)
    if message:
        say(message)
        return 1
    warnings.simplefilter("ignore")
    report = Report(options.output)
    for name in options.only:
        report.add(f"## {name.capitalize()}")
        SECTIONS[name](options, report)
    report.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
