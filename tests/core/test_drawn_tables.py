"""Drawn tables, and gains of two clusters over one compared with theirs."""

from dataclasses import replace

import numpy as np
import pytest

from containers import scattered
from threecpo._core import dispersion, split_test
from threecpo._core.codes import NOISE, RELEVANT, SHARED, all_relevant
from threecpo._core.drawn_tables import DrawnTables
from threecpo._core.matrices import from_dense, from_sparse
from threecpo._core.rows import RowInfo
from threecpo._core.split_test import SplitResult, mixture_gain
from threecpo._core.sums import sum_by_labels


def table(seed=0, n_rows=400, n_columns=30, excess=2.0, squared=False, mean=2.0):
    rng = np.random.default_rng(seed)
    sizes, shares = rng.lognormal(0, 0.6, n_rows), rng.gamma(2, 1, n_columns)
    means = mean * np.outer(sizes / sizes.mean(), shares / shares.mean())
    more = excess * (means / means.mean(axis=0) if squared else np.ones_like(means))
    if not excess:
        return rng.poisson(means).astype(float)
    return rng.poisson(rng.standard_gamma(means / more) * more).astype(float)


def one_cluster(Y):
    labels = np.zeros(len(Y), np.int32)
    return DrawnTables.of(from_dense(Y), labels, all_relevant(Y.shape[1]))


def model(sizes, profiles, dispersions, power=0.0, lines=None, flat=None):
    """A model of these."""
    profiles = np.atleast_2d(profiles)
    lines = np.zeros(len(sizes), np.int32) if lines is None else lines
    flat = np.zeros(profiles.shape[1], bool) if flat is None else flat
    own = profiles, np.asarray(dispersions), power, np.ones(profiles.shape[1])
    return DrawnTables(np.asarray(sizes), lines, *own, flat)


def drawn(tables, n=1, seed=0):
    rng = np.random.default_rng(seed)
    return np.vstack([tables.draw(rng).matrix().toarray() for _ in range(n)])


@pytest.mark.parametrize("mean", [0.05, 3.0])
@pytest.mark.parametrize("excess", [0.0, 3.0])
def test_rows_keep_their_sizes(mean, excess):
    Y = table(mean=mean, excess=excess)
    found = drawn(one_cluster(Y))
    np.testing.assert_array_equal(found.sum(axis=1), Y.sum(axis=1))
    assert (found == np.floor(found)).all()


@pytest.mark.parametrize("mean", [0.2, 5.0])
def test_without_dispersion_counts_of_a_row_are_multinomial(mean):
    """Both cell by cell and as scattered groups."""
    shares, sizes = np.array([0.1, 0.2, 0.3, 0.4]), np.repeat([2.0, 7.0], 40_000)
    sizes = np.maximum(1, np.round(sizes * mean))
    found = drawn(model(sizes, shares, np.ones(4)))
    for size in np.unique(sizes):
        part = found[sizes == size]
        np.testing.assert_allclose(part.mean(axis=0), size * shares, rtol=0.03)
        cells = np.diag(shares) - np.outer(shares, shares)
        np.testing.assert_allclose(
            np.cov(part.T), size * cells, atol=0.02 * size, rtol=0.05
        )


@pytest.mark.parametrize(("mean", "squared"), [(0.3, False), (4.0, False), (4.0, True)])
def test_dispersions_of_drawn_tables_are_those_measured(mean, squared):
    Y = table(n_rows=3000, mean=mean, squared=squared, excess=2.0)
    given = one_cluster(Y)
    again = one_cluster(drawn(given))
    ratio = (again.dispersions - 1) / (given.dispersions - 1)
    assert ratio.mean() == pytest.approx(1.0, abs=0.1)
    assert ratio.std() < 0.3
    assert again.power == given.power


def test_dispersions_are_those_of_a_fit_without_prior(seed):
    Y = table(seed)
    groups = np.full(Y.shape[1], RELEVANT, dtype=np.int8)
    given, labels = from_dense(Y), np.arange(len(Y), dtype=np.int32) % 3
    sums = sum_by_labels(given, labels, 3, groups, 0.0).smoothed(0.0)
    expected = dispersion.dispersions(given, labels, sums, groups)
    found = DrawnTables.of(given, labels, groups).dispersions
    np.testing.assert_allclose(found, np.maximum(1.0, expected), rtol=1e-9)


