"""``threecpo info``: what a table, a model or a folder of results holds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from ._input_file import InputFile, source_options
from ._options import examples, new_command, options
from ._output_paths import RUN_FILE, run_of
from ._printing import (
    as_options,
    clean,
    fail,
    listed,
    number_of,
    print_json,
    print_line,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..table import CountTable


def described_fit(model: Path) -> dict[str, Any]:
    """Facts about a fit, those of its folder with it."""
    from ..persistence import load_plain
    from ..results import fit_facts

    facts = fit_facts(load_plain(model, computes=False))
    run = run_of(model.parent)
    dicts = all(
        isinstance(run.get(name, {}), dict) for name in ("nouns", "choice", "stability")
    )
    if not dicts or not isinstance(run.get("warnings", []), list):
        fail(f"{model.parent / RUN_FILE} is damaged; run threecpo fit again.")
    beside = ("command", "finished", "nouns", "choice", "stability", "agreement")
    return facts | {n: run[n] for n in (*beside, "warnings") if n in run}


def fit_lines(facts: dict[str, Any]) -> dict[str, str]:
    """What people read of it."""
    from ..results.facts import separation_line

    named = zip(facts["cluster_names"], facts["cluster_sizes"], strict=True)
    clusters = ", ".join(f"{k} {name} ({n})" for k, (name, n) in enumerate(named))
    if facts["outliers"]:
        clusters += f" and {number_of(facts['outliers'], 'outlier')}"
    groups = facts["column_groups"]
    lines = {
        "clusters": clusters,
        "columns": ", ".join(f"{n} {group}" for group, n in groups.items()),
        "loss": f"{facts['loss']:.8g} after {number_of(facts['iterations'], 'step')}",
        "dispersion φ": _measured(
            facts["dispersion"],
            "factor by which a typical column varies more than Poisson counts in "
            "clusters",
        ),
        "temperature T": _measured(
            facts["temperature"],
            "factor by which row scores vary more than those of Poisson counts; "
            "confidence divides by it",
        ),
        "confidence": _confidence(facts["confidence"]),
    }
    if line := separation_line(facts):
        lines["separation"] = line
    if "choice" in facts:
        lines["chosen"] = str(facts["choice"].get("sentence"))
    verdicts = Counter(filter(None, facts.get("stability", {}).get("verdicts", ())))
    if verdicts:
        lines["verdicts"] = ", ".join(f"{n} {word}" for word, n in verdicts.items())
    return lines


def _measured(value: float | None, meaning: str) -> str:
    return "not measured" if value is None else f"{value:.3g}: {meaning}"


def _confidence(means: list[float | None]) -> str:
    if None in means and len(set(means)) == 1:
        return "not measured"
    listed = ", ".join("-" if mean is None else f"{mean:.2f}" for mean in means)
    return f"{listed} on average, of each cluster"


@new_command(
    epilog=examples(
        "threecpo info atlas.h5ad",
        "threecpo info atlas.h5ad --labels cell_type --labels donor",
        "threecpo info atlas.threecpo",
    )
)
@source_options
@options("json")
def command(source: InputFile, *, as_json: bool) -> None:
    """Summarise FILE and flag likely problems.

    FILE is a table of counts, a model, or a folder that `threecpo fit` wrote.
    Overdispersion is the factor by which the counts of a column vary more than Poisson
    counts; it is 1 if rows differ only in size.
    """
    from .._labels import LABEL
    from ..persistence import is_model

    path, model = source.path, None  # None for a table of counts
    if path.is_dir():
        model = path / "model.npz" if run_of(path) else None
    elif is_model(path):
        model = path
    if model is None:
        from ..io.metadata import columns_for_labels

        facts = described(source.read())
        facts["label_columns"] = columns_for_labels(path)
    else:
        facts = described_fit(model)
    if as_json:
        print_json({"path": path.absolute()} | facts)
        return
    kind, lines = ("", _count_lines) if model is None else ("a fit of ", fit_lines)
    size = f"{facts['rows']} rows x {facts['columns']} columns"
    print_line(f"{path}: {kind}{size}")
    for name, text in lines(facts).items():
        click.echo(f"  {name:15} {clean(text)}")
    labels = [  # a fit does not hold labels
        f"{'' if kind == LABEL else f'{kind}: '}{listed(values) or 'no values'}"
        for kind, values in facts.get("label_kinds", {}).items()
    ] or (["none"] if model is None else [])
    for text in labels:
        click.echo(f"  {'labels':15} {clean(text)}")
    if columns := facts.get("label_columns"):
        click.echo(f"  {'obs columns':15} {clean(listed(columns))} (--labels COLUMN)")
    for warning in facts.get("warnings", []):
        print_line(f"! {warning}")


def described(table: CountTable) -> dict[str, Any]:
    """Facts about a table of counts, with warnings for people."""
    from ..results import describe_counts

    facts = describe_counts(table)
    return facts | {"warnings": list(map(as_options, _warnings(facts)))}


def _count_lines(facts: dict[str, Any]) -> dict[str, str]:
    taken = {"matrix": facts["description"]} if facts["description"] else {}
    return taken | {
        "counts": f"{facts['stored']} not 0 ({100 * facts['density']:.3g} %), "
        f"sum {facts['total']:.15g}",
        "range": f"{facts['least']:g} to {facts['most']:g}"
        + ("" if facts["whole"] else ", not integers"),
        "row sums": "{least:g} to {most:g}, median {median:g}".format(
            **facts["row_sums"]
        ),
        "overdispersion": (
            "median {median:.3g}, above 2 in {above_2:.0%} of the columns"
        ).format(**facts["overdispersion"]),
        "row names": _some(facts["first_row_names"], facts["rows"]),
        "column names": _some(facts["first_column_names"], facts["columns"]),
    }


def _some(names: list[str] | None, n: int) -> str:
    """First names, and a sign that there are more."""
    if names is None:
        return "none"
    return ", ".join(names) + (", …" if n > len(names) else "")


def _warnings(facts: dict[str, Any]) -> Iterator[str]:
    from ..results.input_checks import problem_lines, value_lines

    yield from value_lines(facts)
    if empty := facts["empty_columns"]:
        yield f"{number_of(empty, 'column')} with no counts"
    for kind in ("row", "column"):
        if repeated := facts[f"repeated_{kind}_names"]:
            yield f"{kind} names that occur more than once: {listed(repeated, 3)}"
    yield from problem_lines(facts)
