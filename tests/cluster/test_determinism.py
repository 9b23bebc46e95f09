"""Numbers that the same seed gave before, and bits that nothing changes."""

from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from containers import planted, unsorted_csr
from fitting import INITS, assert_same_bits
from paper.poisson import PoissonC, PoissonL
from threecpo import ThreeCPO, _options
from threecpo._validation import check_counts
from threecpo.datasets import make_synth

# Far too many clusters, so that the answer hangs on every step of the search. Who
# changes one of these on purpose names it under *Changed* in CHANGELOG.md.
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


@pytest.fixture(scope="module")
def large():
    """Enough counts for several row blocks, and clusters that are hard to tell."""
    rng = np.random.default_rng(0)
    rates = rng.gamma(3.0, 0.5, size=(6, 150))
    return sp.csr_array(rng.poisson(rates[rng.integers(6, size=3000)]))


def fit(X, n_clusters=6, weights=None, **options):
    options = {"random_state": 0, "n_init": 3, "max_iter": 30} | options
    return ThreeCPO(n_clusters, **options).fit(X, sample_weight=weights)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:X contains values:UserWarning")
@pytest.mark.parametrize(
    ("n_init", "outliers", "factor", "lightest"),
    [(1, "iterative", 1, 1), (5, None, 1, 1), (4, None, 0.37, 1), (2, None, 1, 0.1)],
)
def test_the_number_of_threads_changes_no_bit(
    large, n_init, outliers, factor, lightest
):
    assert len(check_counts(large).blocks) > 3
    options = {"n_init": n_init, "outliers": outliers, "init": "random-centers"}
    options |= {"max_iter": 10, "weights": np.linspace(lightest, 1, 3000)}
    reference = fit(factor * large, n_jobs=1, **options)
    for n_jobs in (2, -1):
        assert_same_bits(fit(factor * large, n_jobs=n_jobs, **options), reference)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("init", INITS)
def test_every_start_gives_the_same_bits_again(large, init):
    options = {"init": init, "n_init": 2, "max_iter": 2}
    reference = fit(large[:1000], n_jobs=1, **options)
    for n_jobs in (1, 2):
        assert_same_bits(fit(large[:1000], n_jobs=n_jobs, **options), reference)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_of_several_blocks_are_scored_as_one_by_one(large):
    model = fit(large, n_init=1, max_iter=3).set_params(n_jobs=2)
    for call in (model.predict, model.row_scores):
        parts = [call(large[i : i + 700]) for i in range(0, 3000, 700)]
        assert call(large).tobytes() == np.concatenate(parts).tobytes()


def test_seeds_matter():
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(0.7, 3.0, size=(60, 12)))
    losses = {
        tuple(fit(X, 4, random_state=s, max_iter=300).restart_losses_) for s in range(5)
    }
    assert len(losses) == 5
    state = np.random.RandomState(0)  # goes on from fit to fit
    found = [fit(X, 4, random_state=state, max_iter=300) for _ in range(2)]
    first, second = (tuple(model.restart_losses_) for model in found)
    assert first in losses
    assert second not in losses


def test_two_fits_in_two_threads_give_the_bits_of_one():
    X = [planted(seed=s)[0] for s in range(2)]
    reference = [fit(x, 3, n_init=20) for x in X]
    with ThreadPoolExecutor(2) as pool:
        for _ in range(3):
            models = list(pool.map(lambda x: fit(x, 3, n_init=20, n_jobs=2), X))
            for model, expected in zip(models, reference, strict=True):
                assert_same_bits(model, expected)


def fit_in_a_worker(X, seed):
    part = X if isinstance(X, np.ndarray) else X.data
    return part.flags.writeable, fit(X, 3, random_state=seed)


@pytest.mark.parametrize("make", [np.array, unsorted_csr])
def test_worker_processes_with_read_only_memory_maps_give_the_same_bits(make):
    X, _ = planted()
    reference = [fit(X, 3, random_state=s) for s in range(2)]
    parallel = joblib.Parallel(n_jobs=2, backend="loky", max_nbytes=100)
    results = parallel(joblib.delayed(fit_in_a_worker)(make(X), s) for s in range(2))
    for (writeable, model), expected in zip(results, reference, strict=True):
        assert not writeable
        assert_same_bits(model, expected)


def test_numbers_of_jobs(monkeypatch):
    """None is all cores, but one thread inside a worker; negative ones count back."""
    assert _options.resolve_n_jobs(None) == joblib.cpu_count()
    for backend in ("loky", "threading"):
        parallel = joblib.Parallel(n_jobs=2, backend=backend)
        inside = parallel(joblib.delayed(_options.resolve_n_jobs)(None) for _ in "abcd")
        assert inside == [1] * 4
    for cores in (1, 4):
        monkeypatch.setattr(joblib, "cpu_count", lambda cores=cores: cores)
        for asked, fewer in ((-1, 0), (-2, 1), (-9, 8)):
            assert _options.resolve_n_jobs(asked) == max(1, cores - fewer)
