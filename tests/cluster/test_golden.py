"""Numbers that the same seed gave before.

Far too many clusters, so that the answer hangs on every step of the search. Who changes
one of these on purpose names it under *Changed* in CHANGELOG.md.
"""

import numpy as np
import pytest

from paper.poisson import PoissonC, PoissonL
from threecpo import ThreeCPO
from threecpo.datasets import make_synth

GOLDEN = {
    "merge": (
        ThreeCPO(12, random_state=0),
        -508317.1673587099,
        [0, 133, 121, 117, 90, 87, 86, 83, 79, 67, 56, 42, 39],
        [1, 1, 0, 0, 1, -1],
    ),
    "merge, two runs": (
        ThreeCPO(12, n_init=2, random_state=0),
        -508317.0104092648,
        [0, 134, 133, 104, 97, 88, 79, 68, 67, 66, 65, 60, 39],
        [1, 1, 0, 0, 1, -1],
    ),
    "restarts": (
        ThreeCPO(12, init="poisson-k-means++", n_init=3, random_state=0),
        -508312.18416739546,
        [0, 137, 126, 121, 90, 82, 78, 71, 71, 64, 59, 54, 47],
        [1, 1, 0, 0, 1, -1],
    ),
    "paper": (
        ThreeCPO(12, assignment="paper", random_state=0),
        -508316.97907976346,
        [0, 137, 133, 100, 94, 88, 79, 70, 68, 67, 66, 59, 39],
        [1, 1, 0, 0, 1, -1],
    ),
    "outliers": (
        ThreeCPO(12, outliers="iterative", random_state=0),
        -508364.04326304095,
        [109, 133, 120, 79, 79, 72, 69, 67, 67, 62, 60, 44, 39],
        [1, 1, 0, 0, 1, -1],
    ),
    "auto": (
        ThreeCPO("auto", random_state=0),
        -507214.9809103013,
        [0, 343, 333, 324],
        [1, 1, 0, 0, -1, -1],
    ),
    "PoissonL": (
        PoissonL(12, random_state=0),
        -507684.7850208764,
        [0, 109, 106, 99, 97, 93, 84, 82, 77, 73, 65, 60, 55],
        [],
    ),
    "PoissonC": (
        PoissonC(12, random_state=0),
        -507639.86143596366,
        [0, 116, 112, 105, 102, 95, 92, 88, 66, 65, 57, 51, 51],
        [],
    ),
}


@pytest.fixture(scope="module")
def counts():
    return make_synth(random_state=0)[0]


def test_the_data(counts):
    assert counts.sum(axis=0).tolist() == [46505, 30658, 61341, 15712, 7748, 20612]


@pytest.mark.parametrize("name", GOLDEN)
def test_the_same_seed_gives_what_it_gave(name, counts):
    estimator, loss, sizes, groups = GOLDEN[name]
    model = estimator.fit(counts)
    assert model.loss_ == pytest.approx(loss, rel=1e-9)
    assert np.bincount(model.labels_ + 1).tolist() == sizes
    assert getattr(model, "column_groups_", np.array([])).tolist() == groups
