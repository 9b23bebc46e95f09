"""A transformation of counts and k-means behind it."""

import numpy as np
import pytest
from each_transformer import X
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import Pipeline

from containers import CONTAINERS, planted
from threecpo import cluster
from threecpo.preprocessing import (
    BM25Transformer,
    CanonicalCounts,
    PoissonStandardizer,
    RelativeFrequency,
    RevealedComparativeAdvantage,
    RowMinMaxScaler,
    RowStandardizer,
    k_means_pipeline,
)

FIRST = {
    None: CanonicalCounts,
    "none": CanonicalCounts,
    "std": RowStandardizer,
    "mm": RowMinMaxScaler,
    "rf": RelativeFrequency,
    "rca": RevealedComparativeAdvantage,
    "p-std": PoissonStandardizer,
    "tf-idf": CanonicalCounts,
    "bm25": BM25Transformer,
}
KINDS = [(name, False) for name in FIRST]
KINDS += [(name, True) for name in FIRST if name not in ("std", "p-std")]


@pytest.mark.parametrize("transformation", FIRST)
def test_a_pipeline_is_the_transformation_and_k_means(transformation):
    pipeline = k_means_pipeline(transformation, 5, n_init=3, random_state=7)
    assert isinstance(pipeline, Pipeline)
    assert type(pipeline[0]) is FIRST[transformation]
    middle = [TfidfTransformer] if transformation == "tf-idf" else []
    assert [type(step) for step in pipeline[1:-1]] == middle
    assert type(pipeline[-1]) is KMeans
    parameters = pipeline.named_steps["k_means"].get_params()
    assert parameters["n_clusters"] == 5
    assert parameters["n_init"] == 3
    assert parameters["random_state"] == 7


def test_the_defaults_of_a_pipeline():
    pipeline = k_means_pipeline("rf")
    assert (pipeline[-1].n_clusters, pipeline[-1].n_init) == (8, 10)
    assert pipeline[-1].random_state is None


@pytest.mark.parametrize(("transformation", "spherical"), KINDS)
@pytest.mark.parametrize(
    "container", ["C order", "pandas", "csr matrix", "csr 64-bit", "coo duplicates"]
)
def test_a_pipeline_finds_planted_clusters(transformation, container, spherical):
    counts, labels = planted(n_rows=30, seed=2)
    sizes = counts[:, :6].sum(axis=1, keepdims=True)
    counts = np.rint(np.maximum(counts[:, :6] * 200 / sizes - 20, 0)).astype(int)
    counts = np.vstack([counts, np.zeros((1, 6), dtype=int)])
    counts = np.hstack([counts, np.zeros((len(counts), 1), dtype=int)])
    given = CONTAINERS[container](counts)
    pipeline = k_means_pipeline(
        transformation, 3, spherical=spherical, n_init=3, random_state=0
    )
    found = pipeline.fit_predict(given)
    assert adjusted_rand_score(found[:-1], labels) > 0.9
    np.testing.assert_array_equal(found, pipeline.labels_)
    np.testing.assert_array_equal(found, pipeline[-1].labels_)
    np.testing.assert_array_equal(pipeline.predict(given), found)
    np.testing.assert_array_equal(clone(pipeline).fit(given).labels_, found)
    assert pipeline.n_iter_ >= 1
    assert pipeline.inertia_ == pipeline[-1].inertia_
    assert type(pipeline[-1]) is (cluster.SphericalKMeans if spherical else KMeans)


@pytest.mark.parametrize("transformation", ["std", "p-std"])
def test_spherical_k_means_takes_no_values_below_zero(transformation):
    with pytest.raises(ValueError, match=f"{transformation}' makes values below 0"):
        k_means_pipeline(transformation, spherical=True)


def test_a_pipeline_has_no_labels_before_fit():
    pipeline = k_means_pipeline("rca")
    for name in ("labels_", "n_iter_", "inertia_"):
        assert not hasattr(pipeline, name)


@pytest.mark.parametrize("transformation", FIRST)
def test_a_pipeline_names_bad_values(transformation):
    bad = X.copy()
    bad[1, 2] = -2
    with pytest.raises(
        ValueError, match=r"Negative values .* row 1, column 2 holds -2"
    ):
        k_means_pipeline(transformation, 2).fit(bad)


def test_a_generator_seeds_a_pipeline():
    seeds = [
        k_means_pipeline("rf", random_state=np.random.default_rng(s))[-1].random_state
        for s in (1, 1, 2)
    ]
    assert seeds[0] == seeds[1] != seeds[2]


@pytest.mark.parametrize("transformation", ["RCA", "idf", 1, ["rf"]])
def test_an_unknown_transformation_is_an_error(transformation):
    with pytest.raises(ValueError, match=r"transformation=.* is not one of None, "):
        k_means_pipeline(transformation)
