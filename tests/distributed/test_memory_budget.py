"""What a memory budget decides, and that it is kept."""

import os
import subprocess
import sys

import pytest
from block_fits import assert_same_bits, counts_of, evenly, fit, write

from threecpo._fit import engine
from threecpo._fit.budget import IN_BLOCK, MemoryBudget, budget_of
from threecpo.io.blocks import BLOCK_COUNTS


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
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "X")]
    out = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ
    )
    assert float(out.stdout) < 40


def test_a_folder_written_with_one_cut_fits_under_a_budget(tmp_path):
    X, _ = counts_of(n_rows=1000)
    folder = write(X, tmp_path / "X", 50)
    assert_same_bits(fit(folder, fitting={"max_memory": "300kB"}), fit(X))


def test_freed_memory_is_left_where_the_library_cannot_release_it(monkeypatch):
    def missing(_):
        raise OSError

    engine.release_freed_memory()
    monkeypatch.setattr(engine.ctypes, "CDLL", missing)
    engine.release_freed_memory()
