"""How rare a cluster a fit over blocks finds, with and without its search for them.

    python benchmarks/rare.py                                    # minutes
    python benchmarks/rare.py --rows 260000 --sample-rows 8000 --seeds 5

The cells are those of _atlas.py: 14 clusters from about 20 % to 1 % of the rows, and
one of each share of --shares. A planted cluster is found if a fitted one holds more
than half of it, and is more than half of that.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from _atlas import Atlas, RealCells
from _common import Report, parser_of, say
from atlas import found_clusters

if TYPE_CHECKING:
    import argparse

    import scipy.sparse as sp

N_COMMON = 14


def main() -> None:
    """Make cells for every seed, fit them twice, count what is found."""
    given = _parser().parse_args()
    cells = RealCells.read(given.data)
    shares = tuple(share / 100 for share in given.shares)
    report, facts = Report(given.output), []
    found: dict[bool, list[np.ndarray]] = {False: [], True: []}
    for seed in range(given.seeds):
        atlas = Atlas(
            *(cells, given.rows, given.columns, N_COMMON + len(shares)),
            stored_in_row=given.stored,
            seed=seed,
            rare=shares,
        )
        blocks = list(atlas.blocks())
        for rare_clusters, each in found.items():
            is_found, line = fitted(atlas, blocks, given, rare_clusters=rare_clusters)
            each.append(is_found[N_COMMON:])
            facts.append([f"{seed}", "with" if rare_clusters else "without", *line])
            say("  " + ", ".join(facts[-1]))
    names = ["loss", "ARI", "found", "rare, %", "seconds of processors", "readings"]
    report.add_table(["seed", "rare clusters", *names], facts)
    names = ["share", "rows", "in the sample", "without", "with"]
    report.add_table(names, how_often(given, found))
    report.write()


def how_often(
    given: argparse.Namespace, found: dict[bool, list[np.ndarray]]
) -> list[list[str]]:
    """For each share how many rows it is, and in how many fits it was found."""
    counts = [np.sum(each, axis=0).tolist() for each in found.values()]
    return [
        [
            f"{share:g} %",
            f"{share * given.rows / 100:.0f}",
            f"{share * given.sample_rows / 100:g}",
            *(f"{times} of {given.seeds}" for times in each),
        ]
        for share, *each in zip(given.shares, *counts, strict=True)
    ]


def fitted(
    atlas: Atlas,
    blocks: list[sp.csr_array],
    given: argparse.Namespace,
    *,
    rare_clusters: bool,
) -> tuple[np.ndarray, list[str]]:
    """Which planted clusters a fit finds, and facts about it."""
    from sklearn.metrics import adjusted_rand_score

    from threecpo import ThreeCPO, distributed

    n_reads = 0

    def read(block: sp.csr_array) -> sp.csr_array:
        nonlocal n_reads
        n_reads += 1
        return block

    model = ThreeCPO(atlas.n_clusters, random_state=atlas.seed, n_jobs=given.jobs)
    began = time.process_time()
    options = {"sample_rows": given.sample_rows, "rare_clusters": rare_clusters}
    distributed.fit(model, [partial(read, block) for block in blocks], **options)
    seconds = time.process_time() - began
    is_found, _ = found_clusters(atlas.labels, model.labels_)
    ari = adjusted_rand_score(atlas.labels, model.labels_)
    rare = zip(given.shares, is_found[N_COMMON:], strict=True)
    named = " ".join(f"{share:g}" for share, there in rare if there)
    facts = [f"{model.loss_:.1f}", f"{ari:.4f}", f"{is_found.sum()} of {len(is_found)}"]
    return is_found, [*facts, named, f"{seconds:.0f}", f"{n_reads // len(blocks)}"]


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__, data=True)
    parser.add_argument("--rows", type=int, default=130_000)
    parser.add_argument("--columns", type=int, default=10_000)
    parser.add_argument("--stored", type=float, default=600.0, help="counts in a row")
    parser.add_argument("--sample-rows", type=int, default=4000)
    shares = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02)
    text = "planted, in percent of the rows"
    parser.add_argument("--shares", type=float, nargs="+", default=shares, help=text)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    return parser


if __name__ == "__main__":
    main()
