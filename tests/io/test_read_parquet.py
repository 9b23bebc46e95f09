"""Parquet files of pandas, polars and others."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from tables import refused

from threecpo import read_counts
from threecpo.io import DataFormatError

FRAME = pd.DataFrame([[3, 0], [0, 5]], index=["p1", "p2"], columns=["ants", "bees"])


@pytest.fixture
def read(tmp_path):
    def reading(frame, row_group_size=None, **options):
        path = tmp_path / "t.parquet"
        if isinstance(frame, dict):
            parquet.write_table(pa.table(frame), path)
        elif isinstance(frame, pl.DataFrame):
            frame.write_parquet(path)
        else:
            frame.to_parquet(path, row_group_size=row_group_size)
        return read_counts(path, **options)

    return reading


def is_wide(table):
    assert table.row_names.tolist() == ["p1", "p2"]
    assert table.column_names.tolist() == ["ants", "bees"]
    assert table.X.toarray().tolist() == [[3, 0], [0, 5]]


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        FRAME.astype("Int64"),
        pl.DataFrame({"plot": ["p1", "p2"], "ants": [3, 0], "bees": [0, 5]}),
        pl.DataFrame(
            {"plot": pl.Series(["p1", "p2"]).cast(pl.Categorical), "ants": [3, 0]}
        ).with_columns(bees=pl.Series([0, 5])),
        {"plot": ["p1", "p2"], "ants": [3, 0], "bees": [decimal.Decimal(0), 5]},
    ],
)
def test_wide_tables_are_read(frame, read):
    is_wide(read(frame))


def test_rows_of_a_plain_index_have_no_names(read):
    table = read(pd.DataFrame({"a": [1, 2], "b": [True, False]}))
    assert table.row_names is None
    assert table.X.toarray().tolist() == [[1, 1], [2, 0]]


def test_names_that_are_numbers_and_columns_that_are_told(read):
    frame = pd.DataFrame({"id": [7, 8], "a": [1, 2], "k": [1.0, None], "t": ["x", "y"]})
    table = read(frame, labels="k", drop="t")
    assert table.row_names.tolist() == ["7", "8"]
    assert table.labels.tolist() == [0, -1]
    assert table.label_names.tolist() == ["1"]
    assert read(frame, index="t", drop=["id", "k"]).row_names.tolist() == ["x", "y"]


def test_many_groups_are_one_table(read):
    Y = np.random.default_rng(0).poisson(1, (20, 3))
    frame = pd.DataFrame(Y, columns=list("abc"), index=[f"r{i}" for i in range(20)])
    table = read(frame, row_group_size=7)
    np.testing.assert_array_equal(table.X.toarray(), Y)
    assert table.row_names.tolist() == frame.index.tolist()


def test_columns_of_every_kind_of_number_are_turned_into_rows(read):
    Y = np.random.default_rng(1).poisson(1, (500, 11))
    kinds = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    kinds += ["float32", "float64", "bool"]
    Y[:, -1] = Y[:, -1] > 0
    frame = pd.DataFrame(
        {kind: values.astype(kind) for kind, values in zip(kinds, Y.T, strict=True)}
    )
    np.testing.assert_array_equal(read(frame).X.toarray(), Y)


def test_triples_are_found_or_told(read):
    triples = {"who": ["ann", "bob", "ann"], "what": ["m", "b", "m"], "n": [2, 1, 3]}
    table = read(triples)
    assert table.row_names.tolist() == ["ann", "bob"]
    assert table.column_names.tolist() == ["m", "b"]
    assert table.X.toarray().tolist() == [[5, 0], [0, 1]]
    again = read(triples | {"day": [1, 2, 3]}, triples=("who", "what", "n"))
    assert again.X.toarray().tolist() == [[5, 0], [0, 1]]
    numbers = read({"r": [1, 1], "c": [7, 8], "count": [2.0, 3.0]})
    assert numbers.column_names.tolist() == ["7", "8"]
    text = pl.DataFrame(triples).with_columns(
        pl.col("who", "what").cast(pl.Categorical)
    )
    assert read(text).X.toarray().tolist() == [[5, 0], [0, 1]]


NAMES = {"n": ["a", "b"]}


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ({**NAMES, "x": [1, 2], "y": [3, None]}, "row 2, column 'y' is empty"),
        ({**NAMES, "x": [1, 2], "y": [3, -4]}, "row 2, column 'y' holds -4"),
        ({**NAMES, "x": [1, 2], "y": [3.0, np.nan]}, "row 2, column 'y' holds NaN"),
        ({**NAMES, "x": [1, 2], "y": [3, 2**60]}, "counts must be below"),
        ({**NAMES, "x": [1, 2], "y": [3, 4], "t": ["k", "l"]}, r"drop=\['t'\]"),
        ({**NAMES, "x": [1, 2], "y": [[1], [2]]}, r"'y' holds '\[1\]', which"),
        ({"n": ["a", None], "x": [1, 2]}, "the name of row 2 is empty"),
        ({"n": pa.array([], pa.string()), "x": pa.array([], pa.int8())}, "no rows"),
        ({"n": ["a", "b"]}, "no columns of counts"),
        ({"r": ["a", None], "c": ["x", "y"], "n": [1, 2]}, "column 'r' has 1 empty"),
        ({"r": ["a", "b"], "c": ["x", "y"], "n": [1, None]}, "row 2, column 'n' is"),
    ],
)
def test_what_is_no_table_of_counts_is_told(frame, reason, read):
    with pytest.raises(DataFormatError, match=reason):
        read(frame)


def test_columns_of_the_same_name_are_told(tmp_path):
    table = pa.table([[1, 2], [3, 4]], names=["a", "a"])
    parquet.write_table(table, tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "columns 1 and 2 are both called 'a'")


def test_pairs_count_one_a_row(read):
    pairs = {"who": ["ann", "bob", "ann"], "what": ["m", "b", "m"], "day": [1, 2, 3]}
    assert read(pairs, triples=("who", "what")).X.toarray().tolist() == [[2, 0], [0, 1]]


def test_many_columns_come_some_at_a_time(tmp_path, monkeypatch):
    from threecpo.io import parquet as reader
    from threecpo.io.isolated import gathered

    monkeypatch.setattr(reader, "CELLS", 20)
    Y = np.random.default_rng(2).poisson(1, (9, 6))
    pd.DataFrame(Y).add_prefix("c").to_parquet(tmp_path / "t.parquet")
    path = str(tmp_path / "t.parquet")
    found = gathered(reader.read_table(path, 1 << 20, {"index": False}))
    assert found["lengths"].tolist() == (Y > 0).sum(0).tolist()
    np.testing.assert_array_equal(found["data"], Y.T[Y.T > 0])
