"""All transformations of counts, and a table with empty and constant rows."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from containers import planted
from threecpo.preprocessing import (
    BM25Transformer,
    CanonicalCounts,
    PoissonStandardizer,
    RelativeFrequency,
    RevealedComparativeAdvantage,
    RowMinMaxScaler,
    RowStandardizer,
    SublinearCounts,
)

TRANSFORMERS = {
    "canonical": CanonicalCounts(),
    "std": RowStandardizer(),
    "mm": RowMinMaxScaler(),
    "rf": RelativeFrequency(),
    "log1p": SublinearCounts(),
    "sqrt": SublinearCounts("sqrt"),
    "rca": RevealedComparativeAdvantage(),
    "p-std": PoissonStandardizer(),
    "p-std 0": PoissonStandardizer(alpha=0),
    "p-std 0.8": PoissonStandardizer(alpha=0.8),
    "p-std 1": PoissonStandardizer(alpha=1),
    "bm25": BM25Transformer(),
    "bm25 other": BM25Transformer(k=0.4, b=1.0),
    "bm25 presence": BM25Transformer(k=0, b=0),
}
MAIN = [name for name in TRANSFORMERS if " " not in name]
SPARSE = [name for name in TRANSFORMERS if "std" not in name]
BY_ROW = ["canonical", "std", "mm", "rf", "log1p", "sqrt"]
LEARNING = [name for name in TRANSFORMERS if name not in BY_ROW]

X, _ = planted(n_rows=15)
X[3] = 0
X[5] = 7
X[:, 8] = 0
X[9] += 2
LARGE = X.copy()
LARGE[0, 0] = 300


def fresh(name):
    return clone(TRANSFORMERS[name])


def dense(values):
    return values.toarray() if sp.issparse(values) else np.asarray(values)
