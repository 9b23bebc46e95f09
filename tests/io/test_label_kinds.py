"""Labels of several kinds: read from every format that has columns, and written."""

import json

import numpy as np
import pytest

from threecpo import CountTable, read_counts, write_counts
from threecpo.io import DataFormatError

TYPES, DONORS = ["T", "", "B", "T"], ["10", "9", "=2+3", "9"]
COUNTS = np.array([[3, 0], [0, 5], [1, 1], [0, 2]])
KINDS = {"type": TYPES, "donor": DONORS}
TABLE = CountTable(
    COUNTS,
    row_names=["a", "b", "c", "d"],
    column_names=["ants", "bees"],
    labels=KINDS,
)
WRITTEN = ["t.csv", "t.npz", "t.parquet", "t.h5ad"]


def kinds_of(table):
    return {kind: texts.tolist() for kind, texts in table.label_kinds.items()}


def written(path, table=TABLE, **options):
    for suffix, library in ((".h5ad", "anndata"), (".parquet", "pyarrow")):
        if path.suffix == suffix:
            pytest.importorskip(library)
    write_counts(table, path, **options)
    return path


@pytest.mark.parametrize("name", WRITTEN)
def test_all_kinds_come_back_under_their_names(name, tmp_path):
    path = written(tmp_path / name)
    asked = {} if name == "t.npz" else {"labels": ["type", "donor"]}
    table = read_counts(path, **asked)
    assert kinds_of(table) == KINDS
    assert table.label_kind == "type"
    assert table.labels.tolist() == [1, -1, 0, 1]
    np.testing.assert_array_equal(table.X.toarray(), COUNTS)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.h5ad"])
def test_the_first_that_is_asked_for_is_the_first(name, tmp_path):
    path = written(tmp_path / name)
    table = read_counts(path, labels=["donor", "type", "donor"])
    assert list(kinds_of(table)) == ["donor", "type"]
    assert list(table.label_names) == ["9", "10", "=2+3"]
    assert table.shape == COUNTS.shape


def test_only_the_first_kind_may_be_called_otherwise(tmp_path):
    path = written(tmp_path / "t.csv", labels="kind")
    assert path.read_text().startswith(",kind,donor,ants,bees\n")
    with pytest.raises(DataFormatError, match="a column is called 'donor'"):
        write_counts(TABLE, tmp_path / "u.csv", labels="donor")
    with pytest.raises(DataFormatError, match="a column is called 'ants'"):
        write_counts(TABLE, tmp_path / "u.csv", labels="ants")


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_texts_have_them_too(kind, tmp_path):
    texts = ["one ant walks here", "two bees fly there", "ants and bees", "no bee"]
    path = tmp_path / f"t.{kind}"
    columns = {"words": texts} | KINDS
    if kind == "jsonl":
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values())]  # noqa: B905
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        frame = pytest.importorskip("pandas").DataFrame(columns)
        if kind == "csv":
            frame.to_csv(path, index=False)
        else:
            pytest.importorskip("pyarrow")
            frame.to_parquet(path)
    table = read_counts(
        path, text="words", labels=["type", "donor"], text_options={"stem": None}
    )
    assert kinds_of(table) == KINDS


def test_lines_that_are_not_tidy_keep_the_order_of_rows(tmp_path):
    lines = ["id,type,ants,donor", *(f"{i},t{i % 3},{i},d{i % 7}" for i in range(9000))]
    lines[5001] = '5000,"t2",5000,"d2"'
    (tmp_path / "t.csv").write_text("\n".join(lines))
    table = read_counts(tmp_path / "t.csv", labels=["type", "donor"])
    assert kinds_of(table) == {
        "type": [f"t{i % 3}" for i in range(9000)],
        "donor": [f"d{i % 7}" for i in range(9000)],
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"label_kinds": np.array(["type", "type"])}, "label_kinds are not names"),
        ({"label_kinds": np.arange(2)}, "label_kinds are of type int64"),
        ({"label_kinds": np.array([], dtype=str)}, "labels of some kind are missing"),
        ({"label_kinds": np.array(["type", "a", "b"])}, "labels of 'b' are missing"),
        ({"labels_1": np.array(["x"])}, "labels 'donor' has 1 values for 4 rows"),
    ],
)
def test_damaged_kinds_of_an_npz_are_one_line(changes, reason, tmp_path):
    path = written(tmp_path / "t.npz")
    with np.load(path) as arrays:
        np.savez(path, **dict(arrays) | changes)
    with pytest.raises(DataFormatError, match=reason):
        read_counts(path)
