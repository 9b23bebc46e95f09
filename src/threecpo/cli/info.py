"""``threecpo info``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ._fit_info import described_fit, fit_lines, fit_of
from ._input_file import InputFile, source_options
from ._option_names import as_options
from ._printing import clean, listed, number_of, print_json, print_line
from ._shared_options import examples, json_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..table import CountTable


@click.command(
    epilog=examples(
        "threecpo info atlas.h5ad",
        "threecpo info atlas.h5ad --labels cell_type --labels donor",
        "threecpo info atlas.threecpo",
    )
)
@source_options
@json_option
def command(source: InputFile, *, as_json: bool) -> None:
    """Say what FILE holds, and what may be wrong with it.

    FILE is a table of counts, a model, or a folder that `threecpo fit` wrote.
    Overdispersion is how many times more the counts of a column vary than Poisson
    counts of rows of these sizes would: 1 where rows differ in nothing but size.
    """
    model = fit_of(source.path)
    facts = described(source.read()) if model is None else described_fit(model)
    if as_json:
        print_json({"path": source.path.absolute()} | facts)
        return
    kind, lines = ("", _lines) if model is None else ("a fit of ", fit_lines)
    size = f"{facts['rows']} rows x {facts['columns']} columns"
    print_line(f"{source.path}: {kind}{size}")
    for name, text in lines(facts).items():
        click.echo(f"  {name:15} {clean(text)}")
    for text in _label_lines(facts.get("label_kinds")):
        click.echo(f"  {'labels':15} {clean(text)}")
    for warning in facts.get("warnings", []):
        print_line(f"! {warning}")


def described(table: CountTable) -> dict[str, Any]:
    """Facts about a table of counts, with warnings for people."""
    from ..results import describe_counts

    facts = describe_counts(table)
    return facts | {"warnings": list(map(as_options, _warnings(facts)))}


def _lines(facts: dict[str, Any]) -> dict[str, str]:
    taken = {"matrix": facts["description"]} if facts["description"] else {}
    return taken | {
        "counts": f"{facts['stored']} not 0 ({100 * facts['density']:.3g} %), "
        f"sum {facts['total']:.15g}",
        "range": f"{facts['least']:g} to {facts['most']:g}"
        + ("" if facts["whole"] else ", not whole numbers"),
        "row sums": "{least:g} to {most:g}, median {median:g}".format(
            **facts["row_sums"]
        ),
        "overdispersion": (
            "median {median:.3g}, above 2 in {above_2:.0%} of the columns"
        ).format(**facts["overdispersion"]),
        "row names": _some(facts["first_row_names"], facts["rows"]),
        "column names": _some(facts["first_column_names"], facts["columns"]),
    }


def _label_lines(kinds: dict[str, list[str]] | None) -> list[str]:
    """A line for each kind of labels; none of a fit, which holds no labels."""
    from .._labels import LABEL

    if kinds is None:
        return []
    return [
        f"{'' if kind == LABEL else f'{kind}: '}{listed(values) or 'no values'}"
        for kind, values in kinds.items()
    ] or ["none"]


def _some(names: list[str] | None, n: int) -> str:
    """First names, and a sign that there are more."""
    if names is None:
        return "none"
    return ", ".join(names) + (", …" if n > len(names) else "")


def _warnings(facts: dict[str, Any]) -> Iterator[str]:
    from ..results.trap_lines import trap_lines, value_lines

    yield from value_lines(facts)
    if empty := facts["empty_columns"]:
        yield f"{number_of(empty, 'column')} with no counts"
    for kind in ("row", "column"):
        if repeated := facts[f"repeated_{kind}_names"]:
            yield f"{kind} names that occur more than once: {listed(repeated, 3)}"
    yield from trap_lines(facts)
