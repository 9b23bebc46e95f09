"""Pages from elsewhere in the repository, generated pages, links that leave docs/."""

import os
import re
from pathlib import Path

import command_pages
from sphinx.util import inspect

LINK = re.compile(r"(?<!\!)(\[[^]]*\])\(([^)\s]+)\)")
# The whole text of such a page is: <!-- from: CHANGELOG.md -->
FROM = re.compile(r"\A<!-- from: (\S+) -->\s*\Z")
COMMANDS = "<!-- commands -->"


class Links:
    """Links of one page of the site to files of the repository."""

    def __init__(self, app, page, source):
        self.docs, self.repository = Path(app.srcdir), app.config.repository
        self.page, self.source = page, source
        self.stubs = stubs(self.docs)

    def rewritten(self, text):
        return LINK.sub(self.link, text)

    def link(self, found):
        words, (path, mark, anchor) = found[1], found[2].partition("#")
        target = Path(os.path.normpath(self.source.parent / path))
        if not path or ":" in path or not target.is_relative_to(self.docs.parent):
            return found[0]
        if target in self.stubs:
            target = self.stubs[target]
        if target.is_relative_to(self.docs) and target.is_file():
            here = os.path.relpath(target, self.page.parent)
            return f"{words}({Path(here).as_posix()}{mark}{anchor})"
        if not target.exists():
            return found[0]
        kind = "tree" if target.is_dir() else "blob"
        inside = target.relative_to(self.docs.parent).as_posix()
        return f"{words}({self.repository}/{kind}/main/{inside}{mark}{anchor})"


def stubs(docs):
    """Files outside docs/ that have a page on the site, and that page."""
    found = {}
    for page in docs.glob("about/*.md"):
        if source := FROM.match(page.read_text(encoding="utf-8")):
            found[docs.parent / source[1]] = page
    return found


def on_source_read(app, name, content):
    page = Path(app.env.doc2path(name))
    if page.suffix != ".md":
        return
    text, source = content[0], page
    if found := FROM.match(text):
        source = Path(app.srcdir).parent / found[1]
        app.env.note_dependency(str(source))
        text = source.read_text(encoding="utf-8")
    if COMMANDS in text:
        text = text.replace(COMMANDS, command_pages.page())
    content[0] = Links(app, page, source).rewritten(text)


def skip_what_is_not_ours(app, what, name, item, skip, options):
    """Leave out members that come from scikit-learn and other libraries."""
    function = getattr(item, "fget", None) or item
    home = getattr(function, "__module__", None) or ""
    return True if not home.startswith("threecpo") else None


def signature_of_init(app, what, name, item, options, signature, returned):
    """Show the parameters of a class, also where ``__new__`` takes anything."""
    if what != "class" or signature is None:
        return None
    found = inspect.signature(item.__init__, bound_method=True)
    shown = inspect.stringify_signature(
        found, show_return_annotation=False, unqualified_typehints=True
    )
    return shown, None


def setup(app):
    app.add_config_value("repository", "", "env")
    app.connect("source-read", on_source_read)
    app.connect("autodoc-skip-member", skip_what_is_not_ours)
    app.connect("autodoc-process-signature", signature_of_init)
    return {"parallel_read_safe": True}
