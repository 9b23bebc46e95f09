"""Runs that start from rows drawn from all rows, over several readings."""

import numpy as np
import pytest
from block_fits import assert_same_bits, counts_of, cut, evenly, fit, model_of, write
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import distances
from threecpo import ThreeCPO, distributed
from threecpo._core.codes import all_relevant
from threecpo._core.matrices import from_sparse
from threecpo._fit.all_row_seeds import ROUNDS, AllRowSeeds, Nearest, uniforms

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
ALL = {"fitting": {"seeding": "all"}}


class OneByOne:
    """An engine without threads."""

    def __init__(self, blocks):
        self.blocks = blocks

    def fold(self, work, combine):
        results = [work(i, from_sparse(read())) for i, read in enumerate(self.blocks)]
        found = results[0]
        for result in results[1:]:
            found = combine(found, result)
        return found


def drawn(X, blocks, seed=5, n_clusters=3):
    firsts = np.cumsum([0, *(read().shape[0] for read in blocks)])
    groups = all_relevant(X.shape[1])
    seeds = AllRowSeeds(OneByOne(blocks), firsts, groups, n_clusters, 1e-3, seed)
    return seeds.candidates()


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 300), max_size=8), st.integers(0, 2**40))
def test_every_cut_draws_the_same_rows(bounds, seed):
    X, _ = counts_of()
    expected, found = drawn(X, evenly(X, 1), seed), drawn(X, cut(X, *bounds), seed)
    np.testing.assert_array_equal(found.matrix().toarray(), expected.matrix().toarray())
    np.testing.assert_array_equal(found.weights, expected.weights)


def test_candidates_weigh_what_is_next_to_them():
    X, _ = counts_of()
    found = drawn(X, evenly(X, 4))
    assert found.n_rows == 1 + ROUNDS * 2 * 3
    near = Nearest(found.with_rows(None), all_relevant(X.shape[1]), 1e-3)
    nearest, closest = near(from_sparse(X))
    dense, rows = X.toarray(), found.matrix().toarray()
    slow = distances(dense[:40] + 1e-3, rows + 1e-3)
    np.testing.assert_allclose(closest[:40], slow.min(axis=1), atol=1e-8)
    members = np.bincount(nearest, minlength=found.n_rows)
    np.testing.assert_allclose(found.weights, members / 300)


def test_rows_far_away_are_drawn_with_odds_by_their_distance():
    """One row of a thousand is unlike all others: uniform draws would miss it."""
    rng = np.random.default_rng(0)
    Y = rng.poisson(5.0, size=(1000, 6))
    Y[777] = [900, 0, 0, 0, 0, 0]
    from scipy.sparse import csr_array

    X = csr_array(Y)
    hits = sum(
        (drawn(X, evenly(X, 3), seed).matrix().toarray() == Y[777]).all(axis=1).any()
        for seed in range(10)
    )
    # Uniform draws of 25 rows would find it once in four times ten.
    assert hits >= 8


def test_numbers_of_rows_give_uniform_numbers():
    u = uniforms(3, np.arange(100_000))
    assert 0 <= u.min() < u.max() < 1
    histogram = np.histogram(u, 50, (0, 1))[0]
    assert np.abs(histogram - 2000).max() < 6 * np.sqrt(2000)
    both = np.corrcoef(u, uniforms(4, np.arange(100_000)))[0, 1]
    assert abs(both) < 0.02


@pytest.mark.parametrize(
    "options",
    [{}, {"outliers": "iterative"}, {"column_init": "random"}, {"max_dispersion": 1.3}],
    ids=str,
)
def test_fits_are_the_same_for_any_cut_and_find_the_clusters(options, seed):
    X, _ = counts_of(seed, n_rows=400)
    expected = fit(X, n_jobs=1, **ALL, **options)
    for n_blocks in (3, 8):
        found = fit(evenly(X, n_blocks), n_jobs=2, **ALL, **options)
        assert_same_bits(found, expected)
    in_memory = model_of(n_init=8, **options).fit(X)
    assert expected.loss_ == pytest.approx(in_memory.loss_, rel=1e-3)
    without_look = {"fitting": ALL["fitting"] | {"second_look": False}}
    losses = fit(X, n_jobs=1, **without_look, **options).restart_losses_
    assert len(losses) == 4
    # Runs of second looks come behind the others, and change nothing of them.
    np.testing.assert_array_equal(expected.restart_losses_[:4], losses)


def test_readings_memory_and_checkpoint(tmp_path):
    X, _ = counts_of(n_rows=400)
    blocks = evenly(X, 5)
    given = {"seeding": "all", "max_memory": "1MB", "checkpoint": tmp_path / "state"}
    model = fit(blocks, fitting=given)
    assert_same_bits(fit(X, **ALL), model)
    again = evenly(X, 3)
    assert_same_bits(fit(again, fitting=given), model)
    # A look, and the labels.
    assert {read.reads for read in again} == {2}
    with pytest.raises(ValueError, match="belongs to a fit with seeding='all'"):
        fit(X, fitting={"checkpoint": tmp_path / "state"})


def test_weights_are_odds(seed):
    X, _ = counts_of(seed)
    weights = np.arange(300) % 3
    first, second = (
        fit(evenly(X, n), fitting={"seeding": "all", "sample_weight": weights})
        for n in (1, 5)
    )
    assert_same_bits(first, second)


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (ThreeCPO("auto"), {}, "needs a number of clusters"),
        (ThreeCPO(3, init=np.zeros(300, int)), {}, "needs init by name"),
        (ThreeCPO(3, n_init="auto"), {}, "needs a number for n_init"),
        (ThreeCPO(3), {"batch": np.arange(300) % 2}, "needs rows without batch"),
        (ThreeCPO(3), {"seeding": "some"}, "seeding='some' is not one of"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused(model, given, message):
    with pytest.raises(ValueError, match=message):
        distributed.fit(model, counts_of()[0], **{"seeding": "all"} | given)


def test_folders_are_read_as_arrays_are(tmp_path):
    X, _ = counts_of()
    folder = write(X, tmp_path / "X")
    assert_same_bits(fit(folder, **ALL), fit(X, **ALL))
