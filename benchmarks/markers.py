"""Orders of the columns that mark a cluster, on cells, texts, digits and customers.

    python benchmarks/markers.py

Clusters are the true classes, so that only the order of columns is judged, and the
groups of columns are those that 3CPO finds for them. What is counted stands in
results/markers.md.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.metrics import roc_auc_score

from _common import Report, load, missing_data, parser_of, say
from threecpo import ThreeCPO
from threecpo._core.codes import GROUPS, PRICES, all_relevant
from threecpo._core.markers import Markers
from threecpo._core.model import column_step
from threecpo._core.sums import sum_by_labels
from threecpo._validation import check_counts
from threecpo.text import stemmer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

CELLS, TEXTS = "pbmc_kang", ("bbcnews", "bbcsports", "newsgroups20", "reuters", "webkb")
TABLES = {"optdigits": 5, "wholesales": 1, "sporta": 5}
LISTED = 10
SPLITS = 3
PRIOR = 1e-3
ORDERS: dict[str, Callable[[Markers], Values]] = {
    "marker": lambda m: m.strength,
    "excess (the paper's)": lambda m: m.excess,
    "deviance from overall": lambda m: m.evidence,
    "ratio": lambda m: m.expected.ratios,
}


def markers_of(X: Any, labels: NDArray[np.int64]) -> Markers:
    """Markers of classes, with the groups that their columns take."""
    counts, groups = check_counts(X), all_relevant(X.shape[1])
    n_clusters = int(labels.max()) + 1
    for _ in range(20):
        inner = labels.astype(np.int32)
        sums = sum_by_labels(counts, inner, n_clusters, groups, PRIOR)
        price = PRICES["mdl"]
        new = column_step(sums.smoothed(PRIOR), groups, price, GROUPS).groups
        if np.array_equal(new, groups):
            break
        groups = new
    return Markers(sums.smoothed(0.0), groups)


def best(markers: Markers, order: str, n: int) -> list[NDArray[np.intp]]:
    """First columns of each cluster."""
    values, out = ORDERS[order](markers), []
    for k, above in enumerate(markers.above_average):
        places = np.flatnonzero(above)
        out.append(places[np.argsort(-values[k, places], kind="stable")[:n]])
    return out


def found(listed: Sequence[Any], wanted: Sequence[Any]) -> int:
    return sum(len({*a} & {*b}) for a, b in zip(listed, wanted, strict=True))


def telling_words(X: sp.csr_array, labels: NDArray[np.int64]) -> list[Any]:
    """Columns above average in a class with the highest mutual information."""
    n, sizes = X.shape[0], np.bincount(labels)[:, None]
    members = sp.csr_array((np.ones(n), (labels, np.arange(n))))
    both = (members @ (X > 0).astype(float)).toarray()
    having = both.sum(axis=0)

    def part(joint: Values, a: Values, b: Values) -> Values:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(joint > 0, joint / n * np.log(joint * n / (a * b)), 0.0)

    information = (
        part(both, having, sizes)
        + part(sizes - both, n - having, sizes)
        + part(having - both, having, n - sizes)
        + part(n - sizes - having + both, n - having, n - sizes)
    )
    information[both / sizes <= having / n] = -1
    return [np.argsort(-line, kind="stable")[:LISTED] for line in information]


def told_apart(X: Any, labels: NDArray[np.int64], n: int) -> dict[str, float]:
    """Area under the curve of columns chosen on the other half of the rows."""
    areas: dict[str, list[float]] = {order: [] for order in ORDERS}
    for seed in range(SPLITS):
        rows = np.random.default_rng(seed).permutation(len(labels))
        halves = np.array_split(rows, 2)
        for here, there in (halves, halves[::-1]):
            markers = markers_of(X[here], labels[here])
            total = np.maximum(np.asarray(X[there].sum(axis=1)).ravel(), 1)
            for order, of_order in areas.items():
                for k, columns in enumerate(best(markers, order, n)):
                    share = np.asarray(X[there][:, columns].sum(axis=1)).ravel() / total
                    of_order.append(roc_auc_score(labels[there] == k, share))
    return {order: float(np.mean(values)) for order, values in areas.items()}


def stop_words(X: Any, words: NDArray[Any], labels: NDArray[np.int64]) -> Any:
    """Stop words among the first five of clusters that 3CPO finds, by order."""
    record = ThreeCPO(int(labels.max()) + 1, random_state=0).fit(X).record_
    listed = sorted(ENGLISH_STOP_WORDS)
    stops = {*listed, *stemmer("english")(listed)}
    counted = {}
    for order in ORDERS:
        first = best(record.markers, order, 5)
        counted[order] = sum(words[j] in stops for line in first for j in line)
    shown = [words[record.markers.best(k, 5)] for k in range(record.n_clusters)]
    return counted, [", ".join(map(str, line)) for line in shown]


def main() -> None:
    parser = parser_of(__doc__, data=True)
    options = parser.parse_args()
    names = (CELLS, *TEXTS, *TABLES)
    if lacking := missing_data(options.data, names):
        parser.error(lacking)
    report = Report(options.output)
    scores: dict[str, dict[str, Any]] = {order: {} for order in ORDERS}
    words_shown: list[str] = []
    for name in names:
        say(name)
        data = load(options.data, name)
        labels = data.labels.astype(np.int64)
        if name in TABLES:
            for order, area in told_apart(data.matrix, labels, TABLES[name]).items():
                scores[order][name] = f"{area:.3f}"
            continue
        with np.load(options.data / f"{name}.npz", allow_pickle=False) as stored:
            columns, classes = stored["feature_names"], stored["label_names"]
        markers = markers_of(data.matrix, labels)
        wanted: Any = None
        if name == CELLS:
            known = json.loads((options.data / "pbmc_markers.json").read_text("utf-8"))
            places = {str(column): j for j, column in enumerate(columns)}
            wanted = [[places.get(g) for g in known[str(kind)]] for kind in classes]
        else:
            wanted = telling_words(data.matrix, labels)
        title = f"{name}, of {LISTED * len(classes)}"
        for order in ORDERS:
            scores[order][title] = found(best(markers, order, LISTED), wanted)
        if name == "bbcnews":
            counted, words_shown = stop_words(data.matrix, columns, labels)
            for order, number in counted.items():
                scores[order]["stop words"] = number
    report.add("# Orders of marker columns")
    header = ["order", *scores["marker"]]
    report.add_table(header, [[o, *line.values()] for o, line in scores.items()])
    report.add("In the order `marker` the five words of bbcnews are:")
    report.add("\n".join(f"- {line}" for line in words_shown))
    report.write()


if __name__ == "__main__":
    main()
