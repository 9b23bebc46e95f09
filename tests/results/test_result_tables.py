"""Tables say what the model says, under names of the fit, and come back from files."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.manifold import trustworthiness
from sklearn.neighbors import NearestNeighbors

import threecpo
from containers import kinds_of, planted
from fitting import X, fit
from threecpo import (
    CountTable,
    ThreeCPO,
    _validation,
    load,
    plot,
    read_counts,
    report,
    results,
    select_n_clusters,
    write_counts,
)
from threecpo._spreadsheets import guarded, unguarded
from threecpo.preprocessing import SublinearCounts
from threecpo.results import read_table, write_table

HOSTILE = [
    "plain",
    "a,b",
    'say "so"',
    "two\nlines",
    "two\r\nlines",
    "lone\rreturn",
    "=1+1",
    "+1",
    "-1",
    "@sum",
    "\ttab",
    "'=already marked",
    "''-twice",
    "'quoted'",
    "",
    " space ",
    "\0nul",
    "\ud800half a letter",
    "שלום",
    "😀",
    "\u2028",
]
texts = st.text(st.characters(codec=None), max_size=12) | st.sampled_from(HOSTILE)
floats = st.floats(allow_nan=True, allow_infinity=True)


def same(a, b):
    """Whether two tables have the same names, types and bits."""
    assert list(a) == list(b)
    for name, values in a.items():
        assert values.dtype == b[name].dtype
        if values.dtype == object:
            assert values.tolist() == b[name].tolist()
        else:
            assert values.tobytes() == b[name].tobytes()


def as_names(listed):
    names = np.empty(len(listed), dtype=object)
    names[:] = listed
    return names


@given(st.lists(st.tuples(texts, floats, st.integers(-(2**63), 2**63 - 1))))
def test_a_table_comes_back_with_the_same_bits(tmp_path_factory, lines):
    names, numbers, labels = zip(*lines, strict=True) if lines else ((), (), ())
    table = {
        "row": as_names(names),
        "margin": np.array(numbers, np.float64),
        "cluster": np.array(labels, np.int64),
    }
    # A NaN has many bit patterns; CSV keeps that it is one.
    table["margin"][np.isnan(table["margin"])] = np.nan
    path = tmp_path_factory.getbasetemp() / "round-trip.csv"
    results.write_table(table, path)
    same(results.read_table(path, kinds_of(table)), table)


def test_a_frame_can_be_written(model, tmp_path):
    results.write_table(model.top_columns(3), tmp_path / "top.csv")
    table = results.read_table(tmp_path / "top.csv")
    assert table["here"].tolist() == model.top_columns(3)["here"].tolist()


def test_a_wrong_file_is_named(tmp_path):
    for content, message in (
        (b"", "its first line is not a header"),
        (b"row,row\na,b\n", "its first line is not a header"),
        (b"row,,scale\na,b,1\n", "its first line is not a header"),
        (b"row,scale\na,1\nb\n", "line 3: 1 cells where the header has 2"),
        (b"row,scale\na,1,2\n", "line 2: 3 cells where the header has 2"),
        (b"row,scale\na,x\n", "column 'scale': could not convert"),
        (b"row,cluster\na,1.5\n", "column 'cluster': invalid literal"),
        (b"row,cluster\na,99999999999999999999\n", "column 'cluster'"),
        (b'row,scale\n"a,1\n', "is not a table written by threecpo"),
        (b"PK\x03\x04\xff\xfe\xfa", "is not a table written by threecpo"),
    ):
        path = tmp_path / "wrong.csv"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message) as caught:
            results.read_table(path)
        assert str(path) in str(caught.value)


def test_long_tables_are_written_and_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("threecpo.results.table_files.BATCH", 4)
    for n in (3, 4, 5, 8, 13):
        table = {"row": as_names(HOSTILE[:n]), "scale": np.arange(n) / 7}
        results.write_table(table, tmp_path / "long.csv")
        same(results.read_table(tmp_path / "long.csv", kinds_of(table)), table)
    (tmp_path / "long.csv").write_text("row,scale\n" + "a,1\n" * 9 + "b\n")
    with pytest.raises(ValueError, match="line 11: 1 cells where"):
        results.read_table(tmp_path / "long.csv")


def test_columns_of_different_lengths_are_no_table(tmp_path):
    with pytest.raises(ValueError, match="must have the same length"):
        results.write_table({"row": ["a"], "scale": [1, 2]}, tmp_path / "t.csv")
    assert not (tmp_path / "t.csv").exists()


def test_a_header_alone_is_an_empty_table(tmp_path):
    results.write_table({"row": [], "scale": []}, tmp_path / "empty.csv")
    table = results.read_table(tmp_path / "empty.csv")
    assert [len(values) for values in table.values()] == [0, 0]


def test_columns_of_rows_are_those_of_the_file(any_model):
    table = results.row_table(any_model, X)
    expected = "row,cluster,name,nearest,margin,outlier_score,scale,map_x,map_y"
    assert ",".join(table) == f"{expected},confidence,sure"
    inside = any_model.labels_ >= 0
    own = any_model.probabilities_[inside, any_model.labels_[inside]]
    np.testing.assert_array_equal(table["confidence"][inside], own)
    assert np.isnan(table["confidence"][~inside]).all()
    assert set(table["sure"][inside]) <= {"clear", "likely", "doubtful"}
    assert ((table["sure"] == "clear") == (table["confidence"] >= 0.9)).all()
    for name, attribute in [
        ("cluster", "labels_"),
        ("nearest", "nearest_labels_"),
        ("margin", "margins_"),
        ("outlier_score", "outlier_scores_"),
        ("scale", "row_scales_"),
    ]:
        np.testing.assert_array_equal(table[name], getattr(any_model, attribute))
    assert table["row"].tolist() == [str(i) for i in range(len(X))]


def test_without_counts_there_is_no_map(model):
    table = results.row_table(model)
    assert np.isnan(table["map_x"]).all()
    assert np.isnan(table["map_y"]).all()


def test_what_does_not_fit_the_model_is_refused(model):
    with pytest.raises(ValueError, match="X has 5 rows, but the model was fitted"):
        results.row_table(model, X[:5])
    with pytest.raises(ValueError, match="X has 9 columns, but the model was"):
        results.row_table(model, X[:, 1:])
    with pytest.raises(ValueError, match="row_names has 1 names, but the model"):
        results.row_table(model, X, row_names=["one"])


def test_neighbours_by_scores_stay_neighbours(any_model):
    """Scores per count, the background's among them, in all their directions."""
    used = any_model.column_groups_ >= 0
    sizes = (X[:, used] + any_model.prior).sum(axis=1)
    scores = any_model.row_scores(X)
    background = any_model.outlier_scores_ + scores.max(axis=1)
    view = np.column_stack([scores, background]) / sizes[:, None]
    view -= view.mean(axis=1, keepdims=True)
    places = results.row_map(any_model, X)
    assert np.linalg.matrix_rank(places) == 2
    assert trustworthiness(view, places, n_neighbors=10) > 0.95


