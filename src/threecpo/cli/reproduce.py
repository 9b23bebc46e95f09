"""``threecpo reproduce``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._printing import print_json, print_line
from ._shared_options import AT_LEAST_ONE, examples, json_option

if TYPE_CHECKING:
    from types import ModuleType

_NAMES: dict[str, Any] = {
    "multiple": True,
    "metavar": "NAME",
    "help": "By the paper's name. Repeats.",
}


@click.command(
    epilog=examples(
        "threecpo reproduce",
        "threecpo reproduce traditional --executions 2 --datasets BBCSports",
    )
)
@click.argument("name", required=False)
@click.option("--executions", type=AT_LEAST_ONE, default=10, show_default=True)
@click.option(
    "--restarts",
    type=AT_LEAST_ONE,
    default=10,
    show_default=True,
    help="Runs in each execution.",
)
@click.option("--datasets", **_NAMES)
@click.option("--methods", **_NAMES)
@click.option("--jobs", type=AT_LEAST_ONE, help="Processes. [default: all cores]")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
)
@click.option(
    "--cache",
    type=click.Path(path_type=Path),
    help="Folder of what is finished. [default: .cells in the output]",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Another data set, as npz with labels. Repeats.",
)
@click.option("--download", is_flag=True, help="Get data sets that are not here.")
@json_option
def command(name: str | None, *, as_json: bool, **options: Any) -> None:
    """Repeat a table or figure of the paper, beside the paper's values.

    Without NAME the experiments are listed; NAME may be all. A run that was stopped
    goes on where it was. The experiments are in the repository of threecpo, not in the
    installed package: run this in the folder of a clone.
    """
    experiments = _experiments()
    if name is None:
        if as_json:
            print_json(list(experiments.EXPERIMENTS))
        else:
            for each in experiments.EXPERIMENTS:
                print_line(each)
        return
    experiments.reproduce(name, **options, quiet=not sys.stderr.isatty())
    if as_json:
        print_json({"output": options["output"].absolute()})
    else:
        print_line(f"results: {options['output']}")


def _experiments() -> ModuleType:
    """Import the experiments of the checkout that this file or the user is in."""
    for folder in (Path(__file__).resolve().parents[3], Path.cwd()):
        if _is_checkout(folder):
            # Worker processes import the experiments by the same path.
            sys.path.insert(0, str(folder))
            return import_module("experiments")
    message = (
        "The experiments are not part of the installed package: clone the repository "
        "of threecpo and run this command in its folder."
    )
    raise ImportError(message)


def _is_checkout(folder: Path) -> bool:
    package = folder / "src" / "threecpo" / "__init__.py"
    return package.is_file() and (folder / "experiments" / "__init__.py").is_file()
