"""Small stand-ins of data sets, and of the loops of the experiments."""

import re

import numpy as np
import scipy.sparse as sp

from experiments import (
    _paths,
    k_means_path,
    k_path,
    noise_columns,
    noise_range,
    number_of_clusters,
    runtime_columns,
    runtime_rows,
    synth,
)
from threecpo.datasets import make_synth


def write_matrix(path, n_rows=60, n_columns=64, *, names=True):
    """An .npz file of three clusters of counts."""
    rng = np.random.default_rng(0)
    labels = np.arange(n_rows) % 3
    rates = rng.gamma(1.0, 4.0, size=(3, n_columns))
    X = sp.csr_array(rng.poisson(rates[labels]))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    if names:
        parts["feature_names"] = np.array([f"word {j}" for j in range(n_columns)])
        parts["label_names"] = np.array(["first", "second", "third"])
    np.savez(path, shape=np.array(X.shape), labels=labels, **parts)
    return path


def shorten(monkeypatch):
    """Fewer points, draws and numbers of clusters."""
    for module in (_paths, k_path, k_means_path, number_of_clusters):
        monkeypatch.setattr(module, "N_CLUSTERS", (2, 3, 4))
    monkeypatch.setattr(noise_columns, "POINTS", (0, 2))
    monkeypatch.setattr(noise_range, "POINTS", (3, 9))
    monkeypatch.setattr(runtime_rows, "SIZES", (60, 90))
    monkeypatch.setattr(runtime_columns, "SIZES", (6, 9))
    monkeypatch.setattr(synth, "DRAWS", 2)
    monkeypatch.setattr(
        "experiments._data.make_synth",
        lambda n_rows=60, **options: make_synth(n_rows, **options),
    )


def tables(text):
    """Rows of the Markdown tables of a page, each as a list of cells."""
    found = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.splitlines()
        if lines and lines[0].startswith("|"):
            found.append([re.split(r"(?<!\\)\|", line)[1:-1] for line in lines])
    return found
