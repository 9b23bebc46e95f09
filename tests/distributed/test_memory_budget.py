"""A memory budget, and the scratch store of files, which is gone at the end."""

import logging
import pickle
import shutil
import signal
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from block_fits import assert_same_bits, counts_of, evenly, fit

from processes import run_python
from threecpo import CountTable, write_counts
from threecpo._errors import DataFormatError
from threecpo._fit import engine
from threecpo._fit.budget import IN_BLOCK, MemoryBudget, budget_of
from threecpo.io.blocks import BLOCK_COUNTS, open_blocks
from threecpo.io.blocks import streams as _streams


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2 * 10**9),
        ("1.5 GiB", 3 * 2**29),
        ("500mb", 5 * 10**8),
        (123_456, 123_456),
        (None, None),
    ],
)
def test_sizes_are_understood(text, size):
    assert budget_of(text).limit == size


@pytest.mark.parametrize("text", ["", "-1GB", "2XB", 1.5, True, "0GB"])
def test_other_sizes_are_refused(text):
    with pytest.raises(ValueError, match=r"max_memory=.* must be a size such as '2GB'"):
        budget_of(text)


def test_less_memory_makes_smaller_blocks_fewer_threads_and_fewer_runs():
    small, large = MemoryBudget(10**8), MemoryBudget(10**10)
    assert small.block_counts(2, BLOCK_COUNTS) < large.block_counts(2, BLOCK_COUNTS)
    assert small.threads(8, 400_000) < large.threads(8, 400_000) == 8
    assert 0 < small.runs_at_once(10, 5000, 2) < large.runs_at_once(10, 5000, 2)
    assert MemoryBudget(None).runs_at_once(10**6, 10**6, 2) is None


def test_blocks_of_the_chosen_size_always_fit():
    for limit in (10**6, 10**8, 10**11):
        for n_jobs in (1, 2, 16):
            memory, most = MemoryBudget(limit), BLOCK_COUNTS
            assert memory.threads(n_jobs, memory.block_counts(n_jobs, most)) == n_jobs


@pytest.mark.parametrize(
    ("limit", "options", "message"),
    [
        ("20kB", {}, "A block holds .* write smaller blocks"),
        ("100kB", {"n_clusters": 50}, "sums of 50 clusters in 8 columns take"),
        ("70kB", {"n_clusters": 2, "sample_rows": 300}, "pass a smaller sample_rows"),
    ],
)
def test_what_cannot_fit_is_refused_with_what_would(limit, options, message):
    X, _ = counts_of()
    readers = evenly(X, 30 if "block" not in message else 1)
    with pytest.raises(ValueError, match=message):
        fit(readers, n_jobs=1, fitting={"max_memory": limit}, **options)


def test_results_that_cannot_be_gathered_are_refused():
    X, _ = counts_of(n_rows=3000)
    readers = evenly(X, 200)
    with pytest.raises(ValueError, match="pass write_to="):
        fit(readers, fitting={"max_memory": "200kB"}, n_clusters=2, n_jobs=1)


def test_the_budget_does_not_change_the_result():
    X, _ = counts_of(n_rows=2000)
    expected = fit(X)
    assert_same_bits(fit(X, fitting={"max_memory": "500kB"}), expected)


def test_memory_that_cannot_be_chosen_is_looked_at_one_by_one():
    X, _ = counts_of()
    largest = max(read().nnz for read in evenly(X, 3))
    limit = 2 * IN_BLOCK * largest
    fit(evenly(X, 3), sample_rows=40, n_jobs=2, fitting={"max_memory": limit})


PROGRAM = """
import resource, sys
import numpy as np
from threecpo import ThreeCPO, distributed
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
ThreeCPO(2, n_init=1, max_iter=3, n_jobs=2).fit(np.eye(30))
distributed.fit(ThreeCPO(2, n_init=1, max_iter=3), np.eye(30), sample_rows=10)
before = peak()
model = ThreeCPO(3, n_init=3, max_iter=3, n_jobs=2, random_state=0)
distributed.fit(model, sys.argv[1], max_memory="40MB", sample_rows=2000)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory in kilobytes")
def test_the_budget_is_kept_on_disk(tmp_path):
    import numpy as np
    import scipy.sparse as sp

    from threecpo.io.blocks import write_blocks

    # 6 million counts, of which a thousand rows of 100 are a block.
    rng = np.random.default_rng(0)

    def block():
        dense = np.zeros((1000, 500), dtype=np.int32)
        rows = np.repeat(np.arange(1000), 100)
        dense[rows, rng.integers(0, 500, size=100_000)] = rng.integers(1, 4, 100_000)
        return sp.csr_array(dense)

    write_blocks((block() for _ in range(66)), tmp_path / "X")
    out = run_python("-W", "ignore", "-c", PROGRAM, tmp_path / "X", check=True)
    assert float(out.stdout) < 40


def test_freed_memory_is_left_where_the_library_cannot_release_it(monkeypatch):
    def missing(_):
        raise OSError

    engine.release_freed_memory()
    monkeypatch.setattr(engine.ctypes, "CDLL", missing)
    engine.release_freed_memory()


def test_the_budget_counts_the_batches():
    budget = MemoryBudget(60_000)
    assert budget.runs_at_once(3, 30, 1) == 1
    with pytest.raises(ValueError, match="3 clusters and 2 batches"):
        budget.runs_at_once(3, 30, 1, 2)


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
    done = run_python("-c", ENDED, path, scratch, int(number))
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