@pytest.mark.parametrize(("squared", "power"), [(False, 0.0), (True, 1.0)])
def test_the_growth_of_the_variance_is_estimated(squared, power):
    assert one_cluster(table(mean=6.0, squared=squared)).power == power


def test_shrinking_leads_from_the_clusters_to_one():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3, dtype=np.int32), 100)
    rates = 3 * np.exp(0.8 * rng.standard_normal((3, 12)))
    counts = from_dense(rng.poisson(rates[labels]).astype(float))
    own = DrawnTables.of(counts, labels, all_relevant(12))
    one = one_cluster(counts.matrix().toarray())
    for name in ("profiles", "dispersions", "power"):
        value = getattr(own, name)
        np.testing.assert_allclose(getattr(own.shrunk(1.0), name), value, atol=1e-12)
    none = own.shrunk(0.0)
    np.testing.assert_allclose(none.profiles, np.tile(one.profiles[0], (4, 1)))
    np.testing.assert_allclose(none.dispersions, one.dispersions)
    half = own.shrunk(0.5)
    np.testing.assert_allclose(half.profiles, (own.profiles + none.profiles) / 2)
    np.testing.assert_allclose(half.profiles.sum(axis=1), 1.0)
    sums = drawn(half, n=20).reshape(20, 300, 12).mean(axis=0)
    found = np.array([sums[labels == k].sum(axis=0) for k in range(3)])
    np.testing.assert_allclose(
        found / found.sum(axis=1, keepdims=True), half.profiles[:3], atol=0.01
    )


