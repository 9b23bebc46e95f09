"""Agreement of two halves of the rows."""

import numpy as np
import pytest

from containers import CONTAINERS, planted
from threecpo import ThreeCPO
from threecpo.cluster import PoissonL
from threecpo.select import stability

X, _ = planted(n_rows=40)


def stable(X=X, n_clusters=range(2, 6), **options):
    options = {"random_state": 0, "n_splits": 3, "n_init": 3} | options
    return stability(X, n_clusters, **options)


@pytest.mark.parametrize("n_clusters", [2, 4])
def test_planted_clusters_agree_most_at_their_number(n_clusters):
    X, _ = planted(n_clusters=n_clusters, n_rows=60)
    table = stable(X, range(2, 6))
    at_peak = table["mean"].idxmax()
    assert table["n_clusters"][at_peak] == n_clusters
    assert table["mean"][at_peak] > 0.95


def test_clusters_of_nothing_do_not_agree():
    """Four draws and clusters: agreements are below 0.1 on average, 0.5 at most."""
    agreement = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        sizes, rates = rng.gamma(4, 0.25, size=(150, 1)), rng.gamma(2, 2.5, size=30)
        table = stable(
            rng.poisson(sizes * rates),
            [4],
            estimator=ThreeCPO(column_penalty=None),
            random_state=seed,
        )
        agreement.append(table["mean"][0])
    assert np.mean(agreement) < 0.1
    assert max(agreement) < 0.5


def test_the_table_names_each_k_once_in_order():
    table = stable(n_clusters=[4, 2, 3, 2])
    assert list(table) == ["n_clusters", "mean", "std"]
    assert table["n_clusters"].tolist() == [2, 3, 4]
    assert (table["mean"] <= 1).all()
    assert (table["std"] >= 0).all()


@pytest.mark.parametrize("make", [int, np.random.RandomState, np.random.default_rng])
def test_threads_and_containers_change_no_bit(make):
    reference = stable(n_jobs=1, random_state=make(4))
    table = stable(CONTAINERS["csr matrix"](X), n_jobs=2, random_state=make(4))
    for name in reference:
        assert table[name].to_numpy().tobytes() == reference[name].to_numpy().tobytes()
    assert not stable(random_state=5)["mean"].equals(reference["mean"])


def test_relatives_serve():
    table = stable(estimator=PoissonL())
    assert table["mean"][1] > 0.95
    assert table["n_clusters"][table["mean"].idxmax()] == 3


def test_without_pandas_the_table_is_a_dict(hide_pandas):
    frame = stable()
    hide_pandas()
    table = stable()
    assert type(table) is dict
    for name, values in table.items():
        np.testing.assert_array_equal(values, frame[name])


def test_bad_arguments_are_refused():
    for options, message in (
        ({"n_clusters": [0]}, r"^n_clusters=0 must be a whole number of 1 or more\.$"),
        ({"n_clusters": [100]}, r"should be >= n_clusters=100"),
        ({"n_clusters": []}, r"^n_clusters is empty"),
        ({"n_splits": 0}, r"^n_splits=0 must be a whole number of 1 or more\.$"),
        ({"n_init": 0}, r"^n_init=0 must be .* 1 or more, or 'auto'\.$"),
    ):
        with pytest.raises(ValueError, match=message):
            stable(**options)
