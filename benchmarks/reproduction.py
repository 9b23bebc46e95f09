"""The paper's protocol: executions of best-of-ten restarts beside its printed values.

python benchmarks/reproduction.py --datasets wholesales sporta
python benchmarks/reproduction.py --outliers
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from _common import (
    HERE,
    DataSet,
    Report,
    add_data_option,
    load,
    missing_data,
    say,
    table,
)
from threecpo import ThreeCPO
from threecpo.datasets import make_synth

SYNTH = "synth"
PAPER_NAMES = {
    SYNTH: "Synth",
    "wholesales": "Wholesales",
    "sporta": "SportA",
    "optdigits": "Optdigits",
    "bbcsports": "BBCSports",
    "bbcnews": "BBCNews",
    "webkb": "WebKB",
    "reuters": "Reuters",
    "newsgroups20": "20NewsG",
}
WITH_OUTLIERS = (SYNTH, "wholesales", "sporta", "bbcsports")
LEAST_DEVIATION = 0.05


@dataclass(frozen=True)
class Execution:
    ari: float
    relevant: int
    outliers: int
    loss: float
    seconds: float


@dataclass(frozen=True)
class Spread:
    mean: float
    deviation: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        return cls(float(np.mean(values)), float(np.std(values)))

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.deviation:.1f}"


def paper_values() -> dict[tuple[str, str], Spread]:
    with (HERE / "paper_values.csv").open(encoding="utf-8", newline="") as lines:
        return {
            (row["data_set"], row["metric"]): Spread(
                float(row["value"]), float(row["std"])
            )
            for row in csv.DictReader(lines)
        }


def data_of_execution(name: str, folder: Path, seed: int) -> DataSet:
    if name == SYNTH:
        return DataSet(name, *make_synth(random_state=seed))
    return load(folder, name)


def execute(
    data: DataSet, seed: int, assignment: str, outliers: str | None
) -> Execution:
    model = ThreeCPO(
        n_clusters=data.n_clusters,
        assignment=assignment,
        outliers=outliers,
        init="poisson-k-means++",
        n_init=10,
        random_state=seed,
    )
    start = time.perf_counter()
    model.fit(data.matrix)
    seconds = time.perf_counter() - start
    inside = model.labels_ >= 0
    return Execution(
        ari=100 * adjusted_rand_score(data.labels[inside], model.labels_[inside]),
        relevant=int(np.count_nonzero(model.column_groups_ == 1)),
        outliers=int(np.count_nonzero(~inside)),
        loss=model.loss_,
        seconds=seconds,
    )


def executions(name: str, options: argparse.Namespace) -> list[Execution]:
    results = []
    for seed in range(options.executions):
        data = data_of_execution(name, options.data, seed)
        outliers = "iterative" if options.outliers else None
        results.append(execute(data, seed, options.assignment, outliers))
        one = results[-1]
        say(
            f"{name} {seed}: ARI {one.ari:.1f}, C1 {one.relevant}, "
            f"outliers {one.outliers}, loss {one.loss:.0f}, {one.seconds:.2f} s"
        )
    return results


def compared(ours: Spread, paper: Spread) -> list[str]:
    unit = max(paper.deviation, ours.deviation, LEAST_DEVIATION)
    return [str(ours), str(paper), f"{(ours.mean - paper.mean) / unit:+.1f}"]


def line(
    name: str,
    results: list[Execution],
    paper: dict[tuple[str, str], Spread],
    *,
    outliers: bool,
) -> list[str]:
    ari = Spread.of([one.ari for one in results])
    if outliers:
        numbers, metrics = (
            [float(one.outliers) for one in results],
            ("ARI*", "outliers"),
        )
    else:
        numbers, metrics = [float(one.relevant) for one in results], ("ARI", "C1")
    title = PAPER_NAMES[name]
    losses = [one.loss for one in results]
    return [
        title,
        *compared(ari, paper[title, metrics[0]]),
        *compared(Spread.of(numbers), paper[title, metrics[1]]),
        f"{np.mean(losses):.0f}",
        f"{min(losses):.0f}",
        f"{np.mean([one.seconds for one in results]):.2f}",
    ]


def header(*, outliers: bool) -> list[str]:
    ari, number = ("ARI*", "outliers") if outliers else ("ARI", "C1")
    columns = ["data set"]
    for metric in (ari, number):
        columns += [metric, f"{metric} paper", "difference / std"]
    return [*columns, "loss mean", "loss best", "seconds"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_data_option(parser)
    parser.add_argument(
        "--datasets",
        nargs="+",
        choices=PAPER_NAMES,
        metavar="NAME",
        help=f"of {', '.join(PAPER_NAMES)} (default: all; "
        f"with --outliers {', '.join(WITH_OUTLIERS)})",
    )
    parser.add_argument("--executions", type=int, default=10)
    parser.add_argument("--assignment", choices=("exact", "printed"), default="exact")
    parser.add_argument(
        "--outliers",
        action="store_true",
        help='outliers="iterative": their number, and ARI of the other rows',
    )
    parser.add_argument("--output", type=Path, help="also write the Markdown here")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    names = options.datasets or (WITH_OUTLIERS if options.outliers else PAPER_NAMES)
    message = missing_data(options.data, [name for name in names if name != SYNTH])
    if message:
        say(message)
        return 1
    paper = paper_values()
    rows = [
        line(name, executions(name, options), paper, outliers=options.outliers)
        for name in names
    ]
    report = Report(options.output)
    report.add(
        f"{options.executions} executions of the best of 10 restarts, assignment "
        f'"{options.assignment}". Differences are in units of the larger of both '
        f"standard deviations and {LEAST_DEVIATION}."
    )
    report.add(table(header(outliers=options.outliers), rows))
    report.write()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
