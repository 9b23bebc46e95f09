"""Transformations of counts, and k-means behind them."""

from ._column_transformers import (
    BM25Transformer,
    PoissonStandardizer,
    RevealedComparativeAdvantage,
)
from ._count_transformer import CanonicalCounts
from ._pipelines import ClusteringPipeline, k_means_pipeline, sublinear_pipeline
from ._row_transformers import (
    RelativeFrequency,
    RowMinMaxScaler,
    RowStandardizer,
    SublinearCounts,
)

__all__ = [
    "BM25Transformer",
    "CanonicalCounts",
    "ClusteringPipeline",
    "PoissonStandardizer",
    "RelativeFrequency",
    "RevealedComparativeAdvantage",
    "RowMinMaxScaler",
    "RowStandardizer",
    "SublinearCounts",
    "k_means_pipeline",
    "sublinear_pipeline",
]
