"""Files, functions and changes of package that one call passes through.

    python benchmarks/call_paths.py

A warm second call is traced, so that neither imports nor compilation count.
"""

import sys
import threading
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import threecpo
from threecpo import ThreeCPO, distributed, select_n_clusters

ROOT = str(Path(threecpo.__file__).parent) + "/"


class Trace:
    """Python functions of the package that were entered, in their order."""

    def __init__(self):
        self.entered = []

    def __call__(self, frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            code = frame.f_code
            self.entered.append((code.co_filename[len(ROOT) :], code.co_qualname))

    def __enter__(self):
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
        threading.setprofile(None)

    def sizes(self):
        files = {file for file, _ in self.entered}
        packages = [file.split("/")[0] for file, _ in self.entered]
        changes = sum(a != b for a, b in pairwise(packages))
        return len(files), len(set(self.entered)), changes


def calls():
    rng = np.random.default_rng(0)
    rates = rng.gamma(1.0, size=(3, 20))[rng.integers(3, size=300)]
    X = sp.csr_array(rng.poisson(3 * rates))
    batch = rng.integers(2, size=300)
    readers = [lambda i=i: X[i : i + 75] for i in range(0, 300, 75)]
    options = {"random_state": 0, "n_jobs": 1}
    model = ThreeCPO(3, **options).fit(X)
    return {
        "ThreeCPO(3).fit(csr)": lambda: ThreeCPO(3, **options).fit(X),
        "ThreeCPO(3).fit(csr, batch=)": lambda: ThreeCPO(3, **options).fit(
            X, batch=batch
        ),
        "select_n_clusters": lambda: select_n_clusters(
            X, range(2, 5), random_state=0, n_jobs=1
        ),
        "distributed.fit": lambda: distributed.fit(
            ThreeCPO(3, **options), readers, sample_rows=100
        ),
        "predict": lambda: model.predict(X),
    }


def main():
    warnings.simplefilter("ignore")
    print(f"{'call':32}{'files':>7}{'functions':>11}{'changes of package':>20}")
    for name, call in calls().items():
        call()
        with Trace() as trace:
            call()
        print(
            f"{name:32}{trace.sizes()[0]:7}{trace.sizes()[1]:11}{trace.sizes()[2]:20}"
        )


if __name__ == "__main__":
    main()
