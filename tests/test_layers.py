"""Who may import whom: the rooms of the package, from the lowest to the highest."""

import ast
from pathlib import Path

import threecpo

ROOT = Path(threecpo.__file__).parent
# Rooms on one level do not import each other, but for those named together below.
LEVELS = (
    ("_core",),
    ("_fit",),
    ("table",),
    ("text",),
    ("io",),
    ("cluster", "preprocessing", "datasets"),
    ("select", "distributed"),
    ("results",),
    ("plot", "report"),
    ("anndata", "persistence", "cli"),
)
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
# Modules that belong to no room, with what they may import of rooms.
HELPERS = {
    "_errors": (),
    "_extras": (),
    "_labels": (),
    "_plain": (),
    "_progress": ("_fit",),
    "_spreadsheets": (),
    "_writing": (),
    "_parameters": (),
    "_options": ("_core", "_fit"),
    "_row_values": ("_core",),
    "_validation": ("_core",),
}
# Sideways: on the same level, but one is made of the other.
SIDEWAYS = {
    ("anndata", "persistence"),
    ("cli", "anndata"),
    ("cli", "persistence"),
    ("distributed", "select"),
    ("report", "plot"),
}
# Doors that lead upward: methods that call one public function.
DOORS = {
    ("cluster/_described.py", "stability", "results"),
    ("cluster/_described.py", "batch_columns", "results"),
    ("cluster/_described.py", "downweighted_columns", "results"),
    ("cluster/_described.py", "downweighted_rows", "results"),
    ("cluster/_described.py", "top_columns", "results"),
    ("cluster/_changes.py", "_refined", "distributed"),
    ("cluster/_changes.py", "split", "distributed"),
    ("cluster/_changes.py", "tree_table", "results"),
    ("cluster/fitting.py", "fit", "select"),
    ("cluster/fitting.py", "fit", "distributed"),
    ("cluster/plain.py", "save", "persistence"),
    ("select/_path.py", "_repr_html_", "report"),
    ("select/_path.py", "plot", "plot"),
    ("select/selection.py", "select_n_clusters", "distributed"),
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


def named(path):
    return path.relative_to(ROOT).as_posix()


def allowed(name, room, function, other):
    """Whether a file of a room may import another room in this function."""
    if other in (room, *HELPERS) or room in ("__init__", "__main__"):
        return True
    if room in HELPERS:
        return other in HELPERS[room]
    below = LEVEL[other] < LEVEL[room] or (room, other) in SIDEWAYS
    return below or (name, function, other) in DOORS


def test_no_room_imports_a_higher_one_or_anything_private_of_another():
    wrong = []
    for path in modules():
        room, name = room_of(path), named(path)
        for function, target, for_types in imports(path):
            other, *rest = target.split(".")
            if not (for_types or other.startswith("__")):
                wrong += [(name, target)] * (not allowed(name, room, function, other))
            if other not in (room, "_core", "_fit", *HELPERS) and room != "__init__":
                private = any(part.startswith("_") for part in rest)
                wrong += [(name, target)] * private
    assert wrong == []


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
    "_keep",
    "_workers",
    "_by_row",
    "_counts_of",
}


def reaches_in(use):
    """Whether a use of a private name is one of an estimator's."""
    of_estimator = use.startswith(("model.", "estimator.", "fitted."))
    return of_estimator or use.split(".")[-1] in ESTIMATOR_MEMBERS


def test_nobody_reaches_into_an_estimator():
    wrong = []
    for path in modules():
        if room_of(path) in ("cluster", "_fit", "_core"):
            continue
        uses = list(private_uses(ast.parse(path.read_text(encoding="utf-8"))))
        dicts = ("__dict__", "vars")
        wrong += [(named(path), use) for use in uses if use in dicts or reaches_in(use)]
    assert wrong == []


def test_a_door_upward_is_one_call():
    for file, function, room in sorted(DOORS):
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        (found,) = (
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name == function
        )
        nodes = [*ast.walk(found)]
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        (names,) = (node.names for node in imports if node.module == room)
        (name,) = (alias.name for alias in names)
        assert not name.startswith("_"), file
        calls = [node.func for node in nodes if isinstance(node, ast.Call)]
        assert [getattr(call, "id", "") for call in calls].count(name) == 1, file


def test_the_core_and_the_fits_know_nothing_of_scikit_learn():
    for path in modules():
        if room_of(path) in ("_core", "_fit"):
            text = path.read_text(encoding="utf-8")
            for library in ("sklearn", "pandas", "anndata", "dask"):
                assert f"import {library}" not in text, path
                assert f"from {library}" not in text, path


PAPER = Path(__file__).resolve().parents[1] / "paper"
# Helpers of the library that the paper may use beside its numerics and fits.
OF_PAPER = {"_options", "_validation", "_writing"}


def absolute_imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_the_library_does_not_know_the_paper():
    for path in modules():
        found = [name for name in absolute_imports(path) if name.startswith("paper.")]
        assert not found, path


def test_the_paper_enters_the_library_by_its_numerics_and_few_helpers():
    for path in sorted(PAPER.rglob("*.py")):
        for name in absolute_imports(path):
            package, room, *rest = [*name.split("."), ""]
            if package != "threecpo" or room in {"_core", "_fit", "__version__"}:
                continue
            private = [part for part in (room, *rest) if part.startswith("_")]
            assert set(private) <= OF_PAPER, f"{path.relative_to(PAPER)}: {name}"
