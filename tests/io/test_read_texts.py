"""Folders and lines of texts, counted."""

import gzip
import os

import pytest

from threecpo import read_counts
from threecpo.io import DataFormatError
from threecpo.text import count_terms, first_line

OPTIONS = {"stem": None}


@pytest.fixture
def folder(tmp_path):
    texts = {
        "pets/1.txt": "cats and dogs",
        "pets/2.txt": "\ufeffcats",
        "cars/deep/1.txt": "cars and trucks",
        "cars/.hidden.txt": "secret",
        "cars/readme.md": "no text",
        ".git/x.txt": "secret",
    }
    for name, text in texts.items():
        path = tmp_path / "texts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "texts"


def test_a_file_is_a_row_and_a_folder_a_label(folder):
    table = read_counts(folder, text_options=OPTIONS)
    assert table.row_names.tolist() == ["cars/deep/1.txt", "pets/1.txt", "pets/2.txt"]
    assert table.column_names.tolist() == ["and", "cars", "cats", "dogs", "trucks"]
    assert table.X.toarray()[2].tolist() == [0, 0, 1, 0, 0]
    assert table.label_names.tolist() == ["cars", "pets"]
    assert table.labels.tolist() == [0, 1, 1]


def test_files_without_folders_have_no_labels(folder):
    table = read_counts(folder / "pets", text_options=OPTIONS)
    assert table.labels is None
    assert table.row_names.tolist() == ["1.txt", "2.txt"]
    (folder / "stray.txt").write_text("cats")
    mixed = read_counts(folder, text_options=OPTIONS)
    assert mixed.labels.tolist() == [0, 1, 1, -1]


def test_a_folder_of_other_things_is_not_read_as_texts(tmp_path):
    home = tmp_path / "home"
    for place in (home, home / "thesis", home / "thesis" / "old"):
        place.mkdir()
        (place / "notes.txt").write_text("cats and dogs")
        for name in ("a.pdf", "b.jpg", "c"):
            (place / name).write_text("x")
    (home / ".cache").mkdir()
    with pytest.raises(DataFormatError, match=r"2 of 8 files are; name a file in it"):
        read_counts(home, text_options=OPTIONS)
    asked = read_counts(home, format="texts", text_options=OPTIONS)
    assert asked.shape == (3, 3)


def test_a_folder_that_may_not_be_looked_into_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("cats")
    closed = tmp_path / "closed"
    closed.mkdir()
    scandir = os.scandir

    def refusing(path):
        if str(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert read_counts(tmp_path, text_options=OPTIONS).shape == (1, 1)


def test_words_are_stemmed_unless_told(folder):
    pytest.importorskip("snowballstemmer")
    table = read_counts(folder)
    assert count_terms(["a cat"], vocabulary=table.column_names).X.sum() == 1
    assert "cats" in table.column_names


def test_the_first_lines_of_texts_are_kept(folder):
    table = read_counts(folder, text_options=OPTIONS)
    texts = [(folder / name).read_text("utf-8-sig") for name in table.row_names]
    assert list(table.row_titles) == [first_line(text) for text in texts]
    assert any(table.row_titles)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"stem": None, "max_features": 0}, "max_features=0 must be"),
        ({"stem": "klingon"}, "stem='klingon' is not"),
        ({"stems": 1}, "stems"),
    ],
)
def test_options_that_do_not_fit_are_told(options, reason, folder):
    with pytest.raises(DataFormatError, match=reason):
        read_counts(folder, text_options=options)


def test_a_text_in_another_encoding_is_told(folder):
    (folder / "pets" / "3.txt").write_bytes(b"one\ncaf\xe9")
    with pytest.raises(DataFormatError, match=r"line 2 of 3\.txt is not in UTF-8"):
        read_counts(folder)


def test_texts_without_words_are_told(tmp_path):
    (tmp_path / "a.txt").write_text("? !")
    with pytest.raises(DataFormatError, match="do not contain a word of two"):
        read_counts(tmp_path, text_options=OPTIONS)


@pytest.fixture
def read(tmp_path):
    def reading(lines, name="t.jsonl", **options):
        content = "\n".join(lines).encode()
        packed = name.endswith(".gz")
        (tmp_path / name).write_bytes(gzip.compress(content) if packed else content)
        return read_counts(tmp_path / name, text_options=OPTIONS, **options)

    return reading


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (['"cats and dogs"', '"dogs"'], "t.ndjson.gz"),
        (['{"text": "cats and dogs"}', "", '{"text": "dogs", "n": 1}'], "t.jsonl"),
        (['{"body": "cats and dogs"}', '{"body": "dogs"}'], "t.jsonl"),
    ],
)
def test_a_line_is_a_row(lines, name, read):
    table = read(lines, name)
    assert table.column_names.tolist() == ["and", "cats", "dogs"]
    assert table.X.toarray().tolist() == [[1, 1, 1], [0, 0, 1]]
    assert table.row_names is table.labels is None


def test_fields_are_names_and_labels(read):
    lines = [
        '{"id": 1, "body": "cats", "kind": "pets", "n": 3}',
        '{"id": 2, "body": "cars", "kind": null, "n": 3}',
    ]
    table = read(lines, index="id", labels="kind", drop="n")
    assert table.row_names.tolist() == ["1", "2"]
    assert table.labels.tolist() == [0, -1]
    assert read(lines, "texts", index="id", labels="kind", drop="n").shape == (2, 2)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "line 2 is not valid JSON"),
        ("[" * 100_000, "line 2 is not valid JSON"),
        ("7", "line 2 holds '7', which is neither a text nor an object"),
        ('{"text": ["x"]}', r"line 2 holds .*, not a text or a number"),
        ("\udce9", "line 2 is not in UTF-8"),
    ],
)
def test_lines_of_another_kind_are_told(line, reason, tmp_path):
    content = f'"cats"\n{line}\n'.encode("utf-8", "surrogateescape")
    (tmp_path / "t.jsonl").write_bytes(content)
    with pytest.raises(DataFormatError, match=reason):
        read_counts(tmp_path / "t.jsonl", text_options=OPTIONS)


def test_fields_that_are_not_there_are_told(read):
    with pytest.raises(DataFormatError, match="it has no column 'id' for index="):
        read(['{"text": "cats"}'], index="id")
    with pytest.raises(DataFormatError, match="it has no column 'kind' for labels="):
        read(['"cats"'], labels="kind")


def test_new_texts_are_counted_by_the_terms_of_others(folder):
    options = {"vocabulary": ["dogs", "birds"], "stem": None}
    table = read_counts(folder / "pets", text_options=options)
    assert table.X.toarray().tolist() == [[1, 0], [0, 0]]
