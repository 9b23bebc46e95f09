"""Commands on files that are read in blocks."""

from pathlib import Path

import anndata
import dask
import h5py
import numpy as np
import pytest
from dask.distributed import LocalCluster
from running import COLUMNS, KINDS, ROWS, TRUE, X, assert_one_line, rows_of

import threecpo
from threecpo import ThreeCPO, distributed, results
from threecpo.io.blocks import write_blocks


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
    assert (done.json["rows"], done.json["columns"]) == X.shape
    model = expected(folder)
    read = threecpo.load("cells.threecpo/model.npz")
    np.testing.assert_array_equal(read.labels_, model.labels_)
    assert read.loss_ == model.loss_ == done.json["loss"]
    labels = rows_of("cells.threecpo")["cluster"]
    np.testing.assert_array_equal(labels, model.labels_)
    columns = results.read_table("cells.threecpo/columns.csv")["column"]
    assert columns.tolist() == COLUMNS
    page = Path("cells.threecpo/report.html").read_text()
    assert "Map of the rows" in page
    run("report", "cells.threecpo")
    assert Path("cells.threecpo/report.html").read_text() == page


def test_processes_of_this_machine_give_the_same(run, folder):
    options = ["--sample-rows", 50, "--workers", 1, "--json", "--no-report"]
    done = run("fit", folder, "-k", 3, *options)
    assert done.json["loss"] == expected(folder).loss_


def test_a_checkpoint_is_gone_on_from(run, folder):
    options = ["fit", folder, "-k", 3, "--sample-rows", 50, "--checkpoint", "kept"]
    first = run(*options, "--json")
    again = run(*options, "--json", "--force")
    assert first.json["loss"] == again.json["loss"]
    assert_one_line(
        run.wrong(*options[:3], 2, *options[4:], "--force"), "belongs to a fit with"
    )


class TestNumberOfClusters:
    OPTIONS = ("--sample-rows", 50, "--n-init", 2, "--json")

    def test_auto_is_chosen_as_by_the_library(self, run, folder):
        more = ("--max-memory", "1MB", "--max-clusters", 5)
        done = run("fit", folder, "-k", "auto", *self.OPTIONS, *more)
        model = ThreeCPO("auto", max_clusters=5, n_init=2, random_state=0)
        model = distributed.fit(model, folder, sample_rows=50)
        assert done.json["loss"] == model.loss_
        assert done.json["choice"]["best"] == model.k_path_.best_k
        path = results.read_table("cells.threecpo/k_path.csv")
        np.testing.assert_allclose(path["total"], model.k_path_.totals, rtol=1e-5)
        labels = rows_of("cells.threecpo")["cluster"]
        np.testing.assert_array_equal(labels, model.labels_)
        assert (
            model.k_path_.choice.criterion
            in Path("cells.threecpo/report.html").read_text()
        )

    def test_select_k_shows_the_path(self, run, folder):
        more = ("--max-memory", "1MB", "--max", 5, "--checkpoint", "kept")
        done = run("select-k", folder, *self.OPTIONS, *more)
        path = distributed.select_n_clusters(
            folder, range(1, 6), n_init=2, random_state=0, sample_rows=50
        )
        assert done.json["best"] == path.best_k
        assert done.json["path"]["total"] == path.totals.tolist()
        again = run("select-k", folder, *self.OPTIONS, *more)
        assert again.json["path"]["total"] == path.totals.tolist()

    def test_more_clusters_than_rows_is_one_line(self, run, folder):
        done = run.wrong("select-k", folder, "--max-memory", "1MB", "--max", 1000)
        assert_one_line(done, "n_samples=", "n_clusters=1000")


@pytest.mark.filterwarnings("ignore:.*zarr:UserWarning")
@pytest.mark.parametrize("suffix", ["h5ad", "zarr"])
def test_rows_of_an_anndata_keep_their_names(run, suffix, tmp_path):
    names = [f"cell {i}" for i in range(len(X))]
    path = tmp_path / f"cells.{suffix}"
    cells = anndata.AnnData(X.astype(np.float32))
    cells.obs_names, cells.var_names = names, COLUMNS
    getattr(cells, f"write_{suffix}")(path)
    more = ("--max-memory", "1MB", "--no-report")
    run("fit", path, "-k", 3, "-o", "fitted", *more)
    labels = rows_of("fitted")
    assert labels["row"].tolist() == names
    predict = ("predict", "fitted/model.npz", path, "-o", "new.csv")
    run(*predict, "--max-memory", "1MB")
    assert results.read_table("new.csv")["row"].tolist() == names


