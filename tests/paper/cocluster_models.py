"""The estimators that common tests run, and a table with blocks to find."""

import numpy as np
from sklearn.base import clone

from paper.cocluster import (
    ELBM,
    SELBM,
    CoclustInfo,
    CoclustMod,
    CoclustSpecMod,
    TauCC,
)

MODELS = {
    "CoclustInfo": CoclustInfo(3, n_init=4),
    "CoclustInfo 3 x 2": CoclustInfo(3, n_column_clusters=2, n_init=4),
    "CoclustMod": CoclustMod(3, n_init=4),
    "CoclustSpecMod": CoclustSpecMod(3, n_init=4),
    "ELBM": ELBM(3, n_init=4),
    "ELBM code": ELBM(3, variant="code", n_init=4),
    "SELBM": SELBM(3, n_init=4),
    "SELBM code": SELBM(3, variant="code", n_init=4),
    "TauCC": TauCC(3),
    "TauCC random": TauCC(3, init="random"),
}
DIAGONAL = ["CoclustMod", "CoclustSpecMod", "SELBM", "SELBM code"]
# The weights of the code hide the blocks; a random start loses clusters.
RECOVERING = [name for name in MODELS if "code" not in name and "random" not in name]


def made(name, **parameters):
    return clone(MODELS[name]).set_params(random_state=0, **parameters)


def blocks(n_clusters=3, seed=0):
    """Counts of rows and columns in as many clusters, with rates 9 and 0.3."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.repeat(np.arange(n_clusters), 30))
    columns = rng.permutation(np.repeat(np.arange(n_clusters), 20))
    X = rng.poisson(np.where(rows[:, None] == columns, 9.0, 0.3))
    return X, rows, columns


def same(model, other):
    np.testing.assert_array_equal(model.row_labels_, other.row_labels_)
    np.testing.assert_array_equal(model.column_labels_, other.column_labels_)
    np.testing.assert_array_equal(model.restart_criteria_, other.restart_criteria_)
    assert model.n_iter_ == other.n_iter_
