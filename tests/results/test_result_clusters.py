"""Labels beside clusters, typical rows, indicators, the tree, shares over time."""

import datetime as dt
import json

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import completeness_score, homogeneity_score

import threecpo
from containers import kinds_of
from fitting import TRUE, X, fit
from threecpo import CountTable, ThreeCPO, plot, results


@pytest.fixture(scope="module")
def with_outliers():
    return fit(outliers="iterative")


KINDS = np.array(["background", "T cells", "B cells", "NK cells"])[TRUE + 1]


def test_the_cross_table_counts_rows(with_outliers):
    compared = results.label_tables(with_outliers, {"type": KINDS})["type"]
    assert compared.labels == ("B cells", "NK cells", "T cells", "background")
    assert compared.clusters == (*with_outliers.cluster_names_, "outliers")
    for k, line in enumerate(compared.counts):
        rows = with_outliers.labels_ == (k if k < 3 else -1)
        assert line.tolist() == [(KINDS[rows] == x).sum() for x in compared.labels]
    assert compared.counts.sum() == len(X)
    assert (
        compared.scores["purity"]
        == results.agreement(TRUE + 1, with_outliers.labels_)["purity"]
    )


def test_a_sentence_says_what_a_cluster_is_made_of(with_outliers):
    compared = results.label_tables(with_outliers, KINDS)["label"]
    for k, sentence in enumerate(compared.sentences[:3]):
        kinds, times = np.unique(KINDS[with_outliers.labels_ == k], return_counts=True)
        first = times.argmax()
        share = 100 * times[first] / times.sum()
        assert sentence.startswith(f"cluster {k}: {share:.0f} % {kinds[first]}")
    assert compared.sentences[3].startswith("outliers: ")


def test_small_parts_are_not_in_the_sentence():
    with_outliers = ThreeCPO(1, random_state=0).fit(X[:20])
    compared = results.label_tables(with_outliers, ["a"] * 12 + ["b"] * 7 + ["c"])[
        "label"
    ]
    assert compared.sentences == ["cluster 0: 60 % a, 35 % b"]
    many = results.label_tables(with_outliers, [f"{i:02d}" for i in range(20)])["label"]
    assert many.sentences == ['cluster 0: 5.0 % "00"']


def test_rows_without_a_label_do_not_count():
    with_outliers = ThreeCPO(1, random_state=0).fit(X[:5])
    given = ["a", None, float("nan"), "", " a "]
    compared = results.label_tables(with_outliers, given)["label"]
    assert compared.counts.tolist() == [[2]]
    assert compared.of_rows.tolist() == ["a", "", "", "", "a"]
    nobody = results.label_tables(with_outliers, [None] * 5)["label"]
    assert nobody.sentences == ["cluster 0: no row with a label"]
    assert nobody.scores == {}


def test_labels_of_a_table_are_taken(with_outliers):
    table = CountTable(X, labels=TRUE, label_names=["T", "B", "NK"])
    compared = results.label_tables(with_outliers, table)["label"]
    assert compared.labels == ("B", "NK", "T")
    assert compared.counts.sum() == (TRUE >= 0).sum()
    assert results.label_tables(with_outliers, CountTable(X)) == {}


def test_kinds_come_as_a_dict_a_table_a_frame_or_a_series(with_outliers):
    kinds = {"type": KINDS, "donor": [i % 2 for i in range(len(X))]}
    expected = results.label_tables(with_outliers, kinds)
    frame = pd.DataFrame(kinds)
    for given in (CountTable(X, labels=kinds), frame):
        found = results.label_tables(with_outliers, given)
        assert list(found) == ["type", "donor"]
        for kind, compared in found.items():
            assert compared.counts.tolist() == expected[kind].counts.tolist()
            assert compared.scores == expected[kind].scores
    (compared,) = results.label_tables(with_outliers, frame["donor"]).values()
    assert (compared.name, compared.labels) == ("donor", ("0", "1"))


def test_missing_values_of_pandas_are_no_label():
    with_outliers = ThreeCPO(1, random_state=0).fit(X[:4])
    column = pd.Series([1, None, 2, pd.NA], dtype="Int64", name="donor")
    compared = results.label_tables(with_outliers, column)["donor"]
    assert compared.of_rows.tolist() == ["1", "", "2", ""]
    compared = results.label_tables(with_outliers, column.astype(float))["donor"]
    assert compared.of_rows.tolist() == ["1", "", "2", ""]


