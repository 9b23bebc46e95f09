"""Example data: the novels of Jane Austen, and synthetic counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ._options import check_integer
from .table import CountTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["load_austen", "make_synth"]

RATIOS = np.array([[2, 3], [4, 1], [3, 2]])
SHARED = (4, 1)


def load_austen() -> CountTable:
    """Return the counts of words in the chapters of Jane Austen's six novels.

    The file comes with the package; nothing is downloaded.

    Returns
    -------
    CountTable
        269 chapters x the 2000 most frequent words, counted by
        :func:`threecpo.text.count_terms` with its defaults. ``row_names`` are novel and
        chapter, and ``labels`` the novel. Fits do not read names or labels.

    Examples
    --------
    >>> from threecpo.datasets import load_austen
    >>> table = load_austen()
    >>> table
    CountTable("Jane Austen's novels": 269 rows x 2000 columns, 6 clusters)
    >>> table.row_names[11]
    'Emma, chapter 12'
    """
    with np.load(Path(__file__).parent / "data" / "austen.npz") as arrays:
        novels = arrays["novels"].tolist()
        numbers = arrays["chapters"].tolist()
        return CountTable(
            arrays["counts"],
            row_names=[
                f"{novel}, chapter {number}"
                for novel, number in zip(novels, numbers, strict=True)
            ],
            column_names=arrays["words"].tolist(),
            labels={"novel": novels},
            name="Jane Austen's novels",
            licence="Public domain",
            source="Project Gutenberg, by way of the R package janeaustenr",
        )


def make_synth(
    n_rows: int = 1000,
    *,
    shared_columns: int = 2,
    noise_columns: int = 1,
    noise_high: int = 15,
    constant_columns: int = 1,
    perturbed: float = 0.2,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the synthetic data set of the paper, or one of its variants.

    In the first four columns each of three clusters has its own proportions, (2, 3, 4,
    1), (4, 1, 4, 1) or (3, 2, 4, 1), times a row size drawn from 1 to 30. The fifth
    column is drawn from 0 to 15 and the sixth is always 20; then 1 to 5 is added to a
    fifth of all entries. So the first two columns are relevant (C1), the next two
    shared (C0) and the last two noise (C-).

    Parameters
    ----------
    n_rows : int, default=1000
        Number of rows, shared out over the clusters as equally as possible.
    shared_columns : int, default=2
        Number of shared columns, with proportions 4, 1, 4, 1, ... The paper's runtime
        over the number of columns adds such columns.
    noise_columns : int, default=1
        Number of columns drawn from 0 to ``noise_high``.
    noise_high : int, default=15
        Largest value drawn in a noise column. The paper's robustness to noise has
        ``constant_columns=0`` and more ``noise_columns``, or one with ``noise_high``
        from 1 to 100.
    constant_columns : int, default=1
        Number of columns of 20.
    perturbed : float, default=0.2
        Share of all entries that 1 to 5 is added to.
    random_state : int, RandomState or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_rows, n_columns)
        Counts: two relevant columns, then the shared, noise and constant ones.
    labels : ndarray of shape (n_rows,)
        True clusters 0, 1 and 2.

    Examples
    --------
    >>> from threecpo.datasets import make_synth
    >>> X, labels = make_synth(6, random_state=0)
    >>> labels
    array([0, 0, 1, 1, 2, 2])
    >>> X.shape
    (6, 6)
    >>> make_synth(6, noise_columns=50, constant_columns=0)[0].shape
    (6, 54)
    """
    from sklearn.utils import check_random_state

    n_rows = check_integer("n_rows", n_rows, 0)
    shared_columns = check_integer("shared_columns", shared_columns, 0)
    noise_columns = check_integer("noise_columns", noise_columns, 0)
    noise_high = check_integer("noise_high", noise_high, 0)
    constant_columns = check_integer("constant_columns", constant_columns, 0)
    if not 0 <= perturbed <= 1:
        message = f"perturbed={perturbed!r} must be a share from 0 to 1."
        raise ValueError(message)
    rng = check_random_state(random_state)
    labels = np.arange(n_rows) * len(RATIOS) // max(1, n_rows)
    sizes = rng.randint(1, 31, size=(n_rows, 1))
    blocks = (
        sizes * RATIOS[labels],
        sizes * np.resize(SHARED, shared_columns),
        rng.randint(0, noise_high + 1, size=(n_rows, noise_columns)),
        np.full((n_rows, constant_columns), 20),
    )
    X = np.concatenate(blocks, axis=1).astype(np.int64, copy=False)
    noisy = rng.permutation(X.size)[: int(X.size * perturbed)]
    X.flat[noisy] += rng.randint(1, 6, size=len(noisy))
    return X, labels
