"""What a user would pick: each tool takes counts, K or None, a seed, and gives labels.

Every tool is run as its own documentation shows it, with its default parameters but for
those named here; none sees labels. A tool without a usual way to choose K is not asked
to. Libraries are imported by the tool that needs them: a process holds no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import scipy.sparse as sp
    from numpy.typing import NDArray

    Labels = NDArray[np.int64]

N_INIT = 10  # runs of k-means and spherical k-means
MAX_CLUSTERS = 30  # as ThreeCPO("auto")
N_COMPONENTS = 50  # scanpy's default
VARIABLE_GENES = 2000
SILHOUETTE_ROWS = 3000
TRIES = 20  # resolutions tried for a wanted number of clusters


def threecpo(X: sp.csr_array, n_clusters: int | None, seed: int) -> Labels:
    from threecpo import ThreeCPO

    wanted = n_clusters or "auto"
    return ThreeCPO(wanted, random_state=seed, n_jobs=1).fit(X).labels_


def leiden(X: sp.csr_array, n_clusters: int | None, seed: int) -> Labels:
    return _communities(_log_components(X, seed), n_clusters, seed)


def leiden_pearson(X: sp.csr_array, n_clusters: int | None, seed: int) -> Labels:
    return _communities(_residual_components(X, seed), n_clusters, seed)


def _annotated(X: sp.csr_array) -> Any:
    import anndata
    import scipy.sparse

    return anndata.AnnData(scipy.sparse.csr_matrix(X.astype(np.float32)))


def _log_components(X: sp.csr_array, seed: int) -> Any:
    """scanpy's tutorial: normalise, logarithm, variable genes, components."""
    import scanpy as sc

    cells = _annotated(X)
    sc.pp.normalize_total(cells)
    sc.pp.log1p(cells)
    if cells.n_vars > VARIABLE_GENES:
        sc.pp.highly_variable_genes(cells, n_top_genes=VARIABLE_GENES)
    sc.pp.pca(cells, random_state=seed)
    return cells


def _residual_components(X: sp.csr_array, seed: int) -> Any:
    """scanpy's tutorial on analytic Pearson residuals."""
    import scanpy as sc

    cells = _annotated(X)
    if cells.n_vars > VARIABLE_GENES:
        sc.experimental.pp.highly_variable_genes(
            cells, flavor="pearson_residuals", n_top_genes=VARIABLE_GENES
        )
        cells = cells[:, cells.var["highly_variable"]].copy()
    # A row may have no counts in the genes that were chosen.
    total = np.asarray(cells.X.sum(axis=1)).ravel()
    if not total.all():
        cells.X[np.flatnonzero(total == 0), 0] = 1
    sc.experimental.pp.normalize_pearson_residuals(cells)
    sc.pp.pca(cells, random_state=seed)
    return cells


def _communities(cells: Any, n_clusters: int | None, seed: int) -> Labels:
    """Leiden at resolution 1, or at one that gives the wanted number, by bisection."""
    import scanpy as sc

    sc.pp.neighbors(cells, random_state=seed)

    def at(resolution: float) -> Labels:
        sc.tl.leiden(
            cells,
            resolution=resolution,
            flavor="igraph",
            n_iterations=2,
            random_state=seed,
        )
        return cells.obs["leiden"].cat.codes.to_numpy()

    if n_clusters is None:
        return at(1.0)
    low, high, best = 2.0**-10, 2.0**6, None
    for _ in range(TRIES):
        middle = float(np.sqrt(low * high))
        labels = at(middle)
        excess = int(labels.max()) + 1 - n_clusters
        if best is None or abs(excess) < best[0]:
            best = abs(excess), labels
        if excess == 0:
            break
        low, high = (low, middle) if excess > 0 else (middle, high)
    assert best is not None
    return best[1]


