"""Runs until two agree (``n_init="auto"``) beside a fixed number of runs.

python benchmarks/runs_until_agreed.py --datasets bbcsports optdigits
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from _common import (
    DATA,
    DataSet,
    Report,
    add_data_option,
    load,
    missing_data,
    say,
)
from threecpo import ThreeCPO

ALL_DATA = (*DATA, "classic3")


@dataclass
class Outcome:
    losses: list[float]
    ari: list[float]
    runs: list[int]
    seconds: list[float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("--datasets", nargs="+", default=ALL_DATA, choices=ALL_DATA)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, help="Markdown file to write")
    options = parser.parse_args()
    missing = missing_data(options.data, options.datasets)
    if missing:
        parser.error(missing)
    rows, ratios = [], []
    for name in options.datasets:
        data = load(options.data, name)
        ThreeCPO(2, n_init=1, random_state=0).fit(data.matrix)  # compiles
        six, auto = (outcome(data, n, options.seeds) for n in (6, "auto"))
        lowest = min(six.losses + auto.losses)
        ratios.append(sum(auto.seconds) / sum(six.seconds))
        rows += [
            line(name, "6", six, lowest, 1.0),
            line(name, "auto", auto, lowest, ratios[-1]),
        ]
        say(" | ".join(map(str, rows[-2] + rows[-1])))
    report = Report(options.output)
    report.add(
        f"{options.seeds} seeds, true K, one thread, processor time. *above*: mean "
        "loss above the lowest that either found. ARI times 100."
    )
    header = ["data", "n_init", "runs", "mean loss", "above", "ARI", "seconds"]
    report.add_table([*header, "times 6 runs"], rows)
    report.add(f"Median of the last column for auto: {np.median(ratios):.2f}.")
    report.write()


def outcome(data: DataSet, n_init: int | str, n_seeds: int) -> Outcome:
    found = Outcome([], [], [], [])
    for seed in range(n_seeds):
        model = ThreeCPO(data.n_clusters, n_init=n_init, random_state=seed, n_jobs=1)
        before = time.process_time()
        model.fit(data.matrix)
        found.seconds.append(time.process_time() - before)
        found.losses.append(model.loss_)
        found.ari.append(adjusted_rand_score(data.labels, model.labels_))
        found.runs.append(len(model.restart_losses_))
    return found


def line(
    name: str, n_init: str, found: Outcome, lowest: float, ratio: float
) -> list[object]:
    return [
        name,
        n_init,
        ", ".join(map(str, found.runs)),
        f"{np.mean(found.losses):.1f}",
        f"{np.mean(found.losses) - lowest:.1f}",
        f"{100 * np.mean(found.ari):.1f}",
        f"{np.mean(found.seconds):.3f}",
        f"{ratio:.2f}",
    ]


if __name__ == "__main__":
    main()
