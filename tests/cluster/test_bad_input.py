"""Input that cannot be counts is refused, with what is wrong and where."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from containers import planted
from threecpo import ParameterError, ThreeCPO
from threecpo._parameters import PARAMETERS

X, _ = planted(2, n_rows=10)
KINDS = {
    "array": np.array,
    "F order": np.asfortranarray,
    "list": lambda array: array.tolist(),
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
}
ENTRIES = {"nan": "NaN", "inf": "infinity", "-inf": "-infinity", "-0.25": "-0.25"}
FITTED = ThreeCPO(2, n_init=2, random_state=0)
CALLS = {
    "fit": lambda X: ThreeCPO(2).fit(X),
    "predict": FITTED.predict,
    "row_scores": FITTED.row_scores,
    "score": FITTED.score,
}


@pytest.fixture(autouse=True, scope="module")
def _fitted():
    FITTED.fit(X)


def spoiled(value):
    """X with bad entries; the first one, read row by row, is at row 4, column 5."""
    array = X.astype(float)
    array[4, 5] = array[4, 6] = array[7, 0] = value
    return array


def fit(X=X, n_clusters=2, **options):
    return ThreeCPO(n_clusters, n_init=2, random_state=0, **options).fit(X)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_bad_entry_of_any_container_is_named(kind):
    for value, spelled in ENTRIES.items():
        where = rf"row 4, column 5 holds {spelled}\b"
        with pytest.raises(ValueError, match=where):
            fit(KINDS[kind](spoiled(float(value))))


@pytest.mark.parametrize("call", CALLS)
def test_every_call_names_the_first_bad_entry(call):
    anndata = pytest.importorskip("anndata")
    for make in (np.array, sp.csr_array):
        with pytest.raises(ValueError, match=r"row 4, column 5 holds -3\b"):
            CALLS[call](make(spoiled(-3.0)))
    with pytest.raises(
        TypeError, match=r"AnnData; use threecpo\.anndata\.cluster\(adata\)"
    ):
        CALLS[call](anndata.AnnData(X.astype(float)))


def test_a_missing_value_of_a_frame_is_named():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [4, None, 6]}).astype("Int64")
    with pytest.raises(ValueError, match="NaN: row 1, column 1"):
        fit(frame)


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_tables_without_rows_or_columns_are_refused(make):
    for shape, what in (((0, 3), "0 sample"), ((3, 0), "0 feature")):
        with pytest.raises(ValueError, match=what):
            fit(make(np.zeros(shape)))


@pytest.mark.parametrize("bad", [[1, 2, 3], 5, [[[1]]], [["a", "b"]], [[1j, 2]]])
def test_anything_but_a_table_of_numbers_is_refused(bad):
    with pytest.raises((ValueError, TypeError)):
        fit(bad, n_clusters=1)


@pytest.mark.parametrize("name", ["n_clusters", "n_init", "max_iter", "max_clusters"])
def test_numbers_must_be_whole_and_one_or_more(name):
    for n_clusters in (2, "auto"):
        for bad in (0, -1, 2.0, "two", "Auto", None, True, [2]):
            with pytest.raises(ValueError, match=f"^{name}=.*1 or more"):
                ThreeCPO(**{"n_clusters": n_clusters, name: bad}).fit(X)


def test_more_clusters_than_rows_are_refused():
    with pytest.raises(ValueError, match=rf"{len(X)}.*n_clusters=99"):
        fit(n_clusters=99)


@pytest.mark.parametrize("name", ["prior", "outlier_threshold"])
def test_prior_and_threshold_must_be_finite_and_not_negative(name):
    for bad in (-1e-9, np.nan, np.inf, "0", None):
        with pytest.raises(ValueError, match=f"{name}=.*0 or more"):
            fit(**{name: bad})


@pytest.mark.parametrize("name", [k for k, each in PARAMETERS.items() if each.choices])
def test_an_unknown_name_is_refused_with_the_allowed_ones(name):
    with pytest.raises(ValueError, match=f"{name}='nonsense'") as caught:
        ThreeCPO(**{"n_clusters": 2, name: "nonsense"}).fit(X)
    assert all(str(each) in str(caught.value) for each in PARAMETERS[name].choices)


def test_bad_groups_are_refused_with_the_allowed_ones():
    for bad in ((), (0, -1), (1, 2), "1", None, 0, (1, None)):
        with pytest.raises(ValueError, match=r"groups=.*1 .*0 .*-1"):
            fit(groups=bad)


@pytest.mark.parametrize("call", ["fit", "predict"])
def test_a_bad_number_of_jobs_is_refused(call):
    for bad in (0, 1.5, "all"):
        model = fit().set_params(n_jobs=bad)
        with pytest.raises(ValueError, match="n_jobs="):
            getattr(model, call)(X)


def test_a_bad_seed_is_refused():
    for bad in ("seed", -1, 1.5):
        with pytest.raises(ValueError, match=r"(?i)seed"):
            ThreeCPO(2, random_state=bad).fit(X)


@pytest.mark.parametrize("call", ["predict", "row_scores", "score", "transform"])
def test_another_number_of_columns_is_refused(call):
    with pytest.raises(ValueError, match=r"X has 7 features.*expecting 8 features"):
        getattr(FITTED, call)(X[:, :7])


def test_other_column_names_are_refused():
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = fit(frame)
    for call in (model.predict, model.row_scores, model.score):
        with pytest.raises(ValueError, match=r"(?s)feature names.*Z"):
            call(frame.rename(columns={"a": "Z"}))


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_values_that_are_not_whole_give_one_warning(make):
    with pytest.warns(UserWarning, match="not integers") as caught:
        model = fit(make(X / 4))
    assert len(caught) == 1
    assert "log-normalised" not in str(caught[0].message)
    assert caught[0].filename == __file__
    assert model.n_clusters_ == 2


def test_log_normalised_values_are_recognised():
    counts = np.random.default_rng(0).poisson(2.0, size=(40, 60))
    shares = counts / counts.sum(axis=1, keepdims=True)
    for base in (np.e, 2.0, 10.0):
        with pytest.warns(UserWarning, match="this looks log-normalised") as caught:
            fit(np.log1p(1e4 * shares) / np.log(base), n_clusters=1)
        assert len(caught) == 1


def test_other_values_are_not_called_log_normalised():
    counts = np.random.default_rng(0).poisson(5.0, size=(40, 60))
    shares = counts / counts.sum(axis=1, keepdims=True)
    weighted = counts * np.log(1 + np.arange(1, 61))
    for values in (shares, counts / 3, np.sqrt(counts), weighted):
        with pytest.warns(UserWarning, match="not integers") as caught:
            fit(values, n_clusters=1)
        assert "log-normalised" not in str(caught[0].message)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("k", "; did you mean n_clusters?"),
        ("seed", "; did you mean random_state?"),
        ("n_cluster", "; did you mean n_clusters?"),
        ("known_labels", "; did you mean fit(X, known_labels=...)?"),
        ("xyz", "."),
    ],
)
def test_a_parameter_that_there_is_not_is_explained(name, advice):
    with pytest.raises(TypeError) as caught:
        ThreeCPO(**{name: 3})
    assert str(caught.value) == f"ThreeCPO does not have a parameter {name!r}{advice}"


def test_errors_carry_the_name_of_their_parameter():
    with pytest.raises(ParameterError) as caught:
        fit(max_iter=0)
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.parameter == "max_iter"
    assert str(error) == "max_iter=0 must be an integer of 1 or more."
    spelled = error.spelled(lambda given: f"--{given.name} {given.value}")
    assert spelled == "--max_iter 0 must be an integer of 1 or more."
