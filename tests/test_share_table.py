"""Shares of clusters in classes and over time; rows that no cluster can claim."""

import datetime as dt

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import threecpo
from containers import kinds_of, planted
from threecpo import CountTable, ThreeCPO, plot, results

mpl.use("Agg")
X, TRUE = planted(n_background=20)
EMPTY = np.zeros((3, X.shape[1]))
N = len(X)


@pytest.fixture(scope="module")
def model():
    return ThreeCPO(3, random_state=0).fit(X)


@pytest.fixture(scope="module")
def with_empty():
    return ThreeCPO(3, random_state=0).fit(np.vstack([X, EMPTY]))


def as_frame(model, by, **options):
    return pd.DataFrame(results.share_table(model, by, **options))


class TestParts:
    def test_classes_are_counted_as_a_cross_table_does(self, model):
        by = np.array(["b", "a", "c"])[np.arange(N) % 3]
        table = as_frame(model, by)
        counts = table.pivot(index="part", columns="cluster", values="count")
        expected = pd.crosstab(by, model.labels_)
        np.testing.assert_array_equal(counts, expected)
        assert list(counts.index) == ["a", "b", "c"]
        rows = np.repeat(expected.sum(axis=1), 3)
        np.testing.assert_array_equal(table["rows"], rows)
        np.testing.assert_array_equal(table["share"], table["count"] / table["rows"])

    def test_rows_without_a_class_are_left_out(self, model):
        by = [None, float("nan"), *["x"] * (N - 2)]
        assert as_frame(model, by)["rows"].tolist() == [N - 2] * 3

    def test_numbers_and_dates_follow_each_other(self, model):
        for by, bins, parts in (
            (2000 + np.arange(N) % 3, None, ["2000", "2001", "2002"]),
            (np.arange(N) / N, 2, None),
            (pd.Series(pd.date_range("2004-11-30", periods=N)), "month", None),
            ([dt.date(2004 + i % 2, 5, 1) for i in range(N)], "year", None),
        ):
            table = as_frame(model, by, bins=bins)
            assert table["count"].sum() == N
            found = list(dict.fromkeys(table["part"]))
            if parts is None:
                assert found == sorted(
                    found,
                    key=lambda part: float(part.split()[0]) if " " in part else part,
                )
            else:
                assert found == parts

    def test_a_time_without_rows_has_no_share(self, model):
        by = np.where(np.arange(N) % 2, "2001-05-01", "2003-01-01").astype("M8[D]")
        table = as_frame(model, by, bins="year")
        of_2002 = table[table["part"] == "2002"]
        assert of_2002["rows"].tolist() == [0, 0, 0]
        assert of_2002["share"].isna().all()
        assert (table["part"] == "2001").sum() == 3

    def test_the_unit_of_dates_follows_from_the_time(self, model):
        for days, length in ((0.1, 10), (1, 7), (30, 4)):
            step = np.arange(N) * np.timedelta64(int(days * 24), "h")
            parts = as_frame(model, np.datetime64("2000-01-01T00") + step)["part"]
            assert {len(part) for part in parts} == {length}

    def test_bad_input_is_refused(self, model):
        for by, bins, part in (
            (["x"], None, r"by has shape \(1,\), but the model has"),
            (["x"] * N, "year", "unit of dates, but by does not contain dates"),
            (np.arange(N), 0, "bins=0 must be"),
            (np.full(N, np.datetime64("2000-01-01")), "hour", "must be one of year"),
        ):
            with pytest.raises(ValueError, match=part):
                results.share_table(model, by, bins=bins)

    def test_the_table_comes_back_from_a_file(self, model, tmp_path):
        table = results.share_table(model, TRUE)
        results.write_table(table, tmp_path / "shares.csv")
        again = results.read_table(tmp_path / "shares.csv", kinds_of(table))
        for name, values in table.items():
            assert again[name].tolist() == values.tolist()


class TestFigure:
    @pytest.mark.parametrize(
        "by", [np.arange(N), TRUE.astype(str)], ids=["time", "class"]
    )
    def test_it_shows_the_table(self, model, by):
        table = as_frame(model, by)
        ax = plot.cluster_shares(model, by)
        if ax.lines:
            shown = [line.get_ydata() for line in ax.lines]
        else:
            shown = [[bar.get_width() for bar in bars] for bars in ax.containers]
        expected = table.pivot(index="cluster", columns="part", values="share")
        order = list(dict.fromkeys(table["part"]))
        np.testing.assert_allclose(shown, expected[order])
        assert len(ax.get_legend().get_texts()) == 3
        mpl.pyplot.close("all")


class TestRowsWithoutCounts:
    def test_they_are_in_no_cluster(self, with_empty):
        rows = results.row_table(with_empty)
        assert rows["cluster"][-3:].tolist() == [-2, -2, -2]
        assert rows["nearest"][-3:].tolist() == [-2, -2, -2]
        np.testing.assert_array_equal(rows["cluster"][:-3], with_empty.labels_[:-3])

    @pytest.mark.parametrize(
        ("outliers", "prior"), [(None, 0.0), ("iterative", 1e-6), ("final", 1.0)]
    )
    def test_one_count_in_a_relevant_column_is_enough(self, outliers, prior):
        model = ThreeCPO(3, random_state=0, outliers=outliers, prior=prior).fit(X)
        one = np.zeros((X.shape[1], X.shape[1]))
        np.fill_diagonal(one, 1)
        clusters = results.predicted_rows(model, np.vstack([one, EMPTY]))["cluster"]
        noise = model.column_groups_ == -1
        np.testing.assert_array_equal(clusters[: len(one)] == -2, noise)
        assert (clusters[len(one) :] == -2).all()

    def test_so_it_stays_after_saving(self, with_empty, tmp_path):
        with_empty.save(tmp_path / "model.npz")
        again = threecpo.load(tmp_path / "model.npz")
        assert (results.row_table(again)["cluster"] == -2).sum() == 3

    def test_they_have_a_share_of_their_own(self, with_empty):
        table = as_frame(with_empty, ["x"] * (N + 3))
        assert table["cluster"].tolist() == [0, 1, 2, -2]
        assert table["count"].tolist()[-1] == 3

    def test_titles_stand_beside_rows(self):
        table = CountTable(X, row_titles=[f"line {i}" for i in range(N)])
        model = ThreeCPO(3, random_state=0).fit(table)
        assert results.row_table(model, table)["title"][1] == "line 1"
        assert results.predicted_rows(model, table)["title"][2] == "line 2"
        assert "title" not in results.row_table(model)

    def test_sizes_facts_and_the_report_leave_them_out(self, with_empty):
        table = np.vstack([X, EMPTY])
        facts = results.fit_facts(with_empty)
        assert sum(facts["cluster_sizes"]) == N
        assert facts["rows_without_counts"] == 3
        assert facts["outliers"] == 0
        rows = results.row_table(with_empty, table)
        assert np.isnan(rows["map_x"][-3:]).all()
        summary = threecpo.report.summarise(with_empty, rows)
        assert summary["about_rows"].startswith("3 rows have no counts in the columns")
        assert summary["outliers"] is None
