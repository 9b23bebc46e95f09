"""Packed files are unpacked once into a scratch folder, and read from there."""

import logging
import shutil

import numpy as np
import pytest
import scipy.sparse as sp
from block_fits import assert_same_bits, counts_of, fit

from threecpo import CountTable, write_counts
from threecpo._errors import DataFormatError
from threecpo.io.blocks import _hierarchy, open_blocks

pytest.importorskip("anndata")


@pytest.fixture(scope="module", name="X")
def counts():
    X = counts_of()[0].astype(np.int64)
    X.data[::50] += 300
    X.data[7] = 70_000
    return X


@pytest.fixture
def path(X, tmp_path):
    write_counts(CountTable(X), tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


@pytest.fixture
def scratch(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def reads(monkeypatch):
    """Rows of the blocks that the packed file was read for."""
    seen, real = [], _hierarchy._Rows.__call__

    def read(self):
        seen.append(self.rows)
        return real(self)

    monkeypatch.setattr(_hierarchy._Rows, "__call__", read)
    return seen


def test_a_fit_unpacks_each_block_once(path, scratch, X, reads):
    options = {"max_memory": "100kB"}
    found = fit(path, fitting=options | {"scratch": scratch})
    assert len(reads) == len(set(reads)) > 3
    assert not list(scratch.iterdir())
    assert_same_bits(found, fit(path, fitting=options))
    assert_same_bits(found, fit(X))


def test_what_is_unpacked_is_the_same_in_little_room(path, scratch, X):
    options = {"block_counts": X.nnz // 4, "scratch": scratch}
    with open_blocks(path, **options) as source:
        first = [read() for read in source.readers]
        again = [read() for read in source.readers]
        (folder,) = scratch.iterdir()
        kinds = [np.load(file)["data"].dtype for file in sorted(folder.iterdir())]
        assert {np.load(file)["indices"].dtype for file in folder.iterdir()} == {
            np.dtype("u2")
        }
    assert set(kinds) == {np.dtype("u2"), np.dtype("i4")}
    for a, b in zip(first, again, strict=True):
        assert (a.checksum, a.odd_values) == (b.checksum, b.odd_values)


def test_values_that_are_no_counts_stay_what_they_are(tmp_path, scratch):
    anndata = pytest.importorskip("anndata")
    X = sp.csr_matrix([[0.5, 0.0], [-1.0, 3.0], [2.0**40, 1.0]])
    anndata.AnnData(X).write_h5ad(tmp_path / "odd.h5ad")
    with open_blocks(tmp_path / "odd.h5ad", layer="X", scratch=scratch) as source:
        (read,) = source.readers
        read()
        np.testing.assert_array_equal(read().matrix().toarray(), X.toarray())


def test_the_size_is_told_beforehand(path, scratch, X, caplog, monkeypatch):
    caplog.set_level(logging.INFO, "threecpo.io.blocks")
    with open_blocks(path, scratch=scratch):
        pass
    assert "about 0.0 GB, removed at the end" in caplog.text
    free = shutil.disk_usage(scratch)._replace(free=X.nnz)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    with pytest.raises(DataFormatError, match="Name another folder, or leave scratch"):
        fit(path, fitting={"scratch": scratch})


def test_a_folder_that_is_not_there_is_refused(path, tmp_path):
    with pytest.raises(ValueError, match="must be an existing folder"):
        fit(path, fitting={"scratch": tmp_path / "nowhere"})


def test_another_file_in_its_place_is_found_out(path, scratch):
    with open_blocks(path, scratch=scratch) as source:
        source.readers[0]()
        source.readers[0].file.write_bytes(b"no archive")
        with pytest.raises(DataFormatError, match=r"000000\.npz"):
            source.readers[0]()
