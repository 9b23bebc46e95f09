"""Planted counts, and fits of them, that tests share."""

from containers import planted
from threecpo import ThreeCPO

INITS = (
    "merge",
    "poisson-k-means++",
    "random-labels",
    "random-centers",
    "k-means++",
    "k-means",
    "rf-k-means++",
    "rf-k-means",
)
X, TRUE = planted(n_background=20)
_PROBABILITIES = "takes all that has predict_proba for a classifier of four classes"
# Checks of scikit-learn that cannot pass; tests of our own do the same on counts.
EXPECTED_FAILURES = {
    "check_clustering": "feeds negative data, which are not counts",
    "check_estimator_sparse_array": _PROBABILITIES,
    "check_estimator_sparse_matrix": _PROBABILITIES,
}
GROUPS = [1, 1, 1, 1, 1, 1, 0, 0, -1, -1]


ARRAYS = (
    "labels_",
    "column_groups_",
    "column_scores_",
    "cluster_rates_",
    "row_scales_",
    "outlier_scores_",
    "margins_",
    "restart_losses_",
)


def assert_same_bits(model, reference):
    for name in ARRAYS:
        a, b = getattr(model, name), getattr(reference, name)
        assert a.tobytes() == b.tobytes(), name
    assert model.loss_ == reference.loss_
    assert model.history_.keys() == reference.history_.keys()
    for name, values in reference.history_.items():
        assert model.history_[name].tobytes() == values.tobytes(), name


def fit(X=X, n_clusters=3, **options):
    options = {"random_state": 0, "n_init": 3} | options
    return ThreeCPO(n_clusters, **options).fit(X)


def blocks_of(X, size):
    """Readers of so many rows each."""
    return [lambda i=i: X[i : i + size] for i in range(0, len(X), size)]
