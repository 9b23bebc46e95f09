"""Tables of methods on data sets, the paper's values beside ours."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from threecpo import ThreeCPO

from .cells import Cell
from .data import SYNTH
from .files import markdown_table
from .measures import scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..methods import Factory
    from .cells import Measure, Values
    from .data import Data
    from .study import Study

# What the paper rounds to is no deviation.
LEAST_DEVIATION = 0.05
MANY = 2.0
# What ``ThreeCPO`` does by default, in tables and figures.
MERGING = "3CPO, merging"
# Methods that make the counts dense, and how many entries are too many for them.
DENSE = ("STD+KM",)
LARGE = 10**8
COLUMNS = (
    "data_set",
    "method",
    "metric",
    "value",
    "std",
    "executions",
    "restarts",
    "paper_value",
    "paper_std",
    "difference",
    "marked",
    "cut",
)
METRICS = {"ARI": "ARI", "NMI": "NMI", "ACC": "ACC"}
EXPLANATION = (
    "In each cell: ours, *the paper's*, and the difference in standard deviations (the "
    f"larger of both and {LEAST_DEVIATION}), in **bold** where it is more than "
    f"{MANY:.0f}."
)


class Spread(NamedTuple):
    """Mean and standard deviation; None where a value stands alone."""

    mean: float
    std: float | None = None

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Mean and standard deviation of some executions."""
        if not len(values):
            return cls(float("nan"))
        std = float(np.std(values)) if len(values) > 1 else None
        return cls(float(np.mean(values)), std)

    def __str__(self) -> str:
        mean = one_digit(self.mean)
        return mean if self.std is None else f"{mean} ± {self.std:.1f}"


def one_digit(value: float) -> str:
    """Return a number as the paper prints it; nothing is minus zero."""
    text = f"{value:.1f}"
    return "0.0" if text == "-0.0" else text


def difference(ours: Spread, paper: Spread | None) -> float | None:
    """Ours minus the paper's, in standard deviations: the larger of both and 0.05."""
    if paper is None:
        return None
    unit = max(ours.std or 0.0, paper.std or 0.0, LEAST_DEVIATION)
    return (ours.mean - paper.mean) / unit


def paper_value(table: str, data_set: str, method: str, metric: str) -> Spread | None:
    """Return what the paper prints there, if anything."""
    return _values().get((table, data_set, method, metric))


@cache
def _values() -> dict[tuple[str, str, str, str], Spread]:
    file = resources.files("paper") / "paper_values.csv"
    with file.open(encoding="utf-8") as lines:
        return {
            (row["table"], row["data_set"], row["method"], row["metric"]): Spread(
                float(row["value"]), float(row["std"]) if row["std"] else None
            )
            for row in csv.DictReader(lines)
        }


class Entry(NamedTuple):
    """One value of a table, beside the paper's."""

    data_set: str
    method: str
    metric: str
    ours: Spread
    paper: Spread | None = None
    executions: int = 1
    restarts: int = 1
    cut: str = ""

    @property
    def difference(self) -> float | None:
        return difference(self.ours, self.paper)

    @property
    def marked(self) -> bool:
        return self.difference is not None and abs(self.difference) > MANY

    def row(self) -> dict[str, Any]:
        paper = self.paper or Spread(float("nan"))
        first = (self.data_set, self.method, self.metric, *self.ours)
        beside = (*paper, self.difference, int(self.marked), self.cut)
        values = (*first, self.executions, self.restarts, *beside)
        return dict(zip(COLUMNS, values, strict=True))

    def __str__(self) -> str:
        text = str(self.ours) + ("†" if self.cut else "")
        if self.paper is None or self.difference is None:
            return text
        away = f"{self.difference:+.1f}"
        return f"{text}<br>*{self.paper}*<br>" + (
            f"**{away}**" if self.marked else away
        )


class Protocol(NamedTuple):
    """Executions, and restarts within each."""

    executions: int
    restarts: int

    def __str__(self) -> str:
        plural = "" if self.executions == 1 else "s"
        return f"{self.executions} execution{plural} of the best of {self.restarts}"


def protocol(method: str, data: Data, executions: int, restarts: int) -> Protocol:
    """Return what is run of a method; less than asked for where that takes too long."""
    n_rows, n_columns = data.X.shape
    if method in DENSE and n_rows * n_columns > LARGE:
        return Protocol(1, 1)
    return Protocol(executions, restarts)


