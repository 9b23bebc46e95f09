"""Who may import whom: the rooms of the package, from the lowest to the highest."""

import ast
from pathlib import Path

import pytest

import threecpo

ROOT = Path(threecpo.__file__).parent
# Rooms on one level do not import each other, but for those named together below.
LEVELS = (
    ("_core",),
    ("_fit",),
    ("table",),
    ("text",),
    ("io",),
    ("cluster", "cocluster", "preprocessing", "metrics", "datasets"),
    ("select", "distributed", "_methods"),
    ("results",),
    ("plot", "report"),
    ("anndata", "persistence", "cli"),
)
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
# Modules that belong to no room, with what they may import of rooms.
HELPERS = {
    "_array_files": (),
    "_errors": (),
    "_extras": (),
    "_labels": (),
    "_names": (),
    "_plain": (),
    "_progress": ("_fit",),
    "_spreadsheets": (),
    "_writing": (),
    "_options": ("_core", "_fit"),
    "_validation": ("_core",),
    "_old_models": ("_fit",),
}
# Sideways: on the same level, but one is made of the other.
SIDEWAYS = {
    ("anndata", "persistence"),
    ("cli", "anndata"),
    ("cli", "persistence"),
    ("distributed", "select"),
    ("preprocessing", "cluster"),
    ("report", "plot"),
}
# Doors that lead upward: methods that call one public function.
DOORS = {
    ("cluster/_base.py", "_fit_blocks", "distributed"),
    ("cluster/_tree.py", "_split_blocks", "distributed"),
    ("cluster/_threecpo.py", "_fit_auto", "select"),
    ("cluster/_threecpo.py", "save", "persistence"),
    ("select/_path.py", "_repr_html_", "report"),
    ("select/_select.py", "_over_blocks", "distributed"),
    ("select/_path.py", "plot", "plot"),
}


def modules():
    return sorted(ROOT.rglob("*.py"))


def room_of(path):
    """Room or helper that a file of the package belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def target_of(path, node):
    """Dotted name inside the package that an import means, None for other packages."""
    if isinstance(node, ast.Import):
        names = [name.name for name in node.names if name.name.startswith("threecpo.")]
        return [name.removeprefix("threecpo.") for name in names]
    if node.level == 0:
        if (node.module or "").split(".")[0] != "threecpo":
            return []
        base = node.module.removeprefix("threecpo").lstrip(".")
    else:
        package = path.relative_to(ROOT).parts[: -node.level]
        if len(path.relative_to(ROOT).parts) < node.level:
            return []
        base = ".".join([*package, *([node.module] if node.module else [])])
    if not base or _is_package_only(base):
        return [f"{base}.{name.name}".lstrip(".") for name in node.names]
    return [f"{base}.{name.name}" for name in node.names]


def _is_package_only(base):
    return (ROOT / base.replace(".", "/")).is_dir()


def typing_only(tree):
    """Nodes inside ``if TYPE_CHECKING``."""
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            inside |= {id(each) for part in node.body for each in ast.walk(part)}
    return inside


def imports(path):
    """Every import of the package: function it stands in, name, only for types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = typing_only(tree)

    def walk(node, function):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                for target in target_of(path, child):
                    yield function, target, id(child) in typing
            inner = child.name if isinstance(child, ast.FunctionDef) else function
            yield from walk(child, inner)

    yield from walk(tree, "")


def test_no_room_imports_a_higher_one():
    for path in modules():
        check_direction(path)


def check_direction(path):
    room, name = room_of(path), path.relative_to(ROOT).as_posix()
    for function, target, for_types in imports(path):
        other = target.split(".")[0]
        if for_types or other == room or room == "__init__" or other in HELPERS:
            continue
        if other.startswith("__") or room == "__main__":
            continue
        if room in HELPERS:
            assert other in HELPERS[room], f"{name} imports {target}"
        elif (name, function, other) not in DOORS:
            below = LEVEL[other] < LEVEL[room] or (room, other) in SIDEWAYS
            assert below, f"{name} imports {target}"


def test_nothing_private_of_another_room_is_imported():
    found = ((p, target) for p in modules() for _, target, _ in imports(p))
    for path, target in found:
        room = room_of(path)
        first, *rest = target.split(".")
        if first in (room, "_core", "_fit") or first in HELPERS or room == "__init__":
            continue
        private = [part for part in rest if part.startswith("_")]
        assert not private, f"{path.relative_to(ROOT)} imports {target}"


def private_uses(tree):
    """Underscore members of anything but self and cls, and uses of ``__dict__``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = getattr(node.value, "id", "")
            if node.attr == "__dict__":
                yield node.attr
            private = node.attr.startswith("_") and not node.attr.startswith("__")
            if private and owner not in ("self", "cls"):
                yield f"{owner}.{node.attr}"
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "vars":
            yield "vars"


ESTIMATOR_MEMBERS = {
    "_plan",
    "_keep",
    "_keep_path",
    "_settings",
    "_describe",
    "_workers",
    "_row_results",
    "_row_attributes",
    "_plain_parameters",
}


def test_nobody_reaches_into_an_estimator():
    for path in modules():
        check_members(path)


def check_members(path):
    if room_of(path) in ("cluster", "_fit", "_core"):
        return
    uses = list(private_uses(ast.parse(path.read_text(encoding="utf-8"))))
    into = [
        use
        for use in uses
        if use.split(".")[-1] in ESTIMATOR_MEMBERS
        or use.startswith(("model.", "estimator.", "fitted."))
    ]
    assert not into, f"{path.relative_to(ROOT)}: {into}"
    of_dicts = [use for use in uses if use in ("__dict__", "vars")]
    # A chunk of a Dask array describes itself for pickling.
    allowed = path.name == "_chunks.py"
    assert allowed or not of_dicts, f"{path.relative_to(ROOT)}: {of_dicts}"


@pytest.mark.parametrize(("file", "function", "room"), sorted(DOORS))
def test_a_door_upward_is_one_call(file, function, room):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    (found,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == function
    )
    statements = [
        node
        for node in found.body
        if not isinstance(node, ast.ImportFrom)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    checks = [node for node in statements if "check_is_fitted" in ast.unparse(node)]
    assert len(statements) - len(checks) == 1
    (imported,) = (node for node in found.body if isinstance(node, ast.ImportFrom))
    assert imported.module == room
    assert not any(name.name.startswith("_") for name in imported.names)


def test_the_core_and_the_fits_know_nothing_of_scikit_learn():
    for path in modules():
        if room_of(path) in ("_core", "_fit"):
            text = path.read_text(encoding="utf-8")
            for library in ("sklearn", "pandas", "anndata", "dask"):
                assert f"import {library}" not in text, path
                assert f"from {library}" not in text, path
