"""Every experiment runs on small stand-ins, and its files can be read."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from containers import write_matrix
from paper import EXPERIMENTS, main, reproduce
from paper.datasets import SOURCES, missing_files
from paper.experiments import noise, paths, runtime
from paper.experiments.data import Data, Library, paper_names, read_matrix, synth
from paper.experiments.files import (
    environment,
    markdown_table,
    write_csv,
    write_figure,
    write_json,
)
from paper.experiments.paths import path_protocol
from paper.experiments.tables import Protocol, protocol
from processes import run_python
from threecpo.datasets import make_synth


def shorten(monkeypatch):
    """Fewer points, draws and numbers of clusters."""
    monkeypatch.setattr(paths, "N_CLUSTERS", (2, 3, 4))
    monkeypatch.setattr(noise, "COUNTS", (0, 2))
    monkeypatch.setattr(noise, "RANGES", (3, 9))
    monkeypatch.setattr(runtime, "ROWS", (60, 90))
    monkeypatch.setattr(runtime, "N_COLUMNS", (6, 9))
    monkeypatch.setattr("paper.experiments.synth.DRAWS", 2)
    monkeypatch.setattr(
        "paper.experiments.data.make_synth",
        lambda n_rows=60, **options: make_synth(n_rows, **options),
    )


def tables(text):
    """Rows of the Markdown tables of a page, each as a list of cells."""
    found = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.splitlines()
        if lines and lines[0].startswith("|"):
            found.append([re.split(r"(?<!\\)\|", line)[1:-1] for line in lines])
    return found


FIGURES = {name for name, each in EXPERIMENTS.items() if each.kind == "figures"}
ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "paper" / "results"
FIXED = {"synth", "noise-columns", "noise-range", "runtime-rows", "runtime-columns"}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    shorten(monkeypatch)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    return write_matrix(tmp_path_factory.mktemp("data") / "mine.npz")


def lines_of(path):
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def run(name, matrix, folder, **options):
    options = {"executions": 2, "restarts": 1, "jobs": 1, "quiet": True} | options
    reproduce(name, data=[matrix], output=folder, **options)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_files_are_written(name, matrix, tmp_path):
    chosen = {} if name in FIXED else {"datasets": ["mine"]}
    run(name, matrix, tmp_path, **chosen)
    suffixes = {"csv", "md", "json"} | ({"svg", "png"} if name in FIGURES else set())
    written = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert written == {f"{name}.{suffix}" for suffix in suffixes}
    rows = lines_of(tmp_path / f"{name}.csv")
    assert rows
    assert [*rows[0]] == [*lines_of(COMMITTED / f"{name}.csv")[0]]
    page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith("# ")
    for table in tables(page):
        assert len({len(line) for line in table}) == 1
    assert page.count(f"]({name}.svg)") == (name in FIGURES)
    manifest = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert manifest["experiment"] == name
    assert set(manifest["files"]) == written
    assert manifest["seeds"] == [0, 1]
    assert manifest["data"]
    assert str(tmp_path) not in json.dumps(manifest)


@pytest.mark.parametrize("name", ["characteristics", "rules", "number-of-clusters"])
def test_the_papers_values_stand_beside_ours(name, matrix, tmp_path):
    run(name, matrix, tmp_path, datasets=["Synth"])
    rows = lines_of(tmp_path / f"{name}.csv")
    beside = [row for row in rows if row["paper_value"]]
    assert beside
    for row in beside:
        assert row["difference"]
        far = abs(float(row["difference"])) > 2
        assert bool(int(row["marked"])) == far


def test_the_chosen_number_of_clusters_is_at_the_top_of_its_curve(matrix, tmp_path):
    run("k-means-path", matrix, tmp_path, datasets=["mine"])
    rows = lines_of(tmp_path / "k-means-path.csv")
    for method in {row["method"] for row in rows}:
        for criterion in ("silhouette", "bic"):
            mine = [
                r for r in rows if (r["method"], r["criterion"]) == (method, criterion)
            ]
            best = max(mine, key=lambda row: float(row["value"]))
            assert best["chosen"] == "1"
            assert all(-1 <= float(r["value"]) <= 1 for r in mine) or criterion == "bic"


def test_tables_share_their_cells(matrix, tmp_path):
    chosen = {"datasets": ["mine"], "methods": ["3CPO", "Poisson-k-Means++"]}
    run("traditional", matrix, tmp_path, **chosen)
    before = set(tmp_path.rglob("scores-*.json"))
    assert len(before) == 2
    for name in ("coclustering", "columns", "ablation", "initialisation", "text"):
        run(name, matrix, tmp_path, **chosen)
    assert set(tmp_path.rglob("scores-*.json")) == before


def test_finished_cells_are_shown_without_running_any(matrix, tmp_path, capsys):
    chosen = {"datasets": ["mine"], "methods": ["3CPO", "SKM"]}
    run("traditional", matrix, tmp_path, **chosen)
    (first, *_) = sorted(tmp_path.rglob("scores-*.json"))
    first.unlink()
    before = set(tmp_path.rglob("scores-*.json"))
    run("traditional", matrix, tmp_path, cached=True, **chosen)
    assert set(tmp_path.rglob("scores-*.json")) == before
    page = (tmp_path / "traditional.md").read_text(encoding="utf-8")
    assert "3 of 4 cells are finished and shown." in page
    assert page.count("on mine: 1 execution of the best of 1.") == 1


@pytest.mark.parametrize("name", ["traditional", "words", "k-path", "noise-range"])
def test_without_finished_cells_there_is_nothing_to_show(name, matrix, tmp_path):
    chosen = {} if name in FIXED else {"datasets": ["mine"]}
    with pytest.raises(ValueError, match=f"{name} is left out: "):
        run(name, matrix, tmp_path, cached=True, **chosen)
    assert not list(tmp_path.iterdir())


def test_methods_and_executions_cut_a_run_down(matrix, tmp_path):
    chosen = {"datasets": ["mine"], "methods": ["SKM", "PoissonC"], "executions": 3}
    run("traditional", matrix, tmp_path, **chosen)
    rows = lines_of(tmp_path / "traditional.csv")
    assert {row["method"] for row in rows} == {"SKM", "PoissonC"}
    assert {row["executions"] for row in rows} == {"3"}
    assert len(list(tmp_path.rglob("scores-*.json"))) == 6


def test_a_cut_cell_is_marked_with_what_it_ran(matrix, tmp_path, monkeypatch):
    monkeypatch.setattr("paper.experiments.tables.LARGE", 10)
    chosen = {"datasets": ["mine"], "methods": ["STD+KM", "KM"]}
    run("traditional", matrix, tmp_path, **chosen)
    page = (tmp_path / "traditional.md").read_text(encoding="utf-8")
    assert "† STD+KM on mine: 1 execution of the best of 1." in page
    assert "† KM" not in page
    cut = {row["method"]: row["cut"] for row in lines_of(tmp_path / "traditional.csv")}
    assert cut == {"STD+KM": "1 execution of the best of 1", "KM": ""}


def test_missing_data_sets_are_named(matrix, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("THREECPO_DATA", str(tmp_path / "nowhere"))
    run("columns", matrix, tmp_path / "out", datasets=["Synth", "GeneExp"])
    assert "GeneExp is left out" in capsys.readouterr().err
    page = (tmp_path / "out" / "columns.md").read_text(encoding="utf-8")
    assert "Not on this machine and left out: GeneExp." in page


def arguments(*words, output):
    numbers = ["--executions", "1", "--restarts", "1", "--jobs", "1"]
    return [*words, *numbers, "--output", str(output)]


def test_an_experiment_without_data_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("THREECPO_DATA", str(tmp_path))
    given = arguments("words", "--datasets", "BBCNews", output=tmp_path / "out")
    assert main(given) == 1
    assert "words is left out: none of its data sets is here" in capsys.readouterr().err


def test_all_runs_each_on_its_own_sets(tmp_path, monkeypatch, capsys):
    few = {name: EXPERIMENTS[name] for name in ("characteristics", "words", "columns")}
    monkeypatch.setattr("paper.command.EXPERIMENTS", few)
    assert main(arguments("all", "--datasets", "Synth", output=tmp_path)) == 0
    assert {p.stem for p in tmp_path.glob("*.md")} == {"characteristics", "columns"}
    assert "words is left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "expected"), [("tables", {"columns"}), ("figures", {"runtime-rows"})]
)
def test_all_tables_or_all_figures(kind, expected, tmp_path, monkeypatch):
    names = ("columns", "words", "runtime-rows", "zeros")
    few = {name: EXPERIMENTS[name] for name in names}
    monkeypatch.setattr("paper.command.EXPERIMENTS", few)
    given = arguments(kind, "--datasets", "Synth", "--methods", "3CPO", output=tmp_path)
    assert main(given) == 0
    assert {path.stem for path in tmp_path.glob("*.md")} == expected


def test_an_experiment_without_its_methods_says_so(tmp_path, capsys):
    words = ("columns", "--datasets", "Synth", "--methods", "KM")
    assert main(arguments(*words, output=tmp_path)) == 1
    assert "columns is left out: none of its methods" in capsys.readouterr().err


def test_digits_need_images(tmp_path, capsys):
    given = arguments("outlier-digits", "--datasets", "Synth", output=tmp_path)
    assert main(given) == 1
    assert "Synth has 6 columns; images of 8 x 8 have 64." in capsys.readouterr().err


def test_the_list_has_every_experiment():
    done = run_python("-m", "paper", "list", check=True, cwd=ROOT)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [words[0] for words in lines] == list(EXPERIMENTS)
    assert [words[1] for words in lines].count("figure") == len(FIGURES)
    assert all(len(words) > 4 for words in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["columns", "--executions", "0"], "executions"),
        (["columns", "--jobs", "0"], "jobs"),
        (["columns", "--datasets", "iris"], "no data set 'iris'"),
        (["columns", "--methods", "magic"], "no method 'magic'"),
        (["columns", "--data", "nowhere.npz"], "no file nowhere.npz"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(words, message, tmp_path, capsys):
    assert main([*words, "--output", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [[], ["fourier"]])
def test_an_experiment_must_be_named(words, capsys):
    with pytest.raises(SystemExit):
        main(words)
    assert "NAME" in capsys.readouterr().err


def test_an_unknown_experiment_is_refused():
    with pytest.raises(ValueError, match="no experiment 'fourier'; there are charact"):
        reproduce("fourier")


@pytest.fixture
def said():
    return []


@pytest.fixture
def library(tmp_path, monkeypatch, said):
    monkeypatch.setenv("THREECPO_DATA", str(tmp_path))
    file = write_matrix(tmp_path / "mine.npz")
    return Library([file], download=False, say=said.append)


def test_what_is_not_here_is_left_out_with_one_line(library, said, tmp_path):
    for _ in range(2):
        found = library.load(["Synth", "GeneExp", "Wholesales", "mine"])
        assert [data.name for data in found] == ["Synth", "mine"]
    assert len(said) == 2
    assert said[0].startswith("GeneExp is left out: no ")
    assert "THREECPO_DATA" in said[0]
    assert "--download" in said[0]
    assert sorted(library.reasons) == ["GeneExp", "Wholesales"]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.npz"]


@pytest.mark.parametrize(
    ("present", "missing"),
    [
        ([], ["optical+recognition+of+handwritten+digits.zip"]),
        (["optical+recognition+of+handwritten+digits.zip"], []),
        (["optdigits.tra"], ["optical+recognition+of+handwritten+digits.zip"]),
        (["optdigits.tra", "optdigits.tes"], []),
    ],
)
def test_other_files_may_stand_instead_if_all_are_there(
    present, missing, tmp_path, monkeypatch
):
    monkeypatch.setenv("THREECPO_DATA", str(tmp_path))
    for name in present:
        (tmp_path / name).touch()
    assert missing_files(SOURCES["optdigits"]) == missing


def test_a_set_of_several_files_needs_them_all(tmp_path, monkeypatch):
    monkeypatch.setenv("THREECPO_DATA", str(tmp_path))
    (tmp_path / "sample_sm_uc3.txt.gz").touch()
    assert missing_files(SOURCES["human_dendritic"]) == ["dataset1_sm_uc3.txt.gz"]


def test_names_may_be_written_in_other_ways(library):
    asked = ["synth", "20newsgroups", "20NEWSG", "sporta", "sport_articles", "Mine"]
    assert library.resolve(asked) == ["Synth", "20NewsG", "SportA", "mine"]


def test_an_unknown_name_is_refused_with_those_there_are(library):
    with pytest.raises(
        ValueError, match=r"no data set 'iris'; there are Synth, .*mine"
    ):
        library.resolve(["iris"])


def test_the_paper_has_twelve_data_sets():
    assert len(paper_names()) == 12


def test_published_archives_are_the_papers_sets(raw_dir, monkeypatch, said):
    monkeypatch.setenv("THREECPO_DATA", str(raw_dir))
    library = Library([], download=False, say=said.append)
    (data,) = library.load(["Wholesales"])
    assert data.X.shape == (440, 6)
    assert data.n_clusters == 2
    assert said == []


def test_a_matrix_without_names_has_numbers(tmp_path):
    data = read_matrix(write_matrix(tmp_path / "mine.npz", names=False))
    assert data.column_names is None
    assert data.label_name(2) == "2"


def test_a_file_that_lacks_labels_is_refused(tmp_path):
    np.savez(tmp_path / "half.npz", data=[1], indices=[0], indptr=[0, 1], shape=(1, 1))
    with pytest.raises(ValueError, match=r"half.npz has no labels"):
        read_matrix(tmp_path / "half.npz")


def test_rows_without_a_class_are_refused(tmp_path):
    X = sp.csr_array([[1, 2]])
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    np.savez(tmp_path / "some.npz", **parts, shape=X.shape, labels=[-1])
    with pytest.raises(ValueError, match="some has no class for some rows"):
        read_matrix(tmp_path / "some.npz")


def test_fingerprints_know_counts_and_classes_but_no_types():
    data = synth(n_rows=30)
    same = Data("other", data.X.astype(np.float32), data.labels.astype(np.int32))
    assert same.fingerprint == data.fingerprint
    assert synth(1, n_rows=30).fingerprint != data.fingerprint


def large(n_rows, n_columns, stored=0):
    starts = np.full(n_rows + 1, stored)
    starts[0] = 0
    parts = (np.ones(stored), np.zeros(stored, int), starts)
    return Data("large", sp.csr_array(parts, shape=(n_rows, n_columns)), np.zeros(1))


def test_cuts_are_made_where_counts_become_dense():
    dense = large(14_000, 14_000)
    assert protocol("STD+KM", dense, 10, 10) == Protocol(1, 1)
    assert protocol("KM", dense, 10, 10) == Protocol(10, 10)
    assert protocol("STD+KM", large(1000, 1000), 10, 10) == Protocol(10, 10)
    assert str(Protocol(1, 1)) == "1 execution of the best of 1"


def test_paths_are_shorter_on_large_data():
    every = tuple(range(2, 31))

    def runs(method, data, asked=20):
        what = path_protocol(method, data, every, asked)
        return len(what.n_clusters), what.runs

    news, cells = large(18_846, 2000), large(14_000, 14_000, stored=6_000_000)
    assert runs("KM", news) == (29, 20)
    assert runs("RF+KM", news) == (29, 3)
    assert runs("RF+KM", large(5000, 2000)) == (29, 20)
    assert runs("STD+KM", news) == (29, 1)
    assert runs("3CPO", cells) == (29, 3)
    assert runs("3CPO", cells, 2) == (29, 2)
    assert runs("KM", cells) == (13, 1)
    assert runs("STD+KM", large(600, 43_000, stored=6_000_000)) == (13, 1)
    assert runs("STD+KM", cells) == (13, 1)


cells = st.text("ab|\n<*_é", max_size=9)


@given(st.lists(st.lists(cells, min_size=3, max_size=3), max_size=4))
def test_a_table_has_as_many_cells_as_its_header(rows):
    (table,) = tables(markdown_table(["a", "b", "c"], rows))
    assert [len(line) for line in table] == [3] * (len(rows) + 2)
    assert table[1] == [" --- ", " ---: ", " ---: "]


def test_lines_inside_a_cell_become_spaces():
    assert "one two" in markdown_table(["a"], [["one\ntwo"]])


def test_numbers_have_six_digits_and_missing_ones_are_empty(tmp_path):
    path = tmp_path / "new" / "values.csv"
    row = {"a": np.pi * 1e6, "b": None, "c": float("nan"), "d": 3, "e": 'x, "y"'}
    write_csv(path, list(row), [row])
    with path.open(newline="", encoding="utf-8") as lines:
        (read,) = csv.DictReader(lines)
    assert read == {"a": "3.14159e+06", "b": "", "c": "", "d": "3", "e": 'x, "y"'}


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "values.json"
    write_json(path, {"a": 1})
    with pytest.raises(UnicodeEncodeError):
        write_json(path, {"a": "\ud800"})
    assert json.loads(path.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_figures_are_the_same_bytes_again(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    open_before = pyplot.get_fignums()
    for name in ("one.svg", "two.svg"):
        figure, ax = pyplot.subplots()
        ax.plot([1, 2], label="a")
        ax.legend()
        write_figure(tmp_path / name, figure)
    for suffix in (".svg", ".png"):
        one, two = ((tmp_path / n).with_suffix(suffix) for n in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
    assert pyplot.get_fignums() == open_before


def test_the_environment_names_versions_and_no_paths():
    told = environment()
    assert {"threecpo", "python", "numpy", "scikit-learn"} <= set(told["versions"])
    assert "/" not in json.dumps(told)
