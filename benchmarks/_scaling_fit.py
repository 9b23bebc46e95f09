"""One fit over blocks in a process of its own; prints JSON.

python _scaling_fit.py '{"folder": …, "n_init": 6, "workers": 2, …}'
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from contextlib import ExitStack
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from _planted import Planted
from threecpo import ThreeCPO, distributed
from threecpo._fit.blocks import BlockFit
from threecpo.distributed._dask import local_client


class Counting:
    """A client that counts the tasks it is given."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.n_tasks = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def submit(self, *args: Any, **options: Any) -> Any:
        self.n_tasks += 1
        return self.client.submit(*args, **options)

    def sent(self) -> int:
        """Bytes that workers have sent to each other and to us."""
        return sum(self.client.run(_sent).values())


def _sent(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def start_cluster(stack: ExitStack, n_workers: int) -> Counting:
    client = Counting(stack.enter_context(local_client(n_workers)))
    # Imports and compiled loops are loaded before the clock starts.
    client.run(_warm)
    return client


def _warm() -> None:
    model = ThreeCPO(2, n_init=1, max_iter=2, random_state=0)
    distributed.fit(model, np.eye(30), sample_rows=10)


def main() -> None:
    task = json.loads(sys.argv[1])
    warnings.simplefilter("ignore")
    _warm()
    passes: list[dict[str, float]] = []
    one_pass = BlockFit._pass
    with ExitStack() as stack:
        client = start_cluster(stack, task["workers"]) if task.get("workers") else None

        def timed(self: Any, requests: Any) -> Any:
            before = (client.n_tasks, client.sent()) if client else (0, 0)
            start = time.perf_counter()
            answers = one_pass(self, requests)
            seconds = time.perf_counter() - start
            after = (client.n_tasks, client.sent()) if client else (0, 0)
            passes.append(
                {
                    "runs": len(requests),
                    "seconds": seconds,
                    "tasks": after[0] - before[0],
                    "sent": after[1] - before[1],
                    "statistics": sum(sys.getsizeof(sums) for sums in answers),
                }
            )
            return answers

        BlockFit._pass = timed  # type: ignore[method-assign]
        model = ThreeCPO(
            task["n_clusters"],
            n_init=task["n_init"],
            max_iter=task.get("max_iter", 300),
            random_state=task.get("seed", 0),
        )
        options = {k: task[k] for k in ("max_memory",) if k in task}
        start = time.perf_counter()
        distributed.fit(model, task["folder"], client=client, **options)
        seconds = time.perf_counter() - start
    found = {
        "seconds": seconds,
        "passes": passes,
        "loss": model.loss_,
    }
    if "planted" in task:
        planted = Planted(**task["planted"])
        found["ari"] = adjusted_rand_score(planted.labels(), model.labels_)
        found["groups"] = float(np.mean(planted.groups == model.column_groups_))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
