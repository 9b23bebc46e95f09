"""Robust settings, and transformed counts: agreement with true classes, K known.

python benchmarks/robust.py ../shared/data ../shared/labelled --kept robust.jsonl

Every .npz with labels in the folders is a data set, the smallest first. What was
measured before, in the file ``--kept``, is not measured again; sets that were not
measured are named.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from _common import DataSet, Kept, Report, labelled_files, parser_of, read_file, say
from threecpo import ThreeCPO
from threecpo._parameters import ROBUST
from threecpo.preprocessing import SublinearCounts

PLAIN = "None"
SETTINGS = {
    "columns 10": {"columns": 10},
    "columns 20": {"columns": 20},
    "rows 3": {"rows": 3},
    "rows 5": {"rows": 5},
    "columns 10, rows 5": {"columns": 10, "rows": 5},
}
FUNCTIONS = ("log1p", "sqrt")
# A difference of ARI that is worth counting.
CLEAR = 0.05


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="folders of .npz files")
    parser.add_argument("--ways", nargs="+", default=[*SETTINGS])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kept", type=Path, help="JSON lines of what was measured")
    options = parser.parse_args()
    files, kept = labelled_files(options.folders), Kept(options.kept)
    for file in files:
        data = None
        for way in (PLAIN, *options.ways):
            if (file.stem, way) in kept:
                continue
            data = data or read_file(file)
            kept[file.stem, way] = found = measured(data, way, options.seed)
            say(f"{file.stem} {way} {found}")
    names = [file.stem for file in files]
    report = Report(options.output)
    report.add("# Robust settings on labelled sets")
    report.add(
        f"ARI × 100 of `ThreeCPO(K, random_state={options.seed})` with the true "
        "classes, K known, and what each setting of `robust` changes, in points. "
        f"`robust=True` is `{ROBUST}`."
    )
    report.add_table(*agreement(kept, names, options.ways))
    report.add(summary(kept, names, options.ways))
    report.add(
        "One seed a set; single differences of a few points are those of starts. "
        "`robust=True` is the setting with the largest mean here. It was chosen on "
        "these sets, so expect about half of its gain on others. The default is None, "
        "as clear losses are nearly as frequent as clear wins."
    )
    report.write()


def measured(data: DataSet, way: str, seed: int) -> dict:
    """ARI of one way, the columns and rows that it downweights, and seconds."""
    values = data.matrix
    if way in FUNCTIONS:
        values = SublinearCounts(way, table=True).transform(values)
    known = data.labels >= 0
    n_clusters = len(np.unique(data.labels[known]))
    model = ThreeCPO(n_clusters, random_state=seed, robust=SETTINGS.get(way), n_jobs=1)
    before = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(values)
    return {
        "ari": float(adjusted_rand_score(data.labels[known], model.labels_[known])),
        "columns": int((model.column_weights_ < 1).sum()),
        "rows": int((model.row_weights_ < 1).sum()),
        "seconds": round(time.perf_counter() - before, 2),
    }


def agreement(kept: dict, names: list[str], ways: list[str]):
    """ARI without, and what every way changes, in points."""
    rows = []
    for name in sorted(names):
        if (name, PLAIN) in kept:
            base = kept[name, PLAIN]["ari"]
            gains = [
                f"{100 * (kept[name, way]['ari'] - base):+.1f}"
                if (name, way) in kept
                else ""
                for way in ways
            ]
            rows.append([name, f"{100 * base:.1f}", *gains])
    return ["data", PLAIN, *ways], rows


def summary(kept: dict, names: list[str], ways: list[str]) -> str:
    """Means, wins and losses of every way, and what was not measured."""
    lines = []
    for way in ways:
        both = [n for n in names if (n, PLAIN) in kept and (n, way) in kept]
        gains = np.array([kept[n, way]["ari"] - kept[n, PLAIN]["ari"] for n in both])
        if not len(gains):
            continue
        touched = sum(kept[n, way]["columns"] + kept[n, way]["rows"] > 0 for n in both)
        lines.append(
            f"- **{way}**: mean {100 * gains.mean():+.2f} points over {len(both)} sets "
            f"({touched} with something to downweight); {(gains > CLEAR).sum()} wins "
            f"and {(gains < -CLEAR).sum()} losses beyond 5 points."
        )
        missing = sorted({*names} - {*both})
        if missing:
            lines.append(f"  Not measured: {', '.join(missing)}.")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