def test_what_is_no_labels_is_refused(with_outliers):
    for labels, reason in (
        ({"batch": ["a", "b"]}, "labels 'batch' has 2 values for"),
        ("cell_type", "labels 'label' must be a sequence of one label"),
        ({"donor": 3}, "labels 'donor' must be a sequence"),
        (np.zeros((len(X), 2)), "must be a sequence of one label for each row"),
    ):
        with pytest.raises(ValueError, match=reason):
            results.label_tables(with_outliers, labels)


def test_parts_of_classes_are_homogeneous():
    """17 clusters of 8 types are no failure."""
    truth = np.repeat(np.arange(8), 20)
    labels = np.arange(160) // 10
    found = results.agreement(truth, labels)
    assert found["purity"] == pytest.approx(1.0)
    assert found["homogeneity"] == pytest.approx(1.0)
    assert found["ARI"] < 0.7
    assert found["completeness"] == completeness_score(truth, labels) < 1
    labels[:15] = 3
    worse = results.agreement(truth, labels)
    assert worse["homogeneity"] == homogeneity_score(truth, labels) < 1


def test_margins_decide(with_outliers, tmp_path):
    table = results.typical_rows(with_outliers, n=4)
    for k in range(3):
        members = np.flatnonzero(with_outliers.labels_ == k)
        order = members[np.argsort(with_outliers.margins_[members], kind="stable")]
        own = table["cluster"] == k
        unclear = table["place"][own & (table["kind"] == "unclear")]
        assert unclear.tolist() == order[:4].tolist()
        clear = table["margin"][own & (table["kind"] == "clear")]
        np.testing.assert_array_equal(
            clear, np.sort(with_outliers.margins_[members])[::-1][:4]
        )
    assert set(table["name"]) == set(with_outliers.cluster_names_)
    np.testing.assert_array_equal(
        table["margin"], with_outliers.margins_[table["place"]]
    )
    results.write_table(table, tmp_path / "typical.csv")
    again = results.read_table(tmp_path / "typical.csv", kinds_of(table))
    for name, values in table.items():
        assert again[name].tolist() == values.tolist(), name


def test_rows_have_the_names_of_the_table(with_outliers):
    names = [f"cell {i}" for i in range(len(X))]
    table = results.typical_rows(with_outliers, CountTable(X, row_names=names), 1)
    assert table["row"].tolist() == [names[i] for i in table["place"]]
    assert len(table["row"]) == 6


def plain_indicator(data, labels, k, j):
    means = [data[labels == c, j].mean() for c in range(labels.max() + 1)]
    specificity = means[k] / sum(means) if sum(means) else 0.0
    return specificity, (data[labels == k, j] > 0).mean()


def test_they_are_those_of_the_formula(with_outliers):
    table = results.indicator_table(with_outliers, X)
    assert "p_value" not in table
    inside = with_outliers.labels_ >= 0
    data, labels = X[inside], with_outliers.labels_[inside]
    for j in range(X.shape[1]):
        parts = [plain_indicator(data, labels, k, j) for k in range(3)]
        values = [a * b for a, b in parts]
        k = int(np.argmax(values))
        assert table["cluster"][j] == k
        assert table["name"][j] == with_outliers.cluster_names_[k]
        assert table["indicator"][j] == pytest.approx(values[k])
        assert table["specificity"][j] == pytest.approx(parts[k][0])
        assert table["fidelity"][j] == pytest.approx(parts[k][1])


def test_chance_gives_small_values_to_planted_columns_only(with_outliers):
    table = results.indicator_table(with_outliers, X, permutations=99, random_state=1)
    again = results.indicator_table(with_outliers, X, permutations=99, random_state=1)
    np.testing.assert_array_equal(table["p_value"], again["p_value"])
    assert (table["p_value"][:6] == 0.01).all()
    assert (table["p_value"][8:] > 0.01).all()


def test_a_column_without_counts_indicates_nothing():
    data = np.hstack([X, np.zeros((len(X), 1))])
    table = results.indicator_table(fit(data), data, permutations=9)
    assert table["cluster"][-1] == -1
    assert table["name"][-1] == ""
    assert table["indicator"][-1] == 0
    assert table["p_value"][-1] == 1.0


def test_other_counts_are_refused(with_outliers):
    with pytest.raises(ValueError, match="pass the counts of the fit"):
        results.indicator_table(with_outliers, X[:5])


@pytest.fixture(scope="module")
def five():
    return fit(n_clusters=5)


def test_every_join_has_a_name_and_what_divides_it(five):
    nodes = results.tree_nodes(five)
    assert json.loads(json.dumps(nodes)) == nodes
    assert [node["node"] for node in nodes] == [5, 6, 7, 8]
    leaves = five.cluster_names_.tolist()
    for node in nodes:
        if node["left"] < 5:
            assert node["left_name"] == leaves[node["left"]]
        assert not set(node["left_markers"]) & set(node["right_markers"])
    assert any(node["left_markers"] or node["right_markers"] for node in nodes)