def test_small_clusters_are_groups_of_their_own():
    """Also beside one that is far from all others."""
    rng = np.random.default_rng(0)
    sizes, rates = [200, 150, 12, 8], rng.gamma(0.5, 4.0, size=(4, 30))
    rates[3, :3] += 80
    counts = rng.poisson(np.repeat(rates, sizes, axis=0))
    labels = np.repeat(np.arange(4), sizes)
    places = results.row_map(fit(counts, 4, init=labels), counts)
    nearest = NearestNeighbors(n_neighbors=5).fit(places).kneighbors()[1]
    own = (labels[nearest] == labels[:, None]).mean(axis=1)
    assert [round(own[labels == k].mean(), 1) for k in range(4)] == [1] * 4


def test_any_number_of_threads_gives_the_same_bits(model):
    for n_jobs in (2, 3):
        expected = results.row_map(model, X)
        other = fit(X, n_jobs=n_jobs)
        assert results.row_map(other, X).tobytes() == expected.tobytes()


def test_rows_beyond_the_sample_lie_among_their_neighbours(monkeypatch):
    counts, _ = planted(3, 60)
    model = fit(counts)
    monkeypatch.setattr("threecpo.results._row_tables.LAID_OUT", 60)
    monkeypatch.setattr("threecpo.results._row_tables._AT_ONCE", 50)
    places = results.row_map(model, counts)
    assert len(np.unique(places, axis=0)) > 60
    centres = np.stack([places[model.labels_ == k].mean(axis=0) for k in range(3)])
    away = np.linalg.norm(places[:, None] - centres, axis=2)
    assert (away.argmin(axis=1) == model.labels_).mean() > 0.95