def test_groups_of_columns_batches_and_weights_are_kept():
    """C0 has one rate, C- no row sizes, batches their own rates."""
    rng = np.random.default_rng(0)
    batches = (np.arange(600) % 2).astype(np.int32)
    labels = (np.arange(600) // 300).astype(np.int32)
    sizes = rng.choice([1.0, 4.0], 600)
    rates = np.array([[6.0, 1, 3, 2], [1, 6, 3, 2]])[labels] * sizes[:, None]
    rates[:, 2] *= 1 + 2 * batches
    rates[:, 3] = 5.0
    info = RowInfo(
        weights=rng.choice([1.0, 2.0], 600), batches=batches, batch_names=("a", "b")
    )
    counts = from_dense(rng.poisson(rates).astype(float)).with_rows(info)
    groups = np.array([RELEVANT, RELEVANT, SHARED, NOISE], dtype=np.int8)
    tables = DrawnTables.of(counts, labels, groups)
    found = tables.draw(np.random.default_rng(0))
    assert found.row_info is info
    Y, Z = counts.matrix().toarray(), found.matrix().toarray()
    np.testing.assert_array_equal(Z[:, :3].sum(axis=1), Y[:, :3].sum(axis=1))
    for k in range(2):
        for b in range(2):
            rows = (labels == k) & (batches == b)
            np.testing.assert_allclose(Z[rows].sum(0), Y[rows].sum(0), rtol=0.12)
    assert np.corrcoef(Z[:, 3], sizes)[0, 1] == pytest.approx(0.0, abs=0.12)


def test_many_columns_take_memory_for_counts_alone():
    import tracemalloc

    counts = from_sparse(scattered((20_000, 20_000), 40_000))
    labels = np.zeros(20_000, np.int32)
    tables = DrawnTables.of(counts, labels, all_relevant(20_000))
    tracemalloc.start()
    found = tables.draw(np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.data.sum() == counts.data.sum()
    assert peak < 40e6  # a dense table would have 3.2e9 bytes


@pytest.mark.parametrize(
    "Y", [np.zeros((3, 2)), np.ones((1, 1)), np.eye(3), np.full((4, 3), 0.5)]
)
def test_small_tables_are_drawn(Y):
    found = drawn(one_cluster(Y))
    assert found.shape == Y.shape
    assert np.isfinite(found).all()
    fractional = drawn(replace(one_cluster(Y), sizes=Y.sum(axis=1)), n=200)
    total = fractional.sum() / 200
    assert total == pytest.approx(Y.sum(), rel=0.1)


def test_the_same_seed_draws_the_same_bits(seed):
    tables = one_cluster(table(mean=0.5))
    assert (drawn(tables, seed=seed) == drawn(tables, seed=seed)).all()
    assert (drawn(tables, seed=seed) != drawn(tables, seed=seed + 1)).any()


def table_of(seed, distance, n_rows=200, n_columns=60, mean=4.0):
    rng = np.random.default_rng(seed)
    inside = np.arange(n_rows) % 3 == 0
    effects = distance * rng.standard_normal(n_columns)
    means = mean * np.exp(np.outer(inside, effects))
    return rng.poisson(means).astype(float), inside


def gain(Y, inside, **info):
    return mixture_gain(from_dense(Y).with_rows(RowInfo(**info)), inside)


def test_clear_clusters_gain_what_their_labels_leave(monkeypatch, seed):
    """The likelihood of two multinomials, less what it takes to tell them apart."""
    monkeypatch.setattr(
        split_test.RatioTerms, "dispersions", lambda self, _: np.ones(60)
    )
    Y, inside = table_of(seed, 0.7)

    def value(part):
        sums = part.sum(axis=0)
        there = sums[sums > 0]
        return (there * np.log(there / sums.sum())).sum()

    hard = value(Y[inside]) + value(Y[~inside]) - value(Y)
    share = inside.mean()
    labels = share * np.log(share) + (1 - share) * np.log(1 - share)
    assert gain(Y, inside) == pytest.approx(hard + len(Y) * labels, rel=0.02)


def test_it_does_not_matter_much_where_a_mixture_starts(seed):
    Y, inside = table_of(seed, 0.5)
    start = inside.copy()
    start[:30] = ~start[:30]
    assert gain(Y, start) == pytest.approx(gain(Y, inside), rel=1e-2)


def test_short_rows_of_one_cluster_gain_little_however_they_are_divided(seed):
    """Rows with the first of three words against the others: no gain but noise."""
    rng = np.random.default_rng(seed)
    Y = rng.poisson(np.full((2000, 30), 0.1)).astype(float)
    inside = Y[:, :10].sum(axis=1) > Y[:, 10:].sum(axis=1) / 2
    assert gain(Y, inside) < 40
    planted = rng.poisson(0.1 * np.exp(np.outer(inside, rng.normal(size=30)))) * 1.0
    assert gain(planted, inside) > 90


def test_rows_of_weight_two_are_two_rows(seed):
    Y, inside = table_of(seed, 0.3)
    weights = np.where(np.arange(len(Y)) % 2, 1.0, 2.0)
    copies = np.repeat(np.arange(len(Y)), weights.astype(int))
    found = gain(Y, inside, weights=weights)
    assert found == pytest.approx(gain(Y[copies], inside[copies]), rel=0.02)
    none = np.append(weights, 0.0)
    with_more = np.vstack([Y, np.full(60, 99.0)]), np.append(inside, True)
    assert gain(*with_more, weights=none) == pytest.approx(found, rel=1e-9)


def test_batches_gain_nothing(seed):
    """Two batches of one cluster are a division that explains nothing more."""
    Y, batches = table_of(seed, 0.7)
    info = {"batches": batches.astype(np.int32), "batch_names": ("a", "b")}
    assert gain(Y, batches) > 500
    assert gain(Y, batches, **info) < 60


def test_sparse_and_dense_tables_agree(seed, monkeypatch):
    Y, inside = table_of(seed, 0.4)
    expected = gain(Y, inside)
    monkeypatch.setattr(split_test, "DENSE_SHARE", 2.0)
    assert gain(Y, inside) == pytest.approx(expected, rel=1e-9)


def test_p_values_are_those_of_one_more_value():
    result = SplitResult.of(12.0, [9.0, 10.0, 11.0])
    spread = split_test.MEASURED_SPREAD * np.sqrt(4 / 3)
    assert result.z == pytest.approx(2 / spread)
    assert result.null_mean == 10
    assert 0.05 < result.p_value < 0.25
    assert SplitResult.of(0.0, [0.0, 0.0]).p_value == 1
    assert 0.01 < SplitResult.of(3.0, [0.0] * 20).p_value < 0.05


@pytest.mark.parametrize(
    ("Y", "inside"),
    [
        (np.zeros((4, 3)), [True, False, True, False]),
        (np.ones((4, 1)), [True, False, True, False]),
        (np.ones((4, 3)), [True] * 4),
        (np.eye(4), [True, False, False, False]),
        (np.array([[5.0, 0], [0, 5]]), [True, False]),
    ],
)
def test_tables_with_nothing_to_divide(Y, inside):
    assert 0 <= gain(np.asarray(Y), np.array(inside)) < 10
