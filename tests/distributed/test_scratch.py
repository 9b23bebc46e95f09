"""Files are read once into a packed store, which is gone when the fit has ended."""

import logging
import os
import pickle
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from block_fits import assert_same_bits, counts_of, fit

from threecpo import CountTable, write_counts
from threecpo._errors import DataFormatError
from threecpo.io.blocks import open_blocks
from threecpo.io.blocks import streams as _streams

pytest.importorskip("h5py")
SMALL = {"max_memory": "100kB"}


@pytest.fixture(scope="module", name="X")
def counts():
    X = counts_of()[0].astype(np.int64)
    X.data[::50] += 300
    X.data[7] = 70_000
    return X


@pytest.fixture
def path(X, tmp_path):
    pytest.importorskip("anndata")
    write_counts(CountTable(X), tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


@pytest.fixture
def scratch(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def reads(monkeypatch):
    """Rows of the blocks that the file was read for."""
    seen, real = [], _streams._lines

    def lines(path, place, cuts):
        seen.extend(cuts)
        return real(path, place, cuts)

    monkeypatch.setattr(_streams, "_lines", lines)
    return seen


def test_a_fit_reads_each_row_once(path, scratch, X, reads):
    found = fit(path, fitting=SMALL | {"scratch": scratch})
    assert len(reads) > 3
    assert [start for start, _ in reads[1:]] == [stop for _, stop in reads[:-1]]
    assert not list(scratch.iterdir())
    assert_same_bits(found, fit(X))


def test_the_store_has_no_name_unless_it_is_shared(path, scratch, X):
    options = {"block_counts": X.nnz // 4, "scratch": scratch}
    with open_blocks(path, **options) as source:
        assert not list(scratch.iterdir())
        with pytest.raises(TypeError, match="shared=True"):
            pickle.dumps(source.readers)
    with open_blocks(path, shared=True, **options) as source:
        (file,) = scratch.iterdir()
        assert file.stat().st_size < 2.5 * X.nnz + 4000
        sent = pickle.loads(pickle.dumps(source.readers))
        for ours, theirs in zip(source.readers, sent, strict=True):
            assert ours().checksum == theirs().checksum
    assert not list(scratch.iterdir())
    with pytest.raises(DataFormatError, match=r"does not see .*name a folder"):
        sent[0]()


def test_values_that_are_no_counts_stay_what_they_are(tmp_path, scratch):
    anndata = pytest.importorskip("anndata")
    X = sp.csr_matrix([[0.5, 0.0], [-1.0, 3.0], [2.0**40, 1.0]])
    anndata.AnnData(X).write_h5ad(tmp_path / "odd.h5ad")
    options = {"layer": "X", "scratch": scratch, "block_counts": 2}
    with open_blocks(tmp_path / "odd.h5ad", **options) as source:
        found = [read().matrix().toarray() for read in source.readers]
        assert len(found) > 1
        np.testing.assert_array_equal(np.vstack(found), X.toarray())


def test_size_and_place_are_told_before_anything_is_written(
    path, scratch, X, caplog, monkeypatch
):
    caplog.set_level(logging.INFO, "threecpo.io.blocks")
    options = {"block_counts": X.nnz // 4, "scratch": scratch}
    with open_blocks(path, **options):
        pass
    (told,) = caplog.messages
    assert f"{path} is read once into a scratch store in {scratch}: about " in told
    free = shutil.disk_usage(scratch)._replace(free=X.nnz // 2)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    with pytest.raises(DataFormatError, match=r"free; the scratch store of .* needs"):
        fit(path, fitting=SMALL | {"scratch": scratch})


def test_what_fits_into_a_block_stays_in_memory(path, scratch, caplog):
    caplog.set_level(logging.INFO, "threecpo.io.blocks")
    shutil.rmtree(scratch)
    scratch.mkdir(mode=0o500)
    with open_blocks(path, scratch=scratch) as source:
        assert len(source.readers) == 1
    assert not caplog.messages


def test_a_folder_that_cannot_be_used_is_refused(path, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="must be an existing folder"):
        fit(path, fitting={"scratch": tmp_path / "nowhere"})

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(DataFormatError, match=r"cannot be written: No space left"):
        fit(path, fitting=SMALL)


@pytest.mark.parametrize("damage", ["other", "cut"])
def test_a_damaged_store_is_found_out(path, scratch, X, damage):
    options = {"block_counts": X.nnz // 4, "scratch": scratch, "shared": True}
    with open_blocks(path, **options) as source:
        (file,) = scratch.iterdir()
        with file.open("r+b") as opened:
            if damage == "cut":
                opened.truncate(file.stat().st_size // 2)
            else:
                opened.seek(source.readers[-1].args[0] + 200)
                opened.write(b"?")
        source.readers[0]()
        with pytest.raises(DataFormatError, match=r"store is damaged at byte \d+: "):
            source.readers[-1]()


ENDED = """
import os, signal, sys
from threecpo.io.blocks import open_blocks
with open_blocks(sys.argv[1], scratch=sys.argv[2], block_counts=100) as source:
    source.readers[-1]()
    os.kill(os.getpid(), int(sys.argv[3]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, getattr(signal, "SIGKILL", None)])
def test_a_process_that_is_ended_leaves_nothing_behind(path, scratch, number):
    command = [sys.executable, "-c", ENDED, path, scratch, str(int(number))]
    done = subprocess.run(list(map(str, command)), check=False, env=os.environ)
    assert done.returncode == -number
    assert not list(scratch.iterdir())


def test_an_error_while_it_is_read_leaves_nothing_behind(path, scratch, monkeypatch):
    real = _streams._lines

    def lines(path, place, cuts):
        yield next(real(path, place, cuts))
        raise KeyboardInterrupt

    monkeypatch.setattr(_streams, "_lines", lines)
    options = {"scratch": scratch, "shared": True, "block_counts": 100}
    with pytest.raises(KeyboardInterrupt), open_blocks(path, **options):
        pass
    assert not list(scratch.iterdir())