def test_containers_give_the_same_bits(model):
    for make in (sp.csr_array, sp.csc_matrix, np.asfortranarray):
        expected = results.row_map(model, X)
        assert results.row_map(model, make(X)).tobytes() == expected.tobytes()


def test_impossible_clusters_without_a_prior_are_far():
    """Their scores are -inf where the row has a count that they lack."""
    rates = np.kron(np.eye(3), np.full(5, 4.0))
    counts = np.random.default_rng(0).poisson(np.repeat(rates, 20, axis=0))
    model = fit(counts, 3, prior=0)
    assert np.isneginf(model.row_scores(counts)).any()
    places = results.row_map(model, counts)
    nearest = NearestNeighbors(n_neighbors=5).fit(places).kneighbors()[1]
    assert (model.labels_[nearest] == model.labels_[:, None]).mean() > 0.95


def test_one_cluster_is_one_place():
    assert not results.row_map(fit(X, 1), X).any()


def test_rows_without_counts_have_a_place():
    counts = np.vstack([X, np.zeros_like(X[:2])])
    for prior in (1e-3, 0.0):
        places = results.row_map(fit(counts, prior=prior), counts)
        assert np.isfinite(places).all()


def test_equal_rows_and_single_ones_have_places():
    counts, _ = planted(2, 3)
    model = fit(counts, 2)
    for some in (counts[:1], counts[:2], np.tile(counts[:1], (40, 1))):
        places = results.row_map(model, some)
        assert places.shape == (len(some), 2)
        assert np.isfinite(places).all()


def test_columns_are_those_of_the_file(any_model):
    table = results.column_table(any_model)
    k = any_model.n_clusters_
    expected = ["column", "group", "noise_score", "shared_score", "relevant_score"]
    here = [f"here_{c}" for c in range(k)]
    assert list(table) == [*expected, "overall", *here]
    np.testing.assert_array_equal(table["group"], any_model.column_groups_)
    for place, name in enumerate(expected[2:]):
        np.testing.assert_array_equal(table[name], any_model.column_scores_[:, place])
    listed = any_model.top_columns(99)
    for c, j, count in zip(
        listed["cluster"], listed["column"], listed["here"], strict=True
    ):
        assert table["overall" if c < 0 else f"here_{c}"][j] == count


def test_names_are_those_given_or_of_the_fit_or_numbers():
    names = [f"gene {j}" for j in range(10)]
    named = fit(pd.DataFrame(X, columns=names))
    assert results.column_table(named)["column"].tolist() == names
    given = results.column_table(named, column_names="abcdefghij")["column"]
    assert given.tolist() == list("abcdefghij")
    numbers = results.column_table(fit())["column"].tolist()
    assert numbers == [str(j) for j in range(10)]


def test_a_wrong_number_of_names_is_refused(model):
    with pytest.raises(ValueError, match="column_names has 2 names, but the model"):
        results.column_table(model, column_names="ab")


def test_sizes_names_and_markers(any_model):
    table = results.cluster_table(any_model)
    k = any_model.n_clusters_
    assert list(table) == [
        *("cluster", "name", "size", "share", "confidence"),
        *("tree_order", "joins", "join_height", "markers"),
    ]
    assert table["cluster"].tolist() == list(range(k))
    sizes = [(any_model.labels_ == c).sum() for c in range(k)]
    assert table["size"].tolist() == sizes
    np.testing.assert_allclose(table["share"], np.divide(sizes, len(X)))
    assert table["name"].tolist() == any_model.cluster_names_.tolist()
    top = any_model.top_columns()
    for c in range(k):
        own = top[(top["group"] == 1) & (top["cluster"] == c)]["column"]
        assert table["markers"][c] == " / ".join(map(str, own))


def test_it_is_what_the_model_lists(any_model, tmp_path):
    table = results.top_table(any_model, 4)
    frame = any_model.top_columns(4)
    assert list(table) == list(frame)
    for name in frame:
        assert table[name].tolist() == frame[name].tolist()
    results.write_table(table, tmp_path / "top_columns.csv")
    same(results.read_table(tmp_path / "top_columns.csv", kinds_of(table)), table)


