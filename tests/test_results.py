"""Tables say what the model says, and their files give back the same bits."""

import csv

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.manifold import trustworthiness
from sklearn.neighbors import NearestNeighbors

import threecpo
from containers import kinds_of, planted
from fitting import X, fit
from threecpo import ThreeCPO, results, select_n_clusters
from threecpo.preprocessing import SublinearCounts

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


class TestFiles:
    @given(st.lists(st.tuples(texts, floats, st.integers(-(2**63), 2**63 - 1))))
    def test_a_table_comes_back_with_the_same_bits(self, tmp_path_factory, lines):
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

    def test_no_name_is_a_formula_to_a_spreadsheet(self, tmp_path):
        path = tmp_path / "names.csv"
        results.write_table({"row": HOSTILE}, path)
        with path.open(newline="", encoding="utf-8", errors="surrogatepass") as file:
            cells = [line[0] if line else "" for line in csv.reader(file)][1:]
        assert len(cells) == len(HOSTILE)
        assert not any(cell[:1] in tuple("=+-@\t\r") and cell for cell in cells)
        assert cells[HOSTILE.index("=1+1")] == "'=1+1"
        assert cells[HOSTILE.index("'quoted'")] == "'quoted'"

    def test_a_frame_can_be_written(self, model, tmp_path):
        results.write_table(model.top_columns(3), tmp_path / "top.csv")
        table = results.read_table(tmp_path / "top.csv", results.TOP)
        assert table["here"].tolist() == model.top_columns(3)["here"].tolist()

    def test_a_wrong_file_is_named(self, tmp_path):
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
                results.read_table(path, results.ROWS)
            assert str(path) in str(caught.value)

    def test_long_tables_are_written_and_read_in_parts(self, tmp_path, monkeypatch):
        monkeypatch.setattr("threecpo.results.table_files.BATCH", 4)
        for n in (3, 4, 5, 8, 13):
            table = {"row": as_names(HOSTILE[:n]), "scale": np.arange(n) / 7}
            results.write_table(table, tmp_path / "long.csv")
            same(results.read_table(tmp_path / "long.csv", kinds_of(table)), table)
        (tmp_path / "long.csv").write_text("row,scale\n" + "a,1\n" * 9 + "b\n")
        with pytest.raises(ValueError, match="line 11: 1 cells where"):
            results.read_table(tmp_path / "long.csv")

    def test_columns_of_different_lengths_are_no_table(self, tmp_path):
        with pytest.raises(ValueError, match="must have the same length"):
            results.write_table({"row": ["a"], "scale": [1, 2]}, tmp_path / "t.csv")
        assert not (tmp_path / "t.csv").exists()

    def test_a_header_alone_is_an_empty_table(self, tmp_path):
        results.write_table({"row": [], "scale": []}, tmp_path / "empty.csv")
        table = results.read_table(tmp_path / "empty.csv")
        assert [len(values) for values in table.values()] == [0, 0]


class TestRows:
    def test_columns_are_those_of_the_file(self, any_model):
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

    def test_without_counts_there_is_no_map(self, model):
        table = results.row_table(model)
        assert np.isnan(table["map_x"]).all()
        assert np.isnan(table["map_y"]).all()

    def test_what_does_not_fit_the_model_is_refused(self, model):
        with pytest.raises(ValueError, match="X has 5 rows, but the model was fitted"):
            results.row_table(model, X[:5])
        with pytest.raises(ValueError, match="X has 9 columns, but the model was"):
            results.row_table(model, X[:, 1:])
        with pytest.raises(ValueError, match="row_names has 1 names, but the model"):
            results.row_table(model, X, row_names=["one"])


