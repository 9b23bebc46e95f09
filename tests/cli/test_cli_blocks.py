"""``threecpo fit`` of files that are read in blocks."""

import numpy as np
import pytest
from running import COLUMNS, X, assert_one_line, runner

import threecpo
from threecpo import ThreeCPO, distributed, results
from threecpo.io.blocks import write_blocks

pytest.importorskip("jinja2")


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


@pytest.fixture
def folder(tmp_path):
    parts = (X[i : i + 20] for i in range(0, len(X), 20))
    write_blocks(parts, tmp_path / "cells", column_names=COLUMNS)
    return tmp_path / "cells"


def expected(folder, **options):
    model = ThreeCPO(3, random_state=0)
    return distributed.fit(model, folder, sample_rows=50, **options)


@pytest.mark.parametrize("options", [["--max-memory", "1MB"], ["--checkpoint", "kept"]])
def test_blocks_are_fitted_as_by_the_library(run, folder, options):
    done = run("fit", folder, "-k", 3, "--sample-rows", 50, "--json", *options)
    assert done.code == 0, done.err
    assert (done.json["rows"], done.json["columns"]) == X.shape
    model = expected(folder)
    read = threecpo.load("cells.threecpo/model.npz")
    np.testing.assert_array_equal(read.labels_, model.labels_)
    assert read.loss_ == model.loss_ == done.json["loss"]
    labels = results.read_table("cells.threecpo/labels.csv")["cluster"]
    np.testing.assert_array_equal(labels, model.labels_)
    columns = results.read_table("cells.threecpo/columns.csv")["column"]
    assert columns.tolist() == COLUMNS


def test_processes_of_this_machine_give_the_same(run, folder):
    pytest.importorskip("distributed")
    options = ["--sample-rows", 50, "--workers", 1, "--json", "--no-report"]
    done = run("fit", folder, "-k", 3, *options)
    assert done.code == 0, done.err
    assert done.json["loss"] == expected(folder).loss_


def test_a_checkpoint_is_gone_on_from(run, folder):
    options = ["fit", folder, "-k", 3, "--sample-rows", 50, "--checkpoint", "kept"]
    first = run(*options, "--json")
    again = run(*options, "--json", "--force")
    assert first.json["loss"] == again.json["loss"]
    other = run(*options[:3], 2, *options[4:], "--force")
    assert other.code == 2
    assert "belongs to a fit with" in other.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-memory", "lots"], "must be a size such as '2GB'"),
        (["--max-memory", "1MB", "--labels", "kind"], "--labels does not go with"),
        (["--workers", "1", "--dask", "tcp://127.0.0.1:1"], "pass one"),
        (["--workers", "0"], "0"),
        (["--patience", "60"], "pass --dask or --workers"),
        (["--workers", "1", "--patience", "-1"], "-1"),
        (["--workers", "1", "--patience", "long"], "long"),
    ],
)
def test_bad_options_are_one_line(run, folder, options, message):
    done = run("fit", folder, "-k", 3, *options)
    assert done.code == 2
    assert message in done.err
    assert_one_line(done)


def test_patience_with_a_cluster_that_is_away(run, folder, monkeypatch):
    dask = pytest.importorskip("distributed")
    # A busy machine is no cluster that is away.
    monkeypatch.setattr("threecpo.distributed._connection.ANSWER_SECONDS", 600)
    with dask.LocalCluster(
        n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        address = cluster.scheduler_address
        options = ["--dask", address, "--patience", 0.5, "--checkpoint", "kept"]
        done = run("fit", folder, "-k", 3, *options)
    assert done.code == 2
    waiting, end = (x for x in done.err.splitlines() if x.startswith("threecpo:"))
    has_none = f"The Dask scheduler at {address} has 0 workers"
    assert waiting.startswith(f"threecpo: note: {has_none}. The pass has waited for 0")
    assert end == (
        f"threecpo: {has_none}; --patience 0.5 s of waiting are over. The state after "
        "the last finished pass is in kept: make the same call when the cluster is "
        "back, and it goes on from there."
    )


def test_a_file_without_blocks_is_one_line(run, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n")
    done = run("fit", path, "-k", 1, "--max-memory", "1GB")
    assert done.code == 2
    assert "cannot be read in blocks" in done.err
