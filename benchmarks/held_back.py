"""Columns and rows held back, and transformed counts: agreement with true classes.

python benchmarks/held_back.py --kept held-back.jsonl --output docs/results/held-back.md

K is known. What was measured before, in the file ``--kept``, is not measured again.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from _common import SYNTH, DataSet, Report, add_data_option, load, missing_data, say
from threecpo import ThreeCPO
from threecpo.preprocessing import SublinearCounts

DATA = (
    *(SYNTH, "wholesales", "sporta", "bbcsports", "tcga5", "optdigits", "bbcnews"),
    *("classic3", "webkb", "reuters", "celllines_li", "newsgroups20", "pbmc_kang"),
)
LIMITS = (5, 10, 20)
ROW_LIMIT = 5
FUNCTIONS = ("log1p", "sqrt")
WAYS = (*(f"c = {c}" for c in LIMITS), f"rows {ROW_LIMIT}", *FUNCTIONS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("--datasets", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--kept", type=Path, help="JSON lines of what was measured")
    parser.add_argument("--output", type=Path, help="Markdown file to write")
    options = parser.parse_args()
    missing = missing_data(options.data, options.datasets)
    if missing:
        parser.error(missing)
    kept = read_kept(options.kept)
    for name in options.datasets:
        data = None
        for seed in range(options.seeds):
            if (name, seed) in kept:
                continue
            data = data or load(options.data, name)
            kept[name, seed] = measured(data, seed)
            say(f"{name} {seed} {kept[name, seed]['ari']}")
            if options.kept is not None:
                with options.kept.open("a", encoding="utf-8") as file:
                    print(json.dumps([name, seed, kept[name, seed]]), file=file)
    report = Report(options.output)
    report.add_table(*agreement(kept, options.datasets))
    report.add_table(*what_was_held(kept, options.datasets))
    report.write()


def read_kept(path: Path | None) -> dict[tuple[str, int], dict]:
    if path is None or not path.is_file():
        return {}
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    return {(name, seed): found for name, seed, found in lines}


def measured(data: DataSet, seed: int) -> dict:
    """ARI of every way, and how much was held back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ThreeCPO(data.n_clusters, random_state=seed)
        ari = {"None": score(data, clone(model).fit(data.matrix).labels_)}
        held = {}
        for limit in LIMITS:
            fitted = clone(model).set_params(robust={"columns": limit}).fit(data.matrix)
            weights = fitted.record_.sums.column_weights
            ari[f"c = {limit}"] = score(data, fitted.labels_)
            held[f"c = {limit}"] = 0 if weights is None else int((weights < 1).sum())
        capped = clone(model).set_params(robust={"rows": ROW_LIMIT}).fit(data.matrix)
        ari[f"rows {ROW_LIMIT}"] = score(data, capped.labels_)
        held[f"rows {ROW_LIMIT}"] = int((capped.row_weights_ < 1).sum())
        for function in FUNCTIONS:
            values = SublinearCounts(function, table=True).transform(data.matrix)
            ari[function] = score(data, clone(model).fit(values).labels_)
    return {"ari": ari, "held": held, "shape": list(data.matrix.shape)}


def score(data: DataSet, labels: np.ndarray) -> float:
    return float(adjusted_rand_score(data.labels, labels))


def agreement(kept: dict, names: list[str]):
    """ARI without, and what every way changes, in points."""
    rows = []
    for name in names:
        found = [line["ari"] for (each, _), line in kept.items() if each == name]
        if found:
            base = np.array([line["None"] for line in found])
            gains = [100 * (np.mean([f[w] for f in found]) - base.mean()) for w in WAYS]
            rows.append(
                [name, f"{100 * base.mean():.1f}", *(f"{g:+.1f}" for g in gains)]
            )
    if rows:
        means = np.mean([[float(x) for x in row[1:]] for row in rows], axis=0)
        rows.append(["mean", f"{means[0]:.1f}", *(f"{g:+.1f}" for g in means[1:])])
    return ["data", "ARI × 100", *WAYS], rows


def what_was_held(kept: dict, names: list[str]):
    """How many columns and rows were held back."""
    rows = []
    for name in names:
        found = [line for (each, _), line in kept.items() if each == name]
        if found:
            n, m = found[0]["shape"]
            ways = found[0]["held"]
            means = [np.mean([line["held"][way] for line in found]) for way in ways]
            rows.append([name, n, m, *(f"{mean:.0f}" for mean in means)])
    header = [*(f"columns, c = {c}" for c in LIMITS), f"rows above {ROW_LIMIT}"]
    return ["data", "n", "m", *header], rows


if __name__ == "__main__":
    main()
