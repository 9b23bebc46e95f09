"""A clusterer as an estimator of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator, ClusterMixin

from .fitting import PoissonClusterer

if TYPE_CHECKING:
    from typing import Self


class PoissonEstimator(ClusterMixin, BaseEstimator, PoissonClusterer):
    """What scikit-learn asks of a clusterer."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def __sklearn_clone__(self) -> Self:
        cloned: Self = super().__sklearn_clone__()
        init = getattr(self, "init", None)
        if isinstance(init, PoissonClusterer):
            cloned.init = init  # a clone of a fitted model would not be fitted
        return cloned
