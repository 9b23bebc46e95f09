"""Which divisions are called real: without clusters, and with planted ones.

python benchmarks/stability.py nulls --output benchmarks/results/stability-nulls.json
python benchmarks/stability.py power --output benchmarks/results/stability-power.json
python benchmarks/stability.py data
python benchmarks/stability.py figure --output benchmarks/results/stability-power.json
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from _common import DATA, add_data_option, load, missing_data, say
from threecpo import ThreeCPO

if TYPE_CHECKING:
    from collections.abc import Iterator

N_ROWS, N_COLUMNS, MEAN = 500, 200, 5.0
NULLS = (
    "Poisson",
    "one dispersion",
    "dispersion by column",
    "one dispersion, variance of mean squared",
    "dispersion by column, variance of mean squared",
    "gradient",
    "columns vary together",
)
FITTED = 5
PLANTED = (2, 3, 5, 8, 10)
DISTANCES = (1.0, 0.7, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15)
# Share of the columns that differ between planted clusters.
DIFFERENT = 0.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("part", choices=["nulls", "power", "data", "figure"])
    parser.add_argument("--tables", type=int, help="[200, or 50 for power]")
    parser.add_argument("--first", type=int, default=0, help="seed of the first table")
    parser.add_argument("--kinds", nargs="+", default=NULLS, choices=NULLS)
    parser.add_argument("--only", nargs="+", default=DATA, help="names of data sets")
    parser.add_argument("--output", type=Path, help="JSON file, for figure to draw")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.part == "figure":
        draw_power(options.output)
        return
    found = []
    for line in measured(options, parser):
        found.append(line)
        if options.output:
            text = json.dumps(found, indent=1)
            options.output.write_text(text + "\n", encoding="utf-8")


def measured(
    options: argparse.Namespace, parser: argparse.ArgumentParser
) -> Iterator[dict[str, object]]:
    """Yield one line of results after the other."""
    if options.part == "data":
        missing = missing_data(options.data, options.only)
        if missing:
            parser.error(missing)
        for name in options.only:
            yield on_data(options.data, name)
    elif options.part == "nulls":
        for kind in options.kinds:
            yield without_clusters(kind, options.first, options.tables or 200)
    else:
        for k in PLANTED:
            for distance in DISTANCES:
                yield with_clusters(k, distance, options.tables or 50)


def base_means(rng: np.random.Generator) -> np.ndarray:
    sizes, shares = rng.lognormal(0, 0.3, N_ROWS), rng.gamma(1, 1, N_COLUMNS) + 0.05
    return MEAN * np.outer(sizes / sizes.mean(), shares / shares.mean())


def overdispersed(
    rng: np.random.Generator, means: np.ndarray, excess: np.ndarray
) -> np.ndarray:
    """Negative binomial counts of the variance (1 + excess) times the mean."""
    return rng.poisson(rng.standard_gamma(means / excess) * excess)


def null_table(rng: np.random.Generator, kind: str) -> np.ndarray:
    means = base_means(rng)
    if kind == "Poisson":
        return rng.poisson(means)
    if kind == "gradient":
        place, slopes = rng.uniform(-1, 1, N_ROWS), rng.normal(0, 0.4, N_COLUMNS)
        slopes *= rng.random(N_COLUMNS) < 0.3
        return rng.poisson(means * np.exp(np.outer(place, slopes)))
    if kind == "columns vary together":
        common = rng.normal(size=(N_ROWS, 5)) @ rng.normal(0, 0.15, (5, N_COLUMNS))
        return rng.poisson(means * np.exp(common))
    by_column = "by column" in kind
    if "squared" in kind:
        excess = means * (rng.lognormal(-1.2, 0.8, N_COLUMNS) if by_column else 0.5)
    else:
        excess = rng.lognormal(0.3, 1.0, N_COLUMNS) if by_column else np.array(2.0)
        excess = np.broadcast_to(excess, means.shape)
    return overdispersed(rng, means, excess)


def without_clusters(kind: str, first: int, n_tables: int) -> dict[str, object]:
    """How many tables have any division that is called real."""
    any_real = one_cluster = 0
    for seed in range(first, first + n_tables):
        X = null_table(np.random.default_rng([seed, NULLS.index(kind)]), kind)
        model = ThreeCPO(FITTED, random_state=seed, n_jobs=1).fit(X)
        one_cluster += model.n_clusters_ == 1
        any_real += bool(np.any(model.stability(X, n_resamples=0)["distinct"]))
    line = {
        "kind": kind,
        "tables": n_tables,
        "any real": any_real,
        "one cluster": int(one_cluster),
    }
    say(json.dumps(line))
    return line


def planted_table(
    rng: np.random.Generator, n_clusters: int, distance: float
) -> np.ndarray:
    labels = np.arange(N_ROWS) % n_clusters
    effects = rng.normal(0, distance, (n_clusters, N_COLUMNS))
    effects *= rng.random(N_COLUMNS) < DIFFERENT
    means = base_means(rng) * np.exp(effects[labels])
    excess = rng.lognormal(0.3, 1.0, N_COLUMNS)
    return overdispersed(rng, means, np.broadcast_to(excess, means.shape))


def with_clusters(n_clusters: int, distance: float, n_tables: int) -> dict[str, object]:
    """Share of the divisions that are called real, and of tables with any and all."""
    shares = []
    for seed in range(n_tables):
        rng = np.random.default_rng([seed, n_clusters, int(1000 * distance)])
        X = planted_table(rng, n_clusters, distance)
        model = ThreeCPO(n_clusters, random_state=seed, n_jobs=1).fit(X)
        real = np.asarray(model.stability(X, n_resamples=0)["distinct"])
        shares.append(real[model.n_clusters_ :].sum() / (n_clusters - 1))
    line = {
        "clusters": n_clusters,
        "distance": distance,
        "tables": n_tables,
        "divisions real": float(np.mean(shares)),
        "any": float(np.mean(np.array(shares) > 0)),
        "all": float(np.mean(np.array(shares) == 1)),
    }
    say(json.dumps(line))
    return line


def on_data(folder: Path, name: str) -> dict[str, object]:
    """Time beside that of the fit, and what is found, at the true number."""
    data = load(folder, name)
    model = ThreeCPO(data.n_clusters, random_state=0, n_jobs=1).fit(data.matrix)
    before = time.process_time()
    model.fit(data.matrix)
    fitted = time.process_time()
    model.stability(data.matrix, n_resamples=0)
    tested = time.process_time()
    table = model.stability(data.matrix)
    both = time.process_time()
    n = model.n_clusters_
    line = {
        "data": name,
        "fit": fitted - before,
        "tests": tested - fitted,
        "tests and halves": both - tested,
        "times the fit": (both - tested) / (fitted - before),
        "clusters": n,
        "divisions real": int(np.sum(table["distinct"][n:])),
        "least jaccard of a cluster": float(np.min(table["jaccard"][:n])),
    }
    say(json.dumps(line))
    return line


def draw_power(file: Path) -> None:
    """Draw the share of real divisions over the distance, beside the JSON file."""
    from matplotlib import pyplot as plt

    lines = json.loads(file.read_text(encoding="utf-8"))
    figure, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    for k in sorted({line["clusters"] for line in lines}):
        own = [line for line in lines if line["clusters"] == k]
        x = [line["distance"] for line in own]
        y = [line["divisions real"] for line in own]
        ax.plot(x, y, marker="o", markersize=3, label=f"{k} clusters")
    ax.set_xlabel("deviation of the logarithm of a rate between clusters")
    ax.set_ylabel("share of divisions called real")
    ax.set_ylim(-0.02, 1.02)
    ax.legend(fontsize="small")
    for ending in (".svg", ".png"):
        figure.savefig(file.with_suffix(ending), dpi=150)


if __name__ == "__main__":
    main()
