"""``threecpo fit``: the files it writes are what the library says, bit for bit."""

import hashlib
import json
import resource
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
    contents,
    elsewhere,
    everything,
    runner,
    same,
    table,
    written_csv,
)
from sklearn.metrics import adjusted_rand_score

import threecpo
from threecpo import CountTable, ThreeCPO, results

FULL = ("--digits", "full")

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


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


@pytest.fixture
def npz(tmp_path):
    threecpo.write_counts(table(), tmp_path / "cells.npz")
    return tmp_path / "cells.npz"


def assert_same_table(path, expected):
    read = results.read_table(path)
    assert list(read) == list(expected)
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
            ["-k", 4, "--outliers", "iterative", "--seed", 7],
            {"n_clusters": 4, "outliers": "iterative", "random_state": 7},
        ),
        (
            ["-k", 3, "--outliers", "final", "--outlier-threshold", 2.5],
            {"n_clusters": 3, "outliers": "final", "outlier_threshold": 2.5},
        ),
        (["-k", 3, "--n-init", "auto"], {"n_clusters": 3, "n_init": "auto"}),
        (
            ["-k", 3, "--init", "poisson-k-means++", "--n-init", 4, "--jobs", 2],
            {
                "n_clusters": 3,
                "init": "poisson-k-means++",
                "n_init": 4,
                "n_jobs": 2,
            },
        ),
        (
            [
                "-k",
                "3",
                "--column-penalty",
                "none",
                "--assignment",
                "printed",
                "--prior",
                "0.5",
            ],
            {
                "n_clusters": 3,
                "column_penalty": None,
                "assignment": "printed",
                "prior": 0.5,
            },
        ),
        (["-k", 1], {"n_clusters": 1}),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_files_equal_the_library_bit_for_bit(arguments, options, run, npz):
    done = run("fit", npz, *arguments, "-o", "out", *FULL)
    assert done.code == 0, done.err
    assert done.err == ""
    counts = CountTable(X, column_names=COLUMNS)
    model = ThreeCPO(**{"random_state": 0} | options).fit(counts)
    rows = results.row_table(model, counts, row_names=ROWS)
    if "label" in results.read_table("out/labels.csv"):
        rows["label"] = np.array(KINDS, dtype=object)[TRUE + 1]
    columns = results.column_table(model, column_names=COLUMNS)
    tops = results.top_table(model, column_names=COLUMNS)
    folder = Path("out")
    assert {path.name for path in folder.iterdir()} == FILES
    assert_same_table(folder / "labels.csv", rows)
    assert_same_table(folder / "columns.csv", columns)
    assert_same_table(folder / "top_columns.csv", tops)
    assert_same_model(folder / "model.npz", model)
    facts = json.loads((folder / "run.json").read_text())
    assert facts["loss"] == model.loss_
    assert "</html>" in (folder / "report.html").read_text(encoding="utf-8")


def test_files_for_people_have_six_digits(run, npz):
    done = run("fit", npz, "-k", "auto", "--max-clusters", 3, "-o", "out")
    assert done.code == 0
    model = threecpo.load("out/model.npz")
    rows = results.read_table("out/labels.csv")
    fitted = results.row_table(model)
    expected = results.rounded_table(fitted, 6)
    assert not same(fitted["margin"], expected["margin"])
    for name in ("scale", "margin", "outlier_score"):
        assert same(rows[name], expected[name]), name
    for name in ("columns", "top_columns", "clusters", "k_path"):
        table = results.read_table(f"out/{name}.csv")
        rounded = results.rounded_table(table, 6)
        assert all(same(table[column], rounded[column]) for column in table), name
    assert json.loads(Path("out/run.json").read_text())["digits"] == 6
    page = Path("out/report.html").read_text()
    assert run("report", "out").code == 0
    assert Path("out/report.html").read_text() == page
    assert run("cut", "out", "-k", 2, "-o", "two", "--no-report").code == 0
    table = results.read_table("two/clusters.csv")
    assert same(table["share"], results.rounded_table(table, 6)["share"])
    done = run("fit", npz, "-k", 2, "--digits", "many")
    assert_one_line(done, "'many' is neither one of 1 to 17 nor 'full'")


def test_the_choice_is_told_in_the_words_of_its_user(run, npz):
    auto = ["-k", "auto", "--max-clusters", 3, "-o", "out"]
    done = run("fit", npz, *auto, "--rows", "cells")
    sentence = json.loads(Path("out/run.json").read_text())["choice"]["sentence"]
    assert " rows" in sentence
    told = sentence.replace("rows", "cells")
    assert told in done.out
    assert told in run("info", "out").out.replace("\n", " ")
    assert f"<p>{told}</p>" in Path("out/report.html").read_text(encoding="utf-8")
    run("report", "out", "--rows", "mouse/mice")
    assert told.replace("cells", "mice") in Path("out/report.html").read_text(
        encoding="utf-8"
    )


def test_the_number_of_clusters_may_be_chosen(run, npz):
    done = run("fit", npz, "-k", "auto", "--max-clusters", 5, "-o", "out", *FULL)
    assert done.code == 0
    model = ThreeCPO("auto", max_clusters=5, random_state=0).fit(X)
    folder = Path("out")
    of_path = {"k_path.csv", "k_divisions.csv"}
    assert {path.name for path in folder.iterdir()} == FILES | of_path
    path = model.k_path_
    assert path.sentence() in done.out
    assert done.out.count("one level below, cluster ") == path.best_k
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f"<p>{path.sentence()}</p>" in page
    expected = path.divisions()
    read = results.read_table(folder / "k_divisions.csv")
    assert all(same(read[name], expected[name]) for name in expected)
    expected = results.path_table(path)
    read = results.read_table(folder / "k_path.csv")
    assert list(read) == list(expected)
    for name in expected.keys() - {"seconds"}:
        assert same(read[name], expected[name]), name
    assert_same_model(folder / "model.npz", model)


