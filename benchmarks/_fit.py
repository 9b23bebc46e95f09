"""One timed fit in a process of its own; prints JSON.

Runs under any interpreter that has the implementation, so it imports nothing of ours
except the estimator that is asked for.

    python _fit.py {threecpo,cocluster,clustpy} METHOD FILE.npz N_CLUSTERS N_INIT SEED \
        [START.npy]

METHOD is a name of ``paper.methods()``, or of ``paper.cocluster`` with a variant. START
holds first labels of the rows, with -2 for a row that is in no cluster yet.
"""

import contextlib
import json
import resource
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

# The paper is imported from the root.
sys.path.append(str(Path(__file__).resolve().parents[1]))

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
        if "X" in stored:
            return sp.csr_array(stored["X"].astype(np.float64))
        parts = (
            stored["data"].astype(np.float64),
            stored["indices"].astype(np.int32),
            stored["indptr"].astype(np.int32),
        )
        return sp.csr_array(parts, shape=tuple(stored["shape"]))


def peer(method: str, start: np.ndarray | None) -> type:
    """Return an estimator of clustpy, patched to begin at the start if there is one."""
    from clustpy import centroid
    from clustpy.centroid import poissonl, spherical_kmeans

    if start is not None:
        rows = [int(np.flatnonzero(start == k)[0]) for k in range(start.max() + 1)]
        poissonl.initial_poisson_clustering_labels = lambda *_: start.copy()
        spherical_kmeans.kpp = lambda X, *_, **__: (X[rows], rows)
    names = {"3CPO": "ThreeCPO", "SKM": "SphericalKMeans"}
    return getattr(centroid, names.get(method, method))


def main() -> None:
    implementation, method, path = sys.argv[1:4]
    n_clusters, n_init, seed = map(int, sys.argv[4:7])
    start = np.load(sys.argv[7], allow_pickle=False) if sys.argv[7:] else None
    matrix = load(path)
    if implementation == "clustpy":
        estimator, matrix = peer(method, start), matrix.toarray()
    elif implementation == "cocluster":
        from paper import cocluster

        name, _, variant = method.partition(" ")
        found = getattr(cocluster, "CoclustInfo" if name == "CROINFO" else name)
        estimator = partial(found, **({"variant": variant} if variant else {}))
    else:
        from paper import methods

        estimator = methods()[method]
    small = np.random.RandomState(0).poisson(3.0, size=(30, 8)).astype(np.float64)
    if start is None:
        estimator(n_clusters=2, n_init=2, random_state=0).fit(small)
    model = estimator(n_clusters=n_clusters, n_init=n_init, random_state=seed)
    if implementation == "clustpy" and method in {"PoissonL", "PoissonC"}:
        model.set_params(init_strat="poisson++")
    forget_peak()
    loaded = memory("VmRSS")
    begin = time.perf_counter()
    model.fit(matrix)
    seconds = time.perf_counter() - begin
    found = {"seconds": seconds, "loaded": loaded, "peak": memory("VmHWM")}
    print(json.dumps(found | {"labels": np.asarray(model.labels_).tolist()}))


if __name__ == "__main__":
    main()