def test_given_names_go_before_those_of_the_fit():
    model = fit(pd.DataFrame(X, columns=list("abcdefghij")))
    names = [f"gene {j}" for j in range(10)]
    table = results.top_table(model, feature_names=names)
    expected = [names[j] for j in fit().top_columns()["column"]]
    assert table["column"].tolist() == expected
    assert hasattr(model, "feature_names_in_")


def test_a_path_comes_back_from_its_file(tmp_path):
    path = select_n_clusters(X, range(1, 5), n_init=2, random_state=0)
    table = results.path_table(path)
    assert set(table) == {*path.to_frame(), "criterion"}
    assert set(table["criterion"]) == {"mdl-dispersion"}
    np.testing.assert_array_equal(table["total"], path.totals)
    results.write_table(table, tmp_path / "k_path.csv")
    same(results.read_table(tmp_path / "k_path.csv"), table)


def test_tables_do_without_pandas(model, hide_pandas):
    expected = results.top_table(model, 2)
    hide_pandas()
    same(results.top_table(model, 2), expected)


def test_a_model_without_rows_says_where_they_are(tmp_path):
    from threecpo import distributed, plot, report

    model = distributed.fit(ThreeCPO(2, random_state=0), [[9, 1], [1, 9]] * 5)
    assert len(results.row_table(model)["row"]) == 10
    distributed.fit(model, [[9, 1], [1, 9]] * 5, write_to=tmp_path / "rows")
    calls = (results.row_table, plot.outliers)
    for call in (*calls, lambda model: report.write(model, None, tmp_path / "r.html")):
        with pytest.raises(ValueError, match=r"no results of its rows.*predict"):
            call(model)
    assert not (tmp_path / "r.html").exists()


@given(st.lists(st.floats(width=64), min_size=1), st.integers(1, 17))
def test_rounded_numbers_are_near_and_stay(values, digits):
    table = {"scale": np.array(values), "count": np.arange(len(values))}
    once = results.rounded_table(table, digits)
    same(results.rounded_table(once, digits), once)
    same({"count": once["count"]}, {"count": table["count"]})
    finite = np.isfinite(values) & (np.abs(values) > 1e-290)
    error = np.abs(once["scale"][finite] - np.array(values)[finite])
    size = np.abs(values)[finite]
    assert (error <= size * 0.51 * 10.0 ** (1 - digits)).all()
    large = size >= 10.0 ** (digits - 3)
    assert (error[large] <= 0.00051 + size[large] * 1e-15).all()


@pytest.mark.parametrize(
    ("function", "back"), [("log1p", np.expm1), ("sqrt", np.square)]
)
def test_values_of_transformed_counts_are_in_the_units_of_the_table(
    function, back, tmp_path
):
    X, _ = planted(3, 40, 15)
    table = SublinearCounts(function, table=True).fit_transform(X)
    model = ThreeCPO(3, random_state=0).fit(table)
    model.save(tmp_path / "model.npz")
    fitted = model.record_.markers.expected
    for each in (model, threecpo.load(tmp_path / "model.npz")):
        columns = results.column_table(each)
        np.testing.assert_allclose(columns["overall"], back(fitted.overall))
        np.testing.assert_allclose(columns["here_1"], back(fitted.clusters[1]))
        top = results.top_table(each, 1)
        np.testing.assert_allclose(top["ratio"], top["here"] / top["overall"])
        np.testing.assert_allclose(
            results.workbook(each, results.row_table(each), table)["table"]["0"],
            X[:, 0],
        )


CELLS = [f"cell {i}" for i in range(len(X))]
GENES = [f"gene {j}" for j in range(X.shape[1])]


@pytest.fixture(scope="module")
def table():
    return CountTable(X, row_names=CELLS, column_names=GENES)


@pytest.fixture(scope="module")
def named(table):
    return fit(table)


def test_all_tables_have_the_names_of_the_fit(named, tmp_path):
    named.save(tmp_path / "model.npz")
    for model in (named, load(tmp_path / "model.npz")):
        assert results.row_table(model)["row"].tolist() == CELLS
        assert results.column_table(model)["column"].tolist() == GENES
        assert set(results.top_table(model)["column"]) <= set(GENES)


