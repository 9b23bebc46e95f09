"""Names of clusters from a file."""

from pathlib import Path

import pytest
from running import (
    runner,
    table,
)

import threecpo
from threecpo import results


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


@pytest.fixture
def npz(tmp_path):
    threecpo.write_counts(table(), tmp_path / "cells.npz")
    return tmp_path / "cells.npz"


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("names.txt", "T cells\n\nB cells\nNK\n"),
        ("names.csv", "cluster,size,name\n1,9,B cells\n0,9,T cells\n2,9,NK\n"),
        ("names.json", '["T cells", "B cells", "NK"]'),
        ("names.json", '{"0": "T cells", "2": "NK", "1": "B cells"}'),
    ],
)
def test_names_come_from_a_file(file, content, run, npz):
    Path(file).write_text(content, encoding="utf-8")
    done = run("fit", npz, "-k", 3, "--names", file, "-o", "out")
    assert done.code == 0, done.err
    assert "T cells" in done.out
    expected = ["T cells", "B cells", "NK"]
    assert results.read_table("out/clusters.csv")["name"].tolist() == expected
    assert threecpo.load("out/model.npz").cluster_names_.tolist() == expected
    # The table itself, edited or not, is such a file.
    again = run("fit", npz, "-k", 3, "--names", "out/clusters.csv", "-o", "again")
    assert again.code == 0, again.err
    assert results.read_table("again/clusters.csv")["name"].tolist() == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [("7", "list or an object"), ("{", "holds no names"), ('["a"]', "1 names for 3")],
)
def test_a_file_without_names_is_one_line(content, message, run, npz):
    Path("names.json").write_text(content, encoding="utf-8")
    done = run("fit", npz, "-k", 3, "--names", "names.json", "-o", "out")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not Path("out").exists()
