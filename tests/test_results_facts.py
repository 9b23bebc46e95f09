"""Facts of counts and fits: agreement, columns by name, what a table holds."""

import json
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    adjusted_rand_score,
    completeness_score,
    homogeneity_score,
    normalized_mutual_info_score,
)

from fitting import TRUE, X, fit
from threecpo import CountTable, results


def accuracy(truth, labels):
    """The best of all one-to-one namings, tried one by one."""
    n_names = max(truth.max(), labels.max()) + 1
    namings = permutations(range(n_names))
    return max(np.mean(np.array(naming)[labels] == truth) for naming in namings)


def purity(truth, labels):
    commonest = [np.bincount(truth[labels == k]).max() for k in np.unique(labels)]
    return sum(commonest) / len(truth)


class TestAgreement:
    def test_rows_without_a_label_are_left_out(self):
        """With them, no score would be 1: they are in all clusters."""
        truth = np.array([0, 0, 1, 1, 2, 2, -1, -1, -1])
        labels = np.array([1, 1, 2, 2, 0, 0, 0, 1, 2])
        assert set(results.agreement(truth, labels).values()) == {1.0}

    def test_scores_are_those_of_the_rows_with_labels(self, model):
        truth = TRUE.copy()
        truth[::3] = -1
        known = truth >= 0
        found = results.agreement(truth, model.labels_)
        pair = truth[known], model.labels_[known]
        assert found == {
            "ARI": adjusted_rand_score(*pair),
            "NMI": normalized_mutual_info_score(*pair),
            "ACC": accuracy(*pair),
            "purity": purity(*pair),
            "homogeneity": homogeneity_score(*pair),
            "completeness": completeness_score(*pair),
        }
        assert found["ARI"] != adjusted_rand_score(truth, model.labels_)


class TestFit:
    def test_facts_are_those_of_the_model(self, any_model):
        facts = results.fit_facts(any_model)
        labels, groups = any_model.labels_, any_model.column_groups_
        assert facts["parameters"]["outliers"] == any_model.outliers
        assert facts["seed"] == 0
        assert (facts["rows"], facts["columns"]) == X.shape
        assert facts["clusters"] == any_model.n_clusters_
        assert facts["cluster_sizes"] == [(labels == k).sum() for k in range(3)]
        assert facts["outliers"] == (labels < 0).sum()
        assert facts["column_groups"] == {
            "relevant": (groups == 1).sum(),
            "shared": (groups == 0).sum(),
            "noise": (groups == -1).sum(),
        }
        assert facts["loss"] == any_model.loss_
        assert facts["iterations"] == any_model.n_iter_
        assert json.loads(json.dumps(facts)) == facts


class TestPredictedRows:
    def test_rows_of_the_fit_have_the_columns_of_its_table(self, any_model):
        rows = results.row_table(any_model)
        again = results.predicted_rows(any_model, X)
        assert list(again) == list(rows)[:6]
        for name, values in again.items():
            assert values.dtype == rows[name].dtype
            assert values.tolist() == rows[name].tolist()

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_threads_change_nothing(self, n_jobs):
        model = fit(n_jobs=n_jobs)
        expected = results.row_table(model)["margin"]
        found = results.predicted_rows(model, np.tile(X, (20, 1)))["margin"]
        assert found.tobytes() == np.tile(expected, 20).tobytes()

    def test_other_columns_are_refused(self, model):
        with pytest.raises(ValueError, match="X has 9 features"):
            results.predicted_rows(model, X[:, 1:])


@st.composite
def two_sets_of_columns(draw):
    """Wanted columns, columns of a table, and its counts."""
    names = [f"n{j}" for j in range(12)]
    wanted = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    held = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    row = st.lists(st.integers(0, 5), min_size=len(held), max_size=len(held))
    counts = draw(st.lists(row, min_size=1, max_size=4))
    return wanted, held, np.array(counts)


class TestMatchedColumns:
    @given(two_sets_of_columns())
    def test_every_count_finds_its_column(self, case):
        wanted, held, counts = case
        rows = [f"r{i}" for i in range(len(counts))]
        table = CountTable(counts, row_names=rows, column_names=held)
        matched = results.match_columns(wanted, table)
        of_column = {name: counts[:, j] for j, name in enumerate(held)}
        expected = [of_column.get(name, np.zeros(len(counts))) for name in wanted]
        X = matched.table.X.toarray()
        np.testing.assert_array_equal(X, np.column_stack(expected))
        assert matched.table.column_names.tolist() == wanted
        assert matched.table.row_names.tolist() == rows
        assert matched.missing == [name for name in wanted if name not in held]
        assert matched.extra == [name for name in held if name not in wanted]

    def test_a_table_in_the_same_order_is_not_copied(self):
        table = CountTable([[1, 2]], column_names=["a", "b"])
        assert results.match_columns(["a", "b"], table).table is table

    def test_a_table_without_names_is_refused(self):
        with pytest.raises(ValueError, match="no column names"):
            results.match_columns(["a"], CountTable([[1]]))


class TestCounts:
    def test_a_table_without_counts(self):
        facts = results.describe_counts(CountTable(np.zeros((3, 2), dtype=int)))
        assert (facts["empty_rows"], facts["empty_columns"]) == (3, 2)
        assert facts["overdispersion"] == {"median": 0.0, "above_2": 0.0}
        assert facts["least"] == facts["most"] == facts["total"] == 0.0

    def test_the_least_count_is_0_unless_all_are_stored(self):
        assert results.describe_counts(CountTable([[3, 4]]))["least"] == 3.0
        assert results.describe_counts(CountTable([[3, 0]]))["least"] == 0.0

    def test_names_that_occur_twice(self):
        table = CountTable([[1, 2], [3, 4]], ["a", "a"], ["x", "y"])
        facts = results.describe_counts(table)
        assert facts["repeated_row_names"] == ["a"]
        assert facts["repeated_column_names"] == []


def test_columns_in_another_order_keep_labels_and_names_of_rows():
    kinds = {"type": ["x", "y"], "donor": ["1", ""]}
    table = CountTable(
        [[1, 2], [3, 4]], row_names=["r", "s"], column_names=["a", "b"], labels=kinds
    )
    matched = results.match_columns(["b", "a"], table).table
    assert matched.X.toarray().tolist() == [[2, 1], [4, 3]]
    assert list(matched.column_names) == ["b", "a"]
    assert list(matched.row_names) == ["r", "s"]
    found = {kind: texts.tolist() for kind, texts in matched.label_kinds.items()}
    assert found == kinds
