"""threecpo predict: columns by name, and tables read as the fit read its own."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import xlsxwriter
from running import (
    COLUMNS,
    ROWS,
    X,
    assert_one_line,
    everything,
    facts_of,
    rows_of,
    same,
    table,
    written_csv,
)
from sklearn.metrics import adjusted_rand_score

import threecpo
from threecpo import CountTable, results, write_counts

NAMES = ["row", "cluster", "name", "nearest", "margin", "outlier_score"]


@pytest.fixture
def run(run):
    run.fitted("-k", 3, "--outliers", "iterative", "-o", "model")
    return run


def fitted_rows():
    read = rows_of("model")
    return {name: read[name] for name in NAMES}


def assert_rows(path, expected):
    read = results.read_table(path)
    assert list(read)[: len(NAMES)] == NAMES
    for name in NAMES:
        assert same(read[name], expected[name]), name


@pytest.mark.parametrize("model", ["model", "model/model.npz"])
def test_the_rows_of_the_fit_get_their_labels_again(model, run):
    done = run("predict", model, "cells.npz", "-o", "new.csv")
    assert done.err == ""
    labels = fitted_rows()["cluster"].tolist()
    assert done.out.startswith(f"{len(labels)} rows, {labels.count(0)} in 0 (gene ")
    assert done.out.endswith(f"{labels.count(-1)} outliers: new.csv\n")
    assert_rows("new.csv", fitted_rows())


def test_without_a_file_the_table_is_printed(run, tmp_path):
    run("predict", "model", "cells.npz", "-o", "new.csv")
    done = run("predict", "model", "cells.npz")
    assert done.out == (tmp_path / "new.csv").read_text()
    assert done.err == ""


def test_extra_columns_are_listed_and_left_out(run, tmp_path):
    more = np.hstack([np.full((len(X), 1), 99), X, np.full((len(X), 1), 7)])
    names = ["[b]first[/]", *COLUMNS, "last"]
    written_csv(tmp_path / "more.csv", more, ROWS, names)
    done = run("predict", "model", "more.csv", "-o", "new.csv")
    assert done.err.count("\n") == 1
    assert "2 columns not in the model ignored: [b]first[/], last." in done.err
    assert_rows("new.csv", fitted_rows())


def test_missing_columns_are_an_error(run, tmp_path):
    written_csv(tmp_path / "less.csv", X[:, 2:], ROWS, COLUMNS[2:])
    before = everything(tmp_path)
    assert_one_line(
        run.wrong("predict", "model", "less.csv", "-o", "new.csv"),
        "less.csv",
        "gene 0, gene 1",
        "--missing zero",
    )
    assert everything(tmp_path) == before


def test_missing_columns_are_zeros_where_that_is_asked(run, tmp_path):
    written_csv(tmp_path / "less.csv", X[:, 2:], ROWS, COLUMNS[2:])
    done = run("predict", "model", "less.csv", "--missing", "zero", "--json")
    assert done.json["missing"] == ["gene 0", "gene 1"]
    assert done.json["extra"] == []
    assert "2 missing columns read as zeros: gene 0, gene 1." in done.err
    model = threecpo.load("model/model.npz")
    del model.feature_names_in_
    zeros = X.copy()
    zeros[:, :2] = 0
    assert done.json["labels"]["cluster"] == model.predict(zeros).tolist()


def test_many_missing_names_are_cut_short_but_json_has_all(run, tmp_path):
    names = [f"species {j}" for j in range(40)]
    wide = np.ones((3, 40), dtype=int)
    written_csv(tmp_path / "other.csv", wide, ROWS, names)
    done = run("predict", "model", "other.csv", "--missing", "zero", "--json")
    assert done.json["extra"] == names
    assert "… (40 in all)" in done.err


def test_without_names_columns_stand_in_their_order(run, tmp_path):
    threecpo.write_counts(CountTable(X), tmp_path / "plain.npz")
    done = run("predict", "model", "plain.npz", "-o", "new.csv")
    assert "plain.npz has no column names" in done.err
    read, expected = results.read_table("new.csv"), fitted_rows()
    assert same(read["cluster"], expected["cluster"])
    assert read["row"].tolist() == [str(i) for i in range(len(X))]


def test_without_names_the_number_of_columns_must_fit(run, tmp_path):
    threecpo.write_counts(CountTable(X[:, 1:]), tmp_path / "plain.npz")
    done = run.wrong("predict", "model", "plain.npz")
    assert_one_line(
        done, "plain.npz has 9 columns, the model has 10", "no column names"
    )


def test_a_model_without_names(run, tmp_path):
    threecpo.ThreeCPO(3, random_state=0).fit(X).save(tmp_path / "plain.npz")
    done = run("predict", "plain.npz", "cells.npz")
    assert "The model has no column names" in done.err


def test_json_has_the_labels_or_says_where_they_are(run):
    expected = results.predicted_rows(threecpo.load("model/model.npz"), table())
    labels = run("predict", "model", "cells.npz", "--json").json["labels"]
    assert labels["cluster"] == expected["cluster"].tolist()
    assert labels["outlier_score"] == expected["outlier_score"].tolist()
    facts = run("predict", "model", "cells.npz", "--json", "-o", "new.csv").json
    assert facts["output"] == str(Path("new.csv").absolute())
    assert "labels" not in facts


@pytest.mark.parametrize("model", ["nowhere", "cells.npz", "empty"])
def test_what_is_no_model(model, run, tmp_path):
    (tmp_path / "empty").mkdir()
    assert_one_line(run.wrong("predict", model, "cells.npz"), model)


def test_fractions_are_reported(run, tmp_path):
    written_csv(tmp_path / "half.csv", X / 2)
    done = run("predict", "model", "half.csv", "-o", "new.csv")
    assert "not integers" in done.err


class TestTexts:
    OLD = ("cats dogs cats", "dogs cats cats", "cars trucks", "trucks cars cars")

    @pytest.fixture
    def texts(self, tmp_path):

        def write(folder, lines):
            (tmp_path / folder).mkdir()
            for i, line in enumerate(lines):
                (tmp_path / folder / f"{i}.txt").write_text(line)
            return folder

        return write

    @pytest.fixture
    def model(self, run, texts):
        old = texts("old", 20 * self.OLD)
        run("fit", old, "-k", 2, "-o", "by-words", "--no-report")
        return threecpo.load("by-words/model.npz")

    def test_the_words_of_the_model_are_counted(self, run, texts, model):
        """Words that new texts lack are zeros; other words do not matter."""
        lines = ["cat", "trucks and birds"]
        done = run("predict", "by-words", texts("new", lines), "-o", "new.csv")
        assert done.err == ""
        expected = threecpo.text.count_terms(
            lines, vocabulary=model.feature_names_in_.tolist()
        )
        found = results.read_table("new.csv")
        predicted = results.predicted_rows(model, expected)
        predicted = results.rounded_table(predicted, 6)
        assert same(found["margin"], predicted["margin"])
        assert found["cluster"].tolist() == predicted["nearest"].tolist()
        assert found["cluster"][0] != found["cluster"][1]

    def test_texts_without_a_word_of_the_model_are_refused(self, run, texts, model):
        new = texts("new", ["birds"])
        assert_one_line(
            run.wrong("predict", "by-words", new), "none of the words of the model"
        )


GOODS = ["bread", "milk", "beer", "wine"]
N = 30
BASKETS = np.random.default_rng(0).poisson(
    np.array([[60, 60, 1, 1], [1, 1, 60, 60]])[np.arange(N) % 2]
)
TRUTH = (np.arange(N) % 2).tolist()
PETS = ["the cat and the kitten purr", "the dog and the puppy bark"]


def lines(header, rows, delimiter=","):
    return "".join(delimiter.join(map(str, row)) + "\n" for row in [header, *rows])


def wide(**beside):
    """A table with other columns in front of the counts."""
    rows = zip(*beside.values(), BASKETS.tolist(), strict=True)
    return lines([*beside, *GOODS], [[*each[:-1], *each[-1]] for each in rows])


def workbook(path):
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("notes").write_row(0, 0, ["nothing", "here"])
        sheet = book.add_worksheet("counts")
        for at, row in enumerate(
            [["who", *GOODS], *[[f"p{i}", *BASKETS[i]] for i in range(N)]]
        ):
            sheet.write_row(at, 0, row)


def orders():
    rows = [
        [at, f"p{i}", "2024-01-02", GOODS[j], BASKETS[i, j]]
        for at, (i, j) in enumerate(np.ndindex(BASKETS.shape))
    ]
    return lines(["order_id", "customer_id", "date", "product", "quantity"], rows)


KIND = [f"k{i % 3}" for i in range(N)]
PEOPLE = [f"p{i}" for i in range(N)]
TEXTS = [f"{PETS[i % 2]} {i} times" for i in range(N)]
# The name of a file, what it holds, and how it is read.
READ = {
    "labels and drop": (
        "t.csv",
        lambda path: path.write_text(wide(who=PEOPLE, kind=KIND, town=KIND)),
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
            wide(who=PEOPLE).replace(",", "|").replace("|0", "|")
        ),
        ["--empty", "zero"],
    ),
    "text": (
        "t.csv",
        lambda path: path.write_text(
            lines(
                ["key", "say", "more"], zip(PEOPLE, PETS * (N // 2), TEXTS, strict=True)
            )
        ),
        ["--text", "say", "--text", "more", "--index", "key", "--language", "none"],
    ),
    "transform": (
        "t.csv",
        lambda path: path.write_text(wide(who=PEOPLE)),
        ["--transform", "log1p"],
    ),
    "transpose": (
        "t.npz",
        lambda path: write_counts(CountTable(BASKETS.T, column_names=PEOPLE), path),
        ["--transpose", "--drop", "1"],
    ),
    "sheet": ("t.xlsx", workbook, ["--sheet", "counts"]),
    "batch": (
        "t.csv",
        lambda path: path.write_text(wide(who=PEOPLE, lab=KIND)),
        ["--batch", "lab"],
    ),
    "known": (
        "t.csv",
        lambda path: path.write_text(
            wide(who=PEOPLE, some=["b", "w", *[""] * (N - 2)])
        ),
        ["--known", "some"],
    ),
}


@pytest.fixture
def fit(run, tmp_path):
    def fitted(path, *options):
        run("fit", path, "-k", 2, *options, "-o", "out", "--no-report", "--force")
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
        run("predict", model, name, "-o", "new.csv", "--force")
        assert clusters(tmp_path / "new.csv") == found
    if case != "known":
        run("merge", "out", "0,1", "--counts", name, "--no-report")


def test_columns_that_a_new_file_lacks_are_not_looked_for(run, fit, tmp_path):
    (tmp_path / "t.csv").write_text(wide(who=PEOPLE, kind=KIND, lab=KIND, town=KIND))
    fit(
        "t.csv",
        *("--labels", "kind", "--drop", "town", "--index", "who"),
        "--batch",
        "lab",
    )
    (tmp_path / "new.csv").write_text(lines(["id", *GOODS], [["a", 9, 9, 0, 0]]))
    done = run("predict", "out", "new.csv", "--json")
    assert done.json["labels"]["row"] == ["a"]
    for option in ("labels", "batch", "index"):
        assert_one_line(
            run.wrong("predict", "out", "new.csv", f"--{option}", "x"),
            f"no column 'x' for --{option}",
        )


def test_options_that_are_typed_override_those_of_the_fit(run, fit, tmp_path):
    (tmp_path / "t.csv").write_text(orders())
    folder = fit("t.csv", "--triples", "customer_id", "product", "quantity")
    (tmp_path / "new.csv").write_text(wide(who=PEOPLE, kind=KIND))
    for typed in (["--wide", "--labels", "kind"], ["--labels", "kind"]):
        run("predict", "out", "new.csv", *typed, "-o", "p.csv", "--force")
        assert clusters(tmp_path / "p.csv") == clusters(folder / "labels.csv")
    write_counts(CountTable(BASKETS, PEOPLE, GOODS), tmp_path / "new.npz")
    run("predict", "out", "new.npz", "-o", "p.csv", "--force")
    fit("new.csv", "--labels", "kind", "--transform", "sqrt")
    assert_one_line(
        run.wrong("predict", "out", "new.csv", "--transform", "log1p"),
        "fitted to other values: pass --transform sqrt, or leave it out",
    )


def test_metadata_are_found_beside_a_moved_folder(run, fit, tmp_path, monkeypatch):
    (tmp_path / "old").mkdir()
    monkeypatch.chdir(tmp_path / "old")
    (tmp_path / "old" / "t.csv").write_text(wide(who=PEOPLE))
    beside = lines(["who", "kind", "town"], zip(PEOPLE, KIND, PEOPLE, strict=True))
    (tmp_path / "old" / "m.csv").write_text(beside)
    run("fit", "t.csv", "-k", 2, "--metadata", "m.csv", "--labels", "kind")
    monkeypatch.chdir(tmp_path)
    shutil.move(tmp_path / "old", tmp_path / "moved")
    run("report", "moved/t.threecpo", "--labels", "town")
    run("cut", "moved/t.threecpo", "-k", 1, "--counts", "moved/t.csv", "-o", "c")
    run("predict", "moved/t.threecpo", "moved/t.csv", "-o", "p.csv")


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
    (tmp_path / "t.csv").write_text(wide(who=PEOPLE))
    path = fit("t.csv") / "run.json"
    facts = json.loads(path.read_text())
    for wrong in ({"input": facts["input"] | changed}, {"version": 99}):
        path.write_text(json.dumps(facts | wrong))
        for command in (
            ["predict", "out", "t.csv"],
            ["cut", "out", "-k", 1, "--counts", "t.csv"],
            ["report", "out", "--labels", "kind"],
        ):
            assert_one_line(
                run.wrong(*command), "run.json is damaged; run threecpo fit again."
            )


LINES = [
    "the soup was cold and the soup was bland",
    "a cold soup with bland bread and more soup",
    "the train was late and the train was full",
    "a late train with a full carriage of this train",
]


@pytest.fixture
def reviews(tmp_path):
    lines = [f'{i},"{text}",{i % 2}' for i, text in enumerate(LINES)]
    path = tmp_path / "reviews.csv"
    path.write_text("\n".join(["id,review,stars", *lines]) + "\n")
    return path


def test_fit_and_predict_of_a_column_of_text(run, reviews, tmp_path):
    given = ("--text", "review", "--language", "none")
    done = run("fit", reviews, "-k", 2, *given, "-o", "out", "--no-report", "--json")
    facts = facts_of(tmp_path / "out")
    assert facts["input"]["options"]["text"] == ["review"]
    new = tmp_path / "new.csv"
    new.write_text('id,review,stars\n9,"what a bland and cold soup that was",1\n')
    done = run("predict", "out", new, "--language", "none", "--json")
    assert len(done.json["labels"]["cluster"]) == 1


def test_info_says_which_words_are_counted(run, reviews):
    done = run("info", reviews, "--language", "none", "--max-words", 10, "--json")
    facts = done.json
    assert facts["description"] == "words of column 'review'"
    assert (facts["rows"], facts["columns"]) == (4, 10)
