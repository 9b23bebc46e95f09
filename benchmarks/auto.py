"""K chosen by n_clusters="auto" on labelled data, and beside the whole path.

python benchmarks/auto.py ../shared/data ../shared/labelled --kept auto.jsonl \
    --output benchmarks/results/auto.md

Every .npz with labels in the folders is a data set, the smallest first; what the file
``--kept`` has is not measured again. ``--whole-path`` also makes the path of six
restarts for each K from 1 to 30, and shows how far the criterion of what auto finds is
above its best.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from _common import DataSet, Kept, Report, labelled_files, parser_of, read_file, say
from threecpo import ThreeCPO, select_n_clusters
from threecpo.select._poisson import reference, scaled

OPTIONS = {"random_state": 0, "n_jobs": 1}
# Part of the gain beyond which an excess counts.
CLEAR = 1e-3
CAVEATS = """
Two answers can each hold with the dispersions of their own fit (oldfrench_genre: 2 and
3). Which one is found depends on single optima, and the excess of the other is large.

How many restarts each K gets was settled with scores of most of these sets in view, so
the figures flatter it a little.
"""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="folders of .npz files")
    parser.add_argument("--kept", type=Path, help="JSON lines of what was measured")
    parser.add_argument("--whole-path", action="store_true", help="half an hour")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    files, kept = labelled_files(options.folders), Kept(options.kept)
    for file in files:
        if (file.stem,) not in kept:
            kept[file.stem,] = measured(read_file(file), whole=options.whole_path)
            say(f"{file.stem} {kept[file.stem,]}")
    report = Report(options.output)
    report.add('# K chosen by `n_clusters="auto"`')
    folders = " ".join(map(str, options.folders))
    report.add(
        f"`python benchmarks/auto.py {folders} --whole-path`: every labelled set, "
        "`random_state=0`, one thread of a shared machine. ARI × 100; *K alone*: "
        "whether `ThreeCPO(K)` gives the same labels; processor seconds; *excess*: how "
        "far the criterion of the fit, with the dispersions of the whole path (six "
        "restarts for each K from 1 to 30), is above the best of that path, in percent "
        "of the gain of that."
    )
    found = {name: each for (name,), each in sorted(kept.items())}
    header = ["data", "K", "ARI", "K alone", "seconds", "excess", "best K of the path"]
    report.add_table(header, [[name, *line_of(each)] for name, each in found.items()])
    report.add(summary(list(found.values())))
    report.add(CAVEATS)
    report.write()


def measured(data: DataSet, *, whole: bool) -> dict:
    """Return what auto finds, whether its K alone gives the same labels, and excess."""
    before = time.process_time()
    model = ThreeCPO("auto", **OPTIONS).fit(data.matrix)
    seconds = time.process_time() - before
    asked = model.record_.settings.n_clusters
    alone = ThreeCPO(asked, **OPTIONS).fit(data.matrix)
    known = data.labels >= 0
    found = {
        "k": model.n_clusters_,
        "ari": float(adjusted_rand_score(data.labels[known], model.labels_[known])),
        "same": np.array_equal(model.labels_, alone.labels_),
        "seconds": round(seconds, 2),
    }
    if whole:
        wanted = range(1, min(30, data.matrix.shape[0]) + 1)
        path = select_n_clusters(data.matrix, wanted, n_init=6, **OPTIONS)
        units = reference(path._ordered()).dispersions
        (value,) = scaled([model.k_path_._best()], units)
        above = float(value - path.totals.min())
        found |= {"excess": above / (path.choice.gain or 1.0), "whole k": path.best_k}
    return found


def line_of(found: dict) -> list[str]:
    alone = "yes" if found["same"] else "no"
    line = [str(found["k"]), f"{100 * found['ari']:.1f}", alone]
    line.append(f"{found['seconds']:.2f}")
    if "excess" not in found:
        return [*line, "", ""]
    return [*line, f"{100 * found['excess']:.2f}", str(found["whole k"])]


def summary(found: list[dict]) -> str:
    mean = 100 * np.mean([each["ari"] for each in found])
    seconds = sum(each["seconds"] for each in found)
    excess = np.array([each["excess"] for each in found if "excess" in each])
    return (
        f"{len(found)} sets: mean ARI {mean:.2f}, {seconds:.0f} processor seconds; an "
        f"excess above {100 * CLEAR:.1f} on {(excess > CLEAR).sum()} of {len(excess)}."
    )


if __name__ == "__main__":
    main()
