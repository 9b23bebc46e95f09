"""Benchmarks count what they say, and their pages follow from what was measured."""

import os
import random
import re
import subprocess
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

import _atlas
import _atlas_files
import _compare_sets
import _compare_tables
import _compare_tools
import compare
import history
import rare
from atlas import found_clusters
from containers import write_matrix
from slowdown import Comparison
from threecpo import read_counts
from threecpo.io.blocks import open_blocks

BENCHMARK = Path(_atlas.__file__).with_name("atlas.py")
AT_SIZE = pytest.mark.skipif(
    "THREECPO_TESTS_ATLAS" not in os.environ,
    reason="takes minutes of two cores (set THREECPO_TESTS_ATLAS=1)",
)


@pytest.fixture(scope="module")
def atlas():
    rng = np.random.default_rng(0)
    rates = rng.gamma(0.5, size=(3, 80))
    labels = np.arange(60) % 3
    counts = sp.csr_array(rng.poisson(rates[labels] * rng.gamma(2, size=(60, 1))))
    cells = _atlas.RealCells.of(counts, labels)
    return _atlas.Atlas(cells, 500, 100, n_clusters=5, stored_in_row=30.0)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(_atlas, "BLOCK_ROWS", 120)


def whole(atlas):
    return sp.vstack(list(atlas.blocks()), format="csr")


def test_cells_are_as_planted(atlas):
    X = whole(atlas)
    assert X.shape == (500, 100)
    assert X.nnz / 500 == pytest.approx(30, rel=0.1)
    assert atlas.shares[-1] == pytest.approx(0.001, rel=0.01)
    first = atlas.labels == 0
    found = np.asarray(X[first].sum(axis=0)).ravel()
    expected = atlas.profiles[0] * found.sum()
    assert np.corrcoef(found, expected)[0, 1] > 0.99


def test_counts_are_overdispersed_as_stated(atlas):
    same = replace(atlas, n_rows=4000, n_clusters=1)
    same.__dict__["bursts"] = np.full(4000, 400, dtype=np.int32)
    X = whole(same).toarray()
    common = X.mean(axis=0) > 2
    ratios = X.var(axis=0)[common] / X.mean(axis=0)[common]
    assert np.median(ratios) == pytest.approx(_atlas.DISPERSION, rel=0.05)


@pytest.mark.parametrize("kind", list(_atlas_files.FORMATS))
def test_files_hold_the_cells(kind, atlas, tmp_path, monkeypatch):
    path = tmp_path / f"atlas{_atlas_files.FORMATS[kind]}"
    monkeypatch.setattr(_atlas_files, "BLOCKS_BEFORE_FLUSH", 2)
    monkeypatch.setattr(_atlas_files, "CHUNK", 1000)
    broken = replace(atlas)
    real, calls = _atlas.Atlas.block, []

    def block(self, index):
        calls.append(index)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(self, index)

    monkeypatch.setattr(_atlas.Atlas, "block", block)
    with pytest.raises(KeyboardInterrupt):
        _atlas_files.write(broken, path, kind)
    assert not path.exists()
    _atlas_files.write(atlas, path, kind)
    assert calls[:4] == [0, 1, 2, 3]
    assert calls[4] == 2
    with open_blocks(path) as source:
        found = sp.vstack([read().matrix() for read in source.readers])
    monkeypatch.setattr(_atlas.Atlas, "block", real)
    assert (found != whole(atlas)).nnz == 0
    assert read_counts(path).column_names[1] == "Gene00001"


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_clusters"),
    [(400, 20_000, 4), pytest.param(130_000, 27_998, 20, marks=AT_SIZE)],
)
def test_the_fit_finds_the_clusters_within_its_memory(
    n_rows, n_columns, n_clusters, data_dir, tmp_path
):
    """The second takes minutes of two cores and 2 GB of disk."""
    command = [sys.executable, BENCHMARK, "--data", data_dir]
    command += ["--folder", tmp_path, "--scratch", tmp_path]
    command += ["--rows", n_rows, "--columns", n_columns]
    command += ["--clusters", n_clusters, "-k", n_clusters]
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()]
    found = {line[0]: line[1] for line in lines if len(line) == 2}
    assert float(found["ARI with the planted clusters"]) > 0.9
    # The budget, and what Python and its libraries take.
    assert float(found["peak memory, MB"]) < 2000 + 300


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


