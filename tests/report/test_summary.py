"""What a report says: true, plain, and for every model."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_models import EDGES, HOSTILE, fitted, hostile
from test_page import Page, render

from containers import planted, unpacked
from strategies import planted as drawn
from threecpo import CountTable, ThreeCPO, distributed, load, report, results
from threecpo.cluster.fitting import keep
from threecpo.io.blocks import write_blocks
from threecpo.report.words import nouns
from threecpo.results import _row_tables
from threecpo.results.figure_data import outliers
from threecpo.select import choice_of


def summary_of(model, X, **options):
    path = getattr(model, "k_path_", None)
    path = None if path is None else results.path_table(path)
    return report.summarise(model, results.row_table(model, X), path=path, **options)


@pytest.fixture(scope="module")
def planted_model():
    X, _ = planted(3, 40, 15)
    return fitted(X, 3, outliers="final"), X


def test_every_model_has_a_summary_that_is_json():
    for name in EDGES:
        model, X = EDGES[name]
        summary = summary_of(model, X)
        assert json.loads(json.dumps(summary, allow_nan=False)) == summary
        assert summary["lead"].endswith(".")
        assert summary["n_clusters"] == model.n_clusters_
        assert sum(summary["groups"].values()) == X.shape[1]
        sizes = summary["sizes"]
        assert sum(sizes["sizes"]) + sizes["outliers"] == len(X)


def test_the_lead_says_what_was_found():
    for name, words in (
        ("one cluster", "50 rows that show no clusters."),
        ("one row", "1 row that shows no clusters."),
        ("two clusters", "81 rows in 2 clusters, told apart by "),
    ):
        assert summary_of(*EDGES[name])["lead"].startswith(words)
    assert "are outliers." in summary_of(*EDGES["final outliers"])["about_rows"]


def test_numbers_of_the_sentences_are_those_of_the_model(planted_model):
    model, X = planted_model
    summary = summary_of(model, X)
    n_outliers = (model.labels_ < 0).sum()
    assert summary["lead"] == (
        f"{len(X)} rows in 3 clusters, told apart by 6 of 10 columns."
    )
    assert summary["about_rows"] == f"{n_outliers} rows are outliers."
    (sentence,) = summary["about_columns"]
    assert sentence == (
        "Of 10 columns, 6 tell the clusters apart, 2 only follow the size of a row and "
        "2 are noise."
    )


def test_a_cluster_has_what_it_has_less_of_and_its_nearest_relative():
    X, _ = planted(3, 40)
    summary = summary_of(fitted(X, 3), X)
    for k, cluster in enumerate(summary["clusters"]):
        more = {column["name"] for column in cluster["columns"]}
        assert cluster["less"]
        assert not more & set(cluster["less"])
        relative = cluster["relative"]
        assert relative["node"] != k
        assert relative["more"] or relative["less"]


def test_clusters_and_their_best_columns_are_those_of_the_model(planted_model):
    model, X = planted_model
    summary = summary_of(model, X)
    top = model.top_columns(5)
    assert len(summary["clusters"]) == 3
    for k, cluster in enumerate(summary["clusters"]):
        size = (model.labels_ == k).sum()
        assert (cluster["cluster"], cluster["size"]) == (k, size)
        assert cluster["share"] == size / len(X)
        own = top[(top["group"] == 1) & (top["cluster"] == k)]
        names = [f"column {j}" for j in own["column"]]
        assert [column["name"] for column in cluster["columns"]] == names
        for column, j in zip(cluster["columns"], own["column"], strict=True):
            rate = model.cluster_rates_[k, j]
            assert column["ratio"] == pytest.approx(
                rate / model.shared_rates_[j], rel=0.01
            )
            assert column["rate"] == pytest.approx(rate / len(X) - 1e-3, rel=0.01)
            assert column["overall"] == pytest.approx(X[:, j].mean(), rel=0.01)


def test_shared_columns_with_hardly_any_counts_set_no_scale():
    """Row sizes from a handful of counts would make every ratio arbitrary."""
    rng = np.random.default_rng(0)
    X, _ = planted(3, 40)
    rare = rng.poisson(0.02, size=(len(X), 3))
    model = fitted(np.hstack([X[:, :6], rare]), 3, column_init=[1] * 6 + [0] * 3)
    groups = np.array([1] * 6 + [0] * 3, dtype=np.int8)
    keep(model, replace(model.record_, groups=groups))
    summary = report.summarise(model, results.row_table(model))
    for k, cluster in enumerate(summary["clusters"]):
        rows = X[model.labels_ == k, :6]
        shares = rows.sum(axis=0) / rows.sum()
        overall = X[:, :6].sum(axis=0) / X[:, :6].sum()
        best = np.argsort(overall - shares)[:2]
        names = {column["name"] for column in cluster["columns"][:2]}
        assert names == {f"column {j}" for j in best}
        first = cluster["columns"][0]
        place = int(first["name"].removeprefix("column "))
        assert first["ratio"] == pytest.approx((shares / overall)[place], rel=0.02)


def test_the_heat_map_shows_ratios_of_relevant_columns(planted_model):
    model, X = planted_model
    part = summary_of(model, X)["heat_map"]
    places = [int(name.removeprefix("column ")) for name in part["columns"]]
    assert sorted(places) == np.flatnonzero(model.column_groups_ == 1).tolist()
    assert part["clusters"] == model.record_.tree.leaves
    ratios = (model.cluster_rates_ / model.shared_rates_)[part["clusters"]][:, places]
    np.testing.assert_allclose(part["powers"], np.log2(ratios), atol=1e-3)
    highest = np.argmax(part["powers"], axis=0)
    assert (np.diff(highest) >= 0).all()


def test_all_columns_have_three_digits_of_their_numbers(planted_model):
    model, X = planted_model
    part = summary_of(model, X)["columns"]
    assert part["groups"] == model.column_groups_.tolist()
    np.testing.assert_allclose(unpacked(part["overall"]), X.mean(axis=0), rtol=5e-3)
    rates = [unpacked(values) for values in part["rates"]]
    np.testing.assert_allclose(rates, model.cluster_rates_ / len(X) - 1e-3, rtol=6e-3)
    strength = unpacked(part["strength"])
    assert (strength[model.column_groups_ == 1] > 0).all()
    assert not strength[model.column_groups_ != 1].any()


def test_the_map_can_be_coloured_by_columns(planted_model):
    model, X = planted_model
    by_column = report.Report(model, X).summary["map"]["by_column"]
    # Every column fits into a small page; markers come first.
    assert sorted(by_column["columns"]) == list(range(10))
    steps = [
        np.frombuffer(base64.b64decode(text), np.uint8) for text in by_column["values"]
    ]
    shown = X[:, by_column["columns"]]
    assert all(
        (found > 0).tolist() == (shown[:, j] > 0).tolist()
        for j, found in enumerate(steps)
    )
    sizes = X.sum(axis=1)
    scaled = shown * (sizes.mean() / np.maximum(sizes, 1))[:, None]
    for j, found in enumerate(steps):
        logs = np.log1p(scaled[:, j])
        np.testing.assert_allclose(found, 255 * logs / logs.max(), atol=1)
    for i, columns in enumerate(by_column["strongest"]):
        assert all(X[i, columns] > 0)
        assert (model.column_groups_[columns] == 1).all()
    assert summary_of(model, X)["map"]["by_column"] is None


def test_confidence_is_said_in_words(planted_model):
    model, X = planted_model
    summary = summary_of(model, X)
    counts = summary["sure"]["counts"]
    assert list(counts) == ["clear", "likely", "doubtful"]
    assert sum(counts.values()) == (model.labels_ >= 0).sum()
    own = model.probabilities_[np.arange(len(X)), np.maximum(model.labels_, 0)]
    clear = (own >= 0.9) & (model.labels_ >= 0)
    assert counts["clear"] == clear.sum()
    assert [code == 0 for code in summary["map"]["sure"]] == clear.tolist()


def test_columns_without_counts_show_none():
    """The prior alone is no count."""
    part = summary_of(*EDGES["no counts"])["columns"]
    assert not unpacked(part["overall"]).any()


def test_only_scores_above_the_threshold_count():
    model, X = EDGES["final outliers"]
    scores = model.outlier_scores_
    assert ((scores > 0) & (scores <= 20)).any()
    part = summary_of(model, X)["outliers"]
    assert part["above"] == part["marked"] == (scores > 20).sum()


@given(
    st.lists(st.integers(-3, 3) | st.floats(-1e6, 1e6), min_size=1),
    st.sampled_from([0.0, 1.0, 2.5]),
)
def test_bars_above_the_threshold_are_the_rows_above_it(scores, threshold):
    scores = np.array(scores, np.float64)
    part = outliers({"outlier_score": scores}, threshold)
    above = np.array(part["edges"][:-1]) >= threshold
    assert np.sum(part["counts"]) == len(scores)
    assert np.array(part["counts"])[above].sum() == part["above"]
    assert part["above"] == (scores > threshold).sum()
    assert above.any()
    assert not above.all()


def test_outliers_are_listed_by_score(planted_model):
    model, X = planted_model
    part = summary_of(model, X)["outliers"]
    marked = np.flatnonzero(model.labels_ < 0)
    assert part["marked"] == part["above"] == len(marked) > 0
    order = marked[np.argsort(-model.outlier_scores_[marked])][:20]
    assert [row["row"] for row in part["listed"]] == [f"row {i}" for i in order]
    nearest = [row["nearest"] for row in part["listed"]]
    assert nearest == model.nearest_labels_[order].tolist()
    assert part["threshold"] in part["edges"]
    assert sum(part["counts"]) == len(X)
    above = np.array(part["edges"][:-1]) >= part["threshold"]
    assert np.array(part["counts"])[above].sum() == part["above"]


def test_the_map_is_drawn_from_some_rows_where_there_are_many():
    X, _ = planted(3, 20)
    model = fitted(np.tile(X, (100, 1)), 3)
    part = summary_of(model, np.tile(X, (100, 1)))["map"]
    assert part["rows"] == 100 * len(X) > 4000
    assert len(part["x"]) == len(part["y"]) == len(part["cluster"]) == 4000
    shares = np.bincount(part["cluster"]) / 4000
    np.testing.assert_allclose(
        shares, np.bincount(model.labels_) / part["rows"], atol=0.04
    )


def test_no_map_without_counts_or_without_spread(planted_model):
    model, _ = planted_model
    assert report.summarise(model, results.row_table(model))["map"] is None
    assert summary_of(*EDGES["one cluster"])["map"] is None


def test_far_rows_do_not_squeeze_the_map(planted_model):
    model, X = planted_model
    rows = results.row_table(model, X)
    rows["map_x"] = rows["map_x"].copy()
    rows["map_x"][:2] = [1e6, -1e6]
    part = report.summarise(model, rows)["map"]
    low, high = part["limits"][0]
    assert high - low < 1000
    assert max(part["x"]) == pytest.approx(high, abs=1e-4)
    assert min(part["x"]) == pytest.approx(low, abs=1e-4)
    assert all(low <= x <= high for found in part["centres"] for x, _ in found)


def test_files_of_a_fit_give_the_same_summary(tmp_path, planted_model):
    model, X = planted_model
    expected = summary_of(model, X)
    model.save(tmp_path / "model.npz")
    results.write_table(results.row_table(model, X), tmp_path / "labels.csv")
    again = report.summarise(
        load(tmp_path / "model.npz"),
        results.read_table(tmp_path / "labels.csv"),
    )
    assert again == expected


def test_a_path_is_part_of_it():
    model, X = EDGES["chosen"]
    part = summary_of(model, X)["path"]
    assert part["n_clusters"] == [1, 2, 3, 4, 5]
    assert part["found"] == model.n_clusters_ > 1
    assert part["values"] == model.k_path_.totals.tolist()
    assert part["relevant"] == model.k_path_.to_frame()["relevant"].tolist()


def test_facts_of_the_run_are_flat_text():
    run = {"seed": 3, "versions": {"numpy": "2.0"}, "loss": 1 / 3, "list": [1, 2]}
    pairs = summary_of(*EDGES["two clusters"], run=run)["run"]
    assert pairs == [
        ["seed", "3"],
        ["versions: numpy", "2.0"],
        ["loss", "0.333333"],
        ["list", "1, 2"],
    ]


def test_parameters_are_text_whatever_they_are():
    for name in ("a callable price", "chosen"):
        pairs = dict(summary_of(*EDGES[name])["parameters"])
        expected = set(EDGES[name][0].get_params(deep=False)) - {"n_jobs", "verbose"}
        assert set(pairs) == expected
        assert all(isinstance(value, str) and value for value in pairs.values())


def test_names_come_without_what_no_page_can_hold():
    model, X = hostile()
    summary = summary_of(model, X, column_names=HOSTILE, title="a\nb\ud800")
    names = summary["columns"]["names"]
    assert summary["title"] == "a␊b\ufffd"
    assert "a␊b␉c␀d␡" in names
    assert "\ufffdhalf a letter" in names
    "".join(names).encode()


def test_a_table_of_other_rows_is_refused(planted_model):
    model, X = planted_model
    rows = results.row_table(model, X)
    short = {name: values[:5] for name, values in rows.items()}
    with pytest.raises(ValueError, match="rows has 5 rows, but the model was fitted"):
        report.summarise(model, short)


@pytest.fixture(scope="module")
def four():
    X, _ = planted(4, 40)
    return fitted(X, 4), X


def page_of(*arguments, **options):
    summary = report.summarise(*arguments, **options)
    return " ".join("".join(Page(report.render(summary)).text).split())


def test_every_join_is_named_and_what_tells_its_branches_apart(four):
    model, X = four
    part = report.summarise(model, results.row_table(model))["tree"]
    assert json.loads(json.dumps(part)) == part
    assert part["leaves"] == model.record_.tree.leaves
    expected = results.tree_nodes(
        model, column_names=[f"column {j}" for j in range(X.shape[1])]
    )[::-1]
    assert [node["node"] for node in part["nodes"]] == [6, 5, 4]
    text = page_of(model, results.row_table(model))
    for node, known in zip(part["nodes"], expected, strict=True):
        assert node["name"] == known["name"]
        left, right = node["apart"]
        for side, branch in (("left", left), ("right", right)):
            assert branch["node"] == known[side]
            assert branch["name"] == known[f"{side}_name"]
            assert branch["columns"] == known[f"{side}_markers"]
        assert left["columns"] or right["columns"]
        for branch in (left, right):
            if branch["columns"]:
                assert f"more {', '.join(branch['columns'])}" in text
        assert f"Join {node['node']}: " in text


def test_every_join_is_drawn_where_the_tree_has_it(four):
    model, _ = four
    page = report.render(report.summarise(model, results.row_table(model)))
    drawn = re.search(r'joins" role="img".*?</svg>', page, flags=re.DOTALL).group()
    assert drawn.count("<line") == 3 * 3
    assert re.findall(r">(\d+)</text>", drawn) == ["6", "5", "4"]
    ends = [float(x) for x in re.findall(r'x2="([\d.]+)%"', drawn)]
    heights = model.tree_[:, 2]
    assert max(ends) == pytest.approx(88)
    lowest = 88 * np.sqrt(heights[0] / heights[-1])
    assert lowest == pytest.approx(min(e for e in ends if e), abs=0.01)


def test_one_cluster_has_no_tree():
    page = render(*EDGES["one cluster"])
    assert 'id="tree"' not in page
    assert 'href="#tree"' not in page


def test_forty_clusters_have_all_their_joins():
    page = render(*EDGES["forty clusters"])
    assert page.count('<li id="node-') == 39


def test_names_in_the_tree_are_text():
    model, X = hostile()
    summary = report.summarise(model, results.row_table(model, X), column_names=HOSTILE)
    markup = report.render(summary)
    section = markup[markup.index('<h2 id="tree"') : markup.index('<h2 id="columns"')]
    assert "<script" not in section
    assert "<img" not in section


@pytest.fixture(scope="module")
def measured(four):
    model, X = four
    return model, X, model.stability(X, n_resamples=2)


def test_stability_stands_on_the_cards_and_in_the_tree(measured):
    model, X, table = measured
    text = page_of(model, results.row_table(model), stability=table)
    assert f"stable{table['jaccard'][0]:.2f}p = {table['p_adjusted'][0]:.3f}" in text
    assert text.count("; branches distinct (p = 0.") == 3
    assert text.count("), found again ") == 3
    assert text.count("; stable") == 4
    assert "Found again" in text
    assert report.Report(model, X, stability=table).summary["clusters"][0]["trusted"]


def test_what_may_be_chance_is_said_and_dashed(measured):
    model, _, table = measured
    table = {name: np.array(table[name]) for name in table}
    table["distinct"][5], table["p_adjusted"][[0, 1, 5]] = False, [0.4, 1e-9, 0.4]
    table["distinct"][4], table["p_adjusted"][4] = False, np.nan
    table["verdict"][:3] = ["not distinct", "doubtful", ""]
    table["jaccard"][:3] = [0.6, 0.3, np.nan]
    summary = report.summarise(model, results.row_table(model), stability=table)
    json.dumps(summary, allow_nan=False)
    text = " ".join(report.render(summary).split())
    assert [cluster["trusted"]["verdict"] for cluster in summary["clusters"]] == [
        "not distinct",
        "doubtful",
        "",
        "stable",
    ]
    cell = '</td><td class="n">'
    assert f"<td>not distinct{cell}0.60{cell}p = 0.400{cell}" in text
    assert f"<td>doubtful{cell}0.30{cell}p &lt; 0.001{cell}" in text
    assert "; branches not shown to be distinct (p = 0.400)" in text
    assert "; branches not shown to be distinct (not tested)" in text
    assert text.count('class="branch chance"') == 6


def test_without_stability_nothing_is_said_of_it(four):
    model, _ = four
    text = page_of(model, results.row_table(model))
    assert "chance" not in text.split("Glossary")[0].replace("for chance", "")
    assert "Found again" not in text


def test_stability_of_another_fit_is_refused(measured):
    _, X, table = measured
    other = fitted(X, 3)
    with pytest.raises(ValueError, match="stability has 7 lines, but 3 clusters"):
        report.summarise(other, results.row_table(other), stability=table)


def test_dispersion_temperature_and_confidence_are_said(four):
    model, _ = four
    summary = report.summarise(
        model, results.row_table(model), row_noun="sites", column_noun="species"
    )
    text = " ".join("".join(Page(report.render(summary)).text).split())
    assert f"species vary {model.dispersion_:#.3g} times as much as Poisson" in text
    assert f"(T = {model.temperature_:#.3g})" in text
    means = results.fit_facts(model)["confidence"]
    assert [cluster["confidence"] for cluster in summary["clusters"]] == means
    assert text.count("mean confidence ") == 4


@pytest.mark.parametrize(
    ("word", "one", "many"),
    [
        ("cells", "cell", "cells"),
        ("customer", "customer", "customers"),
        ("cities", "city", "cities"),
        ("class", "class", "classes"),
        ("species", "species", "species"),
        ("young women", "young woman", "young women"),
        ("person", "person", "people"),
        ("specimen", "specimen", "specimens"),
        ("mouse/mice", "mouse", "mice"),
    ],
)
def test_singular_and_plural_come_from_one_word(word, one, many):
    row, _ = nouns(word)
    assert (row.one, row.many) == (one, many)


def test_a_fit_without_confidence_says_nothing_of_it():
    X, _ = planted(3, 20)
    model = fitted(X, "auto", max_clusters=4).k_path_.best_estimator
    text = page_of(model, results.row_table(model))
    assert "confidence" not in text.lower()


def chosen(totals):
    """A model of four clusters, and a path with these totals over K = 2 to 7."""
    X, _ = planted(4, 40)
    ks = np.arange(2, 2 + len(totals))
    names = np.full(len(ks), "mdl", dtype=object)
    table = {"n_clusters": ks, "found": ks, "loss": ks, "total": np.array(totals)}
    return fitted(X, 4), table | {"criterion": names, "relevant": ks}


@pytest.mark.parametrize(
    ("totals", "others"),
    [
        ([900.0, 500, 100, 200, 300], ""),
        ([900.0, 500, 100, 103, 300], "; 5 fits almost as well"),
        ([900.0, 500, 100], "; more than 4, the largest number tried, may fit better"),
    ],
)
def test_the_lead_says_which_numbers_fit_as_well(totals, others):
    model, path = chosen(totals)
    summary = report.summarise(model, results.row_table(model), path=path)
    assert summary["lead"] == (
        f"190 rows in 4 clusters, told apart by 8 of 12 columns{others}."
    )
    assert f'<p class="lead">{summary["lead"]}' in report.render(summary)
    assert choice_of(path).sentence() in summary["path"]["sentence"]


def test_the_report_of_a_choice_says_what_lies_below_and_beside():
    X, _ = planted(3, 40)
    model = ThreeCPO("auto", max_clusters=5, n_init=2, random_state=0).fit(X)
    facts = results.choice_facts(model.k_path_)
    assert facts["next_k"] == model.n_clusters_ + 1
    text = " ".join("".join(Page(report.Report(model, X).html).text).split())
    assert model.k_path_.sentence() in text
    assert f"With {facts['next_k']} clusters:" in text
    parts = next(parts for parts in facts["below"] if len(parts) > 1)
    assert f"splits into {' + '.join(map(str, parts))} rows" in text


@pytest.fixture(scope="module")
def over_blocks(tmp_path_factory):
    Y, _ = drawn(np.random.default_rng(0), 300, 3)
    folder = tmp_path_factory.mktemp("report") / "rows"
    names = [f"w{j}" for j in range(Y.shape[1])]
    write_blocks(np.array_split(Y, 4), folder, column_names=names)
    model = ThreeCPO(3, n_init=2, random_state=0)
    table = CountTable(Y, column_names=names)
    return distributed.fit(model, folder, max_memory="1MB"), folder, table


def test_few_rows_have_the_map_of_memory(over_blocks):
    model, folder, table = over_blocks
    found = results.block_row_table(model, folder, max_memory="1MB")
    expected = results.row_table(model, table)
    assert found.keys() == expected.keys()
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column, err_msg=name)
    found, expected = (report.Report(model, X).summary for X in (folder, table))
    # Colours by columns need the counts of the points in memory.
    assert found["map"].pop("by_column") is None
    assert expected["map"].pop("by_column")
    assert found == expected


def test_of_many_rows_some_are_drawn_and_the_page_says_so(over_blocks, monkeypatch):
    model, folder, table = over_blocks
    monkeypatch.setattr(_row_tables, "LAID_OUT", 100)
    rows = results.block_row_table(model, folder)
    drawn = np.flatnonzero(np.isfinite(rows["map_x"]))
    assert len(drawn) == 100
    places = results.row_map(model, table.X[drawn])
    np.testing.assert_array_equal(rows["map_y"][drawn], places[:, 1])
    assert "100 of 300 rows are drawn." in report.Report(model, folder).html
    halves = [lambda: table.X[:150], lambda: table.X[150:]]
    again = results.block_row_table(model, halves)
    np.testing.assert_array_equal(again["map_x"], rows["map_x"])


def test_rows_that_were_written_elsewhere_are_named(over_blocks, tmp_path):
    _, folder, _ = over_blocks
    model = ThreeCPO(3, n_init=1, random_state=0)
    distributed.fit(model, folder, write_to=tmp_path / "rows")
    with pytest.raises(ValueError, match="read_rows reads them"):
        report.Report(model, folder)


def test_blocks_of_other_rows_are_refused(over_blocks):
    model, _, table = over_blocks
    with pytest.raises(ValueError, match="has 100 rows, but the model was fitted on"):
        results.block_row_table(model, [lambda: table.X[:100]])
