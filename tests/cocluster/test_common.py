"""What all co-clustering estimators promise."""

import numpy as np
import pytest
import scipy.sparse as sp
from cocluster_models import DIAGONAL, MODELS, RECOVERING, blocks, made, same
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from containers import CONTAINERS, NARROW, names, planted, snapshot
from threecpo.cocluster import CoclustMod
from threecpo.cocluster._cluster_sums import Run, best, renumber_together

SMALL, _ = planted(n_rows=12)
SMALL[3] = 0
SMALL[:, 8] = 0
LARGE = SMALL.copy()
LARGE[0, 0] = 300


@pytest.fixture(params=list(MODELS))
def name(request):
    return request.param


@parametrize_with_checks(
    list(MODELS.values()),
    expected_failed_checks=lambda _: {
        "check_clustering": "negative data; test_planted_counts does it on counts"
    },
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_planted_counts(name, make):
    X, labels = planted(n_rows=20)
    model = made(name)
    out = model.fit_predict(make(X))
    assert out.shape == labels.shape
    assert out.dtype in (np.dtype("int32"), np.dtype("int64"))
    np.testing.assert_array_equal(np.unique(out), np.arange(model.n_clusters_))
    assert out is model.labels_ is model.row_labels_
    assert len(np.unique(model.column_labels_)) == model.n_column_clusters_
    if name in RECOVERING and name != "CoclustInfo 3 x 2":
        assert adjusted_rand_score(labels, out) > 0.4


@pytest.mark.parametrize("name", RECOVERING)
def test_planted_blocks_are_found(name, seed):
    X, rows, columns = blocks(seed=seed)
    model = made(name, n_init=10).fit(X) if "Tau" not in name else made(name).fit(X)
    if name != "CoclustInfo 3 x 2":
        assert adjusted_rand_score(rows, model.row_labels_) == 1.0
        assert adjusted_rand_score(columns, model.column_labels_) == 1.0
    assert model.n_column_clusters_ == (2 if name == "CoclustInfo 3 x 2" else 3)


@pytest.mark.parametrize("name", [name for name in DIAGONAL if name in RECOVERING])
def test_a_diagonal_method_numbers_rows_and_columns_alike(name):
    X, rows, columns = blocks()
    model = made(name).fit(X)
    of_rows = {(k, model.row_labels_[rows == k][0]) for k in range(3)}
    assert of_rows == {(k, model.column_labels_[columns == k][0]) for k in range(3)}


def test_ties_go_to_the_first():
    scores = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [0.0, 1.0, 2.0]])
    np.testing.assert_array_equal(best(scores), [1, 0, 2])


class Given(CoclustMod):
    """Runs with given results."""

    def __init__(self, runs=(), *, together=True):
        super().__init__(2, n_init=len(runs))
        self.runs, self._diagonal = runs, together

    def _runs(self, table, seeds):
        yield from self.runs


def given_run(criterion, rows=(0, 1, 1)):
    return Run(np.array(rows), np.array([1, 0]), [criterion - 1, criterion])


def test_the_first_of_equally_good_runs_is_kept():
    runs = [given_run(1.0), given_run(3.0, (0, 0, 1)), given_run(3.0), given_run(2.0)]
    model = Given(runs).fit(np.ones((3, 2)))
    np.testing.assert_array_equal(model.labels_, [0, 0, 1])
    np.testing.assert_array_equal(model.restart_criteria_, [1.0, 3.0, 3.0, 2.0])
    assert (model.criterion_, model.n_iter_) == (3.0, 2)


@pytest.mark.parametrize(("together", "columns"), [(True, [0, 1]), (False, [1, 0])])
def test_diagonal_methods_share_the_numbers_of_their_clusters(together, columns):
    model = Given([given_run(1.0, (1, 1, 1))], together=together).fit(np.ones((3, 2)))
    np.testing.assert_array_equal(model.row_labels_, [0, 0, 0])
    np.testing.assert_array_equal(model.column_labels_, columns)
    assert (model.n_clusters_, model.n_column_clusters_) == (1, 2)


def test_which_methods_are_diagonal():
    assert [name for name, model in MODELS.items() if model._diagonal] == DIAGONAL


def test_clusters_without_rows_have_the_highest_numbers():
    rows, columns = renumber_together(np.array([4, 1, 4]), np.array([0, 1, 4, 2, 0]))
    np.testing.assert_array_equal(rows, [1, 0, 1])
    np.testing.assert_array_equal(columns, [2, 0, 1, 3, 2])


@pytest.fixture(scope="module")
def expected():
    return {
        (name, int(X.max())): made(name).fit(X)
        for name in MODELS
        for X in (SMALL, LARGE)
    }


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_same_labels_and_stays_as_it_is(
    name, container, expected
):
    array = SMALL if container in NARROW else LARGE
    X = CONTAINERS[container](array)
    before = snapshot(X)
    same(made(name).fit(X), expected[name, int(array.max())])
    assert snapshot(X) == before


def test_names_of_columns_are_kept(name):
    model = made(name).fit(CONTAINERS["pandas"](SMALL))
    assert list(model.feature_names_in_) == names(SMALL)
    assert model.n_features_in_ == SMALL.shape[1]


def test_a_seed_gives_the_same_bits_for_any_number_of_threads(name):
    rng = np.random.default_rng(3)
    X = sp.csr_array(rng.poisson(0.5, size=(400, 150)))
    with threadpool_limits(limits=1):
        one = made(name).fit(X)
    with threadpool_limits(limits=2):
        same(made(name).fit(X), one)


def test_seeds_matter(name):
    X = np.random.default_rng(3).poisson(0.5, size=(60, 40))
    fits = [made(name).set_params(random_state=seed).fit(X) for seed in range(4)]
    assert len({model.labels_.tobytes() for model in fits}) > 1


@pytest.mark.parametrize("name", [name for name in MODELS if "Tau" not in name])
def test_more_runs_begin_with_the_same_ones_and_the_best_is_kept(name):
    X = np.random.default_rng(3).poisson(0.5, size=(60, 40))
    few, many = made(name, n_init=3).fit(X), made(name, n_init=8).fit(X)
    np.testing.assert_array_equal(many.restart_criteria_[:3], few.restart_criteria_)
    assert many.criterion_ == many.restart_criteria_.max()
    assert many.criterion_ >= few.criterion_
    assert len(set(many.restart_criteria_)) > 1
    first = int(many.restart_criteria_.argmax()) + 1
    alone = made(name, n_init=first).fit(X)
    np.testing.assert_array_equal(alone.labels_, many.labels_)
    assert alone.n_iter_ == many.n_iter_


@pytest.mark.parametrize("n_init", [1, 5])
@pytest.mark.parametrize("name", ["TauCC", "TauCC random"])
def test_taucc_ignores_the_numbers_of_clusters_and_runs(name, n_init):
    X, _, _ = blocks()
    one = made(name).fit(X)
    other = made(name, n_init=n_init, n_clusters=1000).fit(X)
    same(one, other)
    assert len(other.restart_criteria_) == 1
