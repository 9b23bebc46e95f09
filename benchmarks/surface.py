"""Count what a user meets: parameters, options of ``fit``, public names.

python benchmarks/surface.py
"""

from __future__ import annotations

import inspect
import re
from types import ModuleType

import click
from click.testing import CliRunner

import threecpo
from _common import table
from threecpo.cli import fit
from threecpo.cli._main import commands

# What a person can hold in mind.
CEILINGS = {
    "parameters of ThreeCPO": 19,
    "options shown by fit --help": 16,
    "options of fit": 46,
    "public names": 55,
}


def public_modules() -> dict[str, ModuleType]:
    """The package and the public modules in it, by name."""
    found = {threecpo.__name__: threecpo}
    waiting = [threecpo]
    while waiting:
        module = waiting.pop()
        for name in module.__all__:
            part = getattr(module, name)
            if isinstance(part, ModuleType):
                found[part.__name__] = part
                waiting.append(part)
    return found


def public_names() -> list[str]:
    """Names of classes and functions, wherever they are public."""
    return [
        f"{module_name}.{name}"
        for module_name, module in public_modules().items()
        for name in module.__all__
        if not isinstance(getattr(module, name), ModuleType)
    ]


def parameters() -> list[str]:
    return [*inspect.signature(threecpo.ThreeCPO).parameters]


def counted() -> dict[str, int]:
    # Without the group above it, click would keep a help option of other names.
    shown = CliRunner().invoke(commands, ["fit", "--help"]).output
    given = [p for p in fit.command.params if isinstance(p, click.Option)]
    options = [option for option in given if not option.hidden]
    return {
        "parameters of ThreeCPO": len(parameters()),
        "options shown by fit --help": len(re.findall(r"(?m)^  (?:-\w, )?--", shown)),
        "options of fit": len(options),
        "public names": len(public_names()),
    }


if __name__ == "__main__":
    rows = [[what, n, CEILINGS[what]] for what, n in counted().items()]
    print(table(["what", "now", "at most"], rows))
