"""Transformations of counts, and k-means behind them."""

from ._columns import (
    BM25Transformer,
    PoissonStandardizer,
    RevealedComparativeAdvantage,
)
from ._counts import CanonicalCounts
from ._pipelines import ClusteringPipeline, k_means_pipeline
from ._rows import RelativeFrequency, RowMinMaxScaler, RowStandardizer

__all__ = [
    "BM25Transformer",
    "CanonicalCounts",
    "ClusteringPipeline",
    "PoissonStandardizer",
    "RelativeFrequency",
    "RevealedComparativeAdvantage",
    "RowMinMaxScaler",
    "RowStandardizer",
    "k_means_pipeline",
]
