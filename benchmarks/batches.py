"""Batches: planted effects, and what they cost.

python benchmarks/batches.py {planted,unbalanced,cost}
"""

from __future__ import annotations

import sys
import time
from functools import partial

import numpy as np
from sklearn.metrics import adjusted_rand_score

from _common import table
from threecpo import ThreeCPO
from threecpo._core.codes import all_relevant, inner_labels
from threecpo._core.matrices import from_dense
from threecpo._core.rows import RowInfo
from threecpo._core.rules import EXACT
from threecpo._core.sums import assign, sum_by_labels
from threecpo._core.workers import SERIAL


def planted(
    seed, n_batches, effect, n_rows=1000, n_columns=300, n_clusters=4, largest=None
):
    """Counts with a third of the columns in each group, batches of unequal size.

    ``largest`` is the share of the first batch, if it is to have most rows.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_clusters, size=n_rows)
    shares = rng.dirichlet(np.full(n_batches, 2.0))
    if largest is not None:
        shares[1:] = (1 - largest) / (n_batches - 1)
        shares[0] = largest
    batches = rng.choice(n_batches, n_rows, p=shares)
    third = n_columns // 3
    rates = np.tile(rng.gamma(2.0, 1.0, n_columns), (n_clusters, 1))
    rates[:, :third] *= np.exp(0.7 * rng.normal(size=(n_clusters, third)))
    effects = np.exp(effect * rng.normal(size=(n_batches, n_columns)))
    sizes = rng.gamma(5.0, 0.4, n_rows)
    mu = sizes[:, None] * rates[labels] * effects[batches]
    noise = slice(2 * third, None)
    mu[:, noise] = 2 * rates[0, noise] * effects[batches][:, noise]
    return rng.poisson(mu), labels, batches


def compare_planted(n_seeds=5, largest=None):
    rows = []
    for n_batches in (2, 5, 20):
        lines = []
        for seed in range(n_seeds):
            clean, truth, _ = planted(seed, n_batches, 0.0, largest=largest)
            X, labels, batch = planted(seed, n_batches, 0.7, largest=largest)
            options = {"n_clusters": 4, "random_state": seed}
            none = ThreeCPO(**options).fit(clean)
            plain = ThreeCPO(**options).fit(X)
            model = ThreeCPO(**options).fit(X, batch=batch)
            lines.append(
                (
                    adjusted_rand_score(truth, none.labels_),
                    adjusted_rand_score(labels, plain.labels_),
                    adjusted_rand_score(labels, model.labels_),
                    adjusted_rand_score(batch, model.labels_),
                    np.mean(model.column_groups_ == none.column_groups_),
                )
            )
        means, least = np.mean(lines, axis=0), np.min(lines, axis=0)
        both = zip(means, least, strict=True)
        rows.append([n_batches, *(f"{mean:.3f} ({low:.3f})" for mean, low in both)])
    header = ["B", "ARI no effect", "ARI without `batch=`", "ARI with"]
    print(table([*header, "ARI of clusters and batch", "columns"], rows))


def compare_cost(n_times=7):
    rows = []
    for n_batches in (2, 20):
        X, labels, batch = planted(0, n_batches, 0.5, 4000, 1500, 10)
        counts = from_dense(X)
        names = tuple(map(str, range(n_batches)))
        info = RowInfo(batches=batch.astype(np.int32), batch_names=names)
        both = counts, counts.with_rows(info)
        times: dict[str, list[float]] = {}
        groups = all_relevant(counts.n_columns)
        for _ in range(n_times):
            for name, each in zip(("plain", "batch"), both, strict=True):
                own = inner_labels(labels, 10)
                sums = sum_by_labels(each, own, 10, groups, 1e-3)
                profile = EXACT.profile(sums.smoothed(1e-3), groups)
                before = time.process_time()
                assign(each, profile, own, sums, SERIAL, with_sizes=True)
                times.setdefault(f"pass {name}", []).append(
                    time.process_time() - before
                )
        for _ in range(max(3, n_times // 2)):
            for name, given in (("plain", None), ("batch", batch)):
                model = ThreeCPO(10, n_init=2, random_state=0, n_jobs=1)
                before = time.process_time()
                model.fit(X, batch=given)
                times.setdefault(f"fit {name}", []).append(time.process_time() - before)
        median = {name: float(np.median(found)) for name, found in times.items()}
        ratios = [median[f"{k} batch"] / median[f"{k} plain"] for k in ("pass", "fit")]
        rows.append([n_batches, *(f"{ratio:.2f}" for ratio in ratios)])
    print(table(["B", "one pass", "a whole fit"], rows))


if __name__ == "__main__":
    {
        "planted": compare_planted,
        "unbalanced": partial(compare_planted, largest=0.9),
        "cost": compare_cost,
    }[sys.argv[1]]()
