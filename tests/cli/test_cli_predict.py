"""``threecpo predict``: columns by name, nothing guessed."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import (
    COLUMNS,
    ROWS,
    X,
    assert_one_line,
    everything,
    runner,
    same,
    table,
    written_csv,
)

import threecpo
from threecpo import CountTable, results
from threecpo.cli.predict import aligned

NAMES = ["row", "cluster", "name", "nearest", "margin", "outlier_score"]


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    threecpo.write_counts(table(), tmp_path / "cells.npz")
    run = runner(capsys)
    done = run("fit", "cells.npz", "-k", 3, "--outliers", "iterative", "-o", "model")
    assert done.code == 0
    return run


def fitted_rows():
    read = results.read_table("model/labels.csv", results.ROWS)
    return {name: read[name] for name in NAMES}


def assert_rows(path, expected):
    read = results.read_table(path, results.ROWS)
    assert list(read)[: len(NAMES)] == NAMES
    for name in NAMES:
        assert same(read[name], expected[name]), name


@pytest.mark.parametrize("model", ["model", "model/model.npz"])
def test_the_rows_of_the_fit_get_their_labels_again(model, run):
    done = run("predict", model, "cells.npz", "-o", "new.csv")
    assert (done.code, done.err) == (0, "")
    labels = fitted_rows()["cluster"].tolist()
    assert done.out.startswith(f"{len(labels)} rows, {labels.count(0)} in 0 (gene ")
    assert done.out.endswith(f"{labels.count(-1)} outliers: new.csv\n")
    assert_rows("new.csv", fitted_rows())


def test_without_a_file_the_table_is_printed(run, tmp_path):
    run("predict", "model", "cells.npz", "-o", "new.csv")
    done = run("predict", "model", "cells.npz")
    assert done.code == 0
    assert done.out == (tmp_path / "new.csv").read_text()
    assert done.err == ""


def test_extra_columns_are_listed_and_left_out(run, tmp_path):
    more = np.hstack([np.full((len(X), 1), 99), X, np.full((len(X), 1), 7)])
    names = ["[b]first[/]", *COLUMNS, "last"]
    written_csv(tmp_path / "more.csv", more, ROWS, names)
    done = run("predict", "model", "more.csv", "-o", "new.csv")
    assert done.code == 0
    assert done.err.count("\n") == 1
    assert "2 columns not in the model ignored: [b]first[/], last." in done.err
    assert_rows("new.csv", fitted_rows())


def test_missing_columns_are_an_error(run, tmp_path):
    written_csv(tmp_path / "less.csv", X[:, 2:], ROWS, COLUMNS[2:])
    before = everything(tmp_path)
    done = run("predict", "model", "less.csv", "-o", "new.csv")
    assert_one_line(done, "less.csv", "gene 0, gene 1", "--missing zero")
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
    assert done.code == 0
    assert "plain.npz has no column names" in done.err
    read, expected = results.read_table("new.csv", results.ROWS), fitted_rows()
    assert same(read["cluster"], expected["cluster"])
    assert read["row"].tolist() == [str(i) for i in range(len(X))]


def test_without_names_the_number_of_columns_must_fit(run, tmp_path):
    threecpo.write_counts(CountTable(X[:, 1:]), tmp_path / "plain.npz")
    done = run("predict", "model", "plain.npz")
    assert_one_line(
        done, "plain.npz has 9 columns, the model has 10", "no column names"
    )


def test_a_model_without_names(run, tmp_path):
    threecpo.ThreeCPO(3, random_state=0).fit(X).save(tmp_path / "plain.npz")
    done = run("predict", "plain.npz", "cells.npz")
    assert done.code == 0
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
    assert_one_line(run("predict", model, "cells.npz"), model)


def test_fractions_are_reported(run, tmp_path):
    written_csv(tmp_path / "half.csv", X / 2)
    done = run("predict", "model", "half.csv", "-o", "new.csv")
    assert done.code == 0
    assert "not integers" in done.err


@st.composite
def shuffled(draw):
    """Columns of a model, columns of a file, and counts of the file."""
    names = [f"n{j}" for j in range(12)]
    wanted = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    held = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    cells = st.integers(0, 5)
    row = st.lists(cells, min_size=len(held), max_size=len(held))
    counts = draw(st.lists(row, min_size=1, max_size=4))
    return wanted, held, np.array(counts)


@given(shuffled())
def test_every_count_finds_its_column(case):
    wanted, held, counts = case
    record = SimpleNamespace(column_names=wanted)
    model = SimpleNamespace(record_=record, n_features_in_=len(wanted))
    table = CountTable(counts, column_names=held)
    found, facts = aligned(model, table, Path("file"), zero=True)
    of_column = {name: counts[:, j] for j, name in enumerate(held)}
    expected = [of_column.get(name, np.zeros(len(counts))) for name in wanted]
    np.testing.assert_array_equal(found.X.toarray(), np.column_stack(expected))
    assert facts["missing"] == [name for name in wanted if name not in held]
    assert facts["extra"] == [name for name in held if name not in wanted]
    if facts["missing"]:
        with pytest.raises(ValueError, match=f"lacks {len(facts['missing'])} column"):
            aligned(model, table, Path("file"), zero=False)


class TestTexts:
    OLD = ("cats dogs cats", "dogs cats cats", "cars trucks", "trucks cars cars")

    @pytest.fixture
    def texts(self, tmp_path):
        pytest.importorskip("snowballstemmer")

        def write(folder, lines):
            (tmp_path / folder).mkdir()
            for i, line in enumerate(lines):
                (tmp_path / folder / f"{i}.txt").write_text(line)
            return folder

        return write

    @pytest.fixture
    def model(self, run, texts):
        old = texts("old", 20 * self.OLD)
        assert run("fit", old, "-k", 2, "-o", "by-words", "--no-report").code == 0
        return threecpo.load("by-words/model.npz")

    def test_the_words_of_the_model_are_counted(self, run, texts, model):
        """Words that new texts lack are zeros; other words do not matter."""
        lines = ["cat", "trucks and birds"]
        done = run("predict", "by-words", texts("new", lines), "-o", "new.csv")
        assert (done.code, done.err) == (0, "")
        expected = threecpo.text.count_terms(
            lines, vocabulary=model.feature_names_in_.tolist()
        )
        found = results.read_table("new.csv", results.ROWS)
        predicted = results.predicted_rows(model, expected)
        predicted = results.rounded_table(predicted, 6)
        assert same(found["margin"], predicted["margin"])
        assert found["cluster"].tolist() == predicted["nearest"].tolist()
        assert found["cluster"][0] != found["cluster"][1]

    def test_texts_without_a_word_of_the_model_are_refused(self, run, texts, model):
        new = texts("new", ["birds"])
        assert_one_line(
            run("predict", "by-words", new), "none of the words of the model"
        )
