"""K chosen by n_clusters="auto" on labelled data, and beside the whole path.

python benchmarks/auto.py ../shared/data ../shared/labelled --kept auto.jsonl \
    --output benchmarks/results/auto.md

Every .npz with labels in the folders is a data set, the smallest first; what the file
``--kept`` has is not measured again. ``--whole-path`` also makes the path of six
restarts for each K from 1 to 30, and shows how far the criterion of the chosen K is
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

OPTIONS = {"random_state": 0, "n_jobs": 1}
# Part of the gain beyond which an excess counts.
CLEAR = 1e-3


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="folders of .npz files")
    parser.add_argument("--kept", type=Path, help="JSON lines of what was measured")
    parser.add_argument("--whole-path", action="store_true", help="takes hours")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    files, kept = labelled_files(options.folders), Kept(options.kept)
    ways = {"auto": of_auto} | ({"whole path": of_path} if options.whole_path else {})
    for file in files:
        for way, measure in ways.items():
            if (file.stem, way) not in kept:
                kept[file.stem, way] = measure(read_file(file))
                say(f"{file.stem} {way} {kept[file.stem, way]}")
    report = Report(options.output)
    report.add('# K chosen by `n_clusters="auto"`')
    report.add(
        f"`python benchmarks/auto.py {' '.join(map(str, options.folders))}`: every "
        "labelled set, `random_state=0`, one thread. ARI × 100; *K alone*: whether "
        "`ThreeCPO(K)` gives the same labels; processor seconds."
    )
    found = {name: each for (name, way), each in kept.items() if way == "auto"}
    paths = {name: each for (name, way), each in kept.items() if way != "auto"}
    header = ["data", "K", "ARI", "K alone", "seconds"]
    rows = [
        [name, *line_of(found[name]), *excess_text(found[name], paths, name)]
        for name in sorted(found)
    ]
    report.add_table([*header, *(["excess"] if paths else [])], rows)
    report.add(summary(found, paths))
    report.write()


def of_auto(data: DataSet) -> dict:
    """Return what auto finds, and whether its K alone gives the same labels."""
    before = time.process_time()
    model = ThreeCPO("auto", **OPTIONS).fit(data.matrix)
    seconds = time.process_time() - before
    asked = model.record_.settings.n_clusters
    alone = ThreeCPO(asked, **OPTIONS).fit(data.matrix)
    known = data.labels >= 0
    return {
        "k": model.n_clusters_,
        "asked": asked,
        "ari": float(adjusted_rand_score(data.labels[known], model.labels_[known])),
        "same": np.array_equal(model.labels_, alone.labels_),
        "seconds": round(seconds, 2),
    }


def of_path(data: DataSet) -> dict:
    """Return the criterion of every K, and what the best of them gains."""
    wanted = range(1, min(30, data.matrix.shape[0]) + 1)
    path = select_n_clusters(data.matrix, wanted, n_init=6, **OPTIONS)
    totals = dict(zip(map(str, path.n_clusters), path.totals, strict=True))
    return {"gain": path.choice.gain, "totals": totals}


def line_of(found: dict) -> list[str]:
    alone = "yes" if found["same"] else "no"
    seconds = f"{found['seconds']:.2f}"
    return [str(found["k"]), f"{100 * found['ari']:.1f}", alone, seconds]


def excess_of(found: dict, path: dict) -> float:
    """How far a number of clusters is above the best of a whole path, of its gain."""
    totals = path["totals"]
    return (totals[str(found["asked"])] - min(totals.values())) / (path["gain"] or 1.0)


def excess_text(found: dict, paths: dict[str, dict], name: str) -> list[str]:
    """The column of the excess, which is there if any whole path was made."""
    if not paths:
        return []
    return [f"{100 * excess_of(found, paths[name]):.2f}" if name in paths else ""]


def summary(found: dict[str, dict], paths: dict[str, dict]) -> str:
    mean = 100 * np.mean([each["ari"] for each in found.values()])
    seconds = sum(each["seconds"] for each in found.values())
    text = f"{len(found)} sets: mean ARI {mean:.2f}, {seconds:.0f} processor seconds."
    if paths:
        excess = np.array([excess_of(found[n], paths[n]) for n in found if n in paths])
        text += (
            " *Excess*: how far the criterion of K is above the best of the whole "
            f"path, in percent of the gain of that; above {100 * CLEAR:.1f} on "
            f"{(excess > CLEAR).sum()} of {len(excess)}."
        )
    return text


if __name__ == "__main__":
    main()
