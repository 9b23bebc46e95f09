"""Options that several commands have."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._parameters import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Callable

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

NO_PENALTY = "none"


def examples(*lines: str) -> str:
    """Commands to try, for the end of a help text; click wraps all but such blocks."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator, shown in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


class NumberOrAuto(click.ParamType):  # type: ignore[type-arg]
    """A whole number of 1 or more, or auto."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        if isinstance(value, int) or value == "auto":
            return value
        try:
            number = int(value)
        except ValueError:
            number = 0
        if number < 1:
            self.fail(
                f"{value!r} is neither a whole number of 1 or more nor 'auto'.",
                param,
                ctx,
            )
        return number


AT_LEAST_ONE = click.IntRange(min=1)
NOT_NEGATIVE = click.FloatRange(min=0)
LIMIT = click.FloatRange(min=1)

seed_option = click.option(
    "--seed",
    "random_state",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="The same seed gives the same bits.",
)
jobs_option = click.option(
    "--jobs", "n_jobs", type=int, help="Threads. [default: all cores]"
)
force_option = click.option("--force", is_flag=True, help="Replace existing results.")
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON for machines."
)
batch_option = click.option(
    "--batch",
    "batch_column",
    metavar="COLUMN",
    help="Column of batches (laboratory, donor, source), which make no clusters.",
)


words_options = together(
    click.option(
        "--rows",
        "rows_called",
        metavar="WORD",
        help="What rows are called, such as cells (or mouse/mice). [default: rows]",
    ),
    click.option(
        "--columns",
        "columns_called",
        metavar="WORD",
        help="What columns are called, such as genes. [default: columns]",
    ),
)


def _checked_size(_: Any, __: Any, value: str | None) -> str | None:
    from ..io.limits import parse_limit

    parse_limit(value)
    return value


def max_unpacked_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--max-unpacked``: what files may unpack to while the command runs."""

    @functools.wraps(function)
    def wrapped(*, max_unpacked: str | None, **given: Any) -> Any:
        from ..io.limits import allowing

        with allowing(max_unpacked):
            return function(**given)

    return click.option(
        "--max-unpacked",
        metavar="SIZE",
        callback=_checked_size,
        help="What a file you trust may unpack to, such as 10GB. "
        "[default: 100 times its size, at least 512 MiB]",
    )(wrapped)


def output_option(text: str) -> Decorator:
    """``-o``, a path."""
    return click.option(
        "-o", "--output", type=click.Path(path_type=Path), metavar="PATH", help=text
    )


def run_options(n_init: str) -> Decorator:
    """Options named as the parameters of ThreeCPO; None leaves the default to it."""
    return together(
        click.option(
            "--init",
            type=click.Choice(PARAMETERS["init"].choices),
            help="How runs start. [default: merge; poisson-k-means++ is the paper's]",
        ),
        click.option("--n-init", type=NumberOrAuto(), help=n_init),
        click.option(
            "--max-iter",
            type=AT_LEAST_ONE,
            help="Most iterations of a run. [default: 300]",
        ),
        click.option(
            "--column-penalty",
            type=click.Choice(
                [name or NO_PENALTY for name in PARAMETERS["column_penalty"].choices]
            ),
            help="Price of a relevant column. [default: mdl]",
        ),
        click.option(
            "--assignment",
            type=click.Choice(PARAMETERS["assignment"].choices),
            help="Row rule. [default: exact]",
        ),
        click.option(
            "--prior", type=NOT_NEGATIVE, help="Added to counts. [default: 0.001]"
        ),
        click.option(
            "--robust", is_flag=True, default=None, help=PARAMETERS["robust"].sentence
        ),
        click.option(
            "--max-dispersion",
            type=LIMIT,
            help="Hold back columns that vary more than Poisson counts by this factor; "
            "10 is a good one. [default: none]",
        ),
        click.option(
            "--max-row-size",
            type=LIMIT,
            help="Hold back rows of more counts than this many median ones. "
            "[default: none]",
        ),
        seed_option,
        jobs_option,
    )


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Parameters that were set on the command line."""
    out = {name: value for name, value in options.items() if value is not None}
    if out.get("column_penalty") == NO_PENALTY:
        out["column_penalty"] = None
    limits = {"columns": "max_dispersion", "rows": "max_row_size"}
    robust = {key: out.pop(name) for key, name in limits.items() if name in out}
    return out | ({"robust": robust} if robust else {})
