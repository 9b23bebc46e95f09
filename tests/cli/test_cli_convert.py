"""The command convert."""

from pathlib import Path

import numpy as np
import pytest
from running import (
    X,
    assert_one_line,
    everything,
    written_csv,
)

import threecpo


class TestConvert:
    @pytest.mark.parametrize(
        "name", ["a.csv", "a.tsv.gz", "a.npz", "a.h5ad", "a.parquet"]
    )
    def test_there_and_back(self, name, run):
        if name.endswith("h5ad"):
            pytest.importorskip("anndata")
        done = run("convert", "cells.npz", name)
        assert done == (0, f"{name}: 165 rows x 10 columns.\n", "") or done.code == 0
        labels = [] if name.endswith("npz") else ["--labels", "label"]
        assert run("convert", name, "back.npz", *labels).code == 0
        first, last = (threecpo.read_counts(p) for p in ("cells.npz", "back.npz"))
        assert (first.X != last.X).nnz == 0
        assert first.row_names.tolist() == last.row_names.tolist()
        assert first.column_names.tolist() == last.column_names.tolist()

    def test_long_and_turned_round(self, run, tmp_path):
        assert run("convert", "cells.npz", "long.csv", "--long").code == 0
        lines = Path("long.csv").read_text().splitlines()
        assert len(lines) == np.count_nonzero(X) + 1
        written_csv(tmp_path / "wide.csv")
        assert run("convert", "wide.csv", "t.npz", "--transpose").code == 0
        np.testing.assert_array_equal(threecpo.read_counts("t.npz").X.toarray(), X.T)

    def test_an_unknown_suffix(self, run, tmp_path):
        before = everything(tmp_path)
        assert_one_line(run("convert", "cells.npz", "a.docx"), "a.docx")
        assert everything(tmp_path) == before
        facts = run("convert", "cells.npz", "a.docx", "--to", "csv", "--json").json
        assert facts["rows"] == len(X)

    @pytest.mark.parametrize(
        ("name", "reason"),
        [("a.docx", "not one of csv"), ("cells.npz", "pass --force")],
    )
    def test_nothing_is_read_that_cannot_be_written(
        self, name, reason, run, monkeypatch
    ):
        monkeypatch.setattr("threecpo.io.read_counts", None)
        assert_one_line(run("convert", "cells.npz", name), reason)
