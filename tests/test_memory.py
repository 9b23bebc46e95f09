"""Memory: nothing is made dense, nothing is left behind."""

import sys

import pytest

from processes import run_python

pytest.importorskip("resource", reason="memory is measured by POSIX's resource")

LARGE_FIT = """
import resource, warnings
import numpy as np
import scipy.sparse as sp
from threecpo import ThreeCPO

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / UNIT

rng = np.random.default_rng(0)
n, stored = 100_000, 1_000_000
places = rng.integers(n, size=(2, stored))
X = sp.coo_array((rng.integers(1, 5, stored), tuple(places)), shape=(n, n)).tocsc()
warnings.simplefilter("ignore")
ThreeCPO(2, n_init=1).fit(sp.csr_array(X)[:50, :50])
before = peak()
model = ThreeCPO(5, n_init=2, max_iter=3, n_jobs=2, random_state=0).fit(X)
model.predict(X)
model.score(X)
model.row_scores(X)
model.transform(X)
print(peak() - before)
"""

MANY_FITS = """
import gc, warnings
from pathlib import Path
import numpy as np
from threecpo import ThreeCPO

def now():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20

X = np.random.default_rng(0).poisson(3.0, size=(200, 300))
warnings.simplefilter("ignore")
def fits(n):
    for i in range(n):
        ThreeCPO(5, n_init=2, max_iter=3, n_jobs=2, random_state=i).fit(X).predict(X)
fits(30)
before = now()
fits(100)
print(now() - before)
"""
UNIT = 2**20 if sys.platform == "darwin" else 2**10
CEILING_MB = 250
GROWTH_MB = 12


def measured(program):
    out = run_python("-c", program, check=True)
    return float(out.stdout)


def test_a_large_sparse_fit_stays_below_its_ceiling():
    assert measured(LARGE_FIT.replace("UNIT", str(UNIT))) < CEILING_MB


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_many_fits_leave_no_memory_behind():
    assert measured(MANY_FITS) < GROWTH_MB
