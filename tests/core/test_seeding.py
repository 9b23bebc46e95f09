"""Distances, informative columns and seeds, beside the paper's formulas."""

import numpy as np
import pytest
from core_cases import knowing, start_of
from hypothesis import given
from hypothesis import strategies as st

import oracle
from oracle import assert_agrees, size_of_terms
from strategies import PRIORS, count_matrices, planted, priors
from threecpo._core import seeding
from threecpo._core.codes import NOWHERE
from threecpo._core.matrices import from_dense
from threecpo._core.rows import RowInfo
from threecpo._core.workers import SERIAL


def distances(Y, Z=None, prior=1e-3):
    made = seeding.RowDistances.of(from_dense(Y if Z is None else Z), prior)
    rows = seeding.RowTerms.of(from_dense(Y), prior)
    return np.array([made.to(rows, i) for i in range(len(Y))])


def pair_sizes(X, Z):
    return size_of_terms(X.sum(axis=1)[:, None] + Z.sum(axis=1))


@given(count_matrices(), priors, st.sampled_from([1, 0.37]))
def test_information_equals_the_oracle(Y, prior, scale):
    Y = scale * Y
    X = Y + prior
    information = seeding.column_information(from_dense(Y), prior)
    size = np.log(2 + X.sum()) + 1
    if prior:
        size = size + abs(np.log(prior))
    assert_agrees(information, oracle.column_information(X), size)


@pytest.mark.parametrize(
    ("information", "groups"),
    [
        ([0.1, 0.4, 0.3, 0.2], [-1, 1, 1, -1]),
        ([0.1, 0.4, 0.3], [-1, 1, 1]),
        ([0.1, 0.4], [1, 1]),
        ([0.2, 0.2, 0.2, 0.2], [1, 1, -1, -1]),
        ([0.0], [1]),
    ],
)
def test_first_columns_are_the_better_half_but_at_least_two(information, groups):
    assert seeding.most_informative(np.array(information)).tolist() == groups


@given(count_matrices(), priors, st.sampled_from([1, 0.37]))
def test_distances_equal_the_oracle(Y, prior, scale):
    Y = scale * Y
    X, W = Y + prior, 2 * Y[::-2] + prior
    found = distances(Y, prior=prior)
    assert_agrees(found, oracle.distances(X, X), pair_sizes(X, X))
    found = distances(Y, 2 * Y[::-2], prior)
    assert_agrees(found, oracle.distances(X, W), pair_sizes(X, W))


def test_counts_beyond_the_table_equal_the_oracle(monkeypatch, seed):
    Y, _ = planted(np.random.default_rng(seed), n_rows=20)
    for prior in PRIORS:
        X = Y + prior
        for size in (1, 4, 100):
            monkeypatch.setattr(seeding, "TABLE_SIZE", size)
            found = distances(Y, prior=prior)
            assert_agrees(found, oracle.distances(X, X), pair_sizes(X, X))
            found = seeding.column_information(from_dense(Y), prior)
            np.testing.assert_allclose(found, oracle.column_information(X), rtol=1e-9)


