"""Fits one data set for each seed on standard input, and prints CPU seconds.

    python _timed_fits.py NAME FOLDER

The first line says which package was imported. A fit that is not measured comes first,
so that compiled code is there.
"""

import sys
import time
import warnings
from pathlib import Path

import threecpo
from _common import load

N_INIT = 6


def main() -> None:
    warnings.simplefilter("ignore")
    data = load(Path(sys.argv[2]), sys.argv[1])

    def fit(seed: int) -> float:
        model = threecpo.ThreeCPO(data.n_clusters, n_init=N_INIT, random_state=seed)
        begin = time.process_time()
        model.fit(data.matrix)
        return time.process_time() - begin

    fit(0)
    print(threecpo.__file__, flush=True)
    for line in sys.stdin:
        print(fit(int(line)), flush=True)


if __name__ == "__main__":
    main()
