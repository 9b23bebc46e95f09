"""Records of arrays on their way into compiled loops, wherever the arrays are from."""

import pickle

import numpy as np
import pytest

from strategies import planted
from threecpo._core.counts import Counts
from threecpo._core.loops.records import LINE, loadable, padded_rates
from threecpo._core.loops.simd import LANES
from threecpo._core.matrices import from_dense
from threecpo._core.rules import CHI_SQUARED, EXACT, PAPER, scores
from threecpo._core.sums import sum_by_labels, sums_by_profile
from threecpo._core.workers import SERIAL

GROUPS = np.array([1, 1, 1, 1, 0, 0, -1, -1], dtype=np.int8)


@pytest.fixture
def counts(seed):
    return from_dense(planted(np.random.default_rng(seed), 60)[0])


def profile_of(counts, rule=EXACT, **options):
    labels = np.arange(counts.n_rows, dtype=np.int32) % 3
    sums = sum_by_labels(counts, labels, 3, GROUPS, 1e-3)
    return rule.profile(sums.smoothed(1e-3), GROUPS, **options)


def out_of_band(profile):
    """As Dask sends it: arrays come back read-only, where the message has them."""
    buffers = []
    data = pickle.dumps(profile, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])


def shifted(profile):
    """Arrays of its own, writeable and across cache lines."""
    rates = profile.log_rates
    workspace = np.zeros(rates.size + 2 * LANES)
    start = -workspace.ctypes.data % LINE // 8 + 1
    own = workspace[start : start + rates.size].reshape(rates.shape)
    own[:] = rates
    others = {"offsets": profile.offsets.copy(), "slots": profile.slots.copy()}
    return profile._replace(log_rates=own, **others)


WAYS = {
    "pickled": lambda profile: pickle.loads(pickle.dumps(profile)),
    "out of band": out_of_band,
    "by hand": shifted,
    "one array": lambda profile: profile._replace(ranks=profile.ranks.copy()),
}


@pytest.mark.parametrize("rule", [EXACT, PAPER, CHI_SQUARED], ids=lambda r: r.name)
@pytest.mark.parametrize("way", WAYS)
def test_a_profile_scores_the_same_wherever_it_is_from(way, rule, counts):
    background = rule is not PAPER
    profile = profile_of(counts, rule, background=background)
    other = WAYS[way](profile)
    assert type(other) is type(profile)
    assert (other.n_clusters, other.background) == (3, background)
    np.testing.assert_array_equal(
        scores(counts, other, SERIAL), scores(counts, profile, SERIAL)
    )
    other = loadable(other)
    assert other.log_rates.ctypes.data % LINE == 0
    assert not other.writeable


def test_a_profile_that_has_not_left_is_not_copied(counts):
    profile = profile_of(counts)
    assert loadable(profile) is profile


@pytest.mark.parametrize("n_profiles", [1, 7, 8, 9])
def test_rates_are_padded_with_zeros(n_profiles):
    whole, rates = padded_rates(3, n_profiles)
    assert whole.shape == (4, 16 if n_profiles == 9 else 8)
    rates[:] = 1.0
    assert whole.sum() == 3 * n_profiles
    assert not whole[3].any()


def test_counts_may_be_read_only_or_on_disk(counts, tmp_path):
    profile = profile_of(counts)
    expected = sums_by_profile(counts, profile, with_sizes=True)
    arrays = {}
    for name in ("indptr", "indices", "data"):
        np.save(tmp_path / f"{name}.npy", getattr(counts, name))
        arrays[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    on_disk = Counts(**arrays, n_columns=counts.n_columns)
    found = sums_by_profile(on_disk, profile, with_sizes=True)
    np.testing.assert_array_equal(found.table, expected.table)
    np.testing.assert_array_equal(found.count_log_sizes, expected.count_log_sizes)
