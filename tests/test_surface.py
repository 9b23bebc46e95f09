"""What a user meets stays small: parameters, options, public names."""

import inspect
import re
from types import ModuleType

import pytest

import threecpo

# What a person can hold in mind.
CEILINGS = {
    "parameters of ThreeCPO": 19,
    "options shown by fit --help": 16,
    "options of fit": 46,
    "public names": 55,
}


def public_names(module):
    for name in module.__all__:
        part = getattr(module, name)
        if isinstance(part, ModuleType):
            yield from public_names(part)
        else:
            yield f"{module.__name__}.{name}"


@pytest.fixture(scope="module")
def counted():
    click = pytest.importorskip("click")
    from click.testing import CliRunner

    from threecpo.cli import fit
    from threecpo.cli._main import commands

    # Without the group above it, click would keep a help option of other names.
    shown = CliRunner().invoke(commands, ["fit", "--help"]).output
    given = [p for p in fit.command.params if isinstance(p, click.Option)]
    return {
        "parameters of ThreeCPO": len(inspect.signature(threecpo.ThreeCPO).parameters),
        "options shown by fit --help": len(re.findall(r"(?m)^  (?:-\w, )?--", shown)),
        "options of fit": sum(not option.hidden for option in given),
        "public names": len([*public_names(threecpo)]),
    }


@pytest.mark.parametrize("what", CEILINGS)
def test_the_surface_is_within_its_ceiling(what, counted):
    assert counted[what] <= CEILINGS[what]
