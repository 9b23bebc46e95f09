"""CoclustSpecMod: k-means on the leading singular vectors of the scaled table."""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from ._base import (
    BaseCocluster,
    Run,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._base import Floats, Table


def leading_vectors(
    matrix: sp.csr_array, n_vectors: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Left and right singular vectors of the largest singular values."""
    if matrix.shape[0] < matrix.shape[1]:
        right, left = leading_vectors(matrix.T.tocsr(), n_vectors, rng)
        return left, right
    size = matrix.shape[1]
    if n_vectors >= size:
        # No more columns than vectors: as an array it is no larger than the answer.
        basis = np.eye(size)
    else:
        transposed = matrix.T.tocsr()
        gram = LinearOperator(
            (size, size),
            matvec=lambda vector: transposed @ (matrix @ vector),
            dtype=np.float64,
        )
        # Since scipy 1.17 svds draws from the system where the rank is low; eigsh does
        # so only without a generator, which older versions do not take.
        options: dict[str, Any] = {"v0": rng.uniform(0.5, 1.5, size=size)}
        if "rng" in inspect.signature(eigsh).parameters:
            options["rng"] = rng
        _, vectors = eigsh(gram, k=n_vectors, **options)
        basis, _ = np.linalg.qr(vectors)
    left, _, turn = np.linalg.svd(matrix @ basis, full_matrices=False)
    return left, basis @ turn.T


def embed(table: Table, n_vectors: int, rng: np.random.Generator) -> Floats:
    """Rows and then columns as points of one space."""
    row_scale = 1.0 / np.sqrt(table.row_sums)
    column_scale = 1.0 / np.sqrt(table.column_sums)
    scaled = sp.csr_array(
        sp.diags_array(row_scale) @ table.by_row @ sp.diags_array(column_scale)
    )
    left, right = leading_vectors(scaled, n_vectors, rng)
    parts = [row_scale[:, None] * left, column_scale[:, None] * right]
    return np.vstack([part / np.linalg.norm(part, axis=0) for part in parts])


class CoclustSpecMod(BaseCocluster):
    """Spectral co-clustering by modularity (CoclustSpecMod).

    Finds rows and columns that belong together by one k-means on both:

    1. divide every count by the roots of its row sum and its column sum;
    2. take the leading singular vectors, the trivial first one included, divided once
       more by the roots of the sums and then to length 1;
    3. run k-means on rows and columns as points of that space, ``n_init`` times.

    Parameters
    ----------
    max_iter : int, default=20
        Most iterations of k-means; no warning says that it was reached.

    Notes
    -----
    With row sums r and column sums c, the singular vectors U and V are those of
    diag(r)^(-1/2) X diag(c)^(-1/2). The columns of diag(r)^(-1/2) U and of
    diag(c)^(-1/2) V have length 1 each, so that points of rows have a size of about
    n^(-1/2) and those of columns d^(-1/2): where n and d differ much, k-means partly
    separates rows from columns. The criterion is minus the inertia of k-means, and the
    singular vectors are found once. Rows and columns of zeros are left out. All is
    sparse; a Lanczos step takes time O(nnz). Data that fall apart into unconnected
    blocks have equal singular values, whose vectors are one basis of many.

    References
    ----------
    L. Labiod and M. Nadif, "Co-clustering for binary and categorical data with maximum
    modularity", 2011.

    Examples
    --------
    >>> from paper.cocluster import CoclustSpecMod
    >>> X = [[5, 4, 0, 1], [4, 6, 1, 0], [0, 1, 7, 5], [1, 0, 6, 4]]
    >>> model = CoclustSpecMod(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> bool((model.column_labels_ == model.row_labels_).all())
    True
    """

    _diagonal = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        max_iter: int = 20,
        tol: float = 1e-9,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
        )

    def _runs(self, table: Table, seeds: list[np.random.SeedSequence]) -> Iterator[Run]:
        points = embed(
            table, self.n_clusters, np.random.default_rng(seeds[0].spawn(1)[0])
        )
        for seed in seeds:
            yield self._k_means(points, table.n_rows, np.random.default_rng(seed))

    def _k_means(self, points: Floats, n_rows: int, rng: np.random.Generator) -> Run:
        model = KMeans(
            min(self.n_clusters, len(points)),
            n_init=1,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=int(rng.integers(2**31)),
        )
        with warnings.catch_warnings():
            # Fewer distinct points than clusters is no fault here.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(points)
        labels = model.labels_.astype(np.int32)
        trace = [-float(model.inertia_)] * model.n_iter_
        return Run(labels[:n_rows], labels[n_rows:], trace)
