"""What a release needs: addresses, versions, one way to install, its files."""

import importlib
import os
import re
import tomllib
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACEHOLDER = ".invalid"


with (ROOT / "pyproject.toml").open("rb") as _file:
    PROJECT = tomllib.load(_file)


HOOK = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]
TEXTS = [
    path
    for folder, pattern in (
        (".", "*.md"),
        ("docs", "**/*.md"),
        ("docs", "*.py"),
        ("src", "**/*.py"),
    )
    for path in (ROOT / folder).glob(pattern)
    if not {"_build", "_made", "api"} & set(path.relative_to(ROOT).parts)
]


def files_with(text):
    return {
        path.relative_to(ROOT).as_posix()
        for path in TEXTS
        if text in path.read_text(encoding="utf-8")
    }


def test_addresses_stand_in_one_place():
    for address in HOOK.values():
        assert files_with(address.rstrip("/")) == set()


@pytest.mark.skipif(
    "THREECPO_RELEASE" not in os.environ, reason="only a release needs addresses"
)
def test_a_release_has_addresses():
    assert not [address for address in HOOK.values() if PLACEHOLDER in address]


def test_links_of_the_readme_work_on_an_index():
    pytest.importorskip("hatchling")
    hatch_build = importlib.import_module("hatch_build")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = hatch_build.with_addresses(text, "https://somewhere.invalid/threecpo")
    targets = re.findall(r"\]\(([^)]+)\)", shown)
    assert targets
    assert all(target.startswith("https://") for target in targets)
    assert "/raw/main/docs/images/report.png" in shown


def test_links_of_the_readme_lead_to_files():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / target).exists(), target


def test_how_to_install_is_said_in_one_place():
    assert files_with('pip install "threecpo[') == {
        "docs/get-started/install.md",
        "src/threecpo/_extras.py",
    }


def test_the_oldest_versions_are_those_of_the_project():
    lines = (ROOT / "tests" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    oldest = dict(line.split("==") for line in lines if "==" in line)
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    needs = [
        *project["dependencies"],
        *(need for some in extras.values() for need in some),
    ]
    asked = {}
    for need in needs:
        name, _, rest = need.partition(">=")
        if rest:
            asked[name] = re.match(r"[\d.]+", rest)[0]
    assert set(oldest) == set(asked)
    for name, version in asked.items():
        assert re.fullmatch(rf"{re.escape(version)}(\.0)*", oldest[name]), name


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