def test_given_names_go_first_then_those_of_the_table_then_of_the_fit(named):
    others = CountTable(X, row_names=[f"other {i}" for i in range(len(X))])
    given = [f"given {i}" for i in range(len(X))]

    def first(*counts, **options):
        return results.row_table(named, *counts, **options)["row"][0]

    assert first(others, row_names=given) == "given 0"
    assert first(others) == "other 0"
    assert first(CountTable(X)) == first(X) == first() == "cell 0"
    assert results.row_table(fit(), X)["row"][0] == "0"


def test_a_report_shows_them(named, table, tmp_path):
    report.write(named, table, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    typical = results.typical_rows(named, n=1)["row"][0]
    assert f"<bdi>{typical}</bdi>" in page
    assert "<bdi>gene 0</bdi>" in page


def test_predicted_rows_have_those_of_their_table(named, table):
    assert results.predicted_rows(named, table)["row"].tolist() == CELLS
    new = results.predicted_rows(named, CountTable(X[:2], column_names=GENES))
    assert new["row"].tolist() == ["0", "1"]
    given = results.predicted_rows(named, table, row_names=CELLS[::-1])
    assert given["row"].tolist() == CELLS[::-1]


def test_predicted_rows_warn_of_unknown_batches_at_the_caller():
    model = threecpo.ThreeCPO(2, random_state=0).fit(X, batch=np.arange(len(X)) % 2)
    with pytest.warns(UserWarning, match="were not in the fit") as warned:
        results.predicted_rows(model, X, batch=np.full(len(X), 7))
    assert [each.filename for each in warned] == [__file__]


def test_wrong_numbers_of_names_are_refused(named, table):
    with pytest.raises(ValueError, match="row_names has 1 names, but X has 2"):
        results.predicted_rows(named, CountTable(X[:2]), row_names=["one"])
    short = CountTable(X[:5], row_names=CELLS[:5])
    with pytest.raises(ValueError, match="X has 5 rows, but the model was fitted"):
        results.row_table(named, short)


DOORS = {
    "row_table": results.row_table,
    "row_map": results.row_map,
    "predicted_rows": results.predicted_rows,
    "describe_counts": lambda _, table: results.describe_counts(table),
    "plot": plot.row_map,
    "report": lambda model, table: report.write(model, table, "report.html"),
}


@pytest.mark.parametrize("name", DOORS)
def test_counts_of_a_table_are_not_checked_again(
    name, named, table, monkeypatch, tmp_path
):
    """Nor copied: whatever makes counts from arrays is not called."""

    def fail(*_, **__):
        raise AssertionError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sklearn.utils.check_array", fail)
    monkeypatch.setattr("sklearn.utils.validation.validate_data", fail)
    for function in ("from_dense", "from_sparse"):
        monkeypatch.setattr(_validation, function, fail)
    DOORS[name](named, table)


def test_an_unfitted_model_says_so(table):
    from sklearn.exceptions import NotFittedError

    calls = (results.row_map, results.predicted_rows, results.row_table)
    for call in calls:
        with pytest.raises(NotFittedError):
            call(ThreeCPO(2), table)
    for call in (results.column_table, results.top_table, results.fit_facts):
        with pytest.raises(NotFittedError):
            call(ThreeCPO(2))


LATER = {
    "outlier_threshold": 5.0,
    "outliers": None,
    "column_penalty": None,
    "prior": 0.5,
    "n_clusters": 9,
    "groups": (1,),
    "random_state": 99,
}
MADE = {
    "rows": lambda changeable: results.row_table(changeable, X),
    "columns": results.column_table,
    "top columns": results.top_table,
    "clusters": results.cluster_table,
    "new rows": lambda changeable: results.predicted_rows(changeable, X[:9]),
    "facts": results.fit_facts,
    "summary": lambda changeable: report.summarise(
        changeable, results.row_table(changeable, X)
    ),
}


def content(made):
    """All bits of a table or dict, as text."""
    return json.dumps(made, default=lambda array: [str(array.dtype), *array.tolist()])


@pytest.fixture
def changeable():
    return fit(outliers="final", outlier_threshold=1.0, n_init=2)


def test_set_params_changes_no_result(changeable, tmp_path):
    for make in MADE.values():
        before = content(make(changeable))
        changeable.set_params(**LATER)
        assert content(make(changeable)) == before
        changeable.save(tmp_path / "model.npz")
        assert content(make(load(tmp_path / "model.npz"))) == before


def test_set_params_changes_no_file(changeable, tmp_path):
    report.write(changeable, X, tmp_path / "before.html", title="the same")
    results.write_table(results.row_table(changeable, X), tmp_path / "before.csv")
    changeable.set_params(**LATER)
    report.write(changeable, X, tmp_path / "after.html", title="the same")
    results.write_table(results.row_table(changeable, X), tmp_path / "after.csv")
    for kind in ("html", "csv"):
        before, after = (tmp_path / f"{when}.{kind}" for when in ("before", "after"))
        assert before.read_bytes() == after.read_bytes()


def test_the_report_lists_the_parameters_of_the_fit(changeable):
    changeable.set_params(**LATER)
    summary = report.summarise(changeable, results.row_table(changeable))
    listed = dict(summary["parameters"])
    assert listed["outlier_threshold"] == "1"
    assert listed["column_penalty"] == "mdl"
    assert listed["outliers"] == "final"
    assert listed["n_clusters"] == "3"
    assert listed["groups"] == "1, 0, -1"
    assert summary["outliers"]["threshold"] == 1.0
    assert summary["outliers"]["above"] == summary["outliers"]["marked"]


def test_a_figure_has_the_threshold_of_the_fit(changeable):
    changeable.set_params(**LATER)
    ax = plot.outliers(changeable)
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), [1.0, 1.0])
    beyond = [bar.get_height() for bar in ax.patches if bar.get_hatch()]
    assert sum(beyond) == (changeable.labels_ < 0).sum() > 0


