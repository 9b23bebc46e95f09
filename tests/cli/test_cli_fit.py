"""``threecpo fit``: the files it writes are what the library says."""

import hashlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from running import (
    COLUMNS,
    FILES,
    KINDS,
    ROWS,
    TRUE,
    X,
    assert_one_line,
    everything,
    same,
    written_csv,
)
from sklearn.metrics import adjusted_rand_score

import threecpo
from containers import kinds_of
from threecpo import CountTable, ThreeCPO, results

ATTRIBUTES = (
    "labels_",
    "nearest_labels_",
    "outlier_scores_",
    "margins_",
    "row_scales_",
    "column_groups_",
    "column_scores_",
    "cluster_rates_",
    "shared_rates_",
    "noise_rates_",
    "restart_losses_",
)


def assert_same_table(path, expected):
    read = results.read_table(path, kinds_of(expected))
    assert list(read) == list(expected)
    expected = results.rounded_table(expected, 6)
    for name, values in expected.items():
        assert same(read[name], values), name


def assert_same_model(path, model):
    read = threecpo.load(path)
    for name in ATTRIBUTES:
        assert same(getattr(read, name), getattr(model, name)), name
    assert read.loss_ == model.loss_
    assert read.n_iter_ == model.n_iter_
    assert read.get_params() == model.get_params()
    assert read.history_.keys() == model.history_.keys()
    for name, entries in model.history_.items():
        assert same(read.history_[name], entries), name


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["-k", 3], {"n_clusters": 3}),
        (
            ["-k", 4, "--outliers", "iterative", "--seed", 7, "--n-init", "auto"],
            {
                "n_clusters": 4,
                "outliers": "iterative",
                "random_state": 7,
                "n_init": "auto",
            },
        ),
        (
            ["-k", "3", "--outliers", "final", "--n-init", "4", "--jobs", "2"],
            {"n_clusters": 3, "outliers": "final", "n_init": 4, "n_jobs": 2},
        ),
    ],
    ids=["plain", "iterative", "final"],
)
def test_files_equal_the_library(arguments, options, run, npz):
    done = run("fit", npz, *arguments, "-o", "out")
    assert done.code == 0, done.err
    assert done.err == ""
    counts = CountTable(X, column_names=COLUMNS)
    model = ThreeCPO(**{"random_state": 0} | options).fit(counts)
    rows = results.row_table(model, counts, row_names=ROWS)
    if "label" in results.read_table("out/labels.csv", results.ROWS):
        rows["label"] = np.array(KINDS, dtype=object)[TRUE + 1]
    columns = results.column_table(model, column_names=COLUMNS)
    tops = results.top_table(model, feature_names=COLUMNS)
    folder = Path("out")
    assert {path.name for path in folder.iterdir()} == FILES
    assert_same_table(folder / "labels.csv", rows)
    assert_same_table(folder / "columns.csv", columns)
    assert_same_table(folder / "top_columns.csv", tops)
    assert_same_model(folder / "model.npz", model)
    facts = json.loads((folder / "run.json").read_text())
    assert facts["loss"] == model.loss_
    assert "</html>" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_choice_is_told_in_the_words_of_its_user(run, npz):
    auto = ["-k", "auto", "--max-clusters", 3, "-o", "out"]
    done = run("fit", npz, *auto, "--rows", "cells")
    told = json.loads(Path("out/run.json").read_text())["choice"]["sentence"]
    assert done.out.startswith("155 cells in ")
    assert told in done.out
    assert told in run("info", "out").out.replace("\n", " ")
    assert f"<p>{told}</p>" in Path("out/report.html").read_text(encoding="utf-8")
    run("report", "out", "--rows", "mouse/mice")
    assert "155 mice in " in Path("out/report.html").read_text(encoding="utf-8")


def test_the_number_of_clusters_may_be_chosen(run, npz):
    done = run("fit", npz, "--max-clusters", 5, "-o", "out")
    assert done.code == 0
    model = ThreeCPO("auto", max_clusters=5, random_state=0).fit(X)
    folder = Path("out")
    of_path = {"k_path.csv", "k_divisions.csv"}
    assert {path.name for path in folder.iterdir()} == FILES | of_path
    path = model.k_path_
    found = path.reproducibility(X)
    assert path.sentence() in done.out
    facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert facts["choice"]["reproducibility"] == {str(k): x for k, x in found.items()}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f"<p>{path.sentence()}</p>" in page
    assert all(f'<td class="n">{x:.2f}</td>' in page for x in found.values())
    expected = path.divisions()
    assert_same_table(folder / "k_divisions.csv", expected)
    read = results.read_table(folder / "k_path.csv", results.PATH)
    expected = results.path_table(path) | {"seconds": read["seconds"]}
    assert_same_table(folder / "k_path.csv", expected)
    assert_same_model(folder / "model.npz", model)


def test_a_terminal_shows_a_line_for_each_cluster(run, npz, tmp_path):
    table = written_csv(
        tmp_path / "many.csv",
        np.vstack([X, np.zeros((2, X.shape[1]), dtype=int)]),
        [*ROWS, "nothing", "at all"],
        kind=[*(KINDS[k + 1] for k in TRUE), "", ""],
        town=["Rome"] * (len(X) + 2),
    )
    options = ["--labels", "kind", "--labels", "town", "--outliers", "final"]
    done = run("fit", table, "--max-clusters", 6, "-k", "auto", *options, "-o", "out")
    assert done.code == 0, done.err
    facts = json.loads(Path("out/run.json").read_text())
    n_lines = (done.out + done.err).count("\n")
    assert n_lines <= 12 + len(facts["cluster_sizes"]) + 2  # outliers and empty rows
    lines = done.out.splitlines()
    assert lines[1].split() == ["cluster", "size", "name", "main", "kind"]
    for cluster, line in enumerate(lines[2 : 2 + len(facts["cluster_sizes"])]):
        number, size, name, kind = re.split(r"\s{2,}", line.strip())
        assert (int(number), int(size)) == (cluster, facts["cluster_sizes"][cluster])
        assert name == facts["cluster_names"][cluster]
        assert kind == facts["main_labels"]["kind"][cluster]
    assert re.search(r"^empty +2 *$", done.out, flags=re.MULTILINE)


