"""CountTable: counts are canonical, and what is said of them fits."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import scipy.sparse as sp

from containers import CONTAINERS, snapshot
from threecpo import CountTable

COUNTS = [[3, 0, 1], [0, 5, 0]]


def table(**fields):
    return CountTable(COUNTS, **fields)


def test_counts_of_any_container_are_canonical():
    for name in CONTAINERS:
        given = CONTAINERS[name](np.array(COUNTS))
        before = snapshot(given)
        X = CountTable(given).X
        assert isinstance(X, sp.csr_array)
        assert X.has_canonical_format
        assert (X.dtype, X.indices.dtype) == (np.float64, np.int32)
        assert X.nnz == np.count_nonzero(COUNTS)
        np.testing.assert_array_equal(X.toarray(), COUNTS)
        assert snapshot(given) == before


def test_totals_beyond_exact_floats_stay_floats():
    assert table().to_frame().dtypes.iloc[0].subtype == np.int64
    assert CountTable([[2.0**60]]).to_frame().dtypes.iloc[0].subtype == np.float64


def test_its_matrix_is_a_view_that_cannot_be_written_to():
    made = table()
    first, second = made.X, made.X
    for name in ("data", "indices"):
        own = getattr(made.counts, name)
        assert np.shares_memory(getattr(first, name), own)
        assert np.shares_memory(getattr(second, name), own)
        assert not getattr(first, name).flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        first.data[0] = 7


def test_counts_and_tables_are_taken_as_they_are():
    made = table(column_names=["x", "y", "z"])
    assert CountTable(made.counts).counts is made.counts
    assert CountTable(made).counts is made.counts
    assert replace(made, column_names=None).counts is made.counts
    assert replace(made, X=[[1, 2, 3]]).shape == (1, 3)


def test_names_are_arrays_of_str():
    made = table(
        row_names=np.array(["a", "b"]),
        column_names=("x", "y", "z"),
        labels=[1, 0],
        label_names=["no", "yes"],
    )
    assert list(made.row_names) == ["a", "b"]
    assert all(type(name) is str for name in made.row_names)
    assert made.column_names.tolist() == ["x", "y", "z"]
    assert made.labels.dtype == np.int64
    assert made.label_names[made.labels].tolist() == ["yes", "no"]


def test_what_does_not_fit_is_refused():
    for fields, sentence in (
        ({"row_names": ["a"]}, "row_names has 1 names, but X has 2 rows."),
        ({"column_names": ["a"]}, "column_names has 1 names, but X has 3 columns."),
        ({"row_names": "ab"}, "row_names must be a sequence of str, not 'ab'."),
        ({"row_names": 7}, "row_names must be a sequence of str, not 7."),
        ({"row_names": ["a", None]}, "row_names must be str; None is not."),
        ({"row_names": ["a", 1]}, "row_names must be str; 1 is not."),
        ({"labels": [0]}, r"labels has shape \(1,\), but X has 2 rows."),
        ({"labels": [0, -2]}, "labels must be integers from 0, or -1"),
        ({"labels": [0.0, 1.0]}, "labels must be integers"),
        ({"labels": ["a", "b"]}, "labels must be integers"),
        ({"label_names": ["a"]}, "label_names are given without labels."),
        (
            {"labels": [0, 2], "label_names": ["a", "b"]},
            "labels go up to 2, but there are 2 label_names.",
        ),
    ):
        with pytest.raises(ValueError, match=f"^{sentence}"):
            table(**fields)


def test_what_is_no_count_is_refused():
    for counts, sentence in (
        ([[1, -1]], "row 0, column 1 holds -1"),
        ([[np.nan]], "row 0, column 0 holds NaN"),
    ):
        with pytest.raises(ValueError, match=sentence):
            CountTable(counts)


def test_it_says_what_it_is():
    assert repr(table()) == "CountTable(2 rows x 3 columns)"
    named = table(name="plots", labels=[0, 1])
    assert repr(named) == "CountTable('plots': 2 rows x 3 columns, 2 clusters)"


def test_it_is_frozen_and_can_be_changed_into_another():
    made = table(name="a")
    with pytest.raises(FrozenInstanceError):
        made.name = "b"
    other = replace(made, labels=[0, 1])
    assert (other.name, other.n_clusters, made.labels) == ("a", 2, None)
    with pytest.raises(ValueError, match="row_names has 1"):
        replace(made, row_names=["a"])


def test_labels_of_several_kinds():
    made = table(labels={"type": ["b", None], "year": [2021.0, 2020]})
    assert made.labels.tolist() == [0, -1]
    assert (list(made.label_names), made.label_kind) == (["b"], "type")
    kinds = {kind: texts.tolist() for kind, texts in made.label_kinds.items()}
    assert kinds == {"type": ["b", ""], "year": ["2021", "2020"]}
    assert list(made.other_labels) == ["year"]
    again = pickle.loads(pickle.dumps(replace(made, name="a")))
    assert list(again.label_kinds) == ["type", "year"]
    # Other labels of the first kind leave the second.
    other = replace(made, labels=[1, 0], label_names=["x", "y"])
    assert other.label_kinds["type"].tolist() == ["y", "x"]
    assert other.label_kinds["year"].tolist() == ["2021", "2020"]
    assert table(labels={}).labels is None
    assert table(labels=[0, 1]).label_kinds["label"].tolist() == ["0", "1"]
    assert table().label_kinds == {}


def test_kinds_of_labels_that_are_none():
    for options, reason in (
        ({"labels": {"a": ["x", "y", "z"]}}, "labels has shape"),
        ({"labels": {"a": ["x", "y"], "b": ["x"]}}, "labels 'b' has 1 values for 2"),
        ({"labels": {"a": "xy"}}, "labels 'a' must be a sequence"),
        ({"labels": {"": ["x", "y"]}}, "must be called by a name"),
        ({"labels": {1: ["x", "y"]}}, "must be called by a name"),
        ({"labels": {"a": ["x", "y"]}, "label_names": ["x"]}, "not with a dict"),
        (
            {"labels": [0, 1], "other_labels": {"label": ["x", "y"]}},
            "Two kinds of labels are called 'label'",
        ),
    ):
        with pytest.raises(ValueError, match=reason):
            table(**options)


def test_it_can_be_pickled():
    again = pickle.loads(pickle.dumps(table(row_names=["a", "b"])))
    assert list(again.row_names) == ["a", "b"]
    np.testing.assert_array_equal(again.X.toarray(), COUNTS)
    assert not again.X.data.flags.writeable


def test_a_frame_has_the_names_and_stays_sparse():
    frame = table(row_names=["a", "b"], column_names=["x", "y", "z"]).to_frame()
    assert frame.loc["b", "y"] == 5
    assert frame.sparse.density == pytest.approx(0.5)
    np.testing.assert_array_equal(frame.to_numpy(), COUNTS)
    assert table().to_frame().columns.tolist() == [0, 1, 2]


def test_without_pandas_a_frame_is_refused(hide_pandas):
    counts = table()
    hide_pandas()
    with pytest.raises(ImportError, match="to_frame needs pandas"):
        counts.to_frame()
