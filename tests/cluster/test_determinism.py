"""The same seed gives the same bits, however the work is shared out."""

from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from containers import planted, unsorted_csr
from fitting import INITS, assert_same_bits
from threecpo import ThreeCPO, _options
from threecpo._validation import check_counts


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


def jobs_here():
    return _options.resolve_n_jobs(None)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_no_number_of_jobs_is_one_thread_inside_a_worker(backend):
    parallel = joblib.Parallel(n_jobs=2, backend=backend)
    assert parallel(joblib.delayed(jobs_here)() for _ in range(4)) == [1] * 4


def test_no_number_of_jobs_is_all_cores_outside():
    assert jobs_here() == joblib.cpu_count()


def test_negative_numbers_of_jobs_count_from_all_cores(monkeypatch):
    for cores in (1, 4):
        monkeypatch.setattr(joblib, "cpu_count", lambda cores=cores: cores)
        for asked, fewer in ((-1, 0), (-2, 1), (-9, 8)):
            assert _options.resolve_n_jobs(asked) == max(1, cores - fewer)
