"""Seconds and memory of the co-clustering estimators, as one Markdown table.

    python benchmarks/cocluster.py
    python benchmarks/cocluster.py --datasets synthetic --methods TauCC

Ten restarts each, one for TauCC, every fit in a process of its own. Beside them stand
times of the original programs, measured elsewhere on another table of the same shape
(2225 x 2000, 165 000 non-zeros; ELBM and SELBM: times of one run, ten times over).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from _common import DataSet, Report, add_data_option, load, missing_data, say
from _fit import forget_peak, memory

ORIGINALS = {
    "CROINFO": "2.5-5.2",
    "CoclustMod": "3.8-8.4",
    "CoclustSpecMod": "1.7-4.5",
    "ELBM model": "",
    "ELBM code": "165",
    "SELBM model": "",
    "SELBM code": "268",
    "TauCC": "0.2-1.5",
}
DATASETS = ("synthetic", "bbcnews", "newsgroups20")


def synthetic(seed: int = 0) -> DataSet:
    """Text of five topics: Zipf's words, every topic with favourites of its own."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns, n_topics = 2225, 2000, 5
    labels = rng.integers(n_topics, size=n_rows)
    favourite = rng.integers(n_topics, size=n_columns)
    base = 1.0 / (10.0 + rng.permutation(n_columns))
    lengths = rng.lognormal(np.log(80.0), 0.5, size=n_rows)
    parts = []
    for length, label in zip(lengths, labels, strict=True):
        weights = base * np.where(favourite == label, 4.0, 1.0)
        parts.append(sp.csr_array(rng.poisson(length * weights / weights.sum())[None]))
    matrix = sp.csr_array(sp.vstack(parts), dtype=np.float64)
    return DataSet("synthetic", matrix, labels)


def data_set(folder: Path, name: str) -> DataSet:
    return synthetic() if name == "synthetic" else load(folder, name)


def estimator(method: str, n_clusters: int):
    from paper import cocluster

    name, _, variant = method.partition(" ")
    name = "CoclustInfo" if name == "CROINFO" else name
    options = {"variant": variant} if variant else {}
    n_init = 1 if name == "TauCC" else 10
    made = getattr(cocluster, name)
    return made(n_clusters, n_init=n_init, random_state=0, **options)


def fit_here(folder: Path, name: str, method: str) -> None:
    """Fit once and print what it took as JSON."""
    from sklearn.metrics import adjusted_rand_score

    data = data_set(folder, name)
    model = estimator(method, data.n_clusters)
    forget_peak()
    start = time.perf_counter()
    model.fit(data.matrix)
    seconds = time.perf_counter() - start
    out = {
        "seconds": seconds,
        "peak": memory("VmHWM"),
        "agreement": adjusted_rand_score(data.labels, model.labels_),
    }
    print(json.dumps(out))


def fit_in_child(folder: Path, name: str, method: str) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).resolve()), "--data", str(folder)]
    command += ["--datasets", name, "--methods", method, "--here"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_data_option(parser)
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=DATASETS)
    parser.add_argument(
        "--methods", nargs="+", choices=ORIGINALS, default=list(ORIGINALS)
    )
    parser.add_argument("--output", type=Path, help="also write the table here")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        fit_here(options.data, options.datasets[0], options.methods[0])
        return
    report = Report(options.output)
    needed = [name for name in options.datasets if name != "synthetic"]
    message = missing_data(options.data, needed)
    if message:
        sys.exit(message)
    header = ["method", "originals, like synthetic, s"]
    for name in options.datasets:
        header += [f"{name} s", "peak MB", "ARI"]
    rows = []
    for method in options.methods:
        row = [method, ORIGINALS[method]]
        for name in options.datasets:
            say(f"{method} on {name} …")
            fit = fit_in_child(options.data, name, method)
            row += [f"{fit['seconds']:.2f}", f"{fit['peak']:.0f}"]
            row.append(f"{fit['agreement']:.2f}")
        rows.append(row)
    report.add_table(header, rows)
    report.write()


if __name__ == "__main__":
    main()