def compared(
    study: Study,
    table: str,
    data_sets: Iterable[Data],
    variants: Mapping[str, Factory],
    metrics: Mapping[str, str] = METRICS,
    paper_method: str | None = None,
) -> list[Entry]:
    """Run variants on data sets; ``metrics`` has the paper's name of each value."""
    options = study.options
    asked = Protocol(options.executions, options.restarts)
    planned = {
        (data, name): protocol(name, data, *asked)
        for data in data_sets
        for name in variants
    }
    cells = {
        (data, name): [
            Cell(
                scores,
                data,
                variants[name](data.n_clusters, random_state=seed, n_init=run.restarts),
                title=f"{name} {seed}",
            )
            for seed in range(run.executions)
        ]
        for (data, name), run in planned.items()
    }
    entries = []
    for (data, name), values in study.measure(cells).items():
        run = Protocol(len(values), planned[data, name].restarts)
        cut = "" if run == asked else str(run)
        restarts = getattr(cells[data, name][0].estimator, "n_init", run.restarts)
        if cut:
            study.note(f"† {name} on {data.name}: {cut}.")
        for metric, key in metrics.items():
            paper = paper_value(table, data.name, paper_method or name, metric)
            ours = spread(values, key)
            made = (run.executions, restarts, cut)
            entries.append(Entry(data.name, name, metric, ours, paper, *made))
    return entries


def spread(values: Sequence[Values], key: str) -> Spread:
    return Spread.of([float(value[key]) for value in values])


def protocol_of(study: Study) -> str:
    """Say what a value is made of."""
    return (
        f"Mean and standard deviation of {study.options.executions} executions, each "
        f"the best of {study.options.restarts} runs by the method's own objective."
    )


def write_compared(
    study: Study,
    title: str,
    entries: Sequence[Entry],
    introduction: str,
    *,
    across: str = "method",
) -> None:
    """Write the CSV, and a page with one table for each metric, or one in all."""
    study.write_csv(COLUMNS, (entry.row() for entry in entries))
    parts = [introduction, summary(entries), EXPLANATION]
    if across == "metric":
        parts.append(grid(entries, across))
    else:
        for metric in dict.fromkeys(entry.metric for entry in entries):
            mine = [entry for entry in entries if entry.metric == metric]
            parts += [f"## {metric}", grid(mine, across)]
    study.write_page(title, *parts, *misses(entries))


def grid(entries: Sequence[Entry], across: str) -> str:
    """Data sets down, methods or metrics across."""
    names = list(dict.fromkeys(getattr(entry, across) for entry in entries))
    by_place = {(e.data_set, getattr(e, across)): str(e) for e in entries}
    rows = [
        [data_set, *(by_place.get((data_set, name), "") for name in names)]
        for data_set in dict.fromkeys(entry.data_set for entry in entries)
    ]
    return markdown_table(["data set", *names], rows)


def summary(entries: Sequence[Entry]) -> str:
    """How many values agree with the paper's; Synth is another draw than its own."""
    known = [entry for entry in entries if entry.paper is not None]
    published = [entry for entry in known if entry.data_set != SYNTH]
    near = sum(not entry.marked for entry in published)
    text = (
        f"Of {len(published)} values that the paper prints for published data, {near} "
        f"are within {MANY:.0f} standard deviations."
    )
    if len(published) < len(known):
        text += " Synth is another draw than the paper's: see [synth.md](synth.md)."
    return text


def misses(entries: Sequence[Entry]) -> list[str]:
    """List what is further away, on the data that the paper has too."""
    far = [entry for entry in entries if entry.marked and entry.data_set != SYNTH]
    if not far:
        return []
    rows = [
        [e.data_set, e.method, e.metric, e.ours, e.paper, f"{e.difference:+.1f}"]
        for e in far
    ]
    header = ["data set", "method", "metric", "ours", "paper", "difference"]
    title = f"## More than {MANY:.0f} standard deviations away"
    return [title, markdown_table(header, rows, texts=3)]


def threecpo(**options: Any) -> Factory:
    """Return a factory of the paper's 3CPO with some options changed."""
    chosen = {"init": "poisson-k-means++"} | options

    def make(n_clusters: int, random_state: Any = None, n_init: int = 10) -> ThreeCPO:
        return ThreeCPO(n_clusters, random_state=random_state, n_init=n_init, **chosen)

    return make


def merging(n_clusters: int, random_state: object = None, n_init: int = 10) -> ThreeCPO:
    """Make the default of the library, which needs fewer runs than the paper."""
    n_init = min(n_init, ThreeCPO().n_init)
    return ThreeCPO(n_clusters, random_state=random_state, n_init=n_init)


def best_of(study: Study) -> str:
    """Say which execution is shown."""
    return f"The execution of lowest loss, of {study.options.executions}."


def best_execution(
    study: Study, measure: Measure, data: Data, make: Factory, **options: Any
) -> Values:
    """Return what a measure says of the execution of lowest loss."""
    cells = [
        Cell(
            measure,
            data,
            make(data.n_clusters, random_state=seed, n_init=study.options.restarts),
            options,
            title=f"3CPO {seed}",
        )
        for seed in study.seeds
    ]
    (found,) = study.measure({data.name: cells}).values()
    return min(found, key=lambda values: values["loss"])
