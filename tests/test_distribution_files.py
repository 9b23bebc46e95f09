"""What the wheel and the source distribution hold."""

import tomllib
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]


def names_in(builder_class):
    builder = builder_class(str(ROOT))
    files = builder.recurse_included_files()
    return {PurePosixPath(Path(file.distribution_path).as_posix()) for file in files}


def top_folders(names):
    return {name.parts[0] for name in names if len(name.parts) > 1}


def test_the_wheel_holds_the_package_alone():
    wheel = pytest.importorskip("hatchling.builders.wheel")
    names = names_in(wheel.WheelBuilder)
    assert PurePosixPath("threecpo/cli/fit.py") in names
    assert PurePosixPath("threecpo/data/austen.npz") in names
    assert PurePosixPath("threecpo/data/README.md") in names
    assert top_folders(names) == {"threecpo"}


def test_the_source_distribution_holds_the_paper():
    sdist = pytest.importorskip("hatchling.builders.sdist")
    names = names_in(sdist.SdistBuilder)
    assert PurePosixPath("paper/paper_values.csv") in names
    assert PurePosixPath("src/threecpo/data/austen.npz") in names
    assert PurePosixPath("paper/__main__.py") in names
    assert PurePosixPath("docs/tutorials/cells.md") in names
    assert PurePosixPath("docs/images/report.png") in names
    assert PurePosixPath("conftest.py") in names
    parts = {"src", "benchmarks", "docs", "fuzz", "paper", "tests"}
    assert top_folders(names) == parts


def test_the_wheel_is_made_of_one_folder():
    with (ROOT / "pyproject.toml").open("rb") as file:
        targets = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"] == {"packages": ["src/threecpo"]}
