"""A results folder remembers how its table was read: predict, report, cut, merge."""

import csv
import json
import shutil

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from threecpo import CountTable, write_counts

GOODS = ["bread", "milk", "beer", "wine"]
N = 30
X = np.random.default_rng(0).poisson(
    np.array([[60, 60, 1, 1], [1, 1, 60, 60]])[np.arange(N) % 2]
)
TRUTH = (np.arange(N) % 2).tolist()
PETS = ["the cat and the kitten purr", "the dog and the puppy bark"]


def lines(header, rows, delimiter=","):
    return "".join(delimiter.join(map(str, row)) + "\n" for row in [header, *rows])


def wide(**beside):
    """A table with other columns in front of the counts."""
    rows = zip(*beside.values(), X.tolist(), strict=True)
    return lines([*beside, *GOODS], [[*each[:-1], *each[-1]] for each in rows])


def workbook(path):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("notes").write_row(0, 0, ["nothing", "here"])
        sheet = book.add_worksheet("counts")
        for at, row in enumerate(
            [["who", *GOODS], *[[f"p{i}", *X[i]] for i in range(N)]]
        ):
            sheet.write_row(at, 0, row)


def orders():
    rows = [
        [at, f"p{i}", "2024-01-02", GOODS[j], X[i, j]]
        for at, (i, j) in enumerate(np.ndindex(X.shape))
    ]
    return lines(["order_id", "customer_id", "date", "product", "quantity"], rows)


