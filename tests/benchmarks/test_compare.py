"""The comparison with other tools: cells are measured once, tables follow from them."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from containers import write_matrix

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import _compare_sets
import _compare_tables
import _compare_tools
import compare

linux = pytest.mark.skipif(sys.platform != "linux", reason="cells are run in forks")


@pytest.fixture
def measure(tmp_path):
    """Run the command on a small set, and return the cells it has written."""
    write_matrix(tmp_path / "wholesales.npz")
    (tmp_path / "page.md").write_text("<!-- table: ari-known -->\n<!-- end -->\n")

    def run(*options):
        words = [tmp_path, "--cells", tmp_path / "cells.jsonl"]
        words += ["--page", tmp_path / "page.md", "--sets", "wholesales", *options]
        assert compare.main([str(word) for word in words]) == 0
        return compare.read(tmp_path / "cells.jsonl"), tmp_path / "page.md"

    return run


@linux
def test_cells_are_measured_once_and_the_page_is_made(measure, capfd):
    cells, _ = measure("--tools", "nmf", "--seeds", 1)
    (cell,) = cells
    assert cell["clusters"] == 3
    assert cell["cpu"] > 0
    assert cell["peak_mb"] > 10
    assert "scikit-learn" in cell["versions"]
    more, page = measure("--tools", "nmf", "tfidf-k-means", "--seeds", 1)
    assert more[0] == cell
    keys = [(one["tool"], one["k"]) for one in more[1:]]
    assert keys == [("tfidf-k-means", "known"), ("tfidf-k-means", "own")]
    assert all(one["ari"] > 0 for one in more[1:])
    assert "| wholesales (2) |" in page.read_text()
    assert "tfidf-k-means" in capfd.readouterr().err
    again, _ = measure("--tools", "nmf", "--seeds", 1, "--again", "nmf")
    assert again[:-1] == more[1:]
    assert again[-1]["ari"] == cell["ari"]


@linux
def test_a_cell_over_its_time_is_reported(measure):
    (cell,), page = measure("--tools", "nmf", "--seeds", 1, "--limit", 0)
    assert cell["failed"] == "more than 0 s of CPU time"
    assert "too slow" in page.read_text()


@pytest.fixture(scope="module")
def planted():
    rng = np.random.default_rng(0)
    rates = rng.gamma(1.0, 4.0, size=(3, 64))
    labels = np.arange(90) % 3
    return sp.csr_array(rng.poisson(rates[labels]) + 0.0), labels


QUICK = [name for name, tool in _compare_tools.TOOLS.items() if tool.family != "scanpy"]


@pytest.mark.parametrize("name", QUICK)
def test_a_tool_finds_planted_clusters(name, planted, monkeypatch):
    monkeypatch.setattr(_compare_tools, "MAX_CLUSTERS", 6)
    tool = _compare_tools.TOOLS[name]
    X, truth = planted
    assert adjusted_rand_score(truth, tool.run(X, 3, 0)) > 0.9
    if tool.own_choice:
        assert adjusted_rand_score(truth, tool.run(X, None, 0)) > 0.4


def cell(tool, data, ari, k="known", **more):
    same = {"seed": 0, "ami": 0.5, "clusters": 2, "cpu": 1.0, "peak_mb": 99.0}
    return same | {"tool": tool, "data": data, "k": k, "ari": ari} | more


def test_outcomes_count_five_points():
    cells = [cell("3cpo", data, 0.5) for data in ("sporta", "webkb", "reuters")]
    cells += [cell("lda", "sporta", 0.449), cell("lda", "webkb", 0.451)]
    cells += [cell("lda", "reuters", 0.551), cell("nmf", "reuters", 0.9)]
    table = _compare_tables.outcomes(_compare_tables.Cells(cells), "known")
    assert "| LDA | 1 | 1 | 1 | +2 | 0:1, 0:0, 1:0 |" in table
    assert "| NMF | 0 | 0 | 1 | -40 | 0:1, 0:0, 0:0 |" in table
    assert "| best of them, chosen by the labels | 1 | 1 | 1 |" in table


def test_figures_say_how_many_seeds_they_rest_on():
    cells = [cell("3cpo", "sporta", ari, seed=i) for i, ari in enumerate((0.4, 0.5))]
    cells += [cell("lda", "sporta", 0.3), cell("nmf", "sporta", 0, failed="ValueError")]
    table = _compare_tables.scores(_compare_tables.Cells(cells), "known")
    (line,) = [line for line in table.splitlines() if line.startswith("| sporta")]
    assert "| **45²** |" in line
    assert "| 30¹ |" in line
    assert "| failed |" in line
    assert "| – |" in line


def test_the_pages_follow_from_the_cells():
    cells = compare.read(compare.CELLS)
    texts = [page.read_text(encoding="utf-8") for page in compare.PAGES]
    names = re.findall(r"<!-- table: (\S+) -->", "".join(texts))
    assert sorted(names) == sorted(_compare_tables.TABLES)
    for text in texts:
        assert _compare_tables.with_tables(text, cells) == text
    keys = [tuple(cell[key] for key in compare.KEY) for cell in cells]
    assert len(set(keys)) == len(keys)


def test_readme_and_summary_have_the_means_of_the_cells():
    cells = _compare_tables.Cells(compare.read(compare.CELLS))
    sets = _compare_sets.CLASSES
    readme = (compare.HERE.parent / "README.md").read_text(encoding="utf-8")
    page = compare.PAGES[0].read_text(encoding="utf-8")
    for k, tools in (
        ("known", ("3cpo", "bm25-skm", "leiden")),
        ("own", ("3cpo", "leiden")),
    ):
        found = _compare_tables.means(cells, tools, sets, k, "")
        said = [f"0.{value}" for value in found]
        words = " ".join(readme.split())
        assert all(re.search(rf"\b{value}\b", words) for value in said), (k, said)
        short = " ".join(page.partition("## Known")[0].split())
        assert all(re.search(rf"\b{value}\b", short) for value in found), (k, found)
