"""The commands info and convert, and how far files may unpack."""

import json
import os
from pathlib import Path

import anndata
import numpy as np
import pytest
from running import COLUMNS, KINDS, ROWS, X, assert_one_line, everything, written_csv

import threecpo
from threecpo import CountTable
from threecpo.io.limits import VARIABLE

FEW = np.random.default_rng(0).poisson(1.0, size=(50, 40))
LOG_NORMALISED = np.log1p(1e4 * FEW / FEW.sum(axis=1, keepdims=True))


def test_facts(run):
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
    [([], "counts of layer 'counts'"), (["--layer", "raw"], "counts of raw.X")],
)
def test_the_matrix_of_an_h5ad_file_is_named(run, tmp_path, options, matrix):
    adata = anndata.AnnData(X.astype(np.float32), layers={"counts": X})
    adata.raw = adata.copy()
    adata.write_h5ad(tmp_path / "cells.h5ad")
    assert f"matrix          {matrix}\n" in run("info", "cells.h5ad", *options).out
    facts = run("info", "cells.h5ad", *options, "--json").json
    assert facts["description"] == matrix
    assert "matrix " not in run("info", "cells.npz").out


@pytest.mark.filterwarnings("ignore:Writing zarr v2")
@pytest.mark.parametrize("ending", ["h5ad", "zarr"])
def test_columns_of_obs_are_listed(ending, run, tmp_path):
    pytest.importorskip(ending.replace("h5ad", "h5py"))
    cells = anndata.AnnData(X.astype(np.float32))
    cells.obs_names.name = "barcode"
    cells.obs["cell_type"] = ["a", "b"] * (len(X) // 2) + ["a"] * (len(X) % 2)
    cells.obs["n_genes"] = np.arange(len(X))
    getattr(cells, f"write_{ending}")(tmp_path / f"t.{ending}")
    done = run("info", f"t.{ending}")
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
def test_warnings(array, warning, run, tmp_path):
    threecpo.write_counts(CountTable(array), tmp_path / "odd.npz")
    done = run("info", "odd.npz")
    assert done.err == ""
    assert warning in done.out
    (found,) = [
        text
        for text in run("info", "odd.npz", "--json").json["warnings"]
        if warning in text
    ]
    assert f"! {found}" in done.out.splitlines()


def test_names_that_occur_twice(run, tmp_path):
    names = ["gene", *COLUMNS[1:-1], "gene"]
    named = CountTable(X, column_names=names, row_names=["a"] * len(X))
    from threecpo.cli.info import described

    found = described(named)["warnings"]
    assert found == [
        "row names that occur more than once: a",
        "column names that occur more than once: gene",
    ]


def test_control_characters_do_not_reach_the_terminal(run, tmp_path):
    names = ["\x1b[31mred\x1b[0m", "\x07bell", *COLUMNS[2:]]
    written_csv(tmp_path / "odd.csv", X, ROWS, names)
    out = run("info", "odd.csv").out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "\\x1b[31mred" in out


def write(path, table, header):
    lines = [",".join(map(str, row)) for row in table]
    path.write_text("\n".join([header, *lines]) + "\n")


def test_fit_says_them_before_it_begins_and_keeps_them(run, tmp_path):
    counts = np.random.default_rng(0).poisson(4, (40, 3))
    table = np.column_stack([np.arange(1001, 1041), counts])
    write(tmp_path / "t.csv", table, "customer,a,b,c")
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


def test_few_columns_that_separate_are_named(run, tmp_path):
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


def test_the_matrix_that_was_fitted_is_named(run, tmp_path):
    adata = anndata.AnnData(X.astype(np.float32), layers={"counts": X})
    adata.write_h5ad(tmp_path / "cells.h5ad")
    done = run("fit", "cells.h5ad", "-k", 3, "-o", "out", "--no-report")
    assert "relevant (counts of layer 'counts')\n" in done.out


def test_of_a_folder_of_results(run):
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
    assert lines["confidence"].count("0.") + lines["confidence"].count("1.00") == len(
        facts["cluster_sizes"]
    )
    assert lines["verdicts"].strip() == f"{len(facts['cluster_sizes'])} stable"


def test_what_was_not_measured_is_said(run):
    path = threecpo.select_n_clusters(X, [2], n_init=2, random_state=0)
    path.estimator(2).save("model.npz")
    assert run("info", "model.npz").out.count("not measured") == 3


def test_a_damaged_folder_is_one_line(run, tmp_path):
    run.fitted("-k", 2)
    file = tmp_path / "cells.threecpo" / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"choice": 3}))
    assert_one_line(run.wrong("info", "cells.threecpo"), "run.json is damaged")
    (tmp_path / "cells.threecpo" / "model.npz").write_bytes(b"no model")
    run.wrong("info", "cells.threecpo")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.npz", "a.h5ad", "a.parquet"])
