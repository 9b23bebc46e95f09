"""Models at the edges, and names that try to break a page."""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from containers import planted
from threecpo import ThreeCPO

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "<!--<script>",
    "line\u2028paragraph\u2029",
    "שלום עולם",
    "😀 emoji 🧬",
    "x" * 400,
    "=cmd|' /C calc'!A0",
    "a\nb\tc\0d\x7f",
    "\ud800half a letter",
    "&amp; \"quoted\" 'single' `back`",
    "\u202eoverride",
    "$\\frac{1}{2}$ {{ 7 * 7 }} {% raw %}",
    "",
    "العربية",
]


def fitted(X, n_clusters, **options):
    options = {"random_state": 0, "n_init": 2} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ThreeCPO(n_clusters, **options).fit(X)


def hostile():
    """A model whose columns, rows and title are all hostile."""
    rng = np.random.default_rng(0)
    rates = rng.gamma(0.3, 9.0, size=(3, len(HOSTILE)))
    X = rng.poisson(rates[np.repeat([0, 1, 2], 20)])
    return fitted(X, 3, outliers="iterative"), X


def edges():
    """Name, model and counts of what is rare but must not break a report."""
    rng = np.random.default_rng(1)
    flat = rng.poisson(5.0, size=(50, 8))
    X, _ = planted(3, 20, 6)
    many = rng.poisson(np.kron(np.eye(40), np.full((6, 2), 30.0)) + 0.2)
    yield "one cluster", fitted(flat, 1), flat
    yield "one column", fitted(flat[:, :1], 1), flat[:, :1]
    yield "one row", fitted(flat[:1], 1), flat[:1]
    yield "no counts", fitted(0 * flat, 2), 0 * flat
    yield "two clusters", fitted(X, 2), X
    yield "only relevant", fitted(X, 3, groups=(1,)), X
    yield "no shared", fitted(X, 3, groups=(1, -1)), X
    yield "final outliers", fitted(X, 3, outliers="final", outlier_threshold=20.0), X
    yield "nearly all outliers", fitted(flat, 3, outliers="final"), flat
    yield "forty clusters", fitted(many, 40), many
    yield "chosen", fitted(X, "auto", max_clusters=5), X
    yield "a callable price", fitted(X, 3, column_penalty=lambda t, k, n: 0 * t), X
    yield "fractions", fitted(X * 1e6, 3), X * 1e6


EDGES = {name: (model, X) for name, model, X in edges()}


def wide(n_columns=50_000, n_clusters=20, n_rows=400):
    """A model of many columns, made in no time: one step from given labels."""
    rng = np.random.default_rng(0)
    labels = np.arange(n_rows) % n_clusters
    places = rng.integers(0, n_columns, size=(n_clusters, 3000))
    columns = np.stack([rng.choice(places[k], 200) for k in labels])
    rows = np.repeat(np.arange(n_rows), 200)
    ones = np.ones(rows.size)
    X = sp.csr_array((ones, (rows, columns.ravel())), shape=(n_rows, n_columns))
    options = {"init": labels, "max_iter": 1, "column_penalty": None}
    model = fitted(X, n_clusters, **options)
    assert model.n_clusters_ == n_clusters
    return model, X


def long(n_rows=100_000):
    rng = np.random.default_rng(0)
    X, labels = planted(4, 50)
    drawn = rng.integers(0, len(X), n_rows)
    X = sp.csr_array(X[drawn])
    model = fitted(X, 4, init=labels[drawn], max_iter=3, outliers="final")
    assert model.n_clusters_ == 4
    return model, X
