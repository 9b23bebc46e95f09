"""All options of the command line: one declaration each, in titled groups."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._errors import ParameterError
from .._parameters import PARAMETERS, ROW_PARAMETERS, SUBLINEAR
from ..io.formats import FORMATS
from ._printing import print_note

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._errors import Given

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

CLUSTERS, SEARCH, INPUT = "Clusters", "Search", "Input"
TEXT, LARGE, OUTPUT = "Texts", "Large files", "Output"
OTHER = "Other"
TITLES = (CLUSTERS, SEARCH, INPUT, TEXT, LARGE, OUTPUT, OTHER)
GROUPS = {"relevant": 1, "shared": 0, "noise": -1}
MOST_SEED = 2**32 - 1
_SHOW_ALL = "threecpo.show_all"


def examples(*lines: str) -> str:
    """Commands to try, for the end of a help text; click wraps all but such blocks."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


class Option(click.Option):
    """An option of a group; one that is not ``shown`` is in ``--help-all`` alone."""

    def __init__(
        self, *args: Any, group: str = OUTPUT, shown: bool = False, **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.group, self.shown = group, shown


class Command(click.Command):
    """Shows its options in titled groups, and says when loops must be compiled."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        hidden = [p for p in params if isinstance(p, Option) and not p.shown]
        if not any(not each.hidden for each in hidden):
            return params
        more = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Show all options and exit.",
        )
        return [*params, more]

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        titled: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = isinstance(param, click.Option) and param.get_help_record(ctx)
            group = param.group if isinstance(param, Option) else OTHER
            hidden = isinstance(param, Option) and not param.shown
            if record and (not hidden or ctx.meta.get(_SHOW_ALL)):
                titled.setdefault(group, []).append(record)
        for title in sorted(titled, key=TITLES.index):
            with formatter.section(title):
                formatter.write_dl(titled[title])

    def invoke(self, ctx: click.Context) -> Any:
        if will_compile():
            print_note("Compiling (once) …")
        from ..io.limits import allowing

        try:
            with allowing(ctx.params.pop("max_unpacked", None)):
                return super().invoke(ctx)
        except ParameterError as error:
            raise ValueError(error.spelled(self._spelled)) from error

    def _spelled(self, parameter: Given) -> str:
        """Write a parameter in a message as the option of this command."""
        name, value = parameter
        flag = next((each.opts[0] for each in self.params if each.name == name), None)
        if flag is None:
            return str(parameter)
        return flag if value is True else f"{flag} {value}"


def _show_all(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value and not ctx.resilient_parsing:
        ctx.meta[_SHOW_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


command = partial(click.command, cls=Command)


def will_compile() -> bool:
    """Whether loops are not in numba's cache, found without loading numba."""
    package = Path(__file__).parents[1]
    if f"{package.name}._core.loops.rows" in sys.modules:
        return False
    source = package / "_core" / "loops" / "rows.py"
    index = f"rows.*.py{sys.version_info.major}{sys.version_info.minor}.nbi"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        found = [*Path(chosen).glob(f"*/{index}")]
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
        found = [*(source.parent / "__pycache__").glob(index)]
        found += [*(home / "numba").glob(f"loops_*/{index}")]
    changed = source.stat().st_mtime
    return not any(each.stat().st_mtime >= changed for each in found)


class Number(click.ParamType):  # type: ignore[type-arg]
    """A number within limits, or one of some names."""

    name = "number"

    def __init__(
        self,
        least: float,
        most: float = float("inf"),
        *,
        whole: bool = True,
        names: tuple[Any, ...] = (),
    ) -> None:
        self._least, self._most, self._whole, self._names = least, most, whole, names

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value in self._names or not isinstance(value, str):
            return value
        try:
            number = int(value) if self._whole else float(value)
        except ValueError:
            number = float("nan")
        if not self._least <= number <= self._most:
            kind = "a whole number" if self._whole else "a number"
            others = "".join(f" or {name!r}" for name in self._names)
            upper = "or more" if self._most == float("inf") else f"to {self._most}"
            self.fail(
                f"{value!r} is not {kind} of {self._least:g} {upper}{others}.",
                param,
                ctx,
            )
        return number


class FixedGroup(click.ParamType):  # type: ignore[type-arg]
    """A column and its group: total_reads=noise."""

    name = "column=group"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        column, _, group = value.rpartition("=")
        if not column or group.strip() not in GROUPS:
            self.fail(
                f"{value!r} is not a column and its group, such as total_reads=noise "
                "(relevant, shared or noise).",
                param,
                ctx,
            )
        return column, GROUPS[group.strip()]


def _checked_size(_: Any, __: Any, value: str | None) -> str | None:
    from ..io.limits import parse_limit

    parse_limit(value)
    return value


def _parameter(name: str, *flags: str, **settings: Any) -> Decorator:
    """An option made from the table of parameters; None leaves the default to it."""
    found = PARAMETERS[name]
    kinds: dict[str, dict[str, Any]] = {
        "integer": {
            "type": Number(found.least or 0, names=found.choices),
            "metavar": "N",
        },
        "choice": {"type": click.Choice([each for each in found.choices if each])},
        "limits": {"is_flag": True, "default": None},
        "seed": {
            "type": Number(0, MOST_SEED),
            "metavar": "N",
            "default": 0,
            "show_default": True,
        },
        "jobs": {"type": int, "metavar": "N"},
    }
    shown = found.kind in ("integer", "choice") and found.default is not None
    text = f"{found.sentence} [default: {found.default}]" if shown else found.sentence
    return click.option(
        *(flags or (f"--{name.replace('_', '-')}",)),
        name,
        cls=Option,
        help=text,
        **kinds[found.kind],
        **settings,
    )


def option(*names: str, **settings: Any) -> Decorator:
    """An option of a titled group."""
    return click.option(*names, cls=Option, **settings)


_PATH = click.Path(path_type=Path)
_WORD = {"metavar": "WORD", "group": OUTPUT}
_READ = {"group": INPUT}
_DECLARED: dict[str, Decorator] = {
    # Clusters
    "n_clusters": _parameter(
        "n_clusters", "-k", "--clusters", group=CLUSTERS, shown=True
    ),
    "max_clusters": _parameter("max_clusters", group=CLUSTERS),
    "outliers": _parameter("outliers", group=CLUSTERS, shown=True),
    "robust": _parameter("robust", group=CLUSTERS, shown=True),
    "batch": option(
        "--batch",
        metavar="COLUMN",
        help=ROW_PARAMETERS["batch"].sentence,
        group=CLUSTERS,
        shown=True,
    ),
    "known": option(
        "--known",
        metavar="COLUMN",
        help="Column with clusters that are known, blank where they are not.",
        group=CLUSTERS,
        shown=True,
    ),
    "seed_columns": option(
        "--seed-columns",
        type=_PATH,
        metavar="FILE",
        help="Columns that clusters start from: json, or a csv of cluster and column.",
        group=CLUSTERS,
    ),
    "fixed_groups": option(
        "--fix-group",
        "fixed_groups",
        type=FixedGroup(),
        multiple=True,
        metavar="COLUMN=GROUP",
        help="Keep a column relevant, shared or noise. Repeats.",
        group=CLUSTERS,
    ),
    # Search
    "criterion": _parameter("criterion", group=SEARCH, shown=True),
    "n_init": _parameter("n_init", group=SEARCH),
    "n_init_of_each": option(
        "--n-init",
        type=Number(1, names=("auto",)),
        metavar="N",
        help="Restarts per K; auto: stop when two agree.",
        group=SEARCH,
    ),
    "random_state": _parameter("random_state", "--seed", group=SEARCH),
    "n_jobs": _parameter("n_jobs", "--jobs", group=SEARCH),
    # Input
    "labels": option(
        "--labels",
        metavar="COLUMN",
        multiple=True,
        help="Column to compare clusters with, such as cell type; not clustered. "
        "Repeats.",
        shown=True,
        **_READ,
    ),
    "metadata": option(
        "--metadata",
        type=click.Path(),
        metavar="FILE",
        help="Table with --labels, --batch and --known, joined by the row names in its "
        "first column.",
        shown=True,
        **_READ,
    ),
    "metadata_index": option(
        "--metadata-index",
        metavar="COLUMN",
        help="Column of row names in --metadata. [default: the first]",
        **_READ,
    ),
    "only_matched": option(
        "--only-matched",
        is_flag=True,
        help="Leave out rows that --metadata lacks.",
        **_READ,
    ),
    "drop": option(
        "--drop",
        metavar="COLUMN",
        multiple=True,
        help="Column to leave out. Repeats.",
        shown=True,
        **_READ,
    ),
    "triples": option(
        "--triples/--wide",
        default=None,
        help="Lines are row, column, count [default: detected]; name the columns by "
        "--triples ROW COLUMN COUNT.",
        shown=True,
        **_READ,
    ),
    "named_triples": option("--named-triples", nargs=3, hidden=True),
    "transform": option(
        "--transform",
        type=click.Choice(SUBLINEAR),
        help="Transform large values, such as money, before the fit.",
        shown=True,
        **_READ,
    ),
    "transpose": option(
        "--transpose", is_flag=True, help="Transpose the table.", **_READ
    ),
    "index": option(
        "--index",
        metavar="COLUMN",
        help="Column of row names, or none. [default: detected]",
        **_READ,
    ),
    "header": option(
        "--header/--no-header",
        default=None,
        help="Whether the first line names the columns. [default: detected]",
        **_READ,
    ),
    "decimal": option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Decimal separator. [default: .]",
        **_READ,
    ),
    "thousands": option(
        "--thousands",
        type=click.Choice([".", ",", " ", "'"]),
        help="Thousands separator. [default: none]",
        **_READ,
    ),
    "empty": option(
        "--empty",
        type=click.Choice(["zero"]),
        help="Read empty cells and NA as zero. [default: an error]",
        **_READ,
    ),
    "encoding": option(
        "--encoding", metavar="NAME", help="Text encoding. [default: utf-8]", **_READ
    ),
    "sheet": option(
        "--sheet",
        metavar="NAME",
        help="Sheet of an xlsx or ods file. [default: the first]",
        **_READ,
    ),
    "layer": option(
        "--layer",
        metavar="NAME",
        help="Matrix of an h5ad or zarr, or feature type of a 10x .h5 file.",
        **_READ,
    ),
    "format": option(
        "--format",
        type=click.Choice(list(FORMATS)),
        metavar="NAME",
        help=f"File format: {', '.join(FORMATS)}. [default: detected]",
        **_READ,
    ),
    "max_unpacked": option(
        "--max-unpacked",
        metavar="SIZE",
        callback=_checked_size,
        help="Largest size that a file may unpack to, such as 10GB. "
        "[default: 100 times its size, at least 512 MiB]",
        **_READ,
    ),
    # Texts
    "text": option(
        "--text",
        metavar="COLUMN",
        multiple=True,
        help="Column or field of texts. Repeats. [default: detected]",
        group=TEXT,
    ),
    "language": option(
        "--language",
        metavar="NAME",
        help="Language for stemming, or none. [default: english]",
        group=TEXT,
    ),
    "max_words": option(
        "--max-words",
        type=Number(1),
        metavar="N",
        help="Most frequent words to keep. [default: 2000]",
        group=TEXT,
    ),
    # Large files
    "max_memory": option(
        "--max-memory",
        metavar="SIZE",
        help="Read FILE in blocks of rows within this memory, such as 2GB.",
        group=LARGE,
    ),
    "checkpoint": option(
        "--checkpoint",
        type=_PATH,
        metavar="PATH",
        help="Folder to resume an interrupted fit from; reads FILE in blocks.",
        group=LARGE,
    ),
    "sample_rows": option(
        "--sample-rows",
        type=Number(1),
        metavar="N",
        help="Rows that a fit in blocks starts from. [default: 20000]",
        group=LARGE,
    ),
    "workers": option(
        "--workers",
        metavar="N",
        help="Processes to work in, or the address of a Dask scheduler (tcp://…).",
        group=LARGE,
    ),
    # Output
    "output": option(
        "-o",
        "--output",
        type=_PATH,
        metavar="PATH",
        help="Folder for the results. [default: FILE's name with .threecpo]",
        shown=True,
    ),
    "rows": option(
        "--rows", help="What a row is, such as cell or customer.", shown=True, **_WORD
    ),
    "columns": option("--columns", help="What a column is, such as gene.", **_WORD),
    "names": option(
        "--names",
        type=_PATH,
        metavar="FILE",
        help="Names of clusters: json, a csv with cluster and name, or a name a line.",
        shown=True,
    ),
    "stability": option(
        "--stability",
        is_flag=True,
        help="Measure which clusters are stable (several more fits).",
        shown=True,
    ),
    "write": option(
        "--write",
        type=click.Choice(["xlsx", "h5ad"]),
        multiple=True,
        help="Also write segments.xlsx, or segments.h5ad for scanpy. Repeats.",
    ),
    "no_report": option("--no-report", is_flag=True, help="Do not write report.html."),
    "open": option(
        "--open", "opened", is_flag=True, help="Open the report in a browser."
    ),
    "force": option(
        "--force", is_flag=True, help="Replace existing results.", shown=True
    ),
    "json": option("--json", "as_json", is_flag=True, help="Print JSON for programs."),
}
SEARCHING = (
    *("outliers", "robust", "batch", "known", "seed_columns", "fixed_groups"),
    *("random_state", "n_jobs"),
)
TEXTS = ("text", "language", "max_words")
BLOCKS = ("max_memory", "checkpoint", "sample_rows", "workers")
READING = (
    *("labels", "metadata", "metadata_index", "only_matched", "drop", "triples"),
    *("named_triples", "transform", "transpose", "index", "header", "decimal"),
    *("thousands", "empty", "encoding", "sheet", "layer", "format", *TEXTS),
)


def options(*names: str) -> Decorator:
    """Give a command these options, shown in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            function = _DECLARED[name](function)
        return function

    return decorate


def output_option(text: str) -> Decorator:
    """``-o`` of a command that writes something else than a fit does."""
    return option("-o", "--output", type=_PATH, metavar="PATH", help=text, shown=True)


def given(values: dict[str, Any]) -> dict[str, Any]:
    """Parameters that were set on the command line."""
    return {name: value for name, value in values.items() if value not in (None, ())}