def test_a_cluster_is_found_if_one_holds_most_of_it_and_little_else():
    truth = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 3])
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 1, -1, 2, 1, 1, 1])
    found, shares = found_clusters(truth, labels)
    assert found.tolist() == [True, False, False, False]
    np.testing.assert_allclose(shares, np.array([4, 4, 2, 3]) / 13)


def test_a_line_says_how_often_a_share_was_found():
    given = Namespace(rows=1000, sample_rows=100, seeds=3, shares=[1.0, 0.5])
    without = [np.array([True, False])] + [np.array([False, False])] * 2
    found = {False: without, True: [np.array([True, True])] * 3}
    assert rare.how_often(given, found) == [
        ["1 %", "10", "1", "1 of 3", "3 of 3"],
        ["0.5 %", "5", "0.5", "0 of 3", "3 of 3"],
    ]


def test_both_fits_are_of_the_planted_cells(monkeypatch):
    rng = np.random.default_rng(0)
    cells = _atlas.RealCells(rng.gamma(0.5, size=(3, 80)), rng.gamma(2, size=60))
    monkeypatch.setattr(_atlas, "BLOCK_ROWS", 500)
    monkeypatch.setattr(rare, "N_COMMON", 2)
    atlas = _atlas.Atlas(cells, 1500, 100, 3, stored_in_row=30.0, rare=(0.02,))
    given = Namespace(sample_rows=150, jobs=1, shares=[2.0])
    blocks = list(atlas.blocks())
    readings = []
    for rare_clusters in (False, True):
        found, facts = rare.fitted(atlas, blocks, given, rare_clusters=rare_clusters)
        assert facts[2] == f"{found.sum()} of 3"
        assert facts[3] == ("2" if found[2] else "")
        readings.append(int(facts[-1]))
    # One of all rows that finds misfits, one that reads these, and passes.
    assert readings[1] >= readings[0] + 4


def ratios(seed, factor, noise, rounds=15):
    draw = random.Random(seed)
    return [factor * draw.lognormvariate(0, noise) for _ in range(rounds)]


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1, 0.3])
def test_noise_alone_is_no_slowdown(noise):
    slower = [
        Comparison(ratios(seed, 1.0, noise), ratios(-1 - seed, 1.0, noise)).slower
        for seed in range(200)
    ]
    assert sum(slower) <= 2


@pytest.mark.parametrize(("noise", "factor"), [(0.0, 1.06), (0.05, 1.2), (0.1, 1.4)])
def test_a_slowdown_beyond_noise_is_found(noise, factor):
    slower = [
        Comparison(ratios(seed, factor, noise), ratios(-1 - seed, 1.0, noise)).slower
        for seed in range(200)
    ]
    assert sum(slower) >= 190


def test_a_machine_that_drifts_raises_the_limit():
    assert Comparison([1.1] * 15, [1.0] * 15).slower
    assert not Comparison([1.1] * 15, [1.12] * 15).slower
    assert not Comparison([1.1] * 15, [0.85] * 15).slower


def line(commit, day, **seconds):
    kmeans = {name: {"seconds": value, "peer": 2.0} for name, value in seconds.items()}
    date = f"2026-11-{day:02d}T00:00:00+00:00"
    return {"commit": commit, "changed": False, "date": date, "kmeans": kmeans}


def test_a_commit_has_one_line_and_lines_are_drawn_in_order(tmp_path):
    path = tmp_path / "new" / "history.jsonl"
    assert history.read(path) == []
    history.append(path, line("b", 2, synth=4.0))
    history.append(path, line("a", 1, synth=1.0, digits=3.0))
    history.append(path, line("b", 2, synth=6.0))
    lines = history.read(path)
    assert [one["commit"] for one in lines] == ["a", "b"]
    assert history.ratios(lines)["synth"] == [0.5, 3.0]
    history.draw(lines, tmp_path / "history.png")
    assert (tmp_path / "history.png").stat().st_size > 1000


def test_the_line_of_a_commit_names_it():
    about = history.commit()
    assert set(about) == {"commit", "changed", "date"}
    assert about["commit"]