def test_markers_tell_two_branches_apart():
    rng = np.random.default_rng(0)
    rates = np.array([[40, 30, 10, 20], [40, 10, 30, 20], [2, 10, 10, 60]])
    counts = rng.poisson(np.repeat(rates, 60, axis=0))
    five = fit(counts, column_penalty=None)
    first, last = results.tree_nodes(five, column_names="abcd")
    a, b = (five.labels_[[0, 60]]).tolist()
    assert {first["left"], first["right"]} == {a, b}
    sides = {
        first["left"]: first["left_markers"],
        first["right"]: first["right_markers"],
    }
    assert sides[a][0] == "b"
    assert sides[b][0] == "c"
    assert first["markers"][0] == "a"
    assert first["name"] in (last["left_name"], last["right_name"])


def test_the_figure_joins_where_the_tree_does(five):
    part = results.tree_figure(five)
    assert json.loads(json.dumps(part)) == part
    assert part["leaves"] == five.record_.tree.leaves
    for node, height in zip(part["nodes"], five.tree_[:, 2], strict=True):
        (a, low), (_, one), (_, two), (b, high) = node["path"]
        assert one == two == height >= max(low, high)
        assert node["place"] == (a + b) / 2
    ax = plot.dendrogram(five)
    assert len(ax.get_yticklabels()) == 5


@pytest.mark.parametrize("names", ["$a$ $b", "=x"])
def test_names_are_drawn_as_they_are(names, five):
    columns = [f"{names}{j}" for j in range(X.shape[1])]
    ax = plot.dendrogram(five, column_names=columns)
    ax.figure.canvas.draw()


def test_one_cluster_is_a_leaf():
    five = fit(n_clusters=1)
    assert results.tree_nodes(five) == []
    assert results.tree_figure(five)["leaves"] == [0]
    plot.dendrogram(five)
    assert results.cluster_table(five)["joins"].tolist() == [-1]


def test_the_table_of_clusters_says_what_each_is_joined_with(five):
    table = results.cluster_table(five)
    left, right = five.tree_[0, :2].astype(int)
    assert table["joins"][left] == right
    assert table["joins"][right] == left
    assert table["join_height"][left] == five.tree_[0, 2]
    order = np.argsort(table["tree_order"]).tolist()
    assert order == five.record_.tree.leaves


EMPTY = np.zeros((3, X.shape[1]))
N = len(X)


@pytest.fixture(scope="module")
def with_empty():
    return ThreeCPO(3, random_state=0).fit(np.vstack([X, EMPTY]))


def as_frame(model, by, **options):
    return pd.DataFrame(results.share_table(model, by, **options))


def test_classes_are_counted_as_a_cross_table_does(model):
    by = np.array(["b", "a", "c"])[np.arange(N) % 3]
    table = as_frame(model, by)
    counts = table.pivot(index="part", columns="cluster", values="count")
    expected = pd.crosstab(by, model.labels_)
    np.testing.assert_array_equal(counts, expected)
    assert list(counts.index) == ["a", "b", "c"]
    rows = np.repeat(expected.sum(axis=1), 3)
    np.testing.assert_array_equal(table["rows"], rows)
    np.testing.assert_array_equal(table["share"], table["count"] / table["rows"])


def test_rows_without_a_class_are_left_out(model):
    by = [None, float("nan"), pd.NA, *["x"] * (N - 3)]
    assert as_frame(model, by)["rows"].tolist() == [N - 3] * 3
    assert as_frame(model, np.full(N, np.nan), bins=2).empty


def test_numbers_and_dates_follow_each_other(model):
    for by, bins, parts in (
        (2000 + np.arange(N) % 3, None, ["2000", "2001", "2002"]),
        (np.arange(N) / N, 2, None),
        (pd.Series(pd.date_range("2004-11-30", periods=N)), "month", None),
        ([dt.date(2004 + i % 2, 5, 1) for i in range(N)], "year", None),
    ):
        table = as_frame(model, by, bins=bins)
        assert table["count"].sum() == N
        found = list(dict.fromkeys(table["part"]))
        if parts is None:
            assert found == sorted(
                found, key=lambda part: float(part.split()[0]) if " " in part else part
            )
        else:
            assert found == parts