def test_there_and_back(name, run):
    done = run("convert", "cells.npz", name)
    assert done.out == f"{name}: 155 rows x 10 columns.\n"
    labels = [] if name.endswith("npz") else ["--labels", "label"]
    run("convert", name, "back.npz", *labels)
    first, last = (threecpo.read_counts(p) for p in ("cells.npz", "back.npz"))
    assert (first.X != last.X).nnz == 0
    assert first.row_names.tolist() == last.row_names.tolist()
    assert first.column_names.tolist() == last.column_names.tolist()


def test_long_and_turned_round(run, tmp_path):
    run("convert", "cells.npz", "long.csv", "--long")
    lines = Path("long.csv").read_text().splitlines()
    assert len(lines) == np.count_nonzero(X) + 1
    written_csv(tmp_path / "wide.csv")
    run("convert", "wide.csv", "t.npz", "--transpose")
    np.testing.assert_array_equal(threecpo.read_counts("t.npz").X.toarray(), X.T)


def test_an_unknown_suffix(run, tmp_path):
    before = everything(tmp_path)
    assert_one_line(run.wrong("convert", "cells.npz", "a.docx"), "a.docx")
    assert everything(tmp_path) == before
    facts = run("convert", "cells.npz", "a.docx", "--to", "csv", "--json").json
    assert facts["rows"] == len(X)


@pytest.mark.parametrize(
    ("name", "reason"), [("a.docx", "not one of csv"), ("cells.npz", "pass --force")]
)
def test_nothing_is_read_that_cannot_be_written(name, reason, run, monkeypatch):
    monkeypatch.setattr("threecpo.io.read_counts", None)
    assert_one_line(run.wrong("convert", "cells.npz", name), reason)


COMMANDS = {
    "info": ["info", "bomb.npz"],
    "fit": ["fit", "bomb.npz", "-k", "2", "--seed", "0", "--n-init", "1"],
    "fit in blocks": ["fit", "bomb.npz", "-k", "2", "--max-memory", "1GB"],
    "predict": ["predict", "model.npz", "bomb.npz"],
}


@pytest.fixture
def bomb(run, tmp_path):
    """A small file of counts beside an array that unpacks to a megabyte."""
    with np.load(tmp_path / "cells.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    np.savez_compressed(tmp_path / "bomb.npz", more=np.zeros(2**17), **arrays)


@pytest.mark.usefixtures("bomb")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_allows_what_it_is_told_to(run, monkeypatch, tmp_path, name):
    if name == "predict":
        run.fitted("-k", 2, "-o", "done")
        (tmp_path / "done" / "model.npz").rename(tmp_path / "model.npz")
    if name == "fit in blocks":
        (tmp_path / "bombs").mkdir()
        (tmp_path / "bomb.npz").rename(tmp_path / "bombs" / "bomb.npz")
        COMMANDS[name][1] = "bombs"
    # All files are small: this stands for the default of large ones.
    monkeypatch.setenv(VARIABLE, "100kB")
    assert_one_line(
        run.wrong(*COMMANDS[name]),
        "unpacks to more than 100000 bytes",
        "allow more by --max-unpacked or THREECPO_MAX_UNPACKED",
    )
    run(*COMMANDS[name], "--max-unpacked", "4MB")
    assert os.environ[VARIABLE] == "100kB"


def test_a_report_allows_what_it_is_told_to(run, monkeypatch):
    run.fitted("-k", 2, "-o", "done")
    monkeypatch.setenv(VARIABLE, "1kB")
    assert_one_line(run.wrong("report", "done"), "--max-unpacked")
    run("report", "done", "--max-unpacked", "10MB")


def test_it_lasts_as_long_as_the_command(run, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    run("info", "cells.npz", "--max-unpacked", "1GB")
    assert VARIABLE not in os.environ
