"""Labels beside clusters, typical rows and indicator values."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import completeness_score, homogeneity_score

from containers import kinds_of
from fitting import TRUE, X, fit
from threecpo import CountTable, ThreeCPO, results


@pytest.fixture(scope="module")
def model():
    return fit(outliers="iterative")


KINDS = np.array(["background", "T cells", "B cells", "NK cells"])[TRUE + 1]


class TestLabels:
    def test_the_cross_table_counts_rows(self, model):
        compared = results.label_tables(model, {"type": KINDS})["type"]
        assert compared.labels == ("B cells", "NK cells", "T cells", "background")
        assert compared.clusters == (*model.cluster_names_, "outliers")
        for k, line in enumerate(compared.counts):
            rows = model.labels_ == (k if k < 3 else -1)
            assert line.tolist() == [(KINDS[rows] == x).sum() for x in compared.labels]
        assert compared.counts.sum() == len(X)
        assert (
            compared.scores["purity"]
            == results.agreement(TRUE + 1, model.labels_)["purity"]
        )

    def test_a_sentence_says_what_a_cluster_is_made_of(self, model):
        compared = results.label_tables(model, KINDS)["label"]
        for k, sentence in enumerate(compared.sentences[:3]):
            kinds, times = np.unique(KINDS[model.labels_ == k], return_counts=True)
            first = times.argmax()
            share = 100 * times[first] / times.sum()
            assert sentence.startswith(f"cluster {k}: {share:.0f} % {kinds[first]}")
        assert compared.sentences[3].startswith("outliers: ")

    def test_small_parts_are_not_in_the_sentence(self):
        model = ThreeCPO(1, random_state=0).fit(X[:20])
        compared = results.label_tables(model, ["a"] * 12 + ["b"] * 7 + ["c"])["label"]
        assert compared.sentences == ["cluster 0: 60 % a, 35 % b"]
        many = results.label_tables(model, [f"{i:02d}" for i in range(20)])["label"]
        assert many.sentences == ['cluster 0: 5.0 % "00"']

    def test_rows_without_a_label_do_not_count(self):
        model = ThreeCPO(1, random_state=0).fit(X[:5])
        given = ["a", None, float("nan"), "", " a "]
        compared = results.label_tables(model, given)["label"]
        assert compared.counts.tolist() == [[2]]
        assert compared.of_rows.tolist() == ["a", "", "", "", "a"]
        nobody = results.label_tables(model, [None] * 5)["label"]
        assert nobody.sentences == ["cluster 0: no row with a label"]
        assert nobody.scores == {}

    def test_labels_of_a_table_are_taken(self, model):
        table = CountTable(X, labels=TRUE, label_names=["T", "B", "NK"])
        compared = results.label_tables(model, table)["label"]
        assert compared.labels == ("B", "NK", "T")
        assert compared.counts.sum() == (TRUE >= 0).sum()
        assert results.label_tables(model, CountTable(X)) == {}

    def test_kinds_come_as_a_dict_a_table_a_frame_or_a_series(self, model):
        kinds = {"type": KINDS, "donor": [i % 2 for i in range(len(X))]}
        expected = results.label_tables(model, kinds)
        frame = pd.DataFrame(kinds)
        for given in (CountTable(X, labels=kinds), frame):
            found = results.label_tables(model, given)
            assert list(found) == ["type", "donor"]
            for kind, compared in found.items():
                assert compared.counts.tolist() == expected[kind].counts.tolist()
                assert compared.scores == expected[kind].scores
        (compared,) = results.label_tables(model, frame["donor"]).values()
        assert (compared.name, compared.labels) == ("donor", ("0", "1"))

    def test_missing_values_of_pandas_are_no_label(self):
        model = ThreeCPO(1, random_state=0).fit(X[:4])
        column = pd.Series([1, None, 2, pd.NA], dtype="Int64", name="donor")
        compared = results.label_tables(model, column)["donor"]
        assert compared.of_rows.tolist() == ["1", "", "2", ""]
        compared = results.label_tables(model, column.astype(float))["donor"]
        assert compared.of_rows.tolist() == ["1", "", "2", ""]

    def test_what_is_no_labels_is_refused(self, model):
        for labels, reason in (
            ({"batch": ["a", "b"]}, "labels 'batch' has 2 values for"),
            ("cell_type", "labels 'label' must be a sequence of one label"),
            ({"donor": 3}, "labels 'donor' must be a sequence"),
            (np.zeros((len(X), 2)), "must be a sequence of one label for each row"),
        ):
            with pytest.raises(ValueError, match=reason):
                results.label_tables(model, labels)


def test_parts_of_classes_are_homogeneous():
    """17 clusters of 8 types are no failure."""
    truth = np.repeat(np.arange(8), 20)
    labels = np.arange(160) // 10
    found = results.agreement(truth, labels)
    assert found["purity"] == pytest.approx(1.0)
    assert found["homogeneity"] == pytest.approx(1.0)
    assert found["ARI"] < 0.7
    assert found["completeness"] == completeness_score(truth, labels) < 1
    labels[:15] = 3
    worse = results.agreement(truth, labels)
    assert worse["homogeneity"] == homogeneity_score(truth, labels) < 1


class TestTypicalRows:
    def test_margins_decide(self, model, tmp_path):
        table = results.typical_rows(model, n=4)
        for k in range(3):
            members = np.flatnonzero(model.labels_ == k)
            order = members[np.argsort(model.margins_[members], kind="stable")]
            own = table["cluster"] == k
            unclear = table["place"][own & (table["kind"] == "unclear")]
            assert unclear.tolist() == order[:4].tolist()
            clear = table["margin"][own & (table["kind"] == "clear")]
            np.testing.assert_array_equal(
                clear, np.sort(model.margins_[members])[::-1][:4]
            )
        assert set(table["name"]) == set(model.cluster_names_)
        np.testing.assert_array_equal(table["margin"], model.margins_[table["place"]])
        results.write_table(table, tmp_path / "typical.csv")
        again = results.read_table(tmp_path / "typical.csv", kinds_of(table))
        for name, values in table.items():
            assert again[name].tolist() == values.tolist(), name

    def test_rows_have_the_names_of_the_table(self, model):
        names = [f"cell {i}" for i in range(len(X))]
        table = results.typical_rows(model, CountTable(X, row_names=names), 1)
        assert table["row"].tolist() == [names[i] for i in table["place"]]
        assert len(table["row"]) == 6


def plain_indicator(data, labels, k, j):
    means = [data[labels == c, j].mean() for c in range(labels.max() + 1)]
    specificity = means[k] / sum(means) if sum(means) else 0.0
    return specificity, (data[labels == k, j] > 0).mean()


class TestIndicators:
    def test_they_are_those_of_the_formula(self, model):
        table = results.indicator_table(model, X)
        assert "p_value" not in table
        inside = model.labels_ >= 0
        data, labels = X[inside], model.labels_[inside]
        for j in range(X.shape[1]):
            parts = [plain_indicator(data, labels, k, j) for k in range(3)]
            values = [a * b for a, b in parts]
            k = int(np.argmax(values))
            assert table["cluster"][j] == k
            assert table["name"][j] == model.cluster_names_[k]
            assert table["indicator"][j] == pytest.approx(values[k])
            assert table["specificity"][j] == pytest.approx(parts[k][0])
            assert table["fidelity"][j] == pytest.approx(parts[k][1])

    def test_chance_gives_small_values_to_planted_columns_only(self, model):
        table = results.indicator_table(model, X, permutations=99, random_state=1)
        again = results.indicator_table(model, X, permutations=99, random_state=1)
        np.testing.assert_array_equal(table["p_value"], again["p_value"])
        assert (table["p_value"][:6] == 0.01).all()
        assert (table["p_value"][8:] > 0.01).all()

    def test_a_column_without_counts_indicates_nothing(self):
        data = np.hstack([X, np.zeros((len(X), 1))])
        table = results.indicator_table(fit(data), data, permutations=9)
        assert table["cluster"][-1] == -1
        assert table["name"][-1] == ""
        assert table["indicator"][-1] == 0
        assert table["p_value"][-1] == 1.0

    def test_other_counts_are_refused(self, model):
        with pytest.raises(ValueError, match="pass the counts of the fit"):
            results.indicator_table(model, X[:5])