class TestStarts:
    def start(self, name, Y, n_clusters, seed=0):
        make = getattr(seeding, name)
        prior = {"prior": 1e-3} if name == "poisson_plus_plus" else {}
        start = make(from_dense(Y), **prior)
        return start(np.random.default_rng(seed), n_clusters)

    @pytest.mark.parametrize("name", ["poisson_plus_plus", "random_centers"])
    def test_seeds_are_distinct_rows(self, name, seed):
        Y, _ = planted(np.random.default_rng(seed))
        for n_clusters in (1, 2, 5, 40):
            labels = self.start(name, Y, n_clusters, seed)
            assert np.sum(labels == NOWHERE) == len(Y) - n_clusters
            chosen = np.sort(labels[labels != NOWHERE])
            np.testing.assert_array_equal(chosen, np.arange(n_clusters))

    @pytest.mark.parametrize(
        "name", ["poisson_plus_plus", "random_centers", "random_labels"]
    )
    def test_the_generator_decides(self, name, seed):
        Y, _ = planted(np.random.default_rng(seed))
        starts = [self.start(name, Y, 4, s).tolist() for s in (1, 1, 2, 3)]
        assert starts[0] == starts[1]
        assert len({tuple(start) for start in starts}) > 1

    def test_copies_of_a_seed_come_last(self, seed):
        Y = np.repeat([[9.0, 0, 1], [0, 9, 1], [1, 1, 9]], 6, axis=0)
        labels = self.start("poisson_plus_plus", Y, 3, seed)
        rows = np.flatnonzero(labels != NOWHERE)
        assert np.unique(rows // 6).tolist() == [0, 1, 2]

    def test_identical_rows_still_give_distinct_seeds(self, seed):
        labels = self.start("poisson_plus_plus", np.full((7, 3), 4.0), 5, seed)
        assert np.sort(labels[labels != NOWHERE]).tolist() == [0, 1, 2, 3, 4]

    def test_far_rows_are_drawn_in_proportion_to_their_distance(self):
        """Of a far row and a near one, the best of two draws takes the far one."""
        Y = np.array([[50.0, 50]] * 30 + [[52, 48], [0, 100]])
        taken = [
            self.start("poisson_plus_plus", Y, 2, seed)[31] != NOWHERE
            for seed in range(60)
        ]
        assert np.mean(taken) > 0.9

    def test_of_the_draws_the_seed_that_brings_rows_closest_is_kept(self):
        """Twenty rows and a single far one are drawn about as often as each other."""
        many = [[50.0, 50, 0]] * 30 + [[20, 80, 0]] * 20
        Y = np.array([*many, [0, 0, 180]])
        starts = [self.start("poisson_plus_plus", Y, 2, seed) for seed in range(120)]
        second = [np.argmax(s == 1) for s in starts if np.argmax(s == 0) < 30]
        far = distances(Y)[0]
        assert 0.4 < far[30:50].sum() / far.sum() < 0.6
        assert len(second) > 40
        assert np.mean([30 <= row < 50 for row in second]) > 0.6

    def test_rows_are_drawn_in_proportion_to_fractional_weights(self):
        """Two kinds of far rows, of which one has a thousandth of the weight."""
        Y = np.repeat([[90.0, 5, 5], [5, 90, 5], [5, 5, 90]], 10, axis=0)
        weights = np.repeat([0.5, 0.5, 0.5e-3], 10)
        start = seeding.poisson_plus_plus(
            from_dense(Y).with_rows(RowInfo(weights)), 1e-3
        )
        found = [start(np.random.default_rng(seed), 2) for seed in range(30)]
        light = [(labels[20:] != NOWHERE).any() for labels in found]
        assert np.mean(light) < 0.1

    def test_a_draw_on_the_very_end_is_a_row(self):
        """The smallest numbers: more than half of their sum is rounded to all of it."""

        class Tiny:
            table = np.nextafter(0, 1) * (1 - np.eye(4))

            def to_row(self, row):
                return self.table[row].copy()

        start = seeding.plus_plus(from_dense(np.ones((4, 1))), Tiny())
        for seed in range(500):
            labels = start(np.random.default_rng(seed), 3)
            assert sorted(labels) == [NOWHERE, 0, 1, 2]


class TestKnownRows:
    @pytest.mark.parametrize("kind", ["poisson", "random"])
    def test_seeds_are_free_rows(self, kind, seed):
        Y, labels, _ = start_of(seed)
        held = np.where(labels < 2, labels, -1).astype(np.int32)
        counts = knowing(from_dense(Y), held, 2)
        start = (
            seeding.poisson_plus_plus(counts, 1e-3)
            if kind == "poisson"
            else seeding.random_centers(counts)
        )
        found = start(np.random.default_rng(seed), 4, SERIAL)
        np.testing.assert_array_equal(found[held >= 0], held[held >= 0])
        seeds = found[(held < 0) & (found != NOWHERE)]
        assert sorted(seeds.tolist()) == [2, 3]

    def test_the_first_seed_is_what_known_clusters_explain_worst(self):
        Y = np.array([[9.0, 1, 1]] * 20 + [[1, 9, 1]] * 20 + [[9, 1, 2]] * 20)
        held = np.full(60, -1, dtype=np.int32)
        held[:3] = 0
        start = seeding.poisson_plus_plus(knowing(from_dense(Y), held, 1), 1e-3)
        for seed in range(5):
            found = start(np.random.default_rng(seed), 2, SERIAL)
            assert 20 <= np.flatnonzero(found == 1)[0] < 40
