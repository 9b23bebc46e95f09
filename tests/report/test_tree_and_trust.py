"""What a report says of the tree, of confidence, and of how K was chosen."""

import json
import re

import numpy as np
import pytest
from report_models import EDGES, HOSTILE, fitted, hostile
from test_page import Page, render

from containers import planted
from threecpo import ThreeCPO, report, results
from threecpo.report.words import nouns
from threecpo.select import choice_of


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
        (
            [900.0, 500, 100],
            "; more than 4, the largest number tried, may fit better",
        ),
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