@pytest.mark.parametrize("criterion", ["mdl", "mdl-dispersion"])
def test_the_criterion_may_be_chosen(criterion, run, npz):
    arguments = ["-k", "auto", "--max-clusters", 4, "--criterion", criterion]
    assert run("fit", npz, *arguments, "-o", "out").code == 0
    read = results.read_table("out/k_path.csv")
    assert set(read["criterion"]) == {criterion}


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
    assert f"{ari:.3f}" in done.out
    assert "report: out/report.html" in done.out


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
    assert "not whole numbers" in done.err
    facts = json.loads(Path("out/run.json").read_text())
    assert len(facts["warnings"]) == 1
    assert "not whole numbers" in facts["warnings"][0]


def test_without_a_report(run, npz, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    before = everything(tmp_path)
    # Reported before anything is read.
    done = run("fit", "nowhere.npz", "-k", 3, "-o", "out")
    assert_one_line(done, "jinja2", "threecpo[report]", "--no-report")
    assert everything(tmp_path) == before
    done = run("fit", npz, "-k", 3, "-o", "out", "--no-report")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "results: out"
    assert {path.name for path in Path("out").iterdir()} == FILES - {"report.html"}
    monkeypatch.undo()
    assert run("report", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize("name", ["wholesales", "bbcsports"])
def test_real_counts_give_the_bits_of_the_library(name, run, data_dir, load_data):
    X, _ = load_data(name)
    done = run("fit", data_dir / f"{name}.npz", "-k", 5, "--outliers", "final", *FULL)
    assert done.code == 0, done.err
    model = ThreeCPO(5, outliers="final", random_state=0).fit(X)
    folder = Path(f"{name}.threecpo")
    assert_same_model(folder / "model.npz", model)
    read = results.read_table(folder / "labels.csv")
    expected = results.row_table(model, X)
    # Names are made of those of the columns, which the array has not.
    named = results.row_table(threecpo.load(folder / "model.npz"))["name"]
    for column, values in (expected | {"name": named}).items():
        assert same(read[column], values), column


@pytest.mark.slow
def test_a_command_costs_little_more_than_its_fit(data_dir, load_data, tmp_path):
    """In processor time, of the second call: the first may compile its loops."""
    X, _ = load_data("newsgroups20")

    def fit():
        ThreeCPO(20, random_state=0).fit(X)

    def command():
        done = elsewhere(
            *("fit", data_dir / "newsgroups20.npz", "-k", 20, "-o", "out", "--force"),
            cwd=tmp_path,
        )
        assert done.code == 0, done.err

    fit()
    alone = processor_seconds(resource.RUSAGE_SELF, fit)
    command()
    whole = processor_seconds(resource.RUSAGE_CHILDREN, command)
    assert whole < alone + 5.5


def processor_seconds(who, action):
    before = resource.getrusage(who)
    action()
    after = resource.getrusage(who)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


@pytest.mark.parametrize("k", ["0", "-1", "many", "1.5", ""])
def test_a_wrong_number_of_clusters(k, run, npz, tmp_path):
    before = everything(tmp_path)
    assert_one_line(run("fit", npz, "-k", k), "'-k'", "auto")
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["-k", 10_000], ["n_clusters=10000"]),
        (["-k", 3, "--jobs", 0], ["n_jobs=0"]),
        (["-k", 3, "--layer", "raw"], ["layer"]),
        (["-k", 3, "--format", "h5ad"], ["cells.npz"]),
        ([], ["Missing option", "-k"]),
    ],
)
def test_what_cannot_be_done_leaves_nothing_behind(
    arguments, parts, run, npz, tmp_path
):
    before = everything(tmp_path)
    assert_one_line(run("fit", npz, *arguments, "-o", "new/deep/out"), *parts)
    assert everything(tmp_path) == before


def test_more_threads_give_the_same_files(run, npz):
    for jobs in (1, 3):
        assert run("fit", npz, "-k", 3, "--jobs", jobs, "-o", f"out{jobs}").code == 0
    one, three = contents("out1"), contents("out3")
    for name in ("labels.csv", "columns.csv", "top_columns.csv"):
        assert one[name] == three[name]


def test_whether_clusters_are_real(run, npz):
    done = run("fit", npz, "-k", 3, "--stability", "--no-report", "-o", "out", *FULL)
    assert done.code == 0, done.err
    model = ThreeCPO(3, random_state=0).fit(X)
    expected = model.stability(X)
    read = results.read_table("out/stability.csv")
    assert read["real"].tolist() == [int(real) for real in expected["real"]]
    assert same(read["jaccard"], np.asarray(expected["jaccard"]))
    n_real = int(np.sum(expected["real"][3:]))
    assert f"{n_real} of 2 divisions of the tree are real" in done.out
    facts = json.loads(Path("out/run.json").read_text(encoding="utf-8"))
    assert facts["stability"]["real"] == n_real
    assert "stability.csv" in facts["files"]


def test_blocks_have_no_stability(run, npz):
    done = run("fit", npz, "-k", 3, "--stability", "--max-memory", "1GB")
    assert done.code == 2
    assert "--stability needs the counts in memory" in done.err
