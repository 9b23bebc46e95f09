"""Seconds and memory of the co-clustering estimators, as one Markdown table.

    python benchmarks/cocluster.py
    python benchmarks/cocluster.py --datasets synthetic --methods TauCC

Ten restarts each, one for TauCC, every fit in a process of its own. Beside them stand
times of the original programs, measured elsewhere on another table of the same shape
(2225 x 2000, 165 000 non-zeros; ELBM and SELBM: times of one run, ten times over).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from _common import HERE, Report, in_child, missing_data, parser_of, read_file, say

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


def write_synthetic(path: Path) -> None:
    """Text of five topics: Zipf's words, every topic with favourites of its own."""
    rng = np.random.default_rng(0)
    n_rows, n_columns, n_topics = 2225, 2000, 5
    labels = rng.integers(n_topics, size=n_rows)
    favourite = rng.integers(n_topics, size=n_columns)
    base = 1.0 / (10.0 + rng.permutation(n_columns))
    lengths = rng.lognormal(np.log(80.0), 0.5, size=n_rows)
    rows = []
    for length, label in zip(lengths, labels, strict=True):
        weights = base * np.where(favourite == label, 4.0, 1.0)
        rows.append(rng.poisson(length * weights / weights.sum()))
    np.savez(path, X=np.array(rows, dtype=float), labels=labels)


def fitted(file: Path, method: str) -> list[str]:
    """Seconds, peak memory and agreement with the labels."""
    data, n_init = read_file(file), 1 if method == "TauCC" else 10
    words = ("cocluster", method, file, data.n_clusters, n_init, 0)
    found = in_child(HERE / "_fit.py", *words)
    ari = adjusted_rand_score(data.labels, found["labels"])
    return [f"{found['seconds']:.2f}", f"{found['peak']:.0f}", f"{ari:.2f}"]


def main() -> None:
    parser = parser_of(__doc__, data=True)
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=DATASETS)
    parser.add_argument("--methods", nargs="+", choices=ORIGINALS, default=ORIGINALS)
    options = parser.parse_args()
    if message := missing_data(options.data, {*options.datasets} - {"synthetic"}):
        parser.error(message)
    report = Report(options.output)
    rows = [[method, ORIGINALS[method]] for method in options.methods]
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "synthetic.npz")
        write_synthetic(made)
        for name in options.datasets:
            file = made if name == "synthetic" else options.data / f"{name}.npz"
            for row in rows:
                say(f"{row[0]} on {name} …")
                row.extend(fitted(file, row[0]))
    header = ["method", "originals, like synthetic, s"]
    for name in options.datasets:
        header += [f"{name} s", "peak MB", "ARI"]
    report.add_table(header, rows)
    report.write()


if __name__ == "__main__":
    main()
