"""Names go from a table to every result, and its counts are not checked again."""

import pytest

from fitting import X, fit
from threecpo import CountTable, ThreeCPO, _validation, load, plot, report, results

ROWS = [f"cell {i}" for i in range(len(X))]
COLUMNS = [f"gene {j}" for j in range(X.shape[1])]


@pytest.fixture(scope="module")
def table():
    return CountTable(X, row_names=ROWS, column_names=COLUMNS)


@pytest.fixture(scope="module")
def named(table):
    return fit(table)


def test_all_tables_have_the_names_of_the_fit(named):
    assert results.row_table(named)["row"].tolist() == ROWS
    assert results.column_table(named)["column"].tolist() == COLUMNS
    assert set(results.top_table(named)["column"]) <= set(COLUMNS)


def test_a_loaded_model_keeps_them(named, tmp_path):
    named.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert results.row_table(again)["row"].tolist() == ROWS
    assert results.column_table(again)["column"].tolist() == COLUMNS


def test_given_names_go_first_then_those_of_the_table_then_of_the_fit(named):
    others = CountTable(X, row_names=[f"other {i}" for i in range(len(X))])
    given = [f"given {i}" for i in range(len(X))]

    def first(*counts, **options):
        return results.row_table(named, *counts, **options)["row"][0]

    assert first(others, row_names=given) == "given 0"
    assert first(others) == "other 0"
    assert first(CountTable(X)) == first(X) == first() == "cell 0"
    assert results.row_table(fit(), X)["row"][0] == "0"


def test_a_report_shows_them(named, table, tmp_path):
    report.write(named, table, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    typical = results.typical_rows(named, n=1)["row"][0]
    assert f"<bdi>{typical}</bdi>" in page
    assert "<bdi>gene 0</bdi>" in page


def test_predicted_rows_have_those_of_their_table(named, table):
    assert results.predicted_rows(named, table)["row"].tolist() == ROWS
    new = results.predicted_rows(named, CountTable(X[:2], column_names=COLUMNS))
    assert new["row"].tolist() == ["0", "1"]
    given = results.predicted_rows(named, table, row_names=ROWS[::-1])
    assert given["row"].tolist() == ROWS[::-1]


def test_wrong_numbers_of_names_are_refused(named, table):
    with pytest.raises(ValueError, match="row_names has 1 names, but X has 2"):
        results.predicted_rows(named, CountTable(X[:2]), row_names=["one"])
    short = CountTable(X[:5], row_names=ROWS[:5])
    with pytest.raises(ValueError, match="X has 5 rows, but the model was fitted"):
        results.row_table(named, short)


DOORS = {
    "row_table": results.row_table,
    "row_map": results.row_map,
    "predicted_rows": results.predicted_rows,
    "describe_counts": lambda _, table: results.describe_counts(table),
    "plot": plot.row_map,
    "report": lambda model, table: report.write(model, table, "report.html"),
}


@pytest.mark.parametrize("name", DOORS)
def test_counts_of_a_table_are_not_checked_again(
    name, named, table, monkeypatch, tmp_path
):
    """Nor copied: whatever makes counts from arrays is not called."""
    if name == "plot":
        pytest.importorskip("matplotlib").use("Agg")

    def fail(*_, **__):
        raise AssertionError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sklearn.utils.check_array", fail)
    monkeypatch.setattr("sklearn.utils.validation.validate_data", fail)
    for function in ("from_dense", "from_sparse"):
        monkeypatch.setattr(_validation, function, fail)
    DOORS[name](named, table)


def test_the_map_of_a_table_is_that_of_its_array(named, table):
    expected = results.row_map(named, X)
    assert results.row_map(named, table).tobytes() == expected.tobytes()


def test_an_unfitted_model_says_so(table):
    from sklearn.exceptions import NotFittedError

    calls = (results.row_map, results.predicted_rows, results.row_table)
    for call in calls:
        with pytest.raises(NotFittedError):
            call(ThreeCPO(2), table)
    for call in (results.column_table, results.top_table, results.fit_facts):
        with pytest.raises(NotFittedError):
            call(ThreeCPO(2))
