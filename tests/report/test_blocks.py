"""Reports of fits whose counts stay on disk: the map is of some rows, and says so."""

import numpy as np
import pytest

from strategies import planted
from threecpo import CountTable, ThreeCPO, distributed, report, results
from threecpo.io.blocks import write_blocks
from threecpo.results import _row_tables


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    Y, _ = planted(np.random.default_rng(0), 300, 3)
    folder = tmp_path_factory.mktemp("report") / "rows"
    names = [f"w{j}" for j in range(Y.shape[1])]
    write_blocks(np.array_split(Y, 4), folder, column_names=names)
    model = ThreeCPO(3, n_init=2, random_state=0)
    table = CountTable(Y, column_names=names)
    return distributed.fit(model, folder, max_memory="1MB"), folder, table


def test_few_rows_have_the_map_of_memory(fitted):
    model, folder, table = fitted
    found = results.block_row_table(model, folder, max_memory="1MB")
    expected = results.row_table(model, table)
    assert found.keys() == expected.keys()
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column, err_msg=name)
    found, expected = (report.Report(model, X).summary for X in (folder, table))
    # Colours by columns need the counts of the points in memory.
    assert found["map"].pop("by_column") is None
    assert expected["map"].pop("by_column")
    assert found == expected


def test_of_many_rows_some_are_drawn_and_the_page_says_so(fitted, monkeypatch):
    model, folder, table = fitted
    monkeypatch.setattr(_row_tables, "LAID_OUT", 100)
    rows = results.block_row_table(model, folder)
    drawn = np.flatnonzero(np.isfinite(rows["map_x"]))
    assert len(drawn) == 100
    places = results.row_map(model, table.X[drawn])
    np.testing.assert_array_equal(rows["map_y"][drawn], places[:, 1])
    assert "100 of 300 rows are drawn." in report.Report(model, folder).html
    halves = [lambda: table.X[:150], lambda: table.X[150:]]
    again = results.block_row_table(model, halves)
    np.testing.assert_array_equal(again["map_x"], rows["map_x"])


def test_rows_that_were_written_elsewhere_are_named(fitted, tmp_path):
    _, folder, _ = fitted
    model = ThreeCPO(3, n_init=1, random_state=0)
    distributed.fit(model, folder, write_to=tmp_path / "rows")
    with pytest.raises(ValueError, match="read_rows reads them"):
        report.Report(model, folder)


def test_blocks_of_other_rows_are_refused(fitted):
    model, _, table = fitted
    with pytest.raises(ValueError, match="has 100 rows, but the model was fitted on"):
        results.block_row_table(model, [lambda: table.X[:100]])
