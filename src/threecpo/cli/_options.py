"""All options of the command line: one declaration each, in titled groups."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._errors import ParameterError
from .._parameters import PARAMETERS, SUBLINEAR
from ..io.formats import FORMATS
from ._printing import flag_of, print_note
from ._small_files import read_seeds

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from .._errors import Given

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

CLUSTERS, SEARCH, INPUT = "Clusters", "Search", "Input"
TEXT, LARGE, OUTPUT = "Texts", "Large files", "Output"
OTHER = "Other"
TITLES = (CLUSTERS, SEARCH, INPUT, TEXT, LARGE, OUTPUT, OTHER)
GROUPS = {"relevant": 1, "shared": 0, "noise": -1}
MOST_SEED = 2**32 - 1
_SHOW_ALL = "threecpo.show_all"
# Commands that need the loops of a fit.
_FITTING = ("fit", "demo", "select-k")


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
        if all(p.shown or p.hidden for p in params if isinstance(p, Option)):
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
        from ..io.limits import allowing

        beside: AbstractContextManager[None] = nullcontext()
        if will_compile():
            print_note("Compiling (once) …")
            if ctx.info_name in _FITTING:
                from .._core.ahead import compiled_beside

                beside = compiled_beside()
        try:
            with beside, allowing(ctx.params.pop("max_unpacked", None)):
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


new_command = partial(click.command, cls=Command)


def will_compile() -> bool:
    """Whether loops are not in numba's cache, found without loading numba."""
    package = Path(__file__).parents[1]
    if f"{package.name}._core.loops.rows" in sys.modules:
        return False
    loops = package / "_core" / "loops"
    index = f"rows.*.py{sys.version_info.major}{sys.version_info.minor}.nbi"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        found = [*Path(chosen).glob(f"*/{index}")]
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
        found = [*(loops / "__pycache__").glob(index)]
        found += [*(home / "numba").glob(f"loops_*/{index}")]
    return not found


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
            kind = "an integer" if self._whole else "a number"
            others = "".join(f" or {name!r}" for name in self._names)
            upper = "or more" if self._most == float("inf") else f"to {self._most}"
            text = f"{value!r} is not {kind} of {self._least:g} {upper}{others}."
            self.fail(text, param, ctx)
        return number


def _fixed_groups(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, int] | None:
    """Groups of columns: total_reads=noise."""
    found = {}
    for text in texts:
        column, _, group = text.rpartition("=")
        if not column or group.strip() not in GROUPS:
            message = (
                f"{text!r} is not a column and its group, such as total_reads=noise "
                "(relevant, shared or noise)."
            )
            raise click.BadParameter(message, ctx, param)
        found[column] = GROUPS[group.strip()]
    return found or None


def _checked_size(_: Any, __: Any, value: str | None) -> str | None:
    from ..io.limits import parse_limit

    parse_limit(value)
    return value


