"""Cells of the comparison measured, each in a process of its own; prints JSON lines.

    python _compare_cells.py CPU_SECONDS FAMILY FOLDER...

Reads cells as JSON lines with ``tool``, ``data``, ``k`` ("known" or "own") and
``seed``. One process imports what the tools of a family need and runs each once on a
small table, so that nothing is imported or compiled on the clock; every cell is then
run in a fork of it. Linux only.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from _compare_sets import data_files
from _compare_tools import FAMILIES, N_COMPONENTS, TOOLS
from _fit import forget_peak, load, memory

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    Data = tuple[sp.csr_array, NDArray[np.int64]]

# From so many rows on scanpy's neighbours are approximate, by compiled loops. Empty
# rows, which are left out later, count here: compiling once too often does no harm.
MANY_ROWS = 8192


def without_empty(path: Path) -> Data:
    """Counts and labels without rows and columns of zeros, which some tools refuse."""
    with np.load(path, allow_pickle=False) as stored:
        labels = stored["labels"]
    X = load(str(path))
    rows = (np.asarray(X.sum(axis=1)).ravel() > 0) & (labels >= 0)
    columns = np.asarray(X.sum(axis=0)).ravel() > 0
    return X[rows][:, columns], labels[rows]


def n_rows(path: Path) -> int:
    with np.load(path, allow_pickle=False) as stored:
        return len(stored["labels"])


def warm_up(family: str) -> None:
    """Import and compile."""
    from scipy.sparse import csr_array
    from sklearn.metrics import silhouette_score  # noqa: F401

    rng = np.random.default_rng(0)
    rates = rng.gamma(0.5, size=(3, 60))[np.arange(150) % 3]
    X = csr_array(rng.poisson(20 * rates) + 0.0)
    for tool in TOOLS.values():
        if tool.family == family:
            tool.run(X, 3, 0)


def warm_up_neighbours() -> None:
    """Compile what scanpy takes for tables of many rows."""
    import anndata
    import scanpy as sc

    rng = np.random.default_rng(0)
    values = rng.normal(size=(MANY_ROWS, N_COMPONENTS)).astype(np.float32)
    sc.pp.neighbors(anndata.AnnData(values))


def measured(data: Data, cell: dict[str, Any]) -> dict[str, Any]:
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

    X, truth = data
    wanted = len(np.unique(truth)) if cell["k"] == "known" else None
    wall, cpu = time.perf_counter(), time.process_time()
    labels = TOOLS[cell["tool"]].run(X, wanted, cell["seed"])
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "ari": round(float(adjusted_rand_score(truth, labels)), 4),
        "ami": round(float(adjusted_mutual_info_score(truth, labels)), 4),
        "clusters": len(np.unique(labels)),
        "seconds": round(wall, 3),
        "cpu": round(cpu, 3),
        "peak_mb": round(memory("VmHWM"), 1),
    }


def in_fork(files: dict[str, Path], cell: dict[str, Any], limit: int) -> Any:
    """Result of a cell, or why it has none."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        forget_peak()
        spent = int(time.process_time())
        resource.setrlimit(resource.RLIMIT_CPU, (spent + limit, spent + limit + 5))
        try:
            found = measured(without_empty(files[cell["data"]]), cell)
        except Exception as error:  # noqa: BLE001
            found = {"failed": f"{type(error).__name__}: {error}".partition("\n")[0]}
        os.write(writing, json.dumps(found).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if answer:
        return json.loads(answer)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in {9, 24}:
        return {"failed": f"more than {limit} s of CPU time"}
    return {"failed": f"ended with status {status}"}


def main() -> None:
    limit, family = int(sys.argv[1]), sys.argv[2]
    files = data_files(map(Path, sys.argv[3:]))
    warnings.simplefilter("ignore")
    warm_up(family)
    named = [f"{one} {metadata.version(one)}" for one in FAMILIES[family]]
    compiled = family != "scanpy"
    for line in sys.stdin:
        cell = json.loads(line)
        if not compiled and n_rows(files[cell["data"]]) >= MANY_ROWS:
            warm_up_neighbours()
            compiled = True
        found = in_fork(files, cell, limit)
        print(json.dumps(cell | found | {"versions": ", ".join(named)}), flush=True)


if __name__ == "__main__":
    main()
