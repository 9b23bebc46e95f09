"""A second opinion: whether other rows give the same clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from .. import _options
from .._extras import frame
from ..cluster.fitting import as_table
from ..table import CountTable
from ._select import empty_path, whole_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray


def stability(
    X: ArrayLike | Any,
    n_clusters: Iterable[int] = range(2, 31),
    *,
    n_splits: int = 5,
    n_init: int = 5,
    estimator: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Any:
    """How well two halves of the rows agree on the clusters, for several K.

    The rows are split in two at random, each half is clustered, and both models put
    all rows in their clusters. The adjusted Rand index of the two is near 1 where the
    clusters are those of the data, and small where they are those of the sample.
    Nothing is assumed about how counts vary. It says which of several K can be
    trusted, not which is best: few clusters are often stable where more are there.

    Parameters
    ----------
    X : CountTable, array-like, frame or sparse matrix of shape \
(n_rows, n_columns)
        Counts, 0 or more.
    n_clusters : iterable of int, default=range(2, 31)
        Numbers of clusters to try, at most half the number of rows.
    n_splits : int, default=5
        How often the rows are split.
    n_init : int, default=5
        Number of runs of each fit.
    estimator : estimator or None, default=None
        As in :func:`select_n_clusters`.
    random_state : int, RandomState, Generator or None, default=None
        Seed.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    pandas.DataFrame or dict of str to ndarray
        ``n_clusters``, and ``mean`` and ``std`` of the agreement over the splits. A
        dict where pandas is not installed.

    Examples
    --------
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.select import stability
    >>> X, _ = make_synth(random_state=0)
    >>> table = stability(X, [2, 8], random_state=0)
    >>> bool(table["mean"][0] > table["mean"][1])
    True
    """
    table = as_table(X)
    counts = table.counts
    n_splits = _options.check_integer("n_splits", n_splits, 1)
    rng = np.random.default_rng(_options.fixed_seed(random_state))
    wanted = whole_numbers(n_clusters)
    agreement = np.empty((n_splits, len(wanted)))
    for split in agreement:
        order = rng.permutation(counts.n_rows)
        halves = np.sort(order[::2]), np.sort(order[1::2])
        labels = []
        for half in halves:
            options = {"n_init": n_init, "random_state": rng, "n_jobs": n_jobs}
            fits = empty_path(estimator, None, **options).fitter.fit_each(
                CountTable(counts.rows(half)), wanted, None
            )
            labels.append([fit.predict(table) for fit in fits])
        split[:] = [_agreement(a, b) for a, b in zip(*labels, strict=True)]
    return frame(
        {
            "n_clusters": np.array(wanted),
            "mean": agreement.mean(axis=0),
            "std": agreement.std(axis=0),
        }
    )


def _agreement(a: NDArray[np.int32], b: NDArray[np.int32]) -> float:
    """Adjusted Rand index; 0 where a model has one cluster and agrees on nothing."""
    if min(len(np.unique(a)), len(np.unique(b))) < 2:
        return 0.0
    return float(adjusted_rand_score(a, b))
