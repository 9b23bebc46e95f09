"""Every experiment runs from end to end on small stand-ins and writes its files."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tiny import shorten, tables

from containers import write_matrix
from paper import EXPERIMENTS, main, reproduce

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
    with (tmp_path / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert rows
    with (COMMITTED / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        assert list(rows[0]) == next(csv.reader(lines))
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
    with (tmp_path / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    beside = [row for row in rows if row["paper_value"]]
    assert beside
    for row in beside:
        assert row["difference"]
        far = abs(float(row["difference"])) > 2
        assert bool(int(row["marked"])) == far


def test_the_chosen_number_of_clusters_is_at_the_top_of_its_curve(matrix, tmp_path):
    run("k-means-path", matrix, tmp_path, datasets=["mine"])
    with (tmp_path / "k-means-path.csv").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
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
    with (tmp_path / "traditional.csv").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
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
    with (tmp_path / "traditional.csv").open(newline="", encoding="utf-8") as lines:
        cut = {row["method"]: row["cut"] for row in csv.DictReader(lines)}
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


def test_the_command_runs_from_the_root_of_a_checkout():
    command = [sys.executable, "-m", "paper", "list"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(EXPERIMENTS)


def test_an_experiment_without_its_methods_says_so(tmp_path, capsys):
    words = ("columns", "--datasets", "Synth", "--methods", "KM")
    assert main(arguments(*words, output=tmp_path)) == 1
    assert "columns is left out: none of its methods" in capsys.readouterr().err


def test_digits_need_images(tmp_path, capsys):
    given = arguments("outlier-digits", "--datasets", "Synth", output=tmp_path)
    assert main(given) == 1
    assert "Synth has 6 columns; images of 8 x 8 have 64." in capsys.readouterr().err


def test_the_list_has_every_experiment(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)
    assert [line.split()[1] for line in lines].count("figure") == len(FIGURES)
    assert all(len(line.split()) > 4 for line in lines)


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
