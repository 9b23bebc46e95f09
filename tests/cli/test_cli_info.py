"""The command info."""

import json

import numpy as np
import pytest
from running import (
    COLUMNS,
    KINDS,
    ROWS,
    X,
    written_csv,
)

import threecpo
from threecpo import CountTable

FEW = np.random.default_rng(0).poisson(1.0, size=(50, 40))
LOG_NORMALISED = np.log1p(1e4 * FEW / FEW.sum(axis=1, keepdims=True))


class TestInfo:
    def test_facts(self, run):
        facts = run("info", "cells.npz", "--json").json
        assert (facts["rows"], facts["columns"]) == X.shape
        assert facts["stored"] == np.count_nonzero(X)
        assert facts["density"] == np.count_nonzero(X) / X.size
        assert facts["total"] == X.sum()
        assert (facts["least"], facts["most"]) == (X.min(), X.max())
        assert facts["whole"] is True
        sums = X.sum(axis=1)
        assert facts["row_sums"] == {
            "least": sums.min(),
            "most": sums.max(),
            "median": np.median(sums),
        }
        assert facts["first_column_names"] == COLUMNS[:4]
        assert facts["first_row_names"] == ROWS[:4]
        assert facts["labels"] == KINDS
        assert facts["warnings"] == []

    @pytest.mark.parametrize(
        ("options", "matrix"),
        [
            ([], "counts of layer 'counts'"),
            (["--layer", "raw"], "counts of raw.X"),
        ],
    )
    def test_the_matrix_of_an_h5ad_file_is_named(self, run, tmp_path, options, matrix):
        anndata = pytest.importorskip("anndata")
        adata = anndata.AnnData(X.astype(np.float32), layers={"counts": X})
        adata.raw = adata.copy()
        adata.write_h5ad(tmp_path / "cells.h5ad")
        assert f"matrix          {matrix}\n" in run("info", "cells.h5ad", *options).out
        facts = run("info", "cells.h5ad", *options, "--json").json
        assert facts["description"] == matrix
        assert "matrix " not in run("info", "cells.npz").out

    @pytest.mark.filterwarnings("ignore:Writing zarr v2")
    @pytest.mark.parametrize("ending", ["h5ad", "zarr"])
    def test_columns_of_obs_are_listed(self, ending, run, tmp_path):
        anndata = pytest.importorskip("anndata")
        pytest.importorskip(ending.replace("h5ad", "h5py"))
        cells = anndata.AnnData(X.astype(np.float32))
        cells.obs_names.name = "barcode"
        cells.obs["cell_type"] = ["a", "b"] * (len(X) // 2) + ["a"] * (len(X) % 2)
        cells.obs["n_genes"] = np.arange(len(X))
        getattr(cells, f"write_{ending}")(tmp_path / f"t.{ending}")
        done = run("info", f"t.{ending}")
        assert done.code == 0, done.err
        assert "obs columns     cell_type, n_genes (--labels COLUMN)\n" in done.out
        facts = run("info", f"t.{ending}", "--json").json
        assert facts["label_columns"] == ["cell_type", "n_genes"]
        again = run("info", f"t.{ending}", "--labels", facts["label_columns"][0])
        assert "cell_type: a, b" in again.out

    @pytest.mark.parametrize(
        ("array", "warning"),
        [
            (LOG_NORMALISED, "look log-normalised"),
            (X / 3, "not integers"),
            (X * (np.arange(len(X)) > 1)[:, None], "2 rows have no counts"),
            (X * (np.arange(X.shape[1]) > 0), "1 column with no counts"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_warnings(self, array, warning, run, tmp_path):
        threecpo.write_counts(CountTable(array), tmp_path / "odd.npz")
        done = run("info", "odd.npz")
        assert done.code == 0
        assert done.err == ""
        assert warning in done.out
        (found,) = [
            text
            for text in run("info", "odd.npz", "--json").json["warnings"]
            if warning in text
        ]
        assert f"! {found}" in done.out.splitlines()

    def test_names_that_occur_twice(self, run, tmp_path):
        names = ["gene", *COLUMNS[1:-1], "gene"]
        named = CountTable(X, column_names=names, row_names=["a"] * len(X))
        from threecpo.cli.info import described

        found = described(named)["warnings"]
        assert found == [
            "row names that occur more than once: a",
            "column names that occur more than once: gene",
        ]

    def test_control_characters_do_not_reach_the_terminal(self, run, tmp_path):
        names = ["\x1b[31mred\x1b[0m", "\x07bell", *COLUMNS[2:]]
        written_csv(tmp_path / "odd.csv", X, ROWS, names)
        out = run("info", "odd.csv").out
        assert "\x1b" not in out
        assert "\x07" not in out
        assert "\\x1b[31mred" in out


class TestTraps:
    def write(self, path, table, header):
        lines = [",".join(map(str, row)) for row in table]
        path.write_text("\n".join([header, *lines]) + "\n")

    def test_fit_says_them_before_it_begins_and_keeps_them(self, run, tmp_path):
        counts = np.random.default_rng(0).poisson(4, (40, 3))
        table = np.column_stack([np.arange(1001, 1041), counts])
        self.write(tmp_path / "t.csv", table, "customer,a,b,c")
        done = run("fit", "t.csv", "-k", 2, "-o", "out", "--no-report")
        line = (
            "column 'customer' looks like an ID, not a count. Use it as row names with "
            "--index 'customer', or exclude it with --drop 'customer'."
        )
        assert f"threecpo: note: {line}" in done.err
        assert f"! {line}" in run("info", "out").out
        assert run("info", "out", "--json").json["warnings"][0] == line
        again = run("fit", "t.csv", "-k", 2, "--index", "customer", "-o", "other")
        assert "looks like an ID" not in again.err


class TestResults:
    def test_few_columns_that_separate_are_named(self, run, tmp_path):
        array = X.copy()
        array[:, 0] *= 30
        names = [*COLUMNS, *(f"more {j}" for j in range(15))]
        wide = np.column_stack([array, np.ones((len(X), 15), dtype=int)])
        written_csv(tmp_path / "t.csv", wide, ROWS, names)
        printed = run("fit", "t.csv", "-k", 3, "-o", "out").out
        (line,) = [line for line in printed.splitlines() if "what separates" in line]
        told = run("info", "out").out
        assert f"  separation      {line[0].lower()}{line[1:]}\n" in told
        column = run("info", "out", "--json").json["separation"]["columns"][0]
        assert line.split(": ")[1].startswith(column)

    def test_the_matrix_that_was_fitted_is_named(self, run, tmp_path):
        anndata = pytest.importorskip("anndata")
        adata = anndata.AnnData(X.astype(np.float32), layers={"counts": X})
        adata.write_h5ad(tmp_path / "cells.h5ad")
        done = run("fit", "cells.h5ad", "-k", 3, "-o", "out", "--no-report")
        assert "relevant (counts of layer 'counts')\n" in done.out


class TestFits:
    def test_of_a_folder_of_results(self, run):
        run("fit", "cells.npz", "-k", "auto", "--max-clusters", 4, "--stability")
        facts = run("info", "cells.threecpo", "--json").json
        model = threecpo.load("cells.threecpo/model.npz")
        assert facts["temperature"] == model.temperature_
        assert facts["dispersion"] == model.dispersion_
        assert facts["cluster_sizes"] == np.bincount(model.labels_).tolist()
        done = run("info", "cells.threecpo")
        lines = dict(line.strip().split("  ", 1) for line in done.out.splitlines()[1:])
        assert done.out.startswith("cells.threecpo: a fit of ")
        assert lines["dispersion φ"].strip().startswith(f"{model.dispersion_:.3g}: f")
        assert lines["temperature T"].strip().startswith(f"{model.temperature_:.3g}: f")
        assert lines["chosen"].strip() == facts["choice"]["sentence"]
        assert lines["confidence"].count("0.") + lines["confidence"].count(
            "1.00"
        ) == len(facts["cluster_sizes"])
        assert lines["verdicts"].strip() == f"{len(facts['cluster_sizes'])} stable"

    def test_what_was_not_measured_is_said(self, run):
        path = threecpo.select_n_clusters(X, [2], n_init=2, random_state=0)
        path.estimator(2).save("model.npz")
        assert run("info", "model.npz").out.count("not measured") == 3

    def test_a_damaged_folder_is_one_line(self, run, tmp_path):
        run("fit", "cells.npz", "-k", 2)
        file = tmp_path / "cells.threecpo" / "run.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"choice": 3}))
        done = run("info", "cells.threecpo")
        assert done.code == 2
        assert done.err.count("\n") == 1
        assert "run.json is damaged" in done.err
        (tmp_path / "cells.threecpo" / "model.npz").write_bytes(b"no model")
        assert run("info", "cells.threecpo").code == 2
