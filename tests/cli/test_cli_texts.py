"""Commands on tables with a column of text."""

import json

import pytest

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
    assert done.code == 0, done.err
    facts = json.loads((tmp_path / "out" / "run.json").read_text())
    assert facts["input"]["options"]["text"] == ["review"]
    new = tmp_path / "new.csv"
    new.write_text('id,review,stars\n9,"what a bland and cold soup that was",1\n')
    done = run("predict", "out", new, "--language", "none", "--json")
    assert done.code == 0, done.err
    assert len(done.json["labels"]["cluster"]) == 1


def test_info_says_which_words_are_counted(run, reviews):
    done = run("info", reviews, "--language", "none", "--max-words", 10, "--json")
    assert done.code == 0, done.err
    facts = done.json
    assert facts["description"] == "words of column 'review'"
    assert (facts["rows"], facts["columns"]) == (4, 10)


def test_advice_names_options_of_commands(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,what,who,n\n1,red wool,ann,3\n2,blue silk,bob,4\n")
    done = run("fit", path, "-k", 1)
    assert "--drop 'what' --drop 'who'" in done.err
    assert "or pass --labels 'what' --labels 'who'" in done.err
    done = run("fit", path, "-k", 1, "--drop", "what", "--drop", "who", "--no-report")
    assert done.code == 0, done.err
