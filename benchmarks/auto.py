"""n_clusters="auto" beside the whole path: the criterion, K, ARI and processor time.

python benchmarks/auto.py ../shared/data ../shared/labelled --kept auto.jsonl \
    --output benchmarks/results/auto.md

The whole path has six runs for each K from 1 to 30. It is made with two seeds: how far
the second is from the first is what chance does. Every .npz with labels in the folders
is a data set, the smallest first; what the file ``--kept`` has is not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from _common import DataSet, Report, say
from robust import load, read_kept
from threecpo import KPath, ThreeCPO, select_n_clusters
from threecpo.select._poisson import reference, scaled

# Parts of the gain that are no difference.
CLEAR = 1e-3
WAYS = ("auto", "whole path", "other seed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="folders of .npz files")
    parser.add_argument("--kept", type=Path, help="JSON lines of what was measured")
    parser.add_argument("--output", type=Path, help="Markdown file to write")
    parser.add_argument("--only-report", action="store_true", help="measure nothing")
    options = parser.parse_args()
    files = sorted(
        (file for folder in options.folders for file in folder.glob("*.npz")),
        key=lambda file: file.stat().st_size,
    )
    kept = read_kept(options.kept)
    for file in files if not options.only_report else ():
        if (file.stem, WAYS[0]) in kept:
            continue
        data = load(file)
        paths, seconds = measured(data)
        for way, found in lines(data, paths, seconds).items():
            kept[file.stem, way] = found
            say(f"{file.stem} {way} {found}")
            if options.kept is not None:
                with options.kept.open("a", encoding="utf-8") as out:
                    print(json.dumps([file.stem, way, found]), file=out)
    report = Report(options.output)
    report.add('# `n_clusters="auto"` beside the whole path')
    report.add(
        "The criterion of the chosen fit is measured with the dispersions that the "
        "whole path ends with; *excess* is what it is above the best of the whole "
        "path, in percent of the gain of that. *Other seed* is the whole path once "
        "more, with another seed. Processor seconds, one thread. ARI × 100."
    )
    report.add_table(*table(kept, sorted(file.stem for file in files)))
    report.add(summary(kept))
    report.write()


def measured(data: DataSet) -> tuple[dict[str, KPath], dict[str, float]]:
    """Return the three paths, and the processor seconds of each."""
    makers = {
        "auto": lambda: ThreeCPO("auto", random_state=0, n_jobs=1).fit(data.matrix),
        "whole path": lambda: whole_path(data, 0),
        "other seed": lambda: whole_path(data, 1),
    }
    paths, seconds = {}, {}
    for way, make in makers.items():
        before = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = make()
        seconds[way] = time.process_time() - before
        paths[way] = getattr(made, "k_path_", made)
    return paths, seconds


def whole_path(data: DataSet, seed: int) -> KPath:
    largest = min(30, data.matrix.shape[0])
    return select_n_clusters(
        data.matrix, range(1, largest + 1), n_init=6, random_state=seed, n_jobs=1
    )


def lines(
    data: DataSet, paths: dict[str, KPath], seconds: dict[str, float]
) -> dict[str, dict]:
    whole = paths["whole path"]
    units = reference(whole._ordered()).dispersions
    best, gain = whole.totals.min(), whole.choice.gain
    known = data.labels >= 0
    found = {}
    for way, path in paths.items():
        fit = path._best()
        (value,) = scaled([fit], units)
        found[way] = {
            "k": path.best_k,
            "n_tried": len(path.n_clusters),
            "excess": float((value - best) / gain) if gain > 0 else 0.0,
            "loss": fit.loss,
            "ari": float(adjusted_rand_score(data.labels[known], fit.labels[known])),
            "seconds": round(seconds[way], 2),
        }
    return found


def table(kept: dict, names: list[str]):
    rows = []
    for name in names:
        if (name, WAYS[0]) not in kept:
            continue
        auto, whole, other = (kept[name, way] for way in WAYS)
        rows.append(
            [
                name,
                f"{whole['k']}",
                f"{other['k']}",
                f"{auto['k']}",
                f"{100 * other['excess']:+.2f}",
                f"{100 * auto['excess']:+.2f}",
                *(f"{100 * each['ari']:.1f}" for each in (whole, other, auto)),
                f"{whole['seconds']:.2f}",
                f"{auto['seconds']:.2f}",
                f"{auto['n_tried']}",
            ]
        )
    header = ["data", "K", "other seed", "auto", "excess, other seed", "auto"]
    header += ["ARI", "other seed", "auto", "seconds", "auto", "K tried by auto"]
    return header, rows


def summary(kept: dict) -> str:
    names = sorted({name for name, _ in kept})
    text = []
    for way in WAYS:
        found = [kept[name, way] for name in names]
        above = [n for n in names if kept[n, way]["excess"] > CLEAR]
        text.append(
            f"- **{way}**: mean ARI {100 * np.mean([f['ari'] for f in found]):.2f}, "
            f"median excess {100 * np.median([f['excess'] for f in found]):.3f} %, "
            f"{sum(f['seconds'] for f in found):.0f} processor seconds; more than "
            f"{100 * CLEAR:.1f} % above on {len(above)} of {len(names)} sets"
            + (f": {', '.join(above)}." if above else ".")
        )
    same = sum(kept[n, WAYS[0]]["k"] == kept[n, WAYS[1]]["k"] for n in names)
    near = sum(abs(kept[n, WAYS[0]]["k"] - kept[n, WAYS[1]]["k"]) <= 1 for n in names)
    text.append(
        f"- K of auto is that of the whole path on {same} sets, within 1 on {near}."
    )
    return "\n".join(text)


if __name__ == "__main__":
    main()