@pytest.mark.filterwarnings("ignore:.*zarr:UserWarning")
@pytest.mark.parametrize("kind", ["h5ad", "zarr", "10x", "10x.h5", "csv"])
def test_labels_of_rows_in_blocks_are_those_in_memory(run, kind, tmp_path):
    labels = [KINDS[label] if i else None for i, label in enumerate(TRUE)]
    path, beside = tmp_path / "cells", ["--labels", "kind"]
    if kind.startswith("10x"):
        table = threecpo.CountTable(X, row_names=ROWS, column_names=COLUMNS)
        lines = [
            f"{row},{label or ''}" for row, label in zip(ROWS, labels, strict=True)
        ]
        Path("known.csv").write_text("\n".join(["cell,kind", *lines]))
        beside += ["--metadata", "known.csv"]
        if kind == "10x":
            threecpo.write_counts(table, path, format="10x")
        else:
            path = tmp_path / "cells.h5"
            write_tenx(path, table)
    elif kind == "csv":
        path = tmp_path / "cells.csv"
        known = {"labels": [label or "" for label in labels]}
        table = threecpo.CountTable(X, row_names=ROWS, column_names=COLUMNS)
        threecpo.write_counts(table.with_labels({"kind": known["labels"]}), path)
    else:
        path = tmp_path / f"cells.{kind}"
        cells = anndata.AnnData(X.astype(np.float32))
        cells.obs_names, cells.var_names, cells.obs["kind"] = ROWS, COLUMNS, labels
        getattr(cells, f"write_{kind}")(path)
    found = []
    for i, more in enumerate([(), ("--max-memory", "1MB")]):
        options = ["-k", 3, "-o", f"fitted{i}", "--json", *beside, *more]
        done = run("fit", path, *options)
        found.append(
            (
                done.json["agreement"],
                rows_of(f"fitted{i}"),
            )
        )
    (ours, rows), (theirs, in_blocks) = found
    assert ours == theirs
    assert rows["label_kind"].tolist() == in_blocks["label_kind"].tolist()
    assert rows["row"].tolist() == in_blocks["row"].tolist() == ROWS


def write_tenx(path, table):
    """A file as Cell Ranger writes it."""
    counts = table.counts
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix")
        group["shape"] = counts.shape[::-1]
        group["barcodes"] = np.array(table.row_names.tolist(), dtype="S")
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(counts, name).astype(np.int64)
        for name in ("id", "name"):
            group[f"features/{name}"] = np.array(table.column_names.tolist(), dtype="S")


def test_a_command_reads_its_file_once(run, tmp_path, monkeypatch):
    """For the fit and for the map of its rows."""
    from threecpo.io.blocks import streams as _streams

    anndata.AnnData(X.astype(np.float32)).write_h5ad(tmp_path / "cells.h5ad")
    real, calls = _streams._lines, []
    monkeypatch.setattr(
        _streams, "_lines", lambda *given: calls.append(given) or real(*given)
    )
    options = ("--max-memory", "1MB")
    run("fit", tmp_path / "cells.h5ad", "-k", 3, "--sample-rows", 50, *options)
    assert len(calls) == 1


class TestPredict:
    @pytest.fixture
    def model(self, folder, tmp_path):
        model = expected(folder)
        model.save(tmp_path / "model.npz")
        return model

    @pytest.mark.parametrize("options", [(), ("--workers", 1)])
    def test_columns_are_found_by_name_where_missing_ones_are_zero(
        self, run, model, tmp_path, options
    ):
        # Turned round, the first one of the model missing and one more in its place.
        names = [*COLUMNS[:0:-1], "other"]
        Y = np.column_stack([X[:, :0:-1], X[:, 0]])
        parts = (Y[i : i + 25] for i in range(0, len(Y), 25))
        write_blocks(parts, tmp_path / "others", column_names=names)
        given = ("--max-memory", "1MB", "--missing", "zero")
        done = run("predict", "model.npz", "others", "-o", "new.csv", *given, *options)
        assert f"Columns of others read as zeros: 1, {COLUMNS[0]}." in done.err
        assert "Columns of others ignored: 1, other." in done.err
        table = threecpo.CountTable(Y, column_names=names)
        expected = results.match_columns(COLUMNS, table).table
        whole = results.rounded_table(results.predicted_rows(model, expected), 6)
        found = results.read_table("new.csv")
        for name, column in whole.items():
            np.testing.assert_array_equal(found[name], column, err_msg=name)

    def test_other_columns_are_one_line(self, run, model, tmp_path):
        other = ["other", *COLUMNS[1:]]
        write_blocks([X], tmp_path / "others", column_names=other)
        done = run.wrong("predict", "model.npz", "others", "--max-memory", "1MB")
        assert_one_line(done, "column 0 called 'other'")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-memory", "lots"], "must be a size such as '2GB'"),
        (["--max-memory", "1MB", "--labels", "kind"], "no columns of labels"),
        (["--max-memory", "1MB", "--drop", "kind"], "--drop"),
        (["--workers", "0"], "neither a number nor an address"),
        (["--workers", "many"], "neither a number nor an address"),
        (["--sample-rows", "-1"], "-1"),
    ],
)
def test_bad_options_are_one_line(run, folder, options, message):
    assert_one_line(run.wrong("fit", folder, "-k", 3, *options), message)


def test_a_cluster_that_stays_without_workers(run, folder):
    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "500ms"}),
        LocalCluster(
            n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
    ):
        address = cluster.scheduler_address
        done = run.wrong(
            "fit", folder, "-k", 3, "--workers", address, "--checkpoint", "kept"
        )
    waiting, end = (x for x in done.err.splitlines() if x.startswith("threecpo:"))
    assert waiting == (
        f"threecpo: note: The Dask cluster at {address} has no workers; waiting for "
        "one."
    )
    assert end == (
        "threecpo: Dask found no worker for a task within 0.5 s "
        "(distributed.scheduler.no-workers-timeout). Run the same call again to resume "
        "from kept."
    )
