"""What a fit says of itself, on data whose truth is known.

python benchmarks/trust.py nulls --kept nulls.jsonl --output benchmarks/results/nulls.md
python benchmarks/trust.py labelled --folders ../shared/data ../shared/labelled \
    --kept labelled.jsonl --output benchmarks/results/confidence.md

``nulls``: divisions of tables without clusters that are called distinct.
``power``: divisions of planted clusters that are. ``noise``: clusters that "auto" finds
in tables without any. ``calibration``: confidence on data of the model itself.
``labelled``: confidence beside true classes. ``labels``: given groups that are called
distinct. ``verdicts``: verdicts of planted clusters and of noise, and which K halves of
the rows agree most on. What was measured before, in the file ``--kept``, is not
measured again. Costs are processor seconds of one thread.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.neighbors import kneighbors_graph

from _common import Kept, Report, labelled_files, parser_of, read_file, say, timed
from threecpo import CountTable, ThreeCPO
from threecpo._core.workers import Workers
from threecpo._fit.driver import MemoryRows
from threecpo._fit.reproducibility import reproducibility
from threecpo.results import label_significance

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from numpy.typing import NDArray

SHAPES = (
    (100, 20),
    (100, 300),
    (300, 50),
    (500, 200),
    (1000, 20),
    (1000, 100),
    (3000, 30),
    (5000, 100),
)
MEANS = (0.02, 0.1, 0.3, 1.0, 5.0)
# r of negative binomial counts; None is Poisson.
KINDS = (None, 5.0, 1.0, 0.3)
PRICES = ("mdl", "bic", None)
FITTED = 5
LEVEL = 0.05


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("part", choices=sorted(PARTS))
    parser.add_argument("--folders", nargs="*", type=Path, default=[], help="of .npz")
    parser.add_argument("--tables", type=int, help="of each cell")
    parser.add_argument("--only", nargs="+", help="cells or sets with these names")
    parser.add_argument("--kept", type=Path, help="JSON lines of what was measured")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    title, cells, measure, tell = PARTS[options.part]
    kept = Kept(options.kept)
    names = {}
    for name, cell, enough in cells(options):
        n_tables = options.tables or enough
        names[name] = range(n_tables)
        if options.only and name not in options.only:
            continue
        for seed in range(n_tables):
            if (name, seed) not in kept:
                kept[name, seed] = measure(cell, seed)
        say(f"{name}: {kept[name, n_tables - 1]}")
    found = {
        name: [kept[name, seed] for seed in seeds if (name, seed) in kept]
        for name, seeds in names.items()
    }
    report = Report(options.output)
    report.add(f"# {title}")
    report.add(f"Made by `python benchmarks/trust.py {options.part}`.")
    tell(report, {name: lines for name, lines in found.items() if lines})
    report.write()


def columns_of(lines: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    return {name: np.array([line[name] for line in lines]) for name in lines[0]}


# Tables without clusters.


def null_cells(_: argparse.Namespace) -> Iterator[tuple[str, Any, int]]:
    """Every shape with every mean; the other three factors in turns."""
    for i, (n, m) in enumerate(SHAPES):
        for j, mean in enumerate(MEANS):
            r, unequal = KINDS[(i + j) % 4], (i // 2 + j) % 2 == 1
            price = PRICES[(i + 2 * j) % 3]
            kind = "Poisson" if r is None else f"NB {r:g}"
            rows = "unequal" if unequal else "equal"
            name = f"{n} × {m}, mean {mean:g}, {kind}, {rows} rows, {price}"
            yield name, (n, m, mean, r, unequal, price), 100


def null_table(
    rng: np.random.Generator,
    n: int,
    m: int,
    mean: float,
    r: float | None,
    unequal: bool,
) -> NDArray[np.int64]:
    """Independent columns; rows, and columns, of one size or of very different ones."""
    sizes = rng.lognormal(0, 0.8, n) if unequal else np.ones(n)
    shares = rng.gamma(1, 1, m) + 0.05 if unequal else np.ones(m)
    means = mean * np.outer(sizes / sizes.mean(), shares / shares.mean())
    return rng.poisson(means if r is None else means * rng.gamma(r, 1 / r, (n, m)))


def of_null(cell: Any, seed: int) -> dict[str, Any]:
    *table, price = cell
    X = null_table(np.random.default_rng([seed, 5]), *table)
    model = ThreeCPO(FITTED, random_state=seed, n_jobs=1, column_penalty=price)
    model, fit = timed(lambda: model.fit(X))
    tested, test = timed(lambda: model.stability(X, n_resamples=0))
    n = model.n_clusters_
    return {
        "distinct": bool(np.any(tested["distinct"])),
        "one": n == 1,
        "few": n > 1 and bool(np.isnan(np.asarray(tested["p_value"])[-1])),
        "p": float(np.asarray(tested["p_value"])[-1]),
        "fit": fit,
        "test": test,
    }


def tell_nulls(report: Report, found: dict[str, list[dict[str, Any]]]) -> None:
    rows, n_distinct, n_tables, worst = [], 0, 0, 0.0
    for name, lines in found.items():
        cell = columns_of(lines)
        called = int(cell["distinct"].sum())
        n_distinct, n_tables = n_distinct + called, n_tables + len(lines)
        worst = max(worst, called / len(lines))
        cost = cell["test"].sum() / cell["fit"].sum()
        left = int(cell["few"].sum()), int(cell["one"].sum())
        rows.append([name, len(lines), called, *left, f"{cost:.1f}"])
    report.add(
        f"Independent columns, {FITTED} clusters fitted, `stability` with its defaults "
        f"(α = {LEVEL}): tables with *any* division called distinct, tables with too "
        "few counts to tell, tables whose fit is one cluster, and processor time of "
        "the tests over that of the fit."
    )
    report.add(
        f"All cells: {n_distinct} of {n_tables} tables "
        f"({100 * n_distinct / n_tables:.1f} %); the worst cell {100 * worst:.0f} %."
    )
    report.add_table(
        ["table", "tables", "distinct", "too few", "one cluster", "cost"], rows
    )


# Planted clusters.

PLANTED = {
    "500 × 200, mean 5, dispersed": (500, 200, 5.0, 0.2, True),
    "500 × 300, mean 1, 9 columns": (500, 300, 1.0, 0.03, False),
    "2000 × 50, mean 0.1": (2000, 50, 0.1, 0.5, False),
}
DISTANCES = (1.0, 0.7, 0.5, 0.4, 0.3, 0.2)


def power_cells(_: argparse.Namespace) -> Iterator[tuple[str, Any, int]]:
    for kind, cell in PLANTED.items():
        for k in (2, 5):
            for distance in DISTANCES:
                yield f"{kind}, K = {k}, {distance:g}", (*cell, k, distance), 20


def planted_table(
    rng: np.random.Generator, n: int, m: int, *cell: Any
) -> NDArray[np.int64]:
    """Clusters of one size whose rates differ in some of the columns."""
    mean, different, dispersed, k, distance = cell
    sizes, shares = rng.lognormal(0, 0.3, n), rng.gamma(1, 1, m) + 0.05
    means = mean * np.outer(sizes / sizes.mean(), shares / shares.mean())
    effects = rng.normal(0, distance, (k, m)) * (rng.random(m) < different)
    means *= np.exp(effects[np.arange(n) % k])
    if not dispersed:
        return rng.poisson(means)
    excess = rng.lognormal(0.3, 1.0, m)
    return rng.poisson(rng.standard_gamma(means / excess) * excess)


def of_planted(cell: Any, seed: int) -> dict[str, Any]:
    X, k = planted_table(np.random.default_rng([seed, 6]), *cell), cell[-2]
    model = ThreeCPO(k, random_state=seed, n_jobs=1).fit(X)
    distinct = np.asarray(model.stability(X, n_resamples=0)["distinct"])
    return {"share": float(distinct[model.n_clusters_ :].sum() / (k - 1))}


def tell_power(report: Report, found: dict[str, list[dict[str, Any]]]) -> None:
    report.add(
        "Share of the K - 1 divisions, in percent, over the distance: the deviation of "
        "the logarithm of a rate between clusters, in the columns that differ."
    )
    rows: dict[str, list[str]] = {}
    for name, lines in found.items():
        kind, _ = name.rsplit(", ", 1)
        share = columns_of(lines)["share"].mean()
        rows.setdefault(kind, []).append(f"{100 * share:.0f}")
    header = ["clusters", *(f"{distance:g}" for distance in DISTANCES)]
    report.add_table(header, [[name, *row] for name, row in rows.items()])


# "auto" in tables without clusters.

NOISE_SHAPES = ((100, 20), (500, 200), (2000, 1000))


def noise_cells(_: argparse.Namespace) -> Iterator[tuple[str, Any, int]]:
    for n, m in NOISE_SHAPES:
        for r in KINDS:
            kind = "Poisson" if r is None else f"NB {r:g}"
            yield f"{n} × {m}, {kind}", (n, m, 2.0, r, False), 20


def of_noise(cell: Any, seed: int) -> dict[str, Any]:
    X = null_table(np.random.default_rng([seed, 3]), *cell)
    return {"K": ThreeCPO("auto", random_state=seed, n_jobs=1).fit(X).n_clusters_}


def tell_noise(report: Report, found: dict[str, list[dict[str, Any]]]) -> None:
    rows = [
        [name, len(lines), int((columns_of(lines)["K"] > 1).sum())]
        for name, lines in found.items()
    ]
    n_tables, n_found = (sum(row[i] for row in rows) for i in (1, 2))
    report.add(
        "Mean count 2, equal rows, all defaults: tables with several clusters, "
        f"{n_found} of {n_tables} in all."
    )
    report.add_table(["table", "tables", "several clusters"], rows)


# Labelled data.


def sets(options: argparse.Namespace) -> Iterator[tuple[str, Any, int]]:
    for file in labelled_files(options.folders):
        yield file.stem, file, 1


# Confidence.

MODEL_SHAPES = ((300, 30), (600, 30), (600, 200), (2000, 100), (5000, 300))
# From no clusters at all to clear ones; of a table of 30 columns 0.2 times as much is
# the deviation of the logarithm of a rate.
CLEARNESS = (0.0, 0.7, 1.2, 2.5)
BINS = 15


def model_cells(_: argparse.Namespace) -> Iterator[tuple[str, Any, int]]:
    for i, (n, m) in enumerate(MODEL_SHAPES):
        for j, k in enumerate((2, 3, 5)):
            for clear in CLEARNESS:
                for price in ("mdl", None):
                    unequal = (i + j) % 2 == 1
                    sizes = "unequal" if unequal else "equal"
                    name = f"{n} × {m}, K = {k}, {sizes}, {price}, {clear:g}"
                    yield name, (n, m, k, clear, unequal, price), 3


def of_model(cell: Any, seed: int) -> dict[str, Any]:
    """Poisson clusters: what is stated, what is right, and what true rates would be."""
    n, m, k, clear, unequal, price = cell
    rng = np.random.default_rng([seed, 4])
    shares = rng.dirichlet(np.full(k, 3.0)) if unequal else np.full(k, 1 / k)
    true = rng.choice(k, n, p=shares)
    effects = rng.normal(0, 0.2 * clear * np.sqrt(30 / m), (k, m))
    rates = 2.0 * rng.gamma(2, 0.5, m) * np.exp(effects)
    X = rng.poisson(rates[true] * rng.gamma(10, 0.1, (n, 1)))
    best = X @ np.log(rates).T - X.sum(axis=1)[:, None] * np.log(rates.sum(axis=1))
    best = (best + np.log(shares)).argmax(axis=1)
    model = ThreeCPO(k, random_state=seed, n_jobs=1, column_penalty=price)
    model, fit = timed(lambda: model.fit(X))
    again, cost = timed(lambda: model.measure_confidence(X))
    return {
        "before": float(stated(model).mean()),
        "after": float(stated(again).mean()),
        "right": matched(true, model.labels_) if model.n_clusters_ > 1 else np.nan,
        "true rates": float((best == true).mean()) if clear else float(shares.max()),
        "fit": fit,
        "cost": cost,
    }


def stated(model: ThreeCPO) -> NDArray[np.float64]:
    """Confidence of each row in its own cluster."""
    found = model.probabilities_
    return found[np.arange(len(found)), np.maximum(model.labels_, 0)]


def matched(true: NDArray[Any], labels: NDArray[Any]) -> float:
    """Share of rows in the best matching of clusters with the truth."""
    shared = np.zeros((true.max() + 1, labels.max() + 1))
    np.add.at(shared, (true, labels), 1)
    return float(shared[linear_sum_assignment(-shared)].sum() / len(true))


def tell_model(report: Report, found: dict[str, list[dict[str, Any]]]) -> None:
    rows, clear, others = [], [], []
    for name, lines in found.items():
        told = [line for line in lines if not np.isnan(line["right"])]
        if not told:
            continue
        cell = columns_of(told)
        mean = {key: float(values.mean()) for key, values in cell.items()}
        many = int(name.split()[0]) >= 600 and mean["true rates"] >= 0.8
        (clear if many else others).append(mean["after"] - mean["right"])
        shown = [f"{mean[key]:.2f}" for key in ("true rates", "right")]
        shown += [f"{mean[key]:.2f}" for key in ("before", "after")]
        rows.append([name, len(told), *shown, f"{mean['cost'] / mean['fit']:.0f}"])
    within, above = np.abs(clear), np.array(others)
    report.add(
        "Poisson clusters, from none to clear ones: share of rows that the true rates "
        "put right, that the fit does (best matching), mean confidence of the fit and "
        "after `measure_confidence`, whose time is in units of that of the fit. Tables "
        "whose fit is one cluster are left out."
    )
    report.add(
        f"Where the true rates put 0.8 right and there are 600 rows: {len(clear)} "
        f"cells, mean distance {within.mean():.3f}, {(within <= 0.05).sum()} within "
        f"0.05, {(np.array(clear) > 0.05).sum()} stated more than 0.05 too high. "
        f"Elsewhere: {len(others)} cells, {(above > 0.1).sum()} stated more than 0.1 "
        "too high."
    )
    header = ["table", "tables", "true rates", "right", "fit", "calibrated", "cost"]
    report.add_table(header, rows)


def of_labelled(file: Path, seed: int) -> dict[str, Any]:
    """Calibration error and AUC, clusters named by the majority of their rows."""
    data = read_file(file)
    known = data.labels >= 0
    n_clusters = len(np.unique(data.labels[known]))
    model = ThreeCPO(n_clusters, random_state=seed, n_jobs=1)
    model, fit = timed(lambda: model.fit(data.matrix))
    again, cost = timed(lambda: model.measure_confidence(data.matrix))
    labels, true = model.labels_[known], data.labels[known]
    shared = np.zeros((labels.max() + 1, true.max() + 1))
    np.add.at(shared, (labels, true), 1)
    right = shared.argmax(axis=1)[labels] == true
    found = {"right": float(right.mean()), "fit": fit, "cost": cost}
    for name, each in (("before", model), ("after", again)):
        sure = stated(each)[known]
        bins = np.minimum((sure * BINS).astype(int), BINS - 1)
        error = np.abs(np.bincount(bins, sure - right, BINS)).sum() / len(sure)
        area = np.nan if right.all() else roc_auc_score(right, sure)
        found |= {f"T {name}": each.temperature_, f"mean {name}": float(sure.mean())}
        found |= {f"ECE {name}": float(error), f"AUC {name}": float(area)}
    return found


def tell_labelled(report: Report, found: dict[str, list[dict[str, Any]]]) -> None:
    names = [f"{x} {w}" for x in ("T", "mean", "ECE", "AUC") for w in AROUND]
    rows = [
        [
            name,
            f"{line['right']:.3f}",
            *(f"{line[each]:.3f}" for each in names),
            f"{line['cost'] / line['fit']:.1f}",
        ]
        for name, (line,) in found.items()
    ]
    every = columns_of([line for (line,) in found.values()])
    means = [f"{each} {np.nanmean(every[each]):.3f}" for each in names[4:]]
    report.add(
        "True number of clusters, named by the majority of their rows: a row of that "
        f"class is right. Calibration error in {BINS} bins and AUC of confidence "
        "against being right, of the fit and after `measure_confidence`, whose time is "
        "in units of that of the fit. "
        f"Means over {len(rows)} sets: {', '.join(means)}."
    )
    report.add_table(["data", "right", *names, "cost"], rows)


# Given labels.


def label_cells(_: argparse.Namespace) -> Iterator[tuple[str, Any, int]]:
    """Labels that say nothing, by how they were made; then parts of planted groups."""
    for n, m in ((300, 50), (1000, 50)):
        for r in (None, 1.0):
            kind = "Poisson" if r is None else f"NB {r:g}"
            for made in LABELLERS:
                enough = 75 if made.startswith("random") else 25
                yield f"{n} × {m}, {kind}, {made}", (n, m, r, made, 0.0), enough
    for distance in (1.0, 0.5, 0.3, 0.2):
        for made in ("planted", "planted, independent", "planted, random 2"):
            name = f"500 × 50, Poisson, {made}, {distance:g}"
            yield name, (500, 50, None, made, distance), 20


def k_means_labels(X: NDArray[Any], k: int, seed: int) -> NDArray[Any]:
    return KMeans(k, n_init=3, random_state=seed).fit_predict(log_shares(X))


def graph_labels(X: NDArray[Any], _: int, seed: int) -> NDArray[Any]:
    """Communities of the graph of nearest neighbours, as Leiden finds them."""
    near = PCA(20, random_state=seed).fit_transform(log_shares(X))
    graph = nx.from_scipy_sparse_array(kneighbors_graph(near, 15))
    labels = np.empty(len(X), dtype=int)
    for k, rows in enumerate(nx.community.louvain_communities(graph, seed=seed)):
        labels[list(rows)] = k
    return labels


def log_shares(X: NDArray[Any]) -> NDArray[np.float64]:
    sizes = np.maximum(X.sum(axis=1, keepdims=True), 1)
    return np.log1p(X / sizes * np.median(sizes))


def own_labels(X: NDArray[Any], k: int, seed: int) -> NDArray[Any]:
    return ThreeCPO(k, random_state=seed, n_jobs=1, column_penalty=None).fit(X).labels_


def random_labels(X: NDArray[Any], k: int, seed: int) -> NDArray[Any]:
    return np.random.default_rng([seed, 9]).integers(k, size=len(X))


LABELLERS: dict[str, Any] = {
    "k-means 2": (k_means_labels, 2),
    "k-means 5": (k_means_labels, 5),
    "own search 2": (own_labels, 2),
    "own search 5": (own_labels, 5),
    "neighbour graph": (graph_labels, 0),
    "random 2": (random_labels, 2),
    "random 5": (random_labels, 5),
    "random 2, by batch": (random_labels, 2),
}


def of_labels(cell: Any, seed: int) -> dict[str, Any]:
    """Root p-value of labels; of planted groups, one of them cut in two at random."""
    n, m, r, made, distance = cell
    rng, batch = np.random.default_rng([seed, 8]), None
    if distance:
        X = planted_table(rng, n, m, 2.0, 0.5, False, 4, distance)
        labels = np.arange(n) % 4
        labels[(labels == 3) & (rng.random(n) < 0.5)] = 4
        if made.endswith("random 2"):
            labels = random_labels(X, 2, seed)
    else:
        X = null_table(rng, n, m, 2.0, r, unequal=True)
        labeller, k = LABELLERS[made]
        labels = labeller(X, k, seed)
    if made.endswith("by batch"):  # which has an effect and more of one label
        batch = (rng.random(n) < 0.2 + 0.6 * labels).astype(int)
        X[:, : m // 2] *= 1 + batch[:, None]
    independent = made.startswith("random") or made.endswith("independent")
    _, fit = timed(lambda: own_labels(X, 5, seed))
    how = {"independent": independent, "n_jobs": 1, "random_state": seed}
    work = partial(label_significance, X, labels, batch=batch, **how)
    tested, test = timed(work)
    verdicts, below = list(tested.table["verdict"]), list(tested.table["groups"])
    cut = verdicts[below.index("3, 4")] if "3, 4" in below else ""
    return {
        "p": float(np.asarray(tested.table["p_value"])[-1]),
        "distinct": verdicts[:3].count("distinct") / 3,
        "cut": float(cut == "distinct"),
        "fit": fit,
        "test": test,
    }


def tell_labels(report: Report, found: dict[str, list[dict[str, Any]]]) -> None:
    noise: list[list[Any]] = []
    planted: list[list[Any]] = []
    pooled: dict[bool, list[Any]] = {True: [], False: []}
    for name, lines in found.items():
        cell = columns_of(lines)
        cost = f"{cell['test'].sum() / cell['fit'].sum():.1f}"
        if "planted" in name and "random" not in name:
            shares = [
                f"{100 * cell[each].mean():.0f} %" for each in ("distinct", "cut")
            ]
            planted.append([name, len(lines), *shares, cost])
            continue
        called = int((cell["p"] <= LEVEL).sum())
        if "planted" not in name:
            pooled["random" in name] += cell["p"].tolist()
        noise.append([name, len(lines), called, f"{np.median(cell['p']):.2f}", cost])
    report.add(
        "Root of the tree, α = 0.05, all defaults; time in units of a fit of five "
        "clusters. Tables of independent columns, mean 2, unequal rows and columns. "
        "Labels of a clustering are tested as made from the counts, random ones as "
        "independent, but random labels of planted groups as made from the counts."
    )
    for random, ps in pooled.items():
        p = np.array(ps or [np.nan])
        below = {
            level: f"{(p <= level).mean():.3f}" for level in (0.01, 0.05, 0.1, 0.5)
        }
        shares = ", ".join(f"{share} ≤ {level:g}" for level, share in below.items())
        kind = "Random labels" if random else "Clusterings"
        report.add(f"{kind}: p-values of {len(p)} tables, share {shares}.")
    report.add_table(
        ["table and labels", "tables", "p ≤ 0.05", "median p", "cost"], noise
    )
    report.add(
        "Four planted groups that differ in half of the columns (as in power.md), the "
        "last cut in two at random: share of the other three called distinct, and of "
        "tables that call the two halves distinct."
    )
    report.add_table(
        ["table and labels", "tables", "groups", "halves", "cost"], planted
    )


# Verdicts, and the agreement of halves.

WORDS = ("stable", "doubtful", "not distinct")
NUMBERS = range(2, 9)


def verdict_cells(options: argparse.Namespace) -> Iterator[tuple[str, Any, int]]:
    for name, cell, _ in power_cells(options):
        if cell[-2] == FITTED and cell[-1] in (1.0, 0.5, 0.3):
            yield name, (planted_table, cell), 5
    for name, cell, _ in noise_cells(options):
        if cell[0] < 2000:
            yield f"no clusters, {name}", (null_table, cell), 5
    for n, m, mean, r in ((2000, 50, 0.1, None), (3000, 30, 1.0, 0.3)):
        kind = "Poisson" if r is None else f"NB {r:g}"
        name = f"no clusters, {n} × {m}, mean {mean:g}, {kind}, unequal"
        yield name, (null_table, (n, m, mean, r, True)), 5


def of_verdicts(cell: Any, seed: int) -> dict[str, Any]:
    draw, shape = cell
    X = draw(np.random.default_rng([seed, 8]), *shape)
    model = ThreeCPO(FITTED, random_state=seed, n_jobs=1).fit(X).measure_confidence(X)
    plan, n = model.record_.plan, model.n_clusters_
    with Workers(1) as workers:
        rows = MemoryRows(CountTable(X).counts, workers)
        found = reproducibility(plan, NUMBERS, rows, workers)
    verdicts = list(model.stability(X)["verdict"][:n])
    return {
        **{word: verdicts.count(word) for word in WORDS},
        "ARI": adjusted_rand_score(np.arange(len(X)) % FITTED, model.labels_),
        "agreement": [found[k] for k in NUMBERS],
    }


def tell_verdicts(report: Report, found: dict[str, list[dict[str, Any]]]) -> None:
    rows = []
    for name, lines in found.items():
        cell = columns_of(lines)
        agreement = cell["agreement"]
        most = (agreement.argmax(axis=1) + NUMBERS[0] == FITTED).mean()
        ari = "" if name.startswith("no ") else f"{100 * cell['ARI'].mean():.0f}"
        means = [f"{mean + 0.0:.2f}" for mean in agreement.mean(axis=0).round(2)]
        words = [int(cell[word].sum()) for word in WORDS]
        rows.append([name, len(lines), ari, *words, *means, f"{100 * most:.0f} %"])
    report.add(
        f"{FITTED} clusters fitted, also where there are none: ARI with the planted "
        "clusters, verdicts of all clusters of all tables, mean agreement of halves of "
        f"the rows for each K, and tables where it is highest for K = {FITTED}."
    )
    numbers = [f"K = {k}" for k in NUMBERS]
    header = ["table", "tables", "ARI", *WORDS, *numbers, f"highest for {FITTED}"]
    report.add_table(header, rows)


AROUND = ("before", "after")
PARTS: dict[str, tuple[str, Any, Any, Any]] = {
    "nulls": (
        "Divisions of tables without clusters that are called distinct",
        *(null_cells, of_null, tell_nulls),
    ),
    "power": (
        "Divisions of planted clusters that are called distinct",
        *(power_cells, of_planted, tell_power),
    ),
    "noise": (
        'Clusters that "auto" finds in tables without any',
        *(noise_cells, of_noise, tell_noise),
    ),
    "calibration": (
        "Confidence on data of the model itself",
        *(model_cells, of_model, tell_model),
    ),
    "labelled": ("Confidence on labelled data", sets, of_labelled, tell_labelled),
    "labels": (
        "Given groups that are called distinct",
        *(label_cells, of_labels, tell_labels),
    ),
    "verdicts": (
        "Verdicts and reproducibility on data whose truth is known",
        *(verdict_cells, of_verdicts, tell_verdicts),
    ),
}

if __name__ == "__main__":
    main()