class TestMap:
    def test_neighbours_by_scores_stay_neighbours(self, any_model):
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

    def test_small_clusters_are_groups_of_their_own(self):
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

    def test_any_number_of_threads_gives_the_same_bits(self, model):
        for n_jobs in (
            2,
            3,
        ):
            expected = results.row_map(model, X)
            other = fit(X, n_jobs=n_jobs)
            assert results.row_map(other, X).tobytes() == expected.tobytes()

    def test_rows_beyond_the_sample_lie_among_their_neighbours(self, monkeypatch):
        counts, _ = planted(3, 60)
        model = fit(counts)
        monkeypatch.setattr("threecpo.results._row_tables.LAID_OUT", 60)
        monkeypatch.setattr("threecpo.results._row_tables._AT_ONCE", 50)
        places = results.row_map(model, counts)
        assert len(np.unique(places, axis=0)) > 60
        centres = np.stack([places[model.labels_ == k].mean(axis=0) for k in range(3)])
        away = np.linalg.norm(places[:, None] - centres, axis=2)
        assert (away.argmin(axis=1) == model.labels_).mean() > 0.95

    def test_containers_give_the_same_bits(self, model):
        for make in (
            sp.csr_array,
            sp.csc_matrix,
            np.asfortranarray,
        ):
            expected = results.row_map(model, X)
            assert results.row_map(model, make(X)).tobytes() == expected.tobytes()

    def test_impossible_clusters_without_a_prior_are_far(self):
        """Their scores are -inf where the row has a count that they lack."""
        rates = np.kron(np.eye(3), np.full(5, 4.0))
        counts = np.random.default_rng(0).poisson(np.repeat(rates, 20, axis=0))
        model = fit(counts, 3, prior=0)
        assert np.isneginf(model.row_scores(counts)).any()
        places = results.row_map(model, counts)
        nearest = NearestNeighbors(n_neighbors=5).fit(places).kneighbors()[1]
        assert (model.labels_[nearest] == model.labels_[:, None]).mean() > 0.95

    def test_one_cluster_is_one_place(self):
        assert not results.row_map(fit(X, 1), X).any()

    def test_rows_without_counts_have_a_place(self):
        counts = np.vstack([X, np.zeros_like(X[:2])])
        for prior in (1e-3, 0.0):
            places = results.row_map(fit(counts, prior=prior), counts)
            assert np.isfinite(places).all()

    def test_equal_rows_and_single_ones_have_places(self):
        counts, _ = planted(2, 3)
        model = fit(counts, 2)
        for some in (counts[:1], counts[:2], np.tile(counts[:1], (40, 1))):
            places = results.row_map(model, some)
            assert places.shape == (len(some), 2)
            assert np.isfinite(places).all()


class TestColumns:
    def test_columns_are_those_of_the_file(self, any_model):
        table = results.column_table(any_model)
        k = any_model.n_clusters_
        expected = ["column", "group", "noise_score", "shared_score", "relevant_score"]
        here = [f"here_{c}" for c in range(k)]
        assert list(table) == [*expected, "overall", *here]
        np.testing.assert_array_equal(table["group"], any_model.column_groups_)
        for place, name in enumerate(expected[2:]):
            np.testing.assert_array_equal(
                table[name], any_model.column_scores_[:, place]
            )
        listed = any_model.top_columns(99)
        for c, j, count in zip(
            listed["cluster"], listed["column"], listed["here"], strict=True
        ):
            assert table["overall" if c < 0 else f"here_{c}"][j] == count

    def test_names_are_those_given_or_of_the_fit_or_numbers(self):
        pd = pytest.importorskip("pandas")
        names = [f"gene {j}" for j in range(10)]
        named = fit(pd.DataFrame(X, columns=names))
        assert results.column_table(named)["column"].tolist() == names
        given = results.column_table(named, column_names="abcdefghij")["column"]
        assert given.tolist() == list("abcdefghij")
        numbers = results.column_table(fit())["column"].tolist()
        assert numbers == [str(j) for j in range(10)]

    def test_a_wrong_number_of_names_is_refused(self, model):
        with pytest.raises(ValueError, match="column_names has 2 names, but the model"):
            results.column_table(model, column_names="ab")


class TestClusters:
    def test_sizes_names_and_markers(self, any_model):
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


class TestTop:
    def test_it_is_what_the_model_lists(self, any_model, tmp_path):
        table = results.top_table(any_model, 4)
        frame = any_model.top_columns(4)
        assert list(table) == list(frame)
        for name in frame:
            assert table[name].tolist() == frame[name].tolist()
        results.write_table(table, tmp_path / "top_columns.csv")
        same(results.read_table(tmp_path / "top_columns.csv", kinds_of(table)), table)

    def test_given_names_go_before_those_of_the_fit(self):
        pd = pytest.importorskip("pandas")
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
    same(results.read_table(tmp_path / "k_path.csv", results.PATH), table)


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
        with pytest.raises(NotFittedError):
            call(ThreeCPO(2))
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
