"""Texts, counted: folders, lines, and columns of tables."""

import gzip
import json
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tables import refused

from threecpo import ThreeCPO, read_counts
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
    refused(home, r"2 of 8 files are; name a file in it", text_options=OPTIONS)
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
    refused(folder, reason, text_options=options)


def test_a_text_in_another_encoding_is_told(folder):
    (folder / "pets" / "3.txt").write_bytes(b"one\ncaf\xe9")
    refused(folder, r"line 2 of 3\.txt is not in UTF-8")


def test_texts_without_words_are_told(tmp_path):
    (tmp_path / "a.txt").write_text("? !")
    refused(tmp_path, "do not contain a word of two", text_options=OPTIONS)


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
    refused(tmp_path / "t.jsonl", reason, text_options=OPTIONS)


def test_fields_that_are_not_there_are_told(read):
    with pytest.raises(DataFormatError, match="it has no column 'id' for index="):
        read(['{"text": "cats"}'], index="id")
    with pytest.raises(DataFormatError, match="it has no column 'kind' for labels="):
        read(['"cats"'], labels="kind")


REVIEWS = [
    "The soup was cold and the waiter was rude to us",
    "Lovely soup, friendly waiter, and the bread was warm",
    "The train was late and the carriage was cold, too",
    "A friendly guard on the train, and a warm carriage",
]
WORDS = {"stem": None}
IDS, STARS, PLACES = ["r1", "r2", "r3", "r4"], [1, 5, 2, 4], ["inn", "inn", "rail", ""]


def csv_text(delimiter=","):
    lines = [["id", "review", "stars", "place"]]
    lines += zip(IDS, [f'"{text}"' for text in REVIEWS], STARS, PLACES, strict=True)
    return "".join(f"{delimiter.join(map(str, line))}\n" for line in lines)


def write(path):
    """Write the same reviews as a file of the kind that its name says."""
    if path.suffix == ".parquet":
        from pyarrow import parquet

        columns = {"id": IDS, "review": REVIEWS, "stars": STARS, "place": PLACES}
        parquet.write_table(pa.table(columns), path)
    elif path.suffix == ".jsonl":
        rows = zip(IDS, REVIEWS, STARS, PLACES, strict=True)
        names = ("id", "review", "stars", "place")
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        path.write_text("\n".join(lines))
    else:
        path.write_text(csv_text("\t" if path.suffix == ".tsv" else ","))
    return path


@pytest.fixture(params=["csv", "tsv", "parquet", "jsonl"])
def path(request, tmp_path):
    return write(tmp_path / f"reviews.{request.param}")


def test_words_of_the_column_are_counted(path):
    named = {"text": "review"} if path.suffix == ".csv" else {}
    table = read_counts(path, index="id", labels="place", text_options=WORDS, **named)
    assert table.row_names.tolist() == IDS
    assert table.labels.tolist() == [0, 0, 1, -1]
    assert table.row_titles.tolist() == REVIEWS
    assert list(table.column_names) == list(count_terms(REVIEWS, **WORDS).column_names)
    expected = count_terms(REVIEWS, **WORDS).X.toarray()
    np.testing.assert_array_equal(table.X.toarray(), expected)
    assert "stars" not in table.column_names
    assert "'review'" in table.description


def test_a_column_called_id_names_the_rows(tmp_path):
    table = read_counts(write(tmp_path / "reviews.csv"), text_options=WORDS)
    assert table.row_names.tolist() == IDS
    unnamed = read_counts(tmp_path / "reviews.csv", index=False, text_options=WORDS)
    assert unnamed.row_names is None


def test_sites_with_long_names_are_still_counts(tmp_path):
    lines = ["site,ants,bees,flies", "the old meadow behind the church,1,2,3"]
    lines.append("a small wood beside the northern road,0,5,1")
    (tmp_path / "t.csv").write_text("\n".join(lines))
    assert read_counts(tmp_path / "t.csv").column_names.tolist() == [
        *("ants", "bees", "flies")
    ]


