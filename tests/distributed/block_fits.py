"""Small counts in blocks, fits of them, and when two fits are the same."""

from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from strategies import planted
from threecpo import ThreeCPO, distributed
from threecpo._fit.blocks import BlockFit
from threecpo.io.blocks import write_blocks


class Crash(Exception):  # noqa: N818
    """As sudden as can be inside a process."""


def before_each_pass(monkeypatch, hear):
    """Call ``hear`` with the requests of every pass before it is made."""
    whole = _whole_pass

    def heard(self, requests):
        hear(requests)
        return whole(self, requests)

    monkeypatch.setattr(BlockFit, "_pass", heard)


def crash_before_pass(monkeypatch, number):
    """End the fit before this pass, counted from 0; never, if that is None."""
    passes = iter(range(10**6))

    def crash(_):
        if next(passes) == number:
            raise Crash

    before_each_pass(monkeypatch, crash)


_whole_pass = BlockFit._pass
ROWS = ("labels_", "nearest_labels_", "outlier_scores_", "margins_", "row_scales_")


def counts_of(seed=0, n_rows=300, n_clusters=3, **options):
    Y, labels = planted(np.random.default_rng(seed), n_rows, n_clusters, **options)
    return sp.csr_array(Y), labels


LONG = {
    "n_clusters": 6,
    "init": "random-labels",
    "n_init": 6,
    "outliers": "iterative",
    "column_penalty": None,
}


def shapeless(n_rows=400, seed=0):
    """Counts without clear clusters, in which runs take many passes."""
    rng = np.random.default_rng(seed)
    scales = rng.gamma(1.0, 2.0, size=(n_rows, 1))
    return sp.csr_array(rng.poisson(scales * rng.gamma(2.0, 1.0, size=(n_rows, 12))))


def with_rare(seed, n_rows=5000, n_rare=30):
    """Three clusters, and 30 rows of one that have more of six columns."""
    rng = np.random.default_rng(seed)
    rates = rng.gamma(2.0, size=(3, 60))
    means = rates[rng.integers(3, size=n_rows)]
    means[:n_rare] = rates[0]
    means[:n_rare, :6] *= 6
    order = rng.permutation(n_rows)
    Y = rng.poisson(means * rng.gamma(4.0, 0.5, size=(n_rows, 1)))
    return sp.csr_array(Y[order]), order < n_rare


def finds(model, rare):
    """Whether a cluster is mostly of the rare rows, and has most of them."""
    inside = np.bincount(model.labels_[rare], minlength=model.n_clusters_)
    best = inside.argmax()
    n_best = np.count_nonzero(model.labels_ == best)
    return inside[best] > 0.5 * rare.sum() and inside[best] > 0.5 * n_best


def cut(X, *bounds):
    """Readers of the rows between bounds."""
    ends = [0, *sorted(bounds), X.shape[0]]
    return [Rows(X, a, b) for a, b in pairwise(ends)]


class Rows:
    """A reader that counts how often it is called."""

    def __init__(self, X, start, stop):
        self.X, self.start, self.stop, self.reads = X, start, stop, 0

    def __call__(self):
        self.reads += 1
        return self.X[self.start : self.stop]


def evenly(X, n_blocks):
    return cut(X, *(i * X.shape[0] // n_blocks for i in range(1, n_blocks)))


def model_of(n_clusters=3, **options):
    return ThreeCPO(n_clusters, **{"random_state": 0, "n_init": 4} | options)


def fit(blocks, n_clusters=3, *, sample_rows=60, fitting=None, **options):
    return distributed.fit(
        model_of(n_clusters, **options),
        blocks,
        sample_rows=sample_rows,
        **fitting or {},
    )


def attributes(model):
    return {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and name not in ("feature_names_in_", "record_")
    }


def assert_same_bits(first, second, *, history=True):
    a, b = attributes(first), attributes(second)
    assert a.keys() == b.keys()
    for name, value in a.items():
        if name != "history_":
            np.testing.assert_array_equal(value, b[name], err_msg=name)
        elif history:
            for key, line in value.items():
                np.testing.assert_array_equal(line, b[name][key], err_msg=key)


def assert_same_path(first, second):
    assert first.n_clusters.tolist() == second.n_clusters.tolist()
    assert first.totals.tobytes() == second.totals.tobytes()
    assert first.best_k == second.best_k
    assert first.sentence() == second.sentence()
    for k in first.n_clusters.tolist():
        assert_same_bits(first.estimator(k), second.estimator(k))
    for name, column in first.divisions().items():
        np.testing.assert_array_equal(column, second.divisions()[name])


def assert_same_answer(first, second):
    """What holds where sums are not exact: the same decisions, nearly the same loss."""
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.column_groups_, second.column_groups_)
    np.testing.assert_allclose(first.loss_, second.loss_, rtol=1e-12)


def write(X, folder, n_blocks=7, **options):
    write_blocks((read() for read in evenly(X, n_blocks)), folder, **options)
    return folder
