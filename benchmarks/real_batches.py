"""Batches of real data: agreement with classes and with the batch, with and without.

python benchmarks/real_batches.py --output benchmarks/results/real-batches.md

Needs the raw archives of the text data sets (``--raw``) and pbmc_kang.npz (``--data``).
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from _common import HERE, Report, load, parser_of, say
from paper import datasets
from paper.datasets import texts
from threecpo import ThreeCPO
from threecpo.text import count_terms

if TYPE_CHECKING:
    import argparse

SETS = ("webkb", "webkb-4", "bbc-20news", "pbmc")
LIMIT = 1 << 30
# Newsgroups that are about what a section of the BBC is about.
MATCHING = {
    "rec.sport.baseball": "sport",
    "rec.sport.hockey": "sport",
    "talk.politics.guns": "politics",
    "talk.politics.mideast": "politics",
    "talk.politics.misc": "politics",
    "comp.graphics": "tech",
    "comp.os.ms-windows.misc": "tech",
    "comp.sys.ibm.pc.hardware": "tech",
    "comp.sys.mac.hardware": "tech",
    "comp.windows.x": "tech",
}
# The least share of a gene's counts that a batch keeps.
LEAST_CAPTURE = 0.1
HEADER = (
    *("data", "n", "m", "B", "classes", "K", "batch="),
    *("clusters", "ARI classes", "ARI batch", "CPU seconds"),
)


class Batched(NamedTuple):
    """Counts with classes and batches of their rows."""

    counts: sp.csr_array
    classes: np.ndarray
    batches: np.ndarray


def main() -> None:
    parser = parser_of(__doc__, data=True)
    raw = HERE.parent.parent / "shared" / "raw"
    parser.add_argument("--raw", type=Path, default=raw, help="folder of the archives")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--seeds", type=int, default=3, help="for K known")
    parser.add_argument("--largest", type=int, default=12, help="largest K for auto")
    options = parser.parse_args()
    report = Report(options.output)
    for name in options.sets:
        data = without_empty(read(name, options))
        report.add_table(HEADER, list(lines_of(name, data, options)))
    report.write()


def read(name: str, options: argparse.Namespace) -> Batched:
    if name.startswith("webkb"):
        return universities(options.raw, misc=name == "webkb")
    if name == "pbmc":
        return captured(load(options.data, "pbmc_kang"))
    return two_sources(options.raw)


def universities(raw: Path, *, misc: bool) -> Batched:
    """WebKB; pages of many universities are in the folder misc."""
    pages = datasets.load("webkb", data_home=raw)
    batches = np.array([str(name).split("/")[-2] for name in pages.row_names])
    kept = np.flatnonzero((batches != "misc") | misc)
    X = sp.csr_array(pages.X)
    return Batched(X[kept], np.asarray(pages.labels)[kept], batches[kept])


def two_sources(raw: Path) -> Batched:
    """Sport, politics and tech of the BBC beside newsgroups of the same."""
    articles = texts.bbc([raw / "bbc-fulltext.zip"], LIMIT)
    messages = texts.newsgroups([raw / "20news-bydate.tar.xz"], LIMIT)
    articles = [each for each in articles if each.label in MATCHING.values()]
    messages = [each for each in messages if each.label in MATCHING]
    classes = [each.label for each in articles]
    classes += [MATCHING[each.label] for each in messages]
    terms = count_terms([each.text for each in articles + messages], 2000)
    batches = np.repeat(["bbc", "20news"], [len(articles), len(messages)])
    return Batched(sp.csr_array(terms.X), np.array(classes), batches)


def captured(data) -> Batched:
    """Two batches of cells at random, each of which loses counts of each gene."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(data.matrix)
    batches = rng.integers(2, size=X.shape[0])
    kept = LEAST_CAPTURE ** rng.random((2, X.shape[1]))
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    drawn = rng.binomial(X.data.astype(np.int64), kept[batches[rows], X.indices])
    thinned = sp.csr_array((drawn.astype(float), X.indices, X.indptr), shape=X.shape)
    thinned.eliminate_zeros()
    return Batched(thinned, data.labels, batches)


def without_empty(data: Batched) -> Batched:
    """Leave out rows and columns without counts."""
    rows = np.flatnonzero(data.counts.sum(axis=1) > 0)
    columns = np.flatnonzero(data.counts.sum(axis=0) > 0)
    counts = data.counts[rows][:, columns]
    return Batched(counts, data.classes[rows], data.batches[rows])


def lines_of(name: str, data: Batched, options: argparse.Namespace):
    n_classes = len(np.unique(data.classes))
    about = (name, *data.counts.shape, len(np.unique(data.batches)), n_classes)
    for k, seeds in ((n_classes, range(options.seeds)), ("auto", range(1))):
        for batch in (None, data.batches):
            found = [measured(data, k, batch, seed, options) for seed in seeds]
            given = "no" if batch is None else "yes"
            clusters, classes, of_batch, seconds = np.mean(found, axis=0)
            scores = f"{classes:.3f}", f"{of_batch:.3f}", f"{seconds:.0f}"
            say(f"{name} {k} {given} {clusters:g} {scores}")
            yield (*about, k, given, f"{clusters:g}", *scores)


def measured(data: Batched, k, batch, seed: int, options: argparse.Namespace):
    """Clusters, ARI with classes and with batches, seconds of all threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = time.process_time()
        if k == "auto":
            model = ThreeCPO("auto", max_clusters=options.largest, random_state=seed)
        else:
            model = ThreeCPO(k, random_state=seed)
        model.fit(data.counts, batch=batch)
        seconds = time.process_time() - before
    labels = model.labels_
    with_batch = adjusted_rand_score(data.batches, labels)
    with_classes = adjusted_rand_score(data.classes, labels)
    return model.n_clusters_, with_classes, with_batch, seconds


if __name__ == "__main__":
    main()
