"""What all co-clustering estimators promise, on usual and degenerate tables."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_limits

from containers import CONTAINERS, names, planted, snapshot
from paper.cocluster import ELBM, SELBM, CoclustInfo, CoclustMod, CoclustSpecMod, TauCC
from paper.cocluster._base import Run, Table, best, renumber_together

MODELS = {
    "CoclustInfo": CoclustInfo(3, n_init=4),
    "CoclustInfo 3 x 2": CoclustInfo(3, n_column_clusters=2, n_init=4),
    "CoclustMod": CoclustMod(3, n_init=4),
    "CoclustSpecMod": CoclustSpecMod(3, n_init=4),
    "ELBM": ELBM(3, n_init=4),
    "ELBM code": ELBM(3, variant="code", n_init=4),
    "SELBM": SELBM(3, n_init=4),
    "SELBM code": SELBM(3, variant="code", n_init=4),
    "TauCC": TauCC(3),
    "TauCC random": TauCC(3, init="random"),
}
DIAGONAL = ["CoclustMod", "CoclustSpecMod", "SELBM", "SELBM code"]
# The weights of the code hide the blocks; a random start loses clusters.
RECOVERING = [name for name in MODELS if "code" not in name and "random" not in name]


def made(name, **parameters):
    return clone(MODELS[name]).set_params(random_state=0, **parameters)


def blocks(n_clusters=3, seed=0):
    """Counts of rows and columns in as many clusters, with rates 9 and 0.3."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.repeat(np.arange(n_clusters), 30))
    columns = rng.permutation(np.repeat(np.arange(n_clusters), 20))
    X = rng.poisson(np.where(rows[:, None] == columns, 9.0, 0.3))
    return X, rows, columns


def same(model, other):
    np.testing.assert_array_equal(model.row_labels_, other.row_labels_)
    np.testing.assert_array_equal(model.column_labels_, other.column_labels_)
    np.testing.assert_array_equal(model.restart_criteria_, other.restart_criteria_)
    assert model.n_iter_ == other.n_iter_


SMALL, _ = planted(n_rows=12)
SMALL[3] = 0
SMALL[:, 8] = 0
NOISE = np.random.default_rng(3).poisson(0.5, size=(60, 40))
CLASSES = [name for name in MODELS if " " not in name]
NEGATIVE = "feeds negative values; test_planted_blocks_are_found does it on counts"


@pytest.mark.parametrize("name", CLASSES)
def test_scikit_learns_checks(name):
    expected = {"check_clustering": NEGATIVE}
    check_estimator(made(name), expected_failed_checks=expected, on_skip=None)


@pytest.mark.parametrize("name", RECOVERING)
def test_planted_blocks_are_found(name, seed):
    X, rows, columns = blocks(seed=seed)
    model = made(name).fit(X) if "Tau" in name else made(name, n_init=10).fit(X)
    assert model.labels_ is model.row_labels_
    if name == "CoclustInfo 3 x 2":
        assert model.n_column_clusters_ == 2
        return
    assert adjusted_rand_score(rows, model.row_labels_) == 1.0
    assert adjusted_rand_score(columns, model.column_labels_) == 1.0
    if name in DIAGONAL:
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


@pytest.mark.parametrize("name", CLASSES)
def test_frames_and_sparse_tables_give_the_same_labels_and_stay_as_they_are(name):
    expected = made(name).fit(SMALL)
    for container in ("pandas", "csr 64-bit", "coo duplicates"):
        X = CONTAINERS[container](SMALL)
        before = snapshot(X)
        model = made(name).fit(X)
        same(model, expected)
        assert snapshot(X) == before
        if container == "pandas":
            assert list(model.feature_names_in_) == names(SMALL)


@pytest.mark.parametrize("name", CLASSES)
def test_a_seed_gives_the_same_bits_for_any_number_of_threads_and_matters(name):
    X = sp.csr_array(np.random.default_rng(3).poisson(0.5, size=(400, 150)))
    with threadpool_limits(limits=1):
        one = made(name).fit(X)
    with threadpool_limits(limits=2):
        same(made(name).fit(X), one)
    fits = [made(name).set_params(random_state=seed).fit(NOISE) for seed in range(4)]
    assert len({model.labels_.tobytes() for model in fits}) > 1


@pytest.mark.parametrize("name", [name for name in MODELS if "Tau" not in name])
def test_more_runs_begin_with_the_same_ones_and_the_best_is_kept(name):
    few, many = made(name, n_init=3).fit(NOISE), made(name, n_init=8).fit(NOISE)
    np.testing.assert_array_equal(many.restart_criteria_[:3], few.restart_criteria_)
    assert many.criterion_ == many.restart_criteria_.max()
    assert len(set(many.restart_criteria_)) > 1
    first = int(many.restart_criteria_.argmax()) + 1
    alone = made(name, n_init=first).fit(NOISE)
    np.testing.assert_array_equal(alone.labels_, many.labels_)
    assert alone.n_iter_ == many.n_iter_


@pytest.mark.parametrize("name", ["TauCC", "TauCC random"])
def test_taucc_ignores_the_numbers_of_clusters_and_runs(name):
    X, _, _ = blocks()
    one = made(name).fit(X)
    other = made(name, n_init=5, n_clusters=1000).fit(X)
    same(one, other)
    assert len(other.restart_criteria_) == 1


