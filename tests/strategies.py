"""Small count matrices, with all that is awkward about them."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

PRIORS = (1e-3, 0.0, 1.0)
PENALTIES = ("mdl", "bic", None)

priors = st.sampled_from(PRIORS)
penalties = st.sampled_from(PENALTIES)


@st.composite
def count_matrices(draw, min_rows=1, max_rows=9, max_columns=6, *, huge=True):
    """Small counts, some of them with zero or equal rows, or one huge cell."""
    shape = (draw(st.integers(min_rows, max_rows)), draw(st.integers(1, max_columns)))
    Y = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 12))).astype(float)
    row, column = st.integers(0, shape[0] - 1), st.integers(0, shape[1] - 1)
    if draw(st.booleans()):
        Y[draw(row)] = 0
    if draw(st.booleans()):
        Y[:, draw(column)] = 0
    if draw(st.booleans()):
        Y[draw(row)] = Y[draw(row)]
    if huge and draw(st.integers(0, 3)) == 3:
        Y[draw(row), draw(column)] = draw(st.integers(13, 10**12))
    return Y


@dataclass(frozen=True)
class Labelled:
    """Counts, a cluster (-1: outlier) for each row, a group for each column."""

    Y: np.ndarray
    labels: np.ndarray
    groups: np.ndarray
    n_clusters: int


@st.composite
def labelled_counts(draw, *, outliers=True, min_rows=1, max_clusters=4, huge=True):
    """Counts with labels that leave no cluster empty, and with any groups."""
    Y = draw(count_matrices(min_rows=min_rows, huge=huge))
    n_rows, n_columns = Y.shape
    n_clusters = draw(st.integers(1, min(max_clusters, n_rows)))
    least = -1 if outliers and draw(st.booleans()) else 0
    rest = st.lists(
        st.integers(least, n_clusters - 1),
        min_size=n_rows - n_clusters,
        max_size=n_rows - n_clusters,
    )
    labels = np.array([*range(n_clusters), *draw(rest)])
    allowed = draw(st.sampled_from([(-1, 0, 1), (-1, 1), (0, 1), (-1, 0), (-1,)]))
    groups = hnp.arrays(np.int8, n_columns, elements=st.sampled_from(allowed))
    order = draw(st.permutations(range(n_rows)))
    return Labelled(Y, labels[list(order)], draw(groups), n_clusters)


def permutations_of(size):
    return st.permutations(range(size)).map(lambda order: np.array(order, dtype=int))


def planted(rng, n_rows=40, n_clusters=3, *, fractional=False):
    """Counts with columns of all three groups, and the clusters behind them.

    Every eighth row is of no cluster.
    """
    labels = rng.integers(n_clusters, size=n_rows)
    sizes = rng.gamma(4.0, 5.0, size=n_rows)
    profiles = rng.dirichlet(np.full(4, 0.8), size=n_clusters)
    mixed = rng.dirichlet(np.full(4, 8.0), size=n_rows)
    strange = np.arange(n_rows)[:, None] % 8 == 7
    Y = np.column_stack(
        [
            rng.poisson(sizes[:, None] * np.where(strange, mixed, profiles[labels])),
            rng.poisson(np.outer(sizes, [0.5, 1.0])),
            rng.poisson([3.0, 8.0], size=(n_rows, 2)),
        ]
    ).astype(float)
    return (Y + 0.37 * (Y > 0) if fractional else Y), labels
