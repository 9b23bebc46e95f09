"""A transformation of counts with k-means behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from .._options import check_choice
from ._column_transformers import (
    BM25Transformer,
    PoissonStandardizer,
    RevealedComparativeAdvantage,
)
from ._count_transformer import CanonicalCounts
from ._row_transformers import (
    RelativeFrequency,
    RowMinMaxScaler,
    RowStandardizer,
    SublinearCounts,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TRANSFORMERS = {
    "std": RowStandardizer,
    "mm": RowMinMaxScaler,
    "rf": RelativeFrequency,
    "rca": RevealedComparativeAdvantage,
    "p-std": PoissonStandardizer,
    "bm25": BM25Transformer,
}
_CHOICES = (None, "none", *_TRANSFORMERS, "tf-idf")


class ClusteringPipeline(Pipeline):
    """A pipeline that shows what its last step, which clusters, has found.

    scikit-learn's Pipeline with ``labels_``, ``n_iter_`` and ``inertia_``, so that it
    can stand where an estimator of clusters does. :func:`k_means_pipeline` makes them.

    Parameters
    ----------
    steps, transform_input, memory, verbose
        As in :class:`sklearn.pipeline.Pipeline`.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from threecpo.preprocessing import ClusteringPipeline, RelativeFrequency
    >>> k_means = KMeans(2, n_init=1, random_state=0)
    >>> steps = [("shares", RelativeFrequency()), ("k_means", k_means)]
    >>> ClusteringPipeline(steps).fit([[4, 1], [1, 4], [9, 2]]).labels_
    array([1, 0, 1], dtype=int32)
    """

    @property
    def labels_(self) -> NDArray[np.int32]:
        """Cluster of each row of ``fit``."""
        return self.steps[-1][1].labels_

    @property
    def n_iter_(self) -> int:
        """Iterations of the kept run."""
        return self.steps[-1][1].n_iter_

    @property
    def inertia_(self) -> float:
        """Loss of the kept run, after the transformation; smaller is better."""
        return self.steps[-1][1].inertia_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        first = get_tags(self.steps[0][1])
        tags.input_tags.positive_only = first.input_tags.positive_only
        return tags


def k_means_pipeline(
    transformation: str | None,
    n_clusters: int = 8,
    *,
    spherical: bool = False,
    n_init: int = 10,
    random_state: Any = None,
) -> ClusteringPipeline:
    """K-means on transformed counts, as one estimator.

    Parameters
    ----------
    transformation : {None, "none", "std", "mm", "rf", "rca", "p-std", "tf-idf", "bm25"}
        What is done to the counts first: nothing, :class:`RowStandardizer`,
        :class:`RowMinMaxScaler`, :class:`RelativeFrequency`,
        :class:`RevealedComparativeAdvantage`, :class:`PoissonStandardizer`,
        scikit-learn's ``TfidfTransformer`` or :class:`BM25Transformer`, each with its
        defaults. ``"std"`` and ``"p-std"`` make the data dense.
    n_clusters : int, default=8
        Number of clusters.
    spherical : bool, default=False
        Whether to use :class:`threecpo.cluster.SphericalKMeans`, which compares
        directions, instead of scikit-learn's ``KMeans``. It takes no values below 0,
        so not with ``"std"`` and ``"p-std"``.
    n_init : int, default=10
        Number of runs; the one of lowest inertia is kept.
    random_state : int, RandomState, Generator or None, default=None
        Seed. A Generator gives one number, here, that becomes the seed.

    Returns
    -------
    ClusteringPipeline
        A scikit-learn Pipeline, not yet fitted: ``fit``, ``predict``, ``fit_predict``,
        and ``labels_`` once fitted. Its last step, ``pipeline[-1]``, is named
        ``k_means``.

    Examples
    --------
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.preprocessing import k_means_pipeline
    >>> X, _ = make_synth(random_state=0)
    >>> pipeline = k_means_pipeline("rf", n_clusters=3, random_state=0).fit(X)
    >>> bool((pipeline.predict(X) == pipeline.labels_).all())
    True
    """
    check_choice("transformation", transformation, _CHOICES)
    if spherical and transformation in ("std", "p-std"):
        message = (
            f"transformation={transformation!r} makes values below 0, which spherical "
            "k-means does not take."
        )
        raise ValueError(message)
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**31))
    kind = _k_means(spherical=spherical)
    k_means = kind(n_clusters, n_init=n_init, random_state=random_state)
    return ClusteringPipeline([*_first_steps(transformation), ("k_means", k_means)])


def sublinear_pipeline(
    function: str = "log1p", estimator: Any = None
) -> ClusteringPipeline:
    """Clusters of square roots or logarithms of counts, as one estimator.

    Parameters
    ----------
    function : {"log1p", "sqrt"}, default="log1p"
        What is done to the counts, as in :class:`SublinearCounts`.
    estimator : estimator or None, default=None
        What clusters them; None is ``ThreeCPO()``.

    Returns
    -------
    ClusteringPipeline
        A scikit-learn Pipeline, not yet fitted, with the steps ``counts`` and
        ``cluster``. ThreeCPO does not warn of values that are not whole numbers there.

    Examples
    --------
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.preprocessing import sublinear_pipeline
    >>> X, _ = make_synth(random_state=0)
    >>> pipeline = sublinear_pipeline("sqrt", ThreeCPO(3, random_state=0)).fit(X)
    >>> bool((pipeline.predict(X) == pipeline.labels_).all())
    True
    """
    if estimator is None:
        from ..cluster import ThreeCPO

        estimator = ThreeCPO()
    counts = SublinearCounts(function, table=True)
    return ClusteringPipeline([("counts", counts), ("cluster", estimator)])


def _k_means(*, spherical: bool) -> type[Any]:
    if spherical:
        from ..cluster import SphericalKMeans

        return SphericalKMeans
    from sklearn.cluster import KMeans

    return KMeans


def _first_steps(transformation: str | None) -> list[tuple[str, Any]]:
    if transformation in _TRANSFORMERS:
        return [(transformation, _TRANSFORMERS[transformation]())]
    counts = ("counts", CanonicalCounts())
    if transformation == "tf-idf":
        from sklearn.feature_extraction.text import TfidfTransformer

        return [counts, ("tf-idf", TfidfTransformer())]
    return [counts]
