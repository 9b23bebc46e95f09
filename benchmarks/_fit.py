"""One timed fit in a process of its own; prints JSON.

Runs under any interpreter that has the implementation, so it imports nothing of ours
except the estimator that is asked for.

    python _fit.py {threecpo,clustpy} FILE.npz N_CLUSTERS N_INIT SEED
"""

import contextlib
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


def memory(field: str) -> float:
    """Megabytes of VmRSS (now) or VmHWM (peak).

    ``ru_maxrss`` would start at the peak of the process that started this one.
    """
    if STATUS.exists():
        for line in STATUS.read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def forget_peak() -> None:
    """Start the peak anew at what is in use now, where the system can."""
    with contextlib.suppress(OSError):
        CLEAR.write_text("5")


def load(path: str) -> sp.csr_array:
    with np.load(path, allow_pickle=False) as stored:
        parts = (
            stored["data"].astype(np.float64),
            stored["indices"].astype(np.int32),
            stored["indptr"].astype(np.int32),
        )
        return sp.csr_array(parts, shape=tuple(stored["shape"]))


def prepare(implementation: str, path: str) -> tuple:
    matrix = load(path)
    if implementation == "clustpy":
        from clustpy.centroid import ThreeCPO

        return ThreeCPO, matrix.toarray()
    from threecpo import ThreeCPO

    return ThreeCPO, matrix


def main() -> None:
    implementation, path = sys.argv[1:3]
    n_clusters, n_init, seed = map(int, sys.argv[3:])
    estimator, matrix = prepare(implementation, path)
    small = np.random.RandomState(0).poisson(3.0, size=(30, 8)).astype(np.float64)
    estimator(n_clusters=2, n_init=2, random_state=0).fit(small)
    model = estimator(n_clusters=n_clusters, n_init=n_init, random_state=seed)
    forget_peak()
    loaded = memory("VmRSS")
    start = time.perf_counter()
    model.fit(matrix)
    seconds = time.perf_counter() - start
    peak = memory("VmHWM")
    print(json.dumps({"seconds": seconds, "loaded": loaded, "peak": peak}))


if __name__ == "__main__":
    main()
