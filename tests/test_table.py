"""CountTable: canonical counts, and names that go through every entry point."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from containers import CONTAINERS, planted, snapshot
from paper.poisson import PoissonL
from threecpo import CountTable, ThreeCPO, read_counts
from threecpo._core.loops import records as inspection_loops
from threecpo._core.matrices import from_dense
from threecpo._validation import check_counts
from threecpo.io.blocks import open_blocks
from threecpo.preprocessing import SublinearCounts
from threecpo.results import predicted_rows, row_map

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


X, _ = planted()
NAMES = [f"column {j}" for j in range(X.shape[1])]
TABLE = CountTable(X, column_names=NAMES)
ESTIMATORS = {
    "ThreeCPO": ThreeCPO(3, n_init=2, random_state=0),
    "PoissonL": PoissonL(3, n_init=2, random_state=0),
    "SublinearCounts": SublinearCounts(),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_keeps_the_names(name):
    estimator = ESTIMATORS[name].fit(TABLE)
    assert estimator.n_features_in_ == len(NAMES)
    assert estimator.feature_names_in_.tolist() == NAMES
    assert estimator.feature_names_in_.dtype == object
    estimator.fit(replace(TABLE, column_names=None))
    assert not hasattr(estimator, "feature_names_in_")


def test_names_are_those_of_a_frame():
    frame = pd.DataFrame(X, columns=NAMES)
    of_frame = ThreeCPO(3, n_init=2, random_state=0).fit(frame)
    of_table = ThreeCPO(3, n_init=2, random_state=0).fit(TABLE)
    of_frame.predict(TABLE)
    of_table.predict(frame)
    names = of_frame.feature_names_in_.tolist()
    assert names == of_table.feature_names_in_.tolist()


def test_one_side_without_names_is_no_warning():
    nameless = replace(TABLE, column_names=None)
    model = ThreeCPO(3, n_init=2, random_state=0)
    model.fit(TABLE).predict(nameless)
    model.fit(nameless).predict(TABLE)


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["new", *NAMES[1:]], r"unseen at fit time:\n- new\n.*missing:\n- column 0"),
        (NAMES[::-1], "must be in the same order as they were in fit"),
    ],
)
def test_other_names_are_refused_as_those_of_a_frame(names, sentence):
    model = ThreeCPO(3, n_init=2, random_state=0).fit(TABLE)
    if names[0] == "new":
        with pytest.raises(ValueError, match=rf"(?s)^The feature names.*{sentence}"):
            model.predict(replace(TABLE, column_names=names))
    with pytest.raises(ValueError, match=rf"(?s)^The feature names should.*{sentence}"):
        model.predict(pd.DataFrame(X, columns=names))


# Entry points that take rows of a fit, and an array that tells whether they are right.
BY_NAME = {
    "predict": lambda model, table: model.predict(table),
    "predict_proba": lambda model, table: model.predict_proba(table),
    "score": lambda model, table: model.score(table),
    "refine": lambda model, table: model.refine(table).labels_,
    "split": lambda model, table: model.split(table, 0).labels_,
    "cut": lambda model, table: model.cut(2, X=table).labels_,
    "merge": lambda model, table: model.merge([[0, 1]], X=table).labels_,
    "stability": lambda model, table: model.stability(table)["jaccard"],
    "partial_fit": lambda model, table: model.partial_fit(table).record_.sums.totals,
    "row_map": row_map,
    "predicted_rows": lambda model, table: predicted_rows(model, table)["cluster"],
}


@pytest.mark.parametrize("entry", BY_NAME)
def test_columns_of_a_table_are_matched_by_name(entry):
    order = np.random.default_rng(0).permutation(len(NAMES))
    turned = CountTable(X[:, order], column_names=[NAMES[j] for j in order]).with_rows(
        sample_weight=np.arange(len(X)) % 3 + 1
    )
    straight = TABLE.with_rows(sample_weight=np.arange(len(X)) % 3 + 1)
    found, expected = (
        BY_NAME[entry](ThreeCPO(3, n_init=2, random_state=0).fit(straight), table)
        for table in (turned, straight)
    )
    np.testing.assert_array_equal(found, expected)


def test_many_other_names_are_not_all_listed():
    model = ThreeCPO(3, n_init=2, random_state=0).fit(TABLE)
    others = [f"other {j}" for j in range(len(NAMES))]
    with pytest.raises(ValueError, match=r"- other 4\n- \.\.\.\n") as caught:
        model.predict(replace(TABLE, column_names=others))
    assert "other 5" not in str(caught.value)


def test_blocks_share_the_memory_of_a_table_and_have_its_names():
    with open_blocks(TABLE, block_counts=100) as source:
        assert source.column_names.tolist() == NAMES
        assert len(source.readers) > 1
        for read in source.readers:
            assert np.shares_memory(read().data, TABLE.counts.data)
            assert np.shares_memory(read().indices, TABLE.counts.indices)


def test_from_a_file_to_a_fit_counts_are_checked_once_and_not_copied(
    tmp_path, monkeypatch
):
    inspected = []
    inspect = inspection_loops.inspect

    def counting(indptr, indices, data, n_columns):
        inspected.append(data)
        return inspect(indptr, indices, data, n_columns)

    monkeypatch.setattr(inspection_loops, "inspect", counting)
    path = tmp_path / "counts.csv"
    pd.DataFrame(X, columns=NAMES).to_csv(path, index=False)
    table = read_counts(path)
    # Rows are inspected as they are read, each once.
    np.testing.assert_array_equal(np.concatenate(inspected), table.counts.data)
    inspected.clear()
    assert check_counts(table) is table.counts
    model = ThreeCPO(3, n_init=2, random_state=0).fit(table)
    model.predict(table)
    assert table.counts.data.size not in [data.size for data in inspected]
    assert model.feature_names_in_.tolist() == NAMES


def test_a_bad_entry_of_counts_is_named_by_every_door():
    spoiled = from_dense(np.array([[1.0, np.nan]]))
    with pytest.raises(ValueError, match="row 0, column 1 holds NaN"):
        CountTable(spoiled)
    with pytest.raises(ValueError, match="row 0, column 1 holds NaN"):
        SublinearCounts().fit(spoiled)
