"""The same seed gives the same bits, however the work is shared out."""

import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from containers import planted, unsorted_csr
from threecpo import ThreeCPO, _options

ARRAYS = (
    "labels_",
    "column_groups_",
    "column_scores_",
    "cluster_rates_",
    "row_scales_",
    "outlier_scores_",
    "margins_",
    "restart_losses_",
)
INITS = (
    "poisson-k-means++",
    "random-labels",
    "random-centers",
    "k-means++",
    "k-means",
    "rf-k-means++",
    "rf-k-means",
)


@pytest.fixture(scope="module")
def large():
    """Enough counts for several row blocks, and clusters that are hard to tell."""
    rng = np.random.default_rng(0)
    rates = rng.gamma(3.0, 0.5, size=(6, 150))
    return sp.csr_array(rng.poisson(rates[rng.integers(6, size=3000)]))


def fit(X, n_clusters=6, **options):
    options = {"random_state": 0, "n_init": 3, "max_iter": 30} | options
    return ThreeCPO(n_clusters, **options).fit(X)


def assert_same_bits(model, reference):
    for name in ARRAYS:
        a, b = getattr(model, name), getattr(reference, name)
        assert a.tobytes() == b.tobytes(), name
    assert model.loss_ == reference.loss_
    for name, values in reference.history_.items():
        assert model.history_[name].tobytes() == values.tobytes(), name


def test_the_data_are_cut_into_several_blocks(large):
    from threecpo._validation import check_counts

    assert len(check_counts(large).blocks) > 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_init", [1, 5])
@pytest.mark.parametrize("outliers", [None, "iterative"])
def test_the_number_of_threads_changes_no_bit(large, n_init, outliers):
    options = {"n_init": n_init, "outliers": outliers, "init": "random-centers"}
    reference = fit(large, n_jobs=1, **options)
    for n_jobs in (2, 4, None, -1):
        assert_same_bits(fit(large, n_jobs=n_jobs, **options), reference)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:X holds values:UserWarning")
@pytest.mark.parametrize("n_init", [1, 4])
def test_the_number_of_threads_changes_no_bit_of_values_not_whole(large, n_init):
    options = {"n_init": n_init, "init": "random-centers", "max_iter": 5}
    reference = fit(large * 0.37, n_jobs=1, **options)
    for n_jobs in (2, 4):
        assert_same_bits(fit(large * 0.37, n_jobs=n_jobs, **options), reference)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("init", INITS)
def test_every_start_gives_the_same_bits_again(large, init):
    options = {"init": init, "n_init": 2, "max_iter": 2}
    reference = fit(large[:1000], n_jobs=1, **options)
    for n_jobs in (1, 2):
        assert_same_bits(fit(large[:1000], n_jobs=n_jobs, **options), reference)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("method", ["predict", "row_scores"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_of_several_blocks_are_scored_as_one_by_one(large, method, n_jobs):
    model = fit(large, n_init=1, max_iter=3).set_params(n_jobs=n_jobs)
    whole = getattr(model, method)(large)
    parts = [getattr(model, method)(large[i : i + 700]) for i in range(0, 3000, 700)]
    assert whole.tobytes() == np.concatenate(parts).tobytes()


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("column_init", ["information", "random"])
def test_a_run_does_not_depend_on_how_many_follow(init, column_init):
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(0.7, 3.0, size=(60, 12)))
    options = {"init": init, "column_init": column_init, "column_penalty": None}
    few, many = (fit(X, 4, n_init=n, max_iter=300, **options) for n in (5, 10))
    assert len(set(many.restart_losses_)) > 1
    assert many.restart_losses_[:5].tobytes() == few.restart_losses_.tobytes()
    assert many.loss_ <= few.loss_


def test_seeds_matter():
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(0.7, 3.0, size=(60, 12)))
    losses = {
        tuple(fit(X, 4, random_state=s, max_iter=300).restart_losses_) for s in range(5)
    }
    assert len(losses) == 5


def test_two_fits_in_two_threads_give_the_bits_of_one():
    X = [planted(seed=s)[0] for s in range(2)]
    reference = [fit(x, 3, n_init=20) for x in X]
    with ThreadPoolExecutor(2) as pool:
        for _ in range(3):
            models = list(pool.map(lambda x: fit(x, 3, n_init=20, n_jobs=2), X))
            for model, expected in zip(models, reference, strict=True):
                assert_same_bits(model, expected)


def test_one_model_predicts_in_two_threads(large):
    X, _ = planted()
    model = fit(X, 3)
    with ThreadPoolExecutor(4) as pool:
        for labels in pool.map(model.predict, [X] * 20):
            np.testing.assert_array_equal(labels, model.labels_)


def fit_in_a_worker(X, seed):
    part = X if isinstance(X, np.ndarray) else X.data
    return part.flags.writeable, fit(X, 3, random_state=seed)


@pytest.mark.parametrize("make", [np.array, sp.csr_array, sp.csc_matrix, unsorted_csr])
def test_worker_processes_with_read_only_memory_maps_give_the_same_bits(make):
    X, _ = planted()
    reference = [fit(X, 3, random_state=s) for s in range(2)]
    parallel = joblib.Parallel(n_jobs=2, backend="loky", max_nbytes=100)
    results = parallel(joblib.delayed(fit_in_a_worker)(make(X), s) for s in range(2))
    for (writeable, model), expected in zip(results, reference, strict=True):
        assert not writeable
        assert_same_bits(model, expected)


def test_worker_threads_give_the_same_bits():
    X, _ = planted()
    reference = fit(X, 3)
    parallel = joblib.Parallel(n_jobs=2, backend="threading")
    results = parallel(joblib.delayed(fit_in_a_worker)(X, 0) for _ in range(4))
    for _, model in results:
        assert_same_bits(model, reference)


def jobs_here():
    return _options.resolve_n_jobs(None)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_no_number_of_jobs_is_one_thread_inside_a_worker(backend):
    parallel = joblib.Parallel(n_jobs=2, backend=backend)
    assert parallel(joblib.delayed(jobs_here)() for _ in range(4)) == [1] * 4


def test_no_number_of_jobs_is_all_cores_outside():
    assert jobs_here() == joblib.cpu_count()


@pytest.mark.parametrize("cores", [1, 4])
@pytest.mark.parametrize(("asked", "least"), [(-1, 0), (-2, 1), (-9, 8)])
def test_negative_numbers_of_jobs_count_from_all_cores(
    monkeypatch, cores, asked, least
):
    monkeypatch.setattr(joblib, "cpu_count", lambda: cores)
    assert _options.resolve_n_jobs(asked) == max(1, cores - least)


def test_a_fit_leaves_no_threads():
    before = set(threading.enumerate())
    fit(planted()[0], 3, n_jobs=4)
    assert set(threading.enumerate()) == before
