"""Distances and measures for counts, and scores of clusters and column groups.

The scores compare labels of any kind (numbers, strings, anything that can be a key of a
dict), and only by which rows have the same: names do not matter. The label -1 of
outliers is one like the others, unless :func:`without_outliers` leaves them out.
``adjusted_rand_score`` and ``normalized_mutual_info_score`` are scikit-learn's.
"""

from typing import TYPE_CHECKING

from ._clusters import (
    clustering_accuracy,
    outlier_free_scores,
    purity,
    without_outliers,
)
from ._columns import ColumnRecovery, column_recovery
from ._counts import column_information, poisson_distance

if TYPE_CHECKING:
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

__all__ = [
    "ColumnRecovery",
    "adjusted_rand_score",
    "clustering_accuracy",
    "column_information",
    "column_recovery",
    "normalized_mutual_info_score",
    "outlier_free_scores",
    "poisson_distance",
    "purity",
    "without_outliers",
]


def __getattr__(name: str) -> object:
    if name in ("adjusted_rand_score", "normalized_mutual_info_score"):
        from sklearn import metrics

        return getattr(metrics, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
