"""A CountTable goes through every door: names kept, counts checked once, no copy."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from containers import planted
from paper.poisson import PoissonL
from threecpo import (
    CountTable,
    ThreeCPO,
    read_counts,
)
from threecpo._core.loops import records as inspection_loops
from threecpo._core.matrices import from_dense
from threecpo._validation import check_counts
from threecpo.io.blocks import open_blocks
from threecpo.preprocessing import SublinearCounts
from threecpo.results import predicted_rows, row_map

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
    assert len(inspected) == 1
    assert np.shares_memory(inspected[0], table.counts.data)
    assert check_counts(table) is table.counts
    model = ThreeCPO(3, n_init=2, random_state=0).fit(table)
    model.predict(table)
    of_table = [data for data in inspected if data.size == table.counts.data.size]
    assert len(of_table) == 1
    assert model.feature_names_in_.tolist() == NAMES


def test_a_bad_entry_of_counts_is_named_by_every_door():
    spoiled = from_dense(np.array([[1.0, np.nan]]))
    with pytest.raises(ValueError, match="row 0, column 1 holds NaN"):
        CountTable(spoiled)
    with pytest.raises(ValueError, match="row 0, column 1 holds NaN"):
        SublinearCounts().fit(spoiled)
