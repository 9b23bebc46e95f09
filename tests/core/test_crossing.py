"""Crossing two runs: their common parts, and what becomes of them."""

from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted_runs import assert_same_bits
from searching import found_by, hard, recorded, settings_for

from threecpo._core import crossing, merging, seeding
from threecpo._core.codes import NOWHERE, OUTLIER
from threecpo._core.matrices import from_dense
from threecpo._core.run import run
from threecpo._core.search import merges
from threecpo._core.workers import SERIAL


@pytest.fixture
def made(monkeypatch):
    return recorded(monkeypatch)


class TestCommonParts:
    @given(st.data())
    def test_are_the_largest_of_rows_together_in_both(self, data):
        n_rows = data.draw(st.integers(1, 60))
        n_clusters = data.draw(st.integers(1, min(6, n_rows)))
        labels = st.lists(
            st.integers(-1, n_clusters - 1), min_size=n_rows, max_size=n_rows
        )
        a, b = (np.array(data.draw(labels), dtype=np.int32) for _ in range(2))
        before = a.copy(), b.copy()
        parts = crossing.common_parts(a, b, n_rows, n_clusters)
        again = crossing.common_parts(a, b, n_rows, n_clusters)
        np.testing.assert_array_equal(parts, again)
        np.testing.assert_array_equal((a, b), before)
        outside = (a < 0) | (b < 0)
        np.testing.assert_array_equal(parts == OUTLIER, outside)
        pairs = [*zip(a[~outside].tolist(), b[~outside].tolist(), strict=True)]
        sizes = Counter(pairs)
        # The larger goes first, then the one of smaller labels.
        order = sorted(sizes, key=lambda pair: (-sizes[pair], pair))
        kept = order[: merging.n_before_joining(n_clusters, n_rows, 4)]
        numbers = {pair: number for number, pair in enumerate(kept)}
        expected = [numbers.get(pair, NOWHERE) for pair in pairs]
        assert parts[~outside].tolist() == expected

    def test_rows_of_small_parts_are_nowhere(self):
        """120 rows, K = 2: at most 4 of the parts stay."""
        a = np.repeat([0, 1, 2, 3, 4, 5], [9, 12, 3, 10, 9, 77]).astype(np.int32)
        parts = crossing.common_parts(a, np.zeros_like(a), 120, 2)
        assert merging.n_before_joining(2, 120, 4) == 4
        places = [3, 1, NOWHERE, 2, NOWHERE, 0]
        expected = np.repeat(places, [9, 12, 3, 10, 9, 77])
        np.testing.assert_array_equal(parts, expected)


class TestCrossed:
    def shapeless(self):
        rng = np.random.default_rng(0)
        return from_dense(rng.poisson(rng.gamma(0.7, 3.0, size=(100, 12))))

    def ends(self, counts, settings, n_runs):
        for seed in range(n_runs):
            rng = np.random.default_rng(seed)
            labels = seeding.random_centers(counts)(rng, 6)
            groups = np.ones(counts.n_columns, dtype=np.int8)
            yield run(counts, groups, labels, settings, SERIAL)

    @pytest.mark.parametrize("outliers", [False, True])
    def test_is_never_worse_than_the_other_run(self, outliers, made):
        counts = self.shapeless()
        (settings,) = settings_for(6, outliers=outliers)
        ends = list(self.ends(counts, settings, 8))
        made.clear()
        outcomes = Counter()
        for best in ends:
            for other in ends:
                result = crossing.crossed(counts, best, other, settings, SERIAL)
                assert result.loss <= other.loss
                outcomes["other"] += bool(made) and result is other
                outcomes["none"] += not made
                if result is not other:
                    outcomes["new"] += 1
                    assert result is made[-1].result
                    assert made[-1].settings is settings
                    np.testing.assert_array_equal(made[-1].groups, best.groups)
                made.clear()
        # Better, worse, and nothing to join (a run and itself).
        assert outcomes["new"] > 5
        assert outcomes["other"] > 5
        assert outcomes["none"] >= 8

    def test_starts_from_the_sums_of_its_own_labels(self, made):
        counts = self.shapeless()
        (settings,) = settings_for(6)
        ends = list(self.ends(counts, settings, 4))
        # Row sizes are sums over C1 and C0.
        assert len({(each.groups >= 0).tobytes() for each in ends}) > 1
        for best, other in permutations(ends, 2):
            crossing.crossed(counts, best, other, settings, SERIAL)
            start = made[-1]
            expected = run(counts, best.groups, start.labels, settings, SERIAL)
            assert_same_bits(start.result, expected)
        assert len(made) == 12

    @pytest.mark.parametrize("joined", [False, True])
    def test_as_many_parts_as_clusters_are_nothing_to_join(self, joined, made):
        """Other names for the same clusters, or two of them joined."""
        counts = from_dense(hard(0))
        (settings,) = settings_for(6)
        (best,) = self.ends(counts, settings, 1)
        assert best.sums.n_clusters == 6
        labels = np.maximum(best.labels, 1) if joined else 5 - best.labels
        other = replace(best, labels=labels.astype(np.int32), loss=best.loss + 1)
        assert crossing.crossed(counts, best, other, settings, SERIAL) is other
        assert not made

    @pytest.mark.parametrize("max_iter", [1, 5, 300])
    def test_the_history_tells_of_both_parts(self, max_iter):
        lengths = set()
        for seed in range(5):
            settings = settings_for(6, max_iter=max_iter)
            rng = np.random.default_rng(seed)
            shapeless = rng.poisson(rng.gamma(0.5, 10.0, (200, 8)))
            ((best, _),) = found_by(merges, shapeless, settings, 3, seed=seed)
            losses = best.history["loss"]
            lengths.add(len(losses))
            assert len({len(each) for each in best.history.values()}) == 1
            assert (np.diff(losses) <= 1e-9 * abs(losses[:-1])).all()
            assert losses[-1] == best.loss
            assert best.converged or len(losses) == max_iter
        assert max(lengths) == max_iter or max(lengths) > 5