@pytest.mark.parametrize("name", CLASSES)
def test_zero_rows_and_columns_have_label_0_and_change_nothing_else(name):
    X, _, _ = blocks()
    wide = np.zeros((X.shape[0] + 2, X.shape[1] + 3), dtype=int)
    rows = np.setdiff1d(np.arange(len(wide)), [0, 50])
    columns = np.setdiff1d(np.arange(wide.shape[1]), [0, 7, 62])
    wide[np.ix_(rows, columns)] = X
    model, reference = made(name).fit(wide), made(name).fit(X)
    np.testing.assert_array_equal(model.row_labels_[rows], reference.row_labels_)
    np.testing.assert_array_equal(
        model.column_labels_[columns], reference.column_labels_
    )
    assert model.criterion_ == reference.criterion_
    assert not model.row_labels_[[0, 50]].any()
    assert not model.column_labels_[[0, 7, 62]].any()


@pytest.mark.parametrize("name", CLASSES)
def test_a_table_of_zeros_is_one_cluster(name):
    model = made(name).fit(np.zeros((5, 4)))
    assert not model.labels_.any()
    assert not model.column_labels_.any()
    assert (model.n_clusters_, model.n_column_clusters_) == (1, 1)
    assert model.criterion_ == 0.0
    assert len(model.restart_criteria_) == (1 if "Tau" in name else 4)


@pytest.mark.parametrize("name", CLASSES)
def test_few_rows_columns_or_clusters(name):
    for shape in [(3, 1), (3, 2), (4, 3), (1, 1), (30, 4), (4, 30)]:
        X = np.random.default_rng(0).poisson(3.0, size=shape) + 1
        model = made(name, n_clusters=min(3, shape[0])).fit(X)
        assert model.labels_.shape == shape[:1]
        assert model.column_labels_.shape == shape[1:]
        assert model.n_column_clusters_ <= shape[1]
        assert np.isfinite(model.criterion_)
    if "Tau" not in name:
        assert not made(name, n_clusters=1).fit(SMALL).labels_.any()


@pytest.mark.parametrize("name", ["CoclustInfo", "ELBM", "ELBM code"])
def test_column_clusters_are_at_most_the_columns_that_are_not_zero(name):
    table = Table.of(sp.csr_array(np.ones((6, 4))))
    assert made(name)._sizes(table) == (3, 3)
    assert made(name, n_clusters=6)._sizes(table) == (6, 4)
    assert made(name, n_column_clusters=2)._sizes(table) == (3, 2)
    assert made(name, n_column_clusters=50)._sizes(table) == (3, 4)


@pytest.mark.parametrize("name", CLASSES)
def test_small_and_huge_values(name):
    for factor in (1e-3, 1e12):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = made(name).fit(factor * SMALL)
        assert np.isfinite(model.restart_criteria_).all()


@given(
    cells=st.lists(st.integers(0, 3), min_size=24, max_size=24),
    name=st.sampled_from(list(MODELS)),
)
def test_any_small_table_gives_defined_labels(cells, name):
    model = made(name).fit(np.reshape(cells, (6, 4)))
    np.testing.assert_array_equal(
        np.unique(model.labels_), np.arange(model.n_clusters_)
    )
    assert model.n_clusters_ <= (6 if "Tau" in name else 3)
    assert np.isfinite(model.criterion_)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("CoclustMod", {"n_clusters": 0}, "n_clusters=0 must be an integer"),
        ("CoclustMod", {"n_init": 0}, "n_init=0 must be an integer"),
        ("CoclustSpecMod", {"max_iter": 0}, "max_iter=0 must be an integer"),
        ("SELBM", {"tol": -1.0}, "tol=-1.0 must be a finite number, 0 or more"),
        ("CoclustInfo", {"n_column_clusters": 0}, "n_column_clusters=0 must be"),
        ("ELBM", {"variant": "paper"}, "variant='paper' is not one of 'model', 'code'"),
        ("SELBM", {"variant": "paper"}, "variant='paper' is not one of"),
        ("TauCC", {"n_start": 0}, "n_start=0 must be an integer"),
        ("TauCC", {"init": "best"}, "init='best' is not one of 'prototypes', 'random'"),
        ("ELBM", {"n_clusters": 1000}, "should be >= n_clusters=1000"),
    ],
)
def test_bad_parameters_are_named(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        made(name, **parameters).fit(SMALL)


@pytest.mark.parametrize("name", CLASSES)
def test_max_iter_bounds_the_sweeps_without_a_warning(name):
    assert made(name, max_iter=1).fit(NOISE).n_iter_ == 1
    assert made(name).fit(NOISE).n_iter_ > 1


@pytest.mark.parametrize("name", CLASSES)
def test_large_sparse_tables_are_never_dense(name):
    """40 000 x 40 000 would take 12.8 GB."""
    rng = np.random.default_rng(0)
    size, stored = 40_000, 120_000
    # Four blocks with one common column each, by which TauCC finds them.
    block = np.concatenate([rng.integers(4, size=stored), np.arange(size) % 4])
    rows = np.concatenate([rng.integers(size // 4, size=stored), np.arange(size) // 4])
    columns = np.append(rng.integers(size // 4, size=stored), np.zeros(size, dtype=int))
    values = np.repeat([1.0, 3.0], [stored, size])
    places = (4 * rows + block, 4 * columns + block)
    X = sp.coo_array((values, places), shape=(size, size))
    model = made(name, max_iter=2)
    model.set_params(n_init=1).fit(X)
    assert model.labels_.shape == (size,)
