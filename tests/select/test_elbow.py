"""Elbows of curves whose answers come from the reference program of Kneedle."""

import numpy as np
import pytest

from threecpo.select._elbow import elbow

# Inertia of k-means on wholesales and on optdigits, and of spherical k-means on
# BBCSports, in thousandths of the first.
PATHS = [
    (
        """1000 710 573 467 417 364 319 290 263 249 228 219 202 190 179
        167 157 148 140 133 127 121 115 110 106 101 97 93 89""",
        8,
    ),
    (
        """1000 909 843 783 731 693 662 632 613 594 580 565 553 542 531
        523 515 509 501 497 490 487 479 476 471 465 461 455 454""",
        9,
    ),
    (
        """1000 978 958 938 927 919 909 898 892 881 879 875 870 866 862
        860 856 848 847 844 839 835 832 825 822 822 818 819 814""",
        11,
    ),
]
OTHERS = [
    ([1, 2, 3, 4, 5, 6, 7, 8], [1000, 700, 450, 300, 220, 180, 160, 150], 4),
    # Two bends: the first counts.
    ([1, 2, 3, 4, 5, 6, 7, 8], [100, 60, 58, 57, 20, 10, 5, 0], 2),
    # The fall behind the first peak is less than a step.
    ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], [99, 80, 75, 64, 48, 25, 20, 15, 9, 5, 0], 6),
    ([2, 3, 5, 8, 13, 21, 34], [1000, 700, 450, 300, 220, 180, 160], 8),
    ([2, 4, 8, 16, 32], [90, 50, 30, 20, 15], 8),
    ([2, 4, 5, 6, 8, 10], [97, 91, 72, 63, 60, 50], 6),
    # The top is flat: its end counts.
    ([1, 2, 3, 4, 5], [16, 6, 2, 1, 0], 3),
    # A worse fit behind a better one.
    ([2, 3, 4, 5, 6, 7], [100, 30, 31, 20, 10, 0], 3),
]
WITHOUT = [
    ([2], [5]),
    ([2, 3], [5, 1]),
    ([2, 3, 4], [9, 2, 1]),
    ([2, 3, 4], [7, 7, 7]),
    ([2, 3, 4, 5, 6], [40, 30, 20, 10, 0]),
    ([2, 3, 4, 5], [9, 8, 5, 0]),
    ([1, 2, 3, 4], [100, 40, 40, 0]),
]


@pytest.mark.parametrize(("losses", "expected"), PATHS)
def test_elbow_of_real_paths(losses, expected):
    losses = np.array(losses.split(), dtype=float)
    assert elbow(np.arange(2, 31), losses) == expected
    # Neither the unit of the losses nor their level matters.
    assert elbow(np.arange(2, 31), losses * 2.0**40 - 2.0**45) == expected


@pytest.mark.parametrize(("n_clusters", "losses", "expected"), OTHERS)
def test_elbow_of_small_curves(n_clusters, losses, expected):
    found = elbow(np.array(n_clusters), np.array(losses))
    assert found == expected
    assert type(found) is int


@pytest.mark.parametrize(("n_clusters", "losses"), WITHOUT)
def test_short_straight_flat_and_concave_curves_have_none(n_clusters, losses):
    assert elbow(np.array(n_clusters), np.array(losses)) is None
