"""The experiments as a package of their own, beside the library."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import experiments
from experiments import EXPERIMENTS

FOLDER = Path(experiments.__file__).parent
# The numerics and the fit are for everybody in the repository.
ALLOWED = {"_core", "_fit", "__version__"}


def imported_names(path):
    """Dotted names of the library that a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def private_parts(name):
    first, *rest = name.split(".")
    if first != "threecpo" or (rest and rest[0] in ALLOWED):
        return []
    return [part for part in rest if part.startswith("_")]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.stem)
def test_only_public_names_of_the_library_are_imported(path):
    assert [name for name in imported_names(path) if private_parts(name)] == []


def test_the_list_needs_no_heavy_library():
    program = (
        "import json, sys\n"
        "from experiments import main\n"
        "main(['--list'])\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, cwd=FOLDER.parent, capture_output=True, text=True, check=True
    )
    assert len(done.stdout.splitlines()) == len(EXPERIMENTS)
    loaded = {name.partition(".")[0] for name in json.loads(done.stderr)}
    assert not loaded & {"numpy", "scipy", "sklearn", "numba", "matplotlib"}


def test_the_command_runs_from_the_root_of_a_checkout():
    command = [sys.executable, "-m", "experiments", "--list"]
    done = subprocess.run(
        command, cwd=FOLDER.parent, capture_output=True, text=True, check=True
    )
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(EXPERIMENTS)
