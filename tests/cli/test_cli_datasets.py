"""The command datasets."""

import pytest
from running import (
    assert_one_line,
    beside_cells,
    everything,
)

import threecpo


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    return beside_cells(capsys, tmp_path, monkeypatch)


class TestDatasets:
    def test_they_are_listed(self, run):
        done = run("datasets", "list")
        names = list(threecpo.datasets.catalogue())
        assert [line.split()[0] for line in done.out.splitlines()] == ["name", *names]
        facts = run("datasets", "list", "--json").json
        assert [entry["name"] for entry in facts] == names
        assert all(entry["home"].startswith("http") for entry in facts)

    def test_one_is_fetched(self, run, raw_dir):
        if not list(raw_dir.glob("*holesale*")):
            pytest.skip("no archive of Wholesales on this machine")
        done = run("datasets", "fetch", "wholesales", "--home", raw_dir)
        assert done.code == 0, done.err
        assert "wholesales.npz: 440 rows x 6 columns." in done.out
        assert "Terms:" in done.out
        assert threecpo.read_counts("wholesales.npz").n_clusters == 2

    def test_an_unknown_name(self, run):
        assert_one_line(run("datasets", "fetch", "iris"), "'iris'", "bbcnews")

    def test_a_download_that_fails_leaves_nothing(self, run, tmp_path, monkeypatch):
        from threecpo.datasets import DataNotFoundError, _files

        def fail(*_, **__):
            message = "no network"
            raise DataNotFoundError(message)

        monkeypatch.setattr(_files, "_downloaded", fail)
        before = everything(tmp_path)
        done = run("datasets", "fetch", "wholesales", "--home", tmp_path)
        assert_one_line(done, "no network")
        assert everything(tmp_path) == before