KIND = [f"k{i % 3}" for i in range(N)]
NAMES = [f"p{i}" for i in range(N)]
TEXTS = [f"{PETS[i % 2]} {i} times" for i in range(N)]
# The name of a file, what it holds, and how it is read.
READ = {
    "labels and drop": (
        "t.csv",
        lambda path: path.write_text(wide(who=NAMES, kind=KIND, town=KIND)),
        ["--labels", "kind", "--drop", "town"],
    ),
    "index": (
        "t.csv",
        lambda path: path.write_text(wide(number=range(9, 9 + N))),
        ["--index", "number"],
    ),
    "triples": (
        "t.csv",
        lambda path: path.write_text(orders()),
        ["--triples", "customer_id", "product", "quantity"],
    ),
    "numbers and delimiters": (
        "t.csv",
        lambda path: path.write_text(
            wide(who=NAMES).replace(",", "|").replace("|0", "|")
        ),
        ["--empty", "zero"],
    ),
    "text": (
        "t.csv",
        lambda path: path.write_text(
            lines(
                ["key", "say", "more"], zip(NAMES, PETS * (N // 2), TEXTS, strict=True)
            )
        ),
        [
            "--text",
            "say",
            "--text",
            "more",
            "--index",
            "key",
            "--language",
            "none",
        ],
    ),
    "transform": (
        "t.csv",
        lambda path: path.write_text(wide(who=NAMES)),
        ["--transform", "log1p"],
    ),
    "transpose": (
        "t.npz",
        lambda path: write_counts(CountTable(X.T, column_names=NAMES), path),
        ["--transpose", "--drop", "1"],
    ),
    "sheet": ("t.xlsx", workbook, ["--sheet", "counts"]),
    "batch": (
        "t.csv",
        lambda path: path.write_text(wide(who=NAMES, lab=KIND)),
        ["--batch", "lab"],
    ),
    "known": (
        "t.csv",
        lambda path: path.write_text(wide(who=NAMES, some=["b", "w", *[""] * (N - 2)])),
        ["--known", "some"],
    ),
}


@pytest.fixture
def fit(run, tmp_path):
    def fitted(path, *options):
        done = run(
            "fit", path, "-k", 2, *options, "-o", "out", "--no-report", "--force"
        )
        assert done.code == 0, done.err
        return tmp_path / "out"

    return fitted


def clusters(path):
    with path.open(newline="") as file:
        return [int(row["cluster"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize("case", READ)
def test_a_table_is_read_again_as_it_was(case, run, fit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stop.txt").write_text("the\nand\n")
    name, write, options = READ[case]
    write(tmp_path / name)
    folder = fit(name, *options)
    (tmp_path / "stop.txt").unlink()
    found = clusters(folder / "labels.csv")
    if case != "transpose":
        assert adjusted_rand_score(TRUTH, found) > 0.85
    for model in (folder, folder / "model.npz"):
        done = run("predict", model, name, "-o", "new.csv", "--force")
        assert done.code == 0, done.err
        assert clusters(tmp_path / "new.csv") == found
    if case != "known":
        done = run("merge", "out", "0,1", "--counts", name, "--no-report")
        assert done.code == 0, done.err


def test_columns_that_a_new_file_lacks_are_not_looked_for(run, fit, tmp_path):
    (tmp_path / "t.csv").write_text(wide(who=NAMES, kind=KIND, lab=KIND, town=KIND))
    fit(
        "t.csv",
        *("--labels", "kind", "--drop", "town", "--index", "who"),
        "--batch",
        "lab",
    )
    (tmp_path / "new.csv").write_text(lines(["id", *GOODS], [["a", 9, 9, 0, 0]]))
    done = run("predict", "out", "new.csv", "--json")
    assert done.code == 0, done.err
    assert done.json["labels"]["row"] == ["a"]
    for option in ("labels", "batch", "index"):
        done = run("predict", "out", "new.csv", f"--{option}", "x")
        assert done.code == 2
        assert f"no column 'x' for --{option}" in done.err


def test_options_that_are_typed_override_those_of_the_fit(run, fit, tmp_path):
    (tmp_path / "t.csv").write_text(orders())
    folder = fit("t.csv", "--triples", "customer_id", "product", "quantity")
    (tmp_path / "new.csv").write_text(wide(who=NAMES, kind=KIND))
    for typed in (["--wide", "--labels", "kind"], ["--labels", "kind"]):
        done = run("predict", "out", "new.csv", *typed, "-o", "p.csv", "--force")
        assert done.code == 0, done.err
        assert clusters(tmp_path / "p.csv") == clusters(folder / "labels.csv")
    write_counts(CountTable(X, NAMES, GOODS), tmp_path / "new.npz")
    done = run("predict", "out", "new.npz", "-o", "p.csv", "--force")
    assert done.code == 0, done.err
    fit("new.csv", "--labels", "kind", "--transform", "sqrt")
    done = run("predict", "out", "new.csv", "--transform", "log1p")
    assert done.code == 2
    assert "fitted to other values: pass --transform sqrt, or leave it out" in done.err


def test_metadata_are_found_beside_a_moved_folder(run, fit, tmp_path, monkeypatch):
    (tmp_path / "old").mkdir()
    monkeypatch.chdir(tmp_path / "old")
    (tmp_path / "old" / "t.csv").write_text(wide(who=NAMES))
    beside = lines(["who", "kind", "town"], zip(NAMES, KIND, NAMES, strict=True))
    (tmp_path / "old" / "m.csv").write_text(beside)
    done = run("fit", "t.csv", "-k", 2, "--metadata", "m.csv", "--labels", "kind")
    assert done.code == 0, done.err
    monkeypatch.chdir(tmp_path)
    shutil.move(tmp_path / "old", tmp_path / "moved")
    done = run("report", "moved/t.threecpo", "--labels", "town")
    assert done.code == 0, done.err
    done = run("cut", "moved/t.threecpo", "-k", 1, "--counts", "moved/t.csv", "-o", "c")
    assert done.code == 0, done.err
    done = run("predict", "moved/t.threecpo", "moved/t.csv", "-o", "p.csv")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    "changed",
    [
        {"options": {"path": "x"}},
        {"options": {"labels": "kind"}},
        {"options": {"index": -1}},
        {"options": {"triples": ["a", 1]}},
        {"options": {"text_options": {"tokenizer": "os.system"}}},
        {"options": {"text_options": {"ngrams": "2"}}},
        {"options": {"format": "pickle"}},
        {"options": {"transform": []}},
        {"options": []},
        {"batch": ["x"]},
        {"path": 3},
    ],
    ids=str,
)
def test_what_nobody_wrote_is_refused(changed, run, fit, tmp_path):
    (tmp_path / "t.csv").write_text(wide(who=NAMES))
    path = fit("t.csv") / "run.json"
    facts = json.loads(path.read_text())
    for wrong in ({"input": facts["input"] | changed}, {"version": 99}):
        path.write_text(json.dumps(facts | wrong))
        for command in (
            ["predict", "out", "t.csv"],
            ["cut", "out", "-k", 1, "--counts", "t.csv"],
            ["report", "out", "--labels", "kind"],
        ):
            done = run(*command)
            assert done.code == 2
            assert "run.json is damaged; run threecpo fit again." in done.err
            assert done.err.count("\n") == 1