def test_notes_are_not_without_end(run, npz, monkeypatch):
    many = [f"note {i}" for i in range(5)]
    monkeypatch.setattr("threecpo.results.input_checks.problem_lines", lambda _: many)
    done = run("fit", npz, "-k", 3, "-o", "out")
    assert done.err.splitlines() == [
        *(f"threecpo: note: {text}" for text in many[:3]),
        "threecpo: note: 2 more notes in run.json.",
    ]
    assert json.loads(Path("out/run.json").read_text())["warnings"] == many


def test_the_run_is_described(run, npz):
    done = run("fit", npz, "-k", 3, "--seed", 5, "-o", "out")
    facts = json.loads(Path("out/run.json").read_text())
    assert facts["format"] == "threecpo-run"
    assert facts["command"] == f"threecpo fit {npz} -k 3 --seed 5 -o out"
    assert facts["versions"]["threecpo"] == threecpo.__version__
    assert set(facts["versions"]) > {
        "python",
        "numpy",
        "scipy",
        "scikit-learn",
        "numba",
    }
    assert facts["seed"] == facts["parameters"]["random_state"] == 5
    assert facts["parameters"]["n_clusters"] == 3
    assert facts["rows"], facts["columns"] == X.shape
    assert sum(facts["cluster_sizes"]) == len(X)
    assert facts["column_groups"] == {"relevant": 6, "shared": 2, "noise": 2}
    assert facts["input"]["path"] == str(npz)
    assert facts["input"]["sha256"] == hashlib.sha256(npz.read_bytes()).hexdigest()
    assert min(facts["seconds"].values()) > 0
    assert facts["warnings"] == []
    model = ThreeCPO(3, random_state=5).fit(X)
    ari = adjusted_rand_score(TRUE, model.labels_)
    assert facts["agreement"]["label"]["ARI"] == ari
    assert f"ARI {ari:.2f}" in done.out
    assert "Report: out/report.html" in done.out


def test_json_alone_is_on_stdout(run, npz):
    done = run("fit", npz, "-k", 3, "-o", "out", "--json")
    facts = json.loads(Path("out/run.json").read_text())
    assert done.json == facts | {"output": str(Path("out").absolute())}
    assert done.err == ""


def test_warnings_are_one_line_each_and_kept(run, tmp_path):
    path = written_csv(tmp_path / "cells.csv", np.round(X / 7, 3))
    done = run("fit", path, "-k", 3, "-o", "out")
    assert done.code == 0
    assert done.err.count("\n") == 1
    assert "threecpo: note:" in done.err
    assert "not integers" in done.err
    facts = json.loads(Path("out/run.json").read_text())
    assert len(facts["warnings"]) == 1
    assert "not integers" in facts["warnings"][0]


def test_without_a_report(run, npz, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    before = everything(tmp_path)
    # Reported before anything is read.
    done = run("fit", "nowhere.npz", "-k", 3, "-o", "out")
    assert_one_line(done, "jinja2", "threecpo[report]", "--no-report")
    assert everything(tmp_path) == before
    done = run("fit", npz, "-k", 3, "-o", "out", "--no-report")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "Results: out"
    assert {path.name for path in Path("out").iterdir()} == FILES - {"report.html"}
    monkeypatch.undo()
    assert run("report", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["-k", 10_000], ["-k 10000"]),
        (["-k", 3, "--jobs", 0], ["--jobs 0"]),
        (["-k", 3, "--layer", "raw"], ["layer"]),
    ],
)
def test_what_cannot_be_done_leaves_nothing_behind(
    arguments, parts, run, npz, tmp_path
):
    before = everything(tmp_path)
    assert_one_line(run("fit", npz, *arguments, "-o", "new/deep/out"), *parts)
    assert everything(tmp_path) == before


def test_whether_clusters_are_real(run, npz):
    done = run("fit", npz, "-k", 3, "--stability", "--no-report", "-o", "out")
    assert done.code == 0, done.err
    model = ThreeCPO(3, random_state=0).fit(X)
    expected = model.stability(X)
    read = results.read_table("out/stability.csv", results.STABILITY)
    assert read["distinct"].tolist() == expected["distinct"].tolist()
    np.testing.assert_allclose(read["jaccard"], expected["jaccard"], rtol=1e-5)
    header, *lines = done.out.splitlines()[1:5]
    assert header.split() == ["cluster", "size", "name", "main", "label", "verdict"]
    for line, verdict in zip(lines, expected["verdict"], strict=False):
        assert line.split()[-1] == verdict
    facts = json.loads(Path("out/run.json").read_text(encoding="utf-8"))
    assert facts["stability"]["verdicts"] == expected["verdict"][:3].tolist()
    assert "stability.csv" in facts["files"]
    Path("n.txt").write_text("a\nb\nc\n", encoding="utf-8")
    assert run("report", "out", "--names", "n.txt").code == 0
    named = results.read_table("out/clusters.csv")
    assert named["name"].tolist() == ["a", "b", "c"]
    assert named["verdict"].tolist() == expected["verdict"][:3].tolist()
