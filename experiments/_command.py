"""Names of the experiments, and the command that runs them."""

from __future__ import annotations

import argparse
import ast
import sys
from dataclasses import replace
from importlib import import_module, resources
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

# By the order of the paper; runtimes last, as they want the machine for themselves.
EXPERIMENTS = {
    name: name.replace("-", "_")
    for name in (
        "characteristics",
        "traditional",
        "coclustering",
        "text",
        "rules",
        "synth",
        "outliers",
        "columns",
        "words",
        "zeros",
        "convergence",
        "noise-columns",
        "noise-range",
        "ablation",
        "initialisation",
        "k-path",
        "k-means-path",
        "number-of-clusters",
        "outlier-digits",
        "runtime-rows",
        "runtime-columns",
    )
}
ALL = "all"


def reproduce(name: str, **options: Any) -> None:
    """Run an experiment of the paper and write its files.

    Parameters
    ----------
    name : str
        One of ``EXPERIMENTS``, or "all".
    **options
        ``executions`` and ``restarts`` (10 each), ``datasets`` and ``methods`` (names;
        all of the experiment's by default), ``jobs`` (processes), ``output`` and
        ``cache`` (folders), ``data`` (files of prepared matrices), ``download``,
        ``cached`` (show finished cells, run none) and ``quiet``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from experiments import reproduce
    >>> with TemporaryDirectory() as folder:
    ...     reproduce("columns", datasets=["Synth"], executions=2, restarts=2,
    ...               output=folder, quiet=True)
    """
    from ._data import Library
    from ._study import NothingToDoError, Options, Study, say

    if name != ALL and name not in EXPERIMENTS:
        message = (
            f"There is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}."
        )
        raise ValueError(message)
    chosen = _checked(replace(Options(), **_as_fields(options)))
    library = Library(chosen.data, download=chosen.download, say=say)
    library.resolve(chosen.datasets)
    many = name == ALL
    for each in EXPERIMENTS if many else [name]:
        study = Study(each, chosen, library, one_of_many=many)
        try:
            import_module(f".{EXPERIMENTS[each]}", __package__).run(study)
        except NothingToDoError as error:
            if not many:
                raise
            say(str(error))
        else:
            study.finish()


def _as_fields(options: dict[str, Any]) -> dict[str, Any]:
    """Options as plain values: tuples of names, paths."""
    kinds = {"datasets": str, "methods": str, "data": Path}
    fields = dict(options)
    for name, kind in kinds.items():
        fields[name] = tuple(kind(value) for value in fields.get(name) or ())
    for name in ("output", "cache"):
        if fields.get(name) is not None:
            fields[name] = Path(fields[name])
    return fields


def _checked(options: Any) -> Any:
    for name in ("executions", "restarts", "jobs"):
        number = getattr(options, name)
        if name == "jobs" and number is None:
            continue
        whole = isinstance(number, Integral) and not isinstance(number, bool)
        if not whole or number < 1:
            message = f"{name}={number!r} must be a whole number of 1 or more."
            raise ValueError(message)
    known = _known_methods()
    for name in options.methods:
        if name not in known:
            message = f"There is no method {name!r}; there are {', '.join(known)}."
            raise ValueError(message)
    for path in options.data:
        if not path.is_file():
            message = f"There is no file {path}."
            raise ValueError(message)
    return options


def _known_methods() -> list[str]:
    from threecpo import methods

    from ._noise import RANDOM_COLUMNS
    from .ablation import VARIANTS as ABLATION
    from .initialisation import VARIANTS as INITIALISATION
    from .rules import VARIANTS as RULES

    variants = [*ABLATION, *INITIALISATION, *RULES, RANDOM_COLUMNS]
    return list(dict.fromkeys([*methods(), *variants]))


def main(argv: Sequence[str] | None = None) -> int:
    """Parse a command line and run it; returns the exit status."""
    parser = _parser()
    given = vars(parser.parse_args(argv))
    if given.pop("list"):
        for name in EXPERIMENTS:
            print(f"{name:20} {_title(name)}")  # noqa: T201
        return 0
    name = given.pop("name")
    if name is None:
        parser.error("name an experiment, or all; --list shows them.")
    try:
        reproduce(name, **given)
    except (ValueError, ImportError, RuntimeError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Run the paper's experiments; a run that was stopped goes on.",
    )
    add = parser.add_argument
    add("name", nargs="?", choices=[*EXPERIMENTS, ALL], metavar="NAME")
    add("--list", action="store_true", help="show the experiments")
    add("--executions", type=int, default=10, help="default: 10")
    add("--restarts", type=int, default=10, help="runs in each (default: 10)")
    add("--datasets", nargs="+", metavar="NAME", help="by the paper's names")
    add("--methods", nargs="+", metavar="NAME", help="by the paper's names")
    add("--jobs", type=int, help="processes (default: one for each core)")
    add("--output", type=Path, default=Path("results"), help="default: results")
    add("--cache", type=Path, help="finished cells (default: OUTPUT/.cells)")
    add(
        "--data",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="more data sets: .npz files of a CSR matrix (data, indices, indptr, "
        "shape) with labels",
    )
    add("--download", action="store_true", help="get data sets that are not here")
    add("--cached", action="store_true", help="show finished cells, run none")
    add("--quiet", action="store_true", help="no progress")
    return parser


def _title(name: str) -> str:
    """First line of the module's docstring, without importing it."""
    file = resources.files(__package__) / f"{EXPERIMENTS[name]}.py"
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]