def test_a_finished_path_does_not_change(tmp_path):
    changeable = fit(n_clusters="auto", max_clusters=4, n_init=2)
    before = content(results.path_table(changeable.k_path_))
    report.write(changeable, X, tmp_path / "before.html")
    changeable.k_path_.estimator(3).set_params(column_penalty=None)
    changeable.k_path_.best_estimator.set_params(column_penalty=None)
    changeable.set_params(column_penalty=None)
    assert content(results.path_table(changeable.k_path_)) == before
    report.write(changeable, X, tmp_path / "after.html")
    pages = [(tmp_path / f"{when}.html").read_bytes() for when in ("before", "after")]
    assert pages[0] == pages[1]


FORMULAS = [
    "=1+1",
    "+1",
    "-1+2",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1",
    "'=1",
    "''@",
]
HARMLESS = ["a", "x=1", "x;=1+1", "3", "'a", "", " =1"]


def test_formulas_get_an_apostrophe():
    assert [guarded(name) for name in FORMULAS] == [f"'{name}" for name in FORMULAS]
    assert [guarded(name) for name in HARMLESS] == HARMLESS


@given(st.text())
def test_every_name_comes_back(name):
    assert unguarded(guarded(name)) == name


def fields_of(path, delimiter):
    """Cells as a spreadsheet cuts them that takes another delimiter for its own."""
    with path.open(encoding="utf-8", newline="") as file:
        return [cell for line in csv.reader(file, delimiter=delimiter) for cell in line]


@pytest.mark.parametrize("triples", [False, True])
def test_tables_of_counts(triples, tmp_path):
    names = [name for name in (*FORMULAS, *HARMLESS) if name]
    X = np.arange(1, len(names) ** 2 + 1).reshape(len(names), -1)
    table = CountTable(X, row_names=names, column_names=[f"{name}!" for name in names])
    path = tmp_path / "counts.csv"
    write_counts(table, path, triples=triples)
    for cell in fields_of(path, ","):
        assert cell[:1] not in tuple("=+-@\t\r\n＝＋－＠") or cell == ""
    again = read_counts(path)
    assert list(again.row_names) == list(table.row_names)
    assert list(again.column_names) == list(table.column_names)


def test_tables_of_results_are_not_cut_at_other_characters(tmp_path):
    path = tmp_path / "rows.csv"
    names = np.array([*FORMULAS, *HARMLESS], dtype=object)
    write_table({"row": names, "cluster": np.arange(len(names))}, path)
    for cell in fields_of(path, ","):
        assert cell[:1] not in tuple("=+-@\t\r\n＝＋－＠") or cell == ""
    assert '"x;=1+1"' in path.read_text(encoding="utf-8")
    assert read_table(path)["row"].tolist() == names.tolist()
