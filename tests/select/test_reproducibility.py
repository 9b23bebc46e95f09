"""Halves of the rows agree on the clusters that are there, and on none of chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from fitting import blocks_of
from threecpo import CountTable, ThreeCPO, distributed, select_n_clusters
from threecpo._core.overlaps import adjusted_rand
from threecpo.select import choice

labelings = st.lists(
    st.tuples(st.integers(-1, 3), st.integers(-1, 3), st.integers(0, 3)), max_size=20
)


@given(labelings)
def test_the_adjusted_rand_index_takes_weights_and_leaves_out_outliers(rows):
    a, b, weights = np.array(rows, dtype=int).reshape(-1, 3).T
    inside = (a >= 0) & (b >= 0)
    plain = adjusted_rand(a, b)
    if len({*a[inside]}) > 1 or len({*b[inside]}) > 1:
        if len({*a[inside]}) < inside.sum() or len({*b[inside]}) < inside.sum():
            expected = adjusted_rand_score(a[inside], b[inside])
            assert plain == pytest.approx(expected, abs=1e-12)
    else:
        assert plain == 0
    assert adjusted_rand(a, b, np.full(len(a), 0.3)) == pytest.approx(plain, abs=1e-9)
    there = weights > 0
    weighted = adjusted_rand(a, b, weights.astype(float))
    left = adjusted_rand(a[there], b[there], weights[there].astype(float))
    assert weighted == pytest.approx(left)


def test_pairs_of_rows_count_as_the_product_of_their_weights():
    """As if rows were repeated, without the pairs of a row and its own copies."""
    rng = np.random.default_rng(0)
    a, b, weights = rng.integers(0, [[3], [4], [4]], (3, 60))
    pairs = [(i, j) for i in range(60) for j in range(60) if i != j]
    w = np.array([weights[i] * weights[j] for i, j in pairs], dtype=float)
    in_a, in_b = (np.array([x[i] == x[j] for i, j in pairs]) for x in (a, b))
    both, of_a, of_b = w @ (in_a & in_b), w @ in_a, w @ in_b
    chance = of_a * of_b / w.sum()
    expected = (both - chance) / ((of_a + of_b) / 2 - chance)
    assert adjusted_rand(a, b, weights.astype(float)) == pytest.approx(expected)


def planted(n_rows=200, seed=0):
    """Four clusters, each pair as far apart."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, n_rows)
    rates = np.full((4, 24), 3.0) + 6 * np.kron(np.eye(4), np.ones(6))
    return rng.poisson(rates[labels]), labels


X, TRUE = planted()


@pytest.fixture
def all_measured(monkeypatch):
    """Every number of clusters fits almost as well."""
    monkeypatch.setattr(choice, "FLAT", np.inf)


def path_of(X, n_clusters=range(2, 7), n_init=2, **options):
    return select_n_clusters(X, n_clusters, n_init=n_init, random_state=0, **options)


@pytest.mark.parametrize("seed", range(3))
def test_planted_clusters_are_the_most_reproducible(all_measured, seed):
    X, _ = planted(seed=seed)
    path = path_of(X)
    assert "reproducible" not in path.sentence()
    found = path.reproducibility(X)
    assert list(found) == [2, 3, 4, 5, 6]
    assert found[4] > 0.95
    assert max(found[k] for k in found if k != 4) < found[4] - choice.TIE
    assert (
        "2 to 6 fit almost as well, but 4 is the most reproducible" in path.sentence()
    )
    assert path.to_table()["reproducibility"].tolist() == list(found.values())
    assert path.choose("mdl").reproducibility(X) == found


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_noise_is_not_reproducible(all_measured, spread):
    rng = np.random.default_rng(0)
    means = 3 * (rng.standard_gamma(1 / spread, (300, 30)) * spread if spread else 1)
    X = rng.poisson(means, (300, 30))
    path = path_of(X)
    found = path.reproducibility(X)
    assert len(found) == 5
    assert max(found.values()) < 0.15
    assert "halves of the data agree little" in path.sentence()


def test_only_what_fits_as_well_is_measured():
    path = path_of(X)
    found = path.reproducibility(X)
    assert list(found) == [4]
    measured = path.to_table()["reproducibility"]
    assert np.isnan(measured).tolist() == [True, True, False, True, True]
    assert path.extend(X, [7]).reproducibility(X) == found
    # One cluster, and halves with fewer rows than clusters, tell nothing.
    noise = np.random.default_rng(0).poisson(3.0, (60, 5))
    assert path_of(noise, [1]).reproducibility(noise) == {}
    assert path_of(X[:7], [4]).reproducibility(X[:7]) == {}


def test_threads_and_blocks_give_the_same_bits(all_measured):
    found = path_of(X).reproducibility(X)
    assert path_of(X, n_jobs=3).reproducibility(CountTable(X)) == found
    estimator = ThreeCPO()
    estimator.calibrates = True
    blocks = blocks_of(X, 70)
    options = {"n_init": 2, "random_state": 0, "estimator": estimator}
    path = distributed.select_n_clusters(blocks, range(2, 7), **options)
    measured = path.to_table()["reproducibility"].tolist()
    assert measured == list(found.values())
    path = distributed.select_n_clusters(blocks, [3, 4], sample_rows=120, **options)
    assert path.to_table()["reproducibility"][1] > 0.9


def test_what_belongs_to_rows_comes_along(all_measured):
    found = path_of(X).reproducibility(X)
    # Rows of weight 0 play no part.
    weights = np.arange(200) % 3 > 0
    weighted = path_of(X, sample_weight=weights).reproducibility(X)
    assert weighted == path_of(X[weights]).reproducibility(X[weights]) != found
    # Held rows would be found again wherever they are.
    known = ["ab"[k] if k < 2 else None for k in TRUE]
    assert path_of(X, known_labels=known).reproducibility(X) == found
    # Clusters that are batches are found again, unless the batches are given.
    rng = np.random.default_rng(0)
    batch = rng.integers(0, 2, 200)
    shifted = rng.poisson(4 * np.exp(0.7 * rng.standard_normal((2, 24)))[batch])
    assert path_of(shifted, [2]).reproducibility(shifted)[2] > 0.95
    assert path_of(shifted, [2], batch=batch).reproducibility(shifted)[2] < 0.2
    lone = path_of(X, [4], batch=["c" if i == 7 else "d" for i in range(200)])
    assert lone.reproducibility(X)[4] > 0.9
    # Rows without counts, on which all models agree, and outliers are left out.
    empty = np.vstack([rng.poisson(3.0, (200, 24)), np.zeros((300, 24), dtype=int)])
    assert path_of(empty, [4]).reproducibility(empty)[4] < 0.2
    path = path_of(X, [4], estimator=ThreeCPO(outliers="iterative", robust=True))
    assert path.reproducibility(X)[4] > 0.95


def test_other_counts_are_refused():
    path = path_of(X, [4])
    for other, size in ((X[:5], "5 x 24"), (X[:, :7], "200 x 7")):
        words = f"X is {size}, but the path 200 x 24; pass the counts of the path"
        for use in (path.reproducibility, lambda X: path.extend(X, [3])):
            with pytest.raises(ValueError, match=words):
                use(other)
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="needs counts in memory; make a path of a sam"):
        path.reproducibility(da.from_array(X))
