"""Made-up cells of the benchmark: planted as they say, the same in every format."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from threecpo import read_counts
from threecpo.io.blocks import open_blocks

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import _atlas
import _atlas_files

BENCHMARK = Path(_atlas.__file__).with_name("atlas.py")
AT_SIZE = pytest.mark.skipif(
    "THREECPO_TESTS_ATLAS" not in os.environ,
    reason="takes minutes of two cores (set THREECPO_TESTS_ATLAS=1)",
)


@pytest.fixture(scope="module")
def atlas():
    rng = np.random.default_rng(0)
    rates = rng.gamma(0.5, size=(3, 80))
    labels = np.arange(60) % 3
    counts = sp.csr_array(rng.poisson(rates[labels] * rng.gamma(2, size=(60, 1))))
    cells = _atlas.RealCells.of(counts, labels)
    return _atlas.Atlas(cells, 500, 100, n_clusters=5, stored_in_row=30.0)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(_atlas, "BLOCK_ROWS", 120)


def whole(atlas):
    return sp.vstack(list(atlas.blocks()), format="csr")


def test_cells_are_as_planted(atlas):
    X = whole(atlas)
    assert X.shape == (500, 100)
    assert X.nnz / 500 == pytest.approx(30, rel=0.1)
    assert atlas.shares[-1] == pytest.approx(0.001, rel=0.01)
    first = atlas.labels == 0
    found = np.asarray(X[first].sum(axis=0)).ravel()
    expected = atlas.profiles[0] * found.sum()
    assert np.corrcoef(found, expected)[0, 1] > 0.99


def test_counts_are_overdispersed_as_stated(atlas):
    same = replace(atlas, n_rows=4000, n_clusters=1)
    same.__dict__["bursts"] = np.full(4000, 400, dtype=np.int32)
    X = whole(same).toarray()
    common = X.mean(axis=0) > 2
    ratios = X.var(axis=0)[common] / X.mean(axis=0)[common]
    assert np.median(ratios) == pytest.approx(_atlas.DISPERSION, rel=0.05)


@pytest.mark.parametrize("kind", list(_atlas_files.FORMATS))
def test_files_hold_the_cells(kind, atlas, tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    path = tmp_path / f"atlas{_atlas_files.FORMATS[kind]}"
    monkeypatch.setattr(_atlas_files, "BLOCKS_BEFORE_FLUSH", 2)
    monkeypatch.setattr(_atlas_files, "CHUNK", 1000)
    broken = replace(atlas)
    real, calls = _atlas.Atlas.block, []

    def block(self, index):
        calls.append(index)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(self, index)

    monkeypatch.setattr(_atlas.Atlas, "block", block)
    with pytest.raises(KeyboardInterrupt):
        _atlas_files.write(broken, path, kind)
    assert not path.exists()
    _atlas_files.write(atlas, path, kind)
    assert calls[:4] == [0, 1, 2, 3]
    assert calls[4] == 2
    with open_blocks(path) as source:
        found = sp.vstack([read().matrix() for read in source.readers])
    monkeypatch.setattr(_atlas.Atlas, "block", real)
    assert (found != whole(atlas)).nnz == 0
    assert read_counts(path).column_names[1] == "Gene00001"


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_clusters"),
    [(400, 20_000, 4), pytest.param(130_000, 27_998, 20, marks=AT_SIZE)],
)
def test_the_fit_finds_the_clusters_within_its_memory(
    n_rows, n_columns, n_clusters, data_dir, tmp_path
):
    """The second takes minutes of two cores and 2 GB of disk."""
    pytest.importorskip("h5py")
    command = [sys.executable, BENCHMARK, "--data", data_dir]
    command += ["--folder", tmp_path, "--scratch", tmp_path]
    command += ["--rows", n_rows, "--columns", n_columns]
    command += ["--clusters", n_clusters, "-k", n_clusters]
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()]
    found = {line[0]: line[1] for line in lines if len(line) == 2}
    assert float(found["ARI with the planted clusters"]) > 0.9
    # The budget, and what Python and its libraries take.
    assert float(found["peak memory, MB"]) < 2000 + 300
