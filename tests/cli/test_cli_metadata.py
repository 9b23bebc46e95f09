"""A table of metadata beside the counts, on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from running import runner

from threecpo import CountTable, ThreeCPO, load, write_counts


@pytest.fixture
def study(tmp_path):
    """Counts, and what is known of their rows in another order."""
    rng = np.random.default_rng(0)
    kind, lab = rng.integers(2, size=80), rng.integers(2, size=80)
    rates = np.exp(rng.normal(size=(2, 8)))
    effects = np.exp(0.7 * rng.normal(size=(2, 8)))
    X = rng.poisson(6 * rates[kind] * effects[lab])
    names = [f"s{i}" for i in range(80)]
    columns = [f"c{j}" for j in range(8)]
    pd.DataFrame(X, names, columns).to_csv(tmp_path / "counts.csv")
    known = {"sample": names, "kind": kind, "lab": [f"lab {b}" for b in lab]}
    frame = pd.DataFrame(known).iloc[::-1]
    frame.to_csv(tmp_path / "known.csv", index=False)
    return tmp_path, X, np.array([f"lab {b}" for b in lab]), names, columns


def test_labels_and_batches_of_a_fit(study, capsys):
    folder, X, lab, *_ = study
    beside = ["--metadata", folder / "known.csv", "--labels", "kind", "--batch", "lab"]
    run, out = runner(capsys), folder / "out"
    done = run("fit", folder / "counts.csv", "-k", "2", *beside, "-o", out)
    assert done.code == 0, done.err
    assert "Agreement with kind" in done.out
    assert (
        load(out / "model.npz").loss_
        == ThreeCPO(2, random_state=0).fit(X, batch=lab).loss_
    )
    rows = pd.read_csv(out / "labels.csv")
    assert list(rows.filter(like="label_")) == ["label_kind"]
    facts = json.loads((out / "run.json").read_text())["input"]
    assert facts["batch"] == "lab"
    assert facts["options"]["metadata"] == str(folder / "known.csv")
    done = run("predict", out, folder / "counts.csv", *beside, "-o", folder / "new.csv")
    assert done.code == 0, done.err
    new = pd.read_csv(folder / "new.csv")
    assert new["cluster"].equals(rows["cluster"])
    assert new["label_kind"].equals(rows["label_kind"])
    cut = ["cut", out, "-k", "1", "--counts", folder / "counts.csv", "--no-report"]
    assert run(*cut).code == 0


def test_info_and_select_take_it_too(study, capsys):
    folder, *_ = study
    run, counts = runner(capsys), folder / "counts.csv"
    beside = ["--metadata", folder / "known.csv", "--labels", "kind"]
    assert "kind: 0, 1" in run("info", counts, *beside).out
    done = run("info", counts, "--metadata", folder / "known.csv")
    assert done.code == 2
    assert "name the columns to take by --labels; it has 'kind', 'lab'" in done.err
    options = ["--metadata", folder / "known.csv", "--batch", "lab", "--max", "2"]
    assert run("select-k", counts, *options).code == 0


def test_what_is_missing_is_said_once(study, capsys):
    folder, *_ = study
    lines = (folder / "known.csv").read_text().splitlines(keepends=True)
    (folder / "known.csv").write_text("".join([*lines[:-1], "s99,1,lab 0\n"]))
    beside = ["--metadata", folder / "known.csv", "--labels", "kind"]
    out, run = folder / "out", runner(capsys)
    done = run("fit", folder / "counts.csv", "-k", "2", *beside, "-o", out)
    sentence = "1 of 80 rows has no metadata ('s0'), and 1 of 80 names in it has no row"
    assert done.err.count(sentence) == 1
    warned = json.loads((out / "run.json").read_text())["warnings"]
    assert any(sentence in text for text in warned)


def test_every_row_needs_a_batch(study, capsys):
    folder, *_ = study
    lines = (folder / "known.csv").read_text().splitlines(keepends=True)
    (folder / "known.csv").write_text("".join(lines[:-2]))
    beside = ["--metadata", folder / "known.csv", "--batch", "lab"]
    fit = ["fit", folder / "counts.csv", "-k", "2", "--no-report", "-o", folder / "out"]
    run = runner(capsys)
    done = run(*fit, *beside)
    assert done.code == 2
    assert "2 rows of 80 without a batch in" in done.err
    sentence = (
        "(s0, s1): fill it in, for example with 'unknown', or leave these rows out"
    )
    assert sentence in done.err
    assert "; leave rows without metadata out by --only-matched." in done.err
    assert run(*fit, *beside, "--only-matched").code == 0
    assert len((folder / "out" / "labels.csv").read_text().splitlines()) == 1 + 78
    (folder / "known.csv").write_text(
        "".join([*lines[:-2], "s0,0,unknown\n", "s1,0,unknown\n"])
    )
    assert run(*fit, *beside, "--force").code == 0


def test_a_report_of_a_fit_that_did_not_know_labels(study, capsys):
    folder, *_ = study
    run, out = runner(capsys), folder / "out"
    run("fit", folder / "counts.csv", "-k", "2", "-o", out)
    assert "lab 0" not in (out / "report.html").read_text()
    beside = ["--metadata", folder / "known.csv", "--labels", "lab"]
    assert run("report", out, *beside).code == 0
    assert "lab 0" in (out / "report.html").read_text()
    done = run("report", out, "--labels", "lab")
    assert done.code == 2
    assert "in a separate file with --metadata" in done.err


@pytest.mark.parametrize("name", ["counts.h5ad", "counts"])
def test_batches_of_blocks(name, study, capsys):
    pytest.importorskip("anndata")
    folder, X, lab, names, columns = study
    table = CountTable(X, row_names=names, column_names=columns)
    write_counts(table, folder / name, format="10x" if name == "counts" else None)
    options = ["-k", "2", "--max-memory", "1GB", "--no-report", "-o", folder / "out"]
    beside = ["--metadata", folder / "known.csv"]
    run = runner(capsys)
    done = run("fit", folder / name, *options, *beside, "--batch", "lab")
    assert done.code == 0, done.err
    expected = ThreeCPO(2, random_state=0).fit(X, batch=lab)
    assert load(folder / "out" / "model.npz").loss_ == expected.loss_
    lines = (folder / "known.csv").read_text().splitlines()
    (folder / "fewer.csv").write_text("\n".join(lines[:-3]))
    beside = ["--metadata", folder / "fewer.csv"]
    matched = (*options, *beside, "--batch", "lab", "--only-matched")
    assert run("fit", folder / name, *matched, "-o", folder / "fewer").code == 0
    assert len(load(folder / "fewer" / "model.npz").labels_) == len(lines) - 4
    done = run("fit", folder / name, *options, *beside)
    assert done.code == 2
    assert "--metadata cannot be used with --max-memory" in done.err
