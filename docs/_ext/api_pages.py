"""A page for each public module, with a table of its names, from ``__all__``."""

import shutil
from importlib import import_module
from types import ModuleType

import threecpo

PAGE = """\
{title}
{line}

{about}

.. autosummary::
   :toctree: names
   :nosignatures:

{names}
{borrowed}"""
BORROWED = "\n{} are those of scikit-learn.\n"


def modules(inside=threecpo):
    """Return the package and the public modules in it, by name."""
    parts = [getattr(inside, name) for name in inside.__all__]
    found = (
        {}
        if all(isinstance(part, ModuleType) for part in parts)
        else {inside.__name__: inside}
    )
    for part in parts:
        if isinstance(part, ModuleType):
            found |= modules(part)
    return found


def public_names():
    """Return every public name, as the page that describes its object calls it."""
    pages, described = {}, {}
    for module_name, module in modules().items():
        for name in module.__all__:
            item = getattr(module, name)
            if not isinstance(item, ModuleType):
                pages[f"{module_name}.{name}"] = described.setdefault(
                    id(item), f"{module_name}.{name}"
                )
    return pages


def is_ours(name):
    """Whether an object is described here, and not by the library it comes from."""
    module, _, name = name.rpartition(".")
    home = getattr(getattr(import_module(module), name), "__module__", "threecpo")
    return home.startswith("threecpo")


def write(folder):
    """Write a page for each module into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    pages = public_names()
    for module in modules():
        names = [name for name in pages if name.rpartition(".")[0] == module]
        borrowed = [f"``{name}``" for name in names if not is_ours(pages[name])]
        shown = [pages[name] for name in names if is_ours(pages[name])]
        text = PAGE.format(
            title=module,
            line="=" * len(module),
            about=(import_module(module).__doc__ or "").partition("\n\n")[0],
            names="\n".join(f"   ~{name}" for name in shown),
            borrowed=BORROWED.format(" and ".join(borrowed)) if borrowed else "",
        )
        (folder / f"{module}.rst").write_text(text, encoding="utf-8")
