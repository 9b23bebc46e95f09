"""The command reproduce."""

from pathlib import Path

import pytest
from running import (
    assert_one_line,
    beside_cells,
)


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    return beside_cells(capsys, tmp_path, monkeypatch)


class TestReproduce:
    def test_experiments_are_listed(self, run):
        from threecpo.experiments import EXPERIMENTS

        assert run("reproduce").out.splitlines() == list(EXPERIMENTS)
        assert run("reproduce", "--json").json == list(EXPERIMENTS)

    def test_one_is_run(self, run):
        options = ["--datasets", "Synth", "--executions", 2, "--restarts", 2]
        done = run("reproduce", "columns", *options, "--jobs", 1, "-o", "here")
        assert done.code == 0, done.err
        assert done.out == "results: here\n"
        assert list(Path("here").glob("columns*"))

    def test_an_unknown_name(self, run):
        assert_one_line(run("reproduce", "tables"), "'tables'", "columns")