def tfidf_k_means(X: sp.csr_array, n_clusters: int | None, seed: int) -> Labels:
    """scikit-learn's example of clustering texts: latent semantic analysis."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    size = min(100, min(X.shape) - 1)
    steps = (TfidfTransformer(), TruncatedSVD(size, random_state=seed), Normalizer())
    return _k_means(make_pipeline(*steps).fit_transform(X), n_clusters, seed)


def lda(X: sp.csr_array, n_clusters: int, seed: int) -> Labels:
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(n_clusters, random_state=seed)
    return model.fit_transform(X).argmax(axis=1)


def nmf(X: sp.csr_array, n_clusters: int, seed: int) -> Labels:
    """On TF-IDF, as scikit-learn's example of topics has it."""
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfTransformer

    weights = TfidfTransformer().fit_transform(X)
    return NMF(n_clusters, random_state=seed).fit_transform(weights).argmax(axis=1)


def bm25_spherical(X: sp.csr_array, n_clusters: int | None, seed: int) -> Labels:
    from paper.kmeans import SphericalKMeans
    from paper.transforms import BM25Transformer

    weights = BM25Transformer().fit_transform(X)

    def fitted(wanted: int, n_init: int) -> Labels:
        model = SphericalKMeans(wanted, n_init=n_init, random_state=seed, n_jobs=1)
        return model.fit(weights).labels_

    return _by_silhouette(weights, n_clusters, seed, fitted, metric="cosine")


def _k_means(values: Any, n_clusters: int | None, seed: int) -> Labels:
    from sklearn.cluster import KMeans

    def fitted(wanted: int, n_init: int) -> Labels:
        return KMeans(wanted, n_init=n_init, random_state=seed).fit(values).labels_

    return _by_silhouette(values, n_clusters, seed, fitted, metric="euclidean")


def _by_silhouette(
    values: Any,
    n_clusters: int | None,
    seed: int,
    fitted: Callable[[int, int], Labels],
    metric: str,
) -> Labels:
    """Labels for a K, or for the K of the largest mean silhouette."""
    from sklearn.metrics import silhouette_score

    if n_clusters is None:
        n = values.shape[0]
        rng = np.random.default_rng(seed)
        rows = rng.permutation(n)[:SILHOUETTE_ROWS]
        scores = {}
        for wanted in range(2, min(MAX_CLUSTERS, len(rows) - 1) + 1):
            labels = fitted(wanted, 1)[rows]
            if 1 < len(np.unique(labels)) < len(rows):
                score = silhouette_score(values[rows], labels, metric=metric)
                scores[wanted] = float(score)
        n_clusters = max(scores, key=scores.__getitem__)
    return fitted(n_clusters, N_INIT)


@dataclass(frozen=True)
class Tool:
    title: str
    run: Callable[..., Labels]
    about: str
    own_choice: str  # how it chooses K; empty where it has no usual way
    family: str


# Tools of a family share imports; their versions are what is stated.
FAMILIES = {
    "threecpo": ("threecpo",),
    "scikit-learn": ("scikit-learn",),
    "scanpy": ("scanpy", "igraph", "umap-learn", "scikit-learn"),
}
TOOLS = {
    "3cpo": Tool(
        "3CPO", threecpo, "`ThreeCPO`, defaults", "description length", "threecpo"
    ),
    "leiden": Tool(
        "Leiden",
        leiden,
        "scanpy: normalise, log1p, 2 000 variable genes, PCA, neighbours, Leiden",
        "resolution 1",
        "scanpy",
    ),
    "leiden-pearson": Tool(
        "Pearson",
        leiden_pearson,
        "scanpy: analytic Pearson residuals, PCA, neighbours, Leiden",
        "resolution 1",
        "scanpy",
    ),
    "bm25-skm": Tool(
        "BM25",
        bm25_spherical,
        "BM25 weights, spherical k-means, 10 restarts",
        "silhouette",
        "threecpo",
    ),
    "tfidf-k-means": Tool(
        "TF-IDF",
        tfidf_k_means,
        "TF-IDF, 100 SVD components, k-means, 10 restarts",
        "silhouette",
        "scikit-learn",
    ),
    "nmf": Tool("NMF", nmf, "NMF of TF-IDF, largest component", "", "scikit-learn"),
    "lda": Tool("LDA", lda, "LDA, largest topic", "", "scikit-learn"),
}
