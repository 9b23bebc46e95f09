"""The command report."""

from pathlib import Path

import pytest
from running import (
    assert_one_line,
    contents,
)


class TestReport:
    def test_it_is_made_again_from_the_other_files(self, run):
        assert run("fit", "cells.npz", "-k", "auto", "--max-clusters", 4).code == 0
        before = contents("cells.threecpo")
        Path("cells.npz").unlink()
        Path("cells.threecpo/report.html").unlink()
        done = run("report", "cells.threecpo")
        assert done == (0, "Report: cells.threecpo/report.html\n", "")
        assert contents("cells.threecpo") == before

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            '{"columns": [0], "values": ["AA=="], "strongest": [[0], [0]]}',
            '{"columns": [99], "values": [""], "strongest": []}',
            '{"columns": [true], "values": ["AA=="], "strongest": [[]]}',
        ],
    )
    def test_damaged_counts_of_the_map_are_refused(self, run, text):
        assert run("fit", "cells.npz", "-k", 2).code == 0
        Path("cells.threecpo/map_counts.json").write_text(text)
        done = run("report", "cells.threecpo")
        assert_one_line(done, "map_counts.json is damaged. Delete it, or run")

    @pytest.mark.parametrize("name", ["nowhere", "cells.npz"])
    def test_what_is_no_result(self, name, run):
        assert_one_line(run("report", name), "is not a results folder")

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("labels.csv", ""),
            ("labels.csv", "row,cluster,nearest,margin\na,0,0,1\n"),
            ("model.npz", "no model"),
            ("run.json", '{"format": "threecpo-run", "input": 3}'),
            ("k_path.csv", "n_clusters\n1\n"),
        ],
    )
    def test_damaged_files_are_one_line_and_the_old_report_stays(self, name, text, run):
        run("fit", "cells.npz", "-k", 2)
        Path("cells.threecpo", name).write_text(text)
        before = contents("cells.threecpo")
        assert_one_line(run("report", "cells.threecpo"))
        assert contents("cells.threecpo") == before

    @pytest.mark.parametrize("name", ["labels.csv", "model.npz"])
    def test_missing_files(self, name, run):
        run("fit", "cells.npz", "-k", 2)
        Path("cells.threecpo", name).unlink()
        assert_one_line(run("report", "cells.threecpo"), name)