def test_two_columns_of_text_are_asked_about(tmp_path):
    lines = [f'"{a}","{b}"' for a, b in zip(REVIEWS, REVIEWS[::-1], strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["lead,body", *lines]))
    advice = r"2 columns contain text. Pass .*: text=\['lead', 'body'\]"
    refused(tmp_path / "t.csv", advice)
    for options in ({"text": ["lead", "body"]}, {"text": "lead"}, {"drop": "lead"}):
        table = read_counts(tmp_path / "t.csv", text_options=WORDS, **options)
        assert table.shape[0] == 4


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_titles_beside_the_text_show_what_rows_are(ending, tmp_path):
    titles = ["One of many a good headline", "Two of them are also fine", None, ""]
    frame = pd.DataFrame({"title": titles, "body": REVIEWS})
    path = tmp_path / f"t.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    table = read_counts(path, text_options=WORDS)
    assert list(table.row_titles) == [*titles[:2], *map(first_line, REVIEWS[2:])]
    assert "headline" not in table.column_names
    joined = read_counts(path, text=["body", "title"], text_options=WORDS)
    both = [f"{a}\n{b or ''}" for a, b in zip(REVIEWS, titles, strict=True)]
    expected = count_terms(both, **WORDS)
    assert list(joined.column_names) == list(expected.column_names)
    np.testing.assert_array_equal(joined.X.toarray(), expected.X.toarray())


def test_the_advice_about_text_leads_to_a_fit(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,what,who,n\n1,red wool,ann,3\n2,blue silk,bob,4\n")
    advice = (
        r"Exclude the 2 columns that are not counts with drop=\['what', 'who'\], or "
        r"pass labels=\['what', 'who'\]\.$"
    )
    refused(path, advice)
    ThreeCPO(1).fit(read_counts(path, drop=["what", "who"]))
    ThreeCPO(1).fit(read_counts(path, labels=["what", "who"]))
    path.write_text("id,what\n1,red wool\n2,blue silk\n")
    with pytest.raises(
        DataFormatError, match=r"not a number\. To count its words, pass te"
    ) as raised:
        read_counts(path)
    assert "drop=" not in str(raised.value)
    assert read_counts(path, text="what", text_options=WORDS).shape == (2, 4)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_other_encodings(encoding, tmp_path):
    path = tmp_path / "t.csv"
    text = "id,Straße\nMünchen,3\nKöln,4\n"
    path.write_bytes(text.encode(encoding))
    if encoding == "utf-16":
        # The mark at its beginning tells.
        assert read_counts(path).row_names.tolist() == ["München", "Köln"]
    table = read_counts(path, encoding=encoding)
    assert table.row_names.tolist() == ["München", "Köln"]
    assert table.column_names.tolist() == ["Straße"]


@pytest.mark.parametrize("encoding", ["latin-99", "base64"])
def test_an_unknown_encoding_is_told(encoding, tmp_path):
    (tmp_path / "t.csv").write_text("id,a\nx,1\n")
    refused(
        tmp_path / "t.csv", f"encoding='{encoding}' is not a known", encoding=encoding
    )
    (tmp_path / "t.csv").write_bytes(b"id,a\n\x81\xff,1\n")
    refused(tmp_path / "t.csv", "it is not in cp1252", encoding="cp1252")


@pytest.mark.parametrize("named", [{}, {"text": "review"}])
def test_a_table_of_r_has_no_corner(named, tmp_path):
    """Its names of rows have no name; its column is not the one before the text."""
    lines = [f'"{i}","inn","{text}"\n' for i, text in zip(IDS, REVIEWS, strict=True)]
    (tmp_path / "t.csv").write_text("".join(['"place","review"\n', *lines]))
    table = read_counts(tmp_path / "t.csv", text_options=WORDS, **named)
    assert table.row_names.tolist() == IDS
    expected = count_terms(REVIEWS, **WORDS)
    assert table.column_names.tolist() == expected.column_names.tolist()


def test_a_long_text_is_read(tmp_path):
    import csv

    before = csv.field_size_limit()
    long = "many words of a long book " * 10_000
    (tmp_path / "t.csv").write_text(f'id,book\n1,"{long}"\n2,"a short one"\n')
    table = read_counts(tmp_path / "t.csv", text="book", text_options=WORDS)
    assert table.X.toarray().max() == 10_000
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"text": "body"}, "no column 'body' for text=. Available: 'id', 'review'"),
        ({"text": "review", "text_options": {"stem": "x"}}, "stem='x' is not None"),
        ({"text": "review", "labels": "kind"}, "no column 'kind' for labels="),
        ({"drop": ["review", "place"], "text_options": WORDS}, "a table of counts"),
        ({"text": "review", "max_unpacked": 600}, "unpacks to more than 600"),
        ({"text": "review", "index": 9}, "index=9 is not the place of a column"),
    ],
)
def test_what_does_not_fit_is_told(options, reason, tmp_path):
    refused(write(tmp_path / "t.csv"), reason, **options)