def test_a_time_without_rows_has_no_share(model):
    by = np.where(np.arange(N) % 2, "2001-05-01", "2003-01-01").astype("M8[D]")
    table = as_frame(model, by, bins="year")
    of_2002 = table[table["part"] == "2002"]
    assert of_2002["rows"].tolist() == [0, 0, 0]
    assert of_2002["share"].isna().all()
    assert (table["part"] == "2001").sum() == 3


def test_the_unit_of_dates_follows_from_the_time(model):
    for days, length in ((0.1, 10), (1, 7), (30, 4)):
        step = np.arange(N) * np.timedelta64(int(days * 24), "h")
        parts = as_frame(model, np.datetime64("2000-01-01T00") + step)["part"]
        assert {len(part) for part in parts} == {length}


def test_bad_input_is_refused(model):
    for by, bins, part in (
        (["x"], None, r"by has shape \(1,\), but the model has"),
        (["x"] * N, "year", "unit of dates, but by does not contain dates"),
        (np.arange(N), 0, "bins=0 must be"),
        (np.full(N, np.datetime64("2000-01-01")), "hour", "must be one of year"),
    ):
        with pytest.raises(ValueError, match=part):
            results.share_table(model, by, bins=bins)


def test_the_table_comes_back_from_a_file(model, tmp_path):
    table = results.share_table(model, TRUE)
    results.write_table(table, tmp_path / "shares.csv")
    again = results.read_table(tmp_path / "shares.csv", kinds_of(table))
    for name, values in table.items():
        assert again[name].tolist() == values.tolist()


@pytest.mark.parametrize("by", [np.arange(N), TRUE.astype(str)], ids=["time", "class"])
def test_it_shows_the_table(model, by):
    table = as_frame(model, by)
    ax = plot.cluster_shares(model, by)
    if ax.lines:
        shown = [line.get_ydata() for line in ax.lines]
    else:
        shown = [[bar.get_width() for bar in bars] for bars in ax.containers]
    expected = table.pivot(index="cluster", columns="part", values="share")
    order = list(dict.fromkeys(table["part"]))
    np.testing.assert_allclose(shown, expected[order])
    assert len(ax.get_legend().get_texts()) == 3
    mpl.pyplot.close("all")


def test_they_are_in_no_cluster(with_empty):
    rows = results.row_table(with_empty)
    assert rows["cluster"][-3:].tolist() == [-2, -2, -2]
    assert rows["nearest"][-3:].tolist() == [-2, -2, -2]
    np.testing.assert_array_equal(rows["cluster"][:-3], with_empty.labels_[:-3])


@pytest.mark.parametrize(
    ("outliers", "prior"), [(None, 0.0), ("iterative", 1e-6), ("final", 1.0)]
)
def test_one_count_in_a_relevant_column_is_enough(outliers, prior):
    model = ThreeCPO(3, random_state=0, outliers=outliers, prior=prior).fit(X)
    one = np.zeros((X.shape[1], X.shape[1]))
    np.fill_diagonal(one, 1)
    clusters = results.predicted_rows(model, np.vstack([one, EMPTY]))["cluster"]
    noise = model.column_groups_ == -1
    np.testing.assert_array_equal(clusters[: len(one)] == -2, noise)
    assert (clusters[len(one) :] == -2).all()


def test_so_it_stays_after_saving(with_empty, tmp_path):
    with_empty.save(tmp_path / "model.npz")
    again = threecpo.load(tmp_path / "model.npz")
    assert (results.row_table(again)["cluster"] == -2).sum() == 3


def test_they_have_a_share_of_their_own(with_empty):
    table = as_frame(with_empty, ["x"] * (N + 3))
    assert table["cluster"].tolist() == [0, 1, 2, -2]
    assert table["count"].tolist()[-1] == 3


def test_titles_stand_beside_rows():
    table = CountTable(X, row_titles=[f"line {i}" for i in range(N)])
    model = ThreeCPO(3, random_state=0).fit(table)
    assert results.row_table(model, table)["title"][1] == "line 1"
    assert results.predicted_rows(model, table)["title"][2] == "line 2"
    assert "title" not in results.row_table(model)


def test_sizes_facts_and_the_report_leave_them_out(with_empty):
    table = np.vstack([X, EMPTY])
    facts = results.fit_facts(with_empty)
    assert sum(facts["cluster_sizes"]) == N
    assert facts["rows_without_counts"] == 3
    assert facts["outliers"] == 0
    rows = results.row_table(with_empty, table)
    assert np.isnan(rows["map_x"][-3:]).all()
    summary = threecpo.report.summarise(with_empty, rows)
    assert summary["about_rows"].startswith("3 rows have no counts in the columns")
    assert summary["outliers"] is None