# Options that --help shows; the others are in --help-all alone.
_SHOWN = (
    *("n_clusters", "outliers", "robust", "batch", "known", "criterion", "labels"),
    *("metadata", "drop", "triples", "transform", "rows", "names", "stability"),
    "force",
)
_PATH = click.Path(path_type=Path)
_FLAG: dict[str, Any] = {"is_flag": True}
_MANY: dict[str, Any] = {"multiple": True}
# Name, what stands for its value (a flag has none) and help of options by group; those
# of a fit are in the table of parameters.
_HELP = {
    CLUSTERS: {
        "batch COLUMN": "Technical grouping of rows (lab, donor, plate) whose effect "
        "is removed.",
        "known COLUMN": "Column of known clusters, blank where unknown.",
        "seed_columns FILE": "Columns that clusters start from: json, or a csv of "
        "cluster and column.",
        "fixed_groups COLUMN=GROUP": "Keep a column relevant, shared or noise. Can be "
        "repeated.",
    },
    SEARCH: {"n_init_of_each N": "Restarts per K; auto: stop when two agree."},
    INPUT: {
        "labels COLUMN": "Column of labels to compare or test, such as cell type; not "
        "clustered. Can be repeated.",
        "metadata FILE": "Table with --labels, --batch and --known, joined by the row "
        "names in its first column.",
        "metadata_index COLUMN": "Column of row names in --metadata. [default: the "
        "first]",
        "only_matched": "Leave out rows that --metadata lacks.",
        "drop COLUMN": "Column to leave out. Can be repeated.",
        "triples": "Read one count per line: row, column, count [default: detected]. "
        "--triples ROW COLUMN [COUNT] names these columns.",
        "named_triples": "",
        "transform": "Transform large values, such as money, before the fit.",
        "transpose": "Transpose the table.",
        "index COLUMN": "Column of row names, or none. [default: detected]",
        "header": "Whether the first line names the columns. [default: detected]",
        "decimal": "Decimal separator. [default: .]",
        "thousands": "Thousands separator. [default: none]",
        "empty": "Read empty cells and NA as zero. [default: an error]",
        "encoding NAME": "Text encoding. [default: utf-8]",
        "sheet NAME": "Sheet of an xlsx or ods file. [default: the first]",
        "layer NAME": "Matrix of an h5ad or zarr, or feature type of a 10x .h5 file.",
        "format NAME": f"File format: {', '.join(FORMATS)}. [default: detected]",
        "max_unpacked SIZE": "Largest size that a file may unpack to, such as 10GB. "
        "[default: 100 times its size, at least 512 MiB]",
    },
    TEXT: {
        "text COLUMN": "Column or field of texts. Can be repeated. [default: detected]",
        "language NAME": "Language for stemming, or none. [default: english]",
        "max_words N": "Number of words to keep, most frequent first. [default: 2000]",
    },
    LARGE: {
        "max_memory SIZE": "Read FILE in blocks of rows within this memory, such as "
        "2GB.",
        "checkpoint PATH": "Folder to resume an interrupted fit from; reads FILE in "
        "blocks.",
        "sample_rows N": "Number of sampled rows that a fit in blocks starts from. "
        "[default: 20000]",
        "workers N": "Number of worker processes, or the address of a Dask scheduler "
        "(tcp://…).",
    },
    OUTPUT: {
        "title TEXT": "Heading of the report. [default: the name of the table]",
        "rows WORD": "What a row is, such as cell or customer.",
        "columns WORD": "What a column is, such as gene.",
        "names FILE": "Names of clusters: json, csv with cluster and name, or one name "
        "per line.",
        "stability": "Measure which clusters are stable (several more fits).",
        "write": "Also write segments.xlsx, or segments.h5ad for scanpy. Can be "
        "repeated.",
        "no_report": "Do not write report.html.",
        "open": "Open the report in a browser.",
        "force": "Replace existing results.",
        "json": "Print JSON for programs.",
    },
}
_ABOUT = {
    key.split()[0]: {
        "group": group,
        "metavar": key.partition(" ")[2] or None,
        "help": h,
    }
    for group, lines in _HELP.items()
    for key, h in lines.items()
}
# What click is told beside that; flags unless it is the name with dashes.
_SETTINGS: dict[str, dict[str, Any]] = {
    "n_clusters": {"flags": ("-k", "--clusters")},
    "random_state": {"flags": ("--seed",)},
    "n_jobs": {"flags": ("--jobs",)},
    "n_init_of_each": {"flags": ("--n-init",), "type": Number(1, names=("auto",))},
    "seed_columns": {"type": _PATH, "callback": lambda _, __, p: p and read_seeds(p)},
    "fixed_groups": {
        "flags": ("--fix-group", "fixed_groups"),
        "callback": _fixed_groups,
        **_MANY,
    },
    **dict.fromkeys(("labels", "drop", "text"), _MANY),
    **dict.fromkeys(("only_matched", "transpose", "stability", "no_report"), _FLAG),
    "force": _FLAG,
    "open": {"flags": ("--open", "opened"), **_FLAG},
    "json": {"flags": ("--json", "as_json"), **_FLAG},
    "triples": {"flags": ("--triples/--wide",), "default": None},
    "header": {"flags": ("--header/--no-header",), "default": None},
    "named_triples": {"nargs": 3, "hidden": True},
    "transform": {"type": click.Choice(SUBLINEAR)},
    "decimal": {"type": click.Choice([".", ","])},
    "thousands": {"type": click.Choice([".", ",", " ", "'"])},
    "empty": {"type": click.Choice(["zero"])},
    "format": {"type": click.Choice(list(FORMATS))},
    "max_unpacked": {"callback": _checked_size},
    "max_words": {"type": Number(1)},
    "sample_rows": {"type": Number(1)},
    "checkpoint": {"type": _PATH},
    "names": {"type": _PATH},
    "write": {"type": click.Choice(["xlsx", "h5ad"]), **_MANY},
}


def option(*names: str, shown: bool = True, **settings: Any) -> Decorator:
    return click.option(*names, cls=Option, shown=shown, **settings)


def _declared(name: str) -> Decorator:
    """The option of a name, in the table above or in that of parameters."""
    settings = dict(_SETTINGS.get(name, {}))
    flags = settings.pop("flags", (flag_of(name),))
    if name in _ABOUT:
        settings |= _ABOUT[name]
    else:
        flags, settings = (*flags, name), _of_parameter(name)
    return option(*flags, shown=name in _SHOWN, **settings)


def _of_parameter(name: str) -> dict[str, Any]:
    """Settings of an option made from a parameter; None leaves the default to it."""
    found = PARAMETERS[name]
    kinds: dict[str, dict[str, Any]] = {
        "integer": {"type": Number(found.least or 0, names=found.choices)},
        "choice": {"type": click.Choice([each for each in found.choices if each])},
        "limits": {"is_flag": True, "default": None},
        "seed": {"type": Number(0, MOST_SEED), "default": 0, "show_default": True},
        "jobs": {"type": int},
    }
    search = ("criterion", "n_init", "random_state", "n_jobs")
    text = found.sentence
    if found.kind in ("integer", "choice") and found.default is not None:
        text = f"{text} [default: {found.default}]"
    return kinds[found.kind] | {
        "group": SEARCH if name in search else CLUSTERS,
        "metavar": "N" if found.kind in ("integer", "seed", "jobs") else None,
        "help": text,
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
            function = _declared(name)(function)
        return function

    return decorate


def output_option(text: str) -> Decorator:
    """``-o`` of a command that writes something else than a fit does."""
    return option("-o", "--output", type=_PATH, metavar="PATH", help=text)


def given(values: dict[str, Any]) -> dict[str, Any]:
    """Parameters that were set on the command line."""
    return {name: value for name, value in values.items() if value not in (None, ())}
