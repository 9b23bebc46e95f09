"""Values as JSON holds them."""

import json
from pathlib import Path

import numpy as np

from fitting import fit
from threecpo._plain import plain

VALUES = [
    (None, None),
    (True, True),
    (np.bool_(False), False),
    (np.int64(3), 3),
    (np.float32(0.5), 0.5),
    (float("inf"), None),
    (np.float64("nan"), None),
    ((1, 0, -1), [1, 0, -1]),
    (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    (np.array([0.5, np.nan]), [0.5, None]),
    (np.array(3.0), 3.0),
    (np.array(["a", None], dtype=object), ["a", None]),
    ({"a": np.arange(2), 3: (None,)}, {"a": [0, 1], "3": [None]}),
    (np.random.default_rng(0), "Generator"),
    (np.random.RandomState(0), "RandomState"),
    (np.mean, "mean"),
    (Path("a", "b"), "a/b"),
]


def test_values():
    for value, expected in VALUES:
        found = plain(value)
        assert found == expected
        json.dumps(found, allow_nan=False)


def test_long_arrays_can_stand_for_their_content():
    same, other = np.zeros(20, int), np.ones(20, int)
    assert plain(same, longest=10) == plain(same.copy(), longest=10)
    assert plain(same, longest=10) != plain(other, longest=10)
    assert plain(same, longest=20) == [0] * 20


def test_a_model_stands_for_its_sums():
    one, other = fit(), fit(n_clusters=2)
    assert plain(one) == plain(fit()) != plain(other)
