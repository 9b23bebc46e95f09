"""Names of the experiments, and the command that runs them."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Experiment(NamedTuple):
    """A table or a figure, and the module of its function."""

    name: str
    kind: str
    module: str

    @property
    def function(self) -> Callable[..., None]:
        module = import_module(f".experiments.{self.module}", __package__)
        function: Callable[..., None] = getattr(module, self.name.replace("-", "_"))
        return function


TABLES, FIGURES, ALL = "tables", "figures", "all"
# By the order of the paper; runtimes last, as they want the machine for themselves.
EXPERIMENTS = {
    name: Experiment(name, kind, module)
    for name, kind, module in (
        ("characteristics", TABLES, "characteristics"),
        ("traditional", TABLES, "comparisons"),
        ("coclustering", TABLES, "comparisons"),
        ("text", TABLES, "comparisons"),
        ("rules", TABLES, "comparisons"),
        ("synth", TABLES, "synth"),
        ("outliers", TABLES, "comparisons"),
        ("columns", TABLES, "comparisons"),
        ("words", TABLES, "words"),
        ("zeros", FIGURES, "zeros"),
        ("convergence", FIGURES, "convergence"),
        ("noise-columns", FIGURES, "noise"),
        ("noise-range", FIGURES, "noise"),
        ("ablation", TABLES, "comparisons"),
        ("initialisation", TABLES, "comparisons"),
        ("k-path", FIGURES, "paths"),
        ("k-means-path", FIGURES, "paths"),
        ("number-of-clusters", TABLES, "paths"),
        ("outlier-digits", FIGURES, "outlier_digits"),
        ("runtime-rows", FIGURES, "runtime"),
        ("runtime-columns", FIGURES, "runtime"),
    )
}


def reproduce(name: str, **options: Any) -> None:
    """Run an experiment of the paper and write its files.

    Parameters
    ----------
    name : str
        One of ``EXPERIMENTS``, or "tables", "figures" or "all".
    **options
        ``executions`` and ``restarts`` (10 each), ``datasets`` and ``methods`` (names;
        all of the experiment's by default), ``jobs`` (processes), ``output`` and
        ``cache`` (folders), ``data`` (files of prepared matrices), ``download``,
        ``cached`` (show finished cells, run none) and ``quiet``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from paper import reproduce
    >>> with TemporaryDirectory() as folder:
    ...     reproduce("columns", datasets=["Synth"], executions=2, restarts=2,
    ...               output=folder, quiet=True)
    """
    from .experiments.data import Library
    from .experiments.study import NothingToDoError, Options, Study, say

    asked = _asked(name)
    many = len(asked) > 1
    chosen = _checked(replace(Options(), **_as_fields(options)))
    library = Library(chosen.data, download=chosen.download, say=say)
    library.resolve(chosen.datasets)
    for experiment in asked:
        study = Study(experiment.name, chosen, library, one_of_many=many)
        try:
            experiment.function(study)
        except NothingToDoError as error:
            if not many:
                raise
            say(str(error))
        else:
            study.finish()


def _asked(name: str) -> list[Experiment]:
    if name in (TABLES, FIGURES, ALL):
        return [e for e in EXPERIMENTS.values() if name in (ALL, e.kind)]
    if name not in EXPERIMENTS:
        message = (
            f"There is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}."
        )
        raise ValueError(message)
    return [EXPERIMENTS[name]]


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
            message = f"{name}={number!r} must be an integer of 1 or more."
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
    from .experiments.comparisons import ABLATION, INITIALISATION, RULES
    from .experiments.noise import RANDOM_COLUMNS
    from .methods import methods

    variants = [*ABLATION, *INITIALISATION, *RULES, RANDOM_COLUMNS]
    return list(dict.fromkeys([*methods(), *variants]))


def main(argv: Sequence[str] | None = None) -> int:
    """Parse a command line and run it; returns the exit status."""
    parser = _parser()
    given = vars(parser.parse_args(argv))
    name = given.pop("name")
    if name == "list":
        for experiment in EXPERIMENTS.values():
            title = (experiment.function.__doc__ or "").partition("\n")[0]
            kind = experiment.kind.removesuffix("s")
            print(f"{experiment.name:20} {kind:7} {title}")  # noqa: T201
        return 0
    try:
        reproduce(name, **given)
    except (ValueError, ImportError, RuntimeError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper",
        description="Run the paper's experiments; a run that was stopped goes on.",
    )
    add = parser.add_argument
    add(
        "name",
        choices=["list", TABLES, FIGURES, ALL, *EXPERIMENTS],
        metavar="NAME",
        help="an experiment, tables, figures or all; list shows them",
    )
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
