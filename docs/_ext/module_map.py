"""Writes the map of modules into CONTRIBUTING.md, from their first docstring lines.

    python docs/_ext/module_map.py

tests/docs/test_pages.py checks that it is up to date.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "threecpo"
PAGE = ROOT / "CONTRIBUTING.md"
START, END = "<!-- modules -->\n", "<!-- end of modules -->\n"
WIDTH = 20


def first_line(path):
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].rstrip(".")


def lines():
    """One line for each module of the package, and for each package inside it."""
    for path in sorted(PACKAGE.iterdir(), key=lambda each: (each.is_dir(), each.name)):
        if path.is_dir() and (path / "__init__.py").is_file():
            yield shown(f"{path.name}/", first_line(path / "__init__.py"))
        elif path.suffix == ".py" and path.name not in ("__init__.py", "__main__.py"):
            yield shown(path.name, first_line(path))


def shown(name, text):
    return f"{name:{WIDTH}}{text}".rstrip()


def with_map(page):
    """The page with the map as it is now."""
    before, rest = page.split(START)
    _, after = rest.split(END)
    return f"{before}{START}```\n{chr(10).join(lines())}\n```\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_map(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
