"""Checks the pages that were made: ``python built_pages.py FOLDER``.

Every link and anchor inside the site leads somewhere, and no page loads anything from
elsewhere.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href"}
# Relations of <link> that are followed by nobody but machines.
NOT_LOADED = {"canonical", "search", "index", "next", "prev", "author", "genindex"}


class Page(HTMLParser):
    """Anchors, links and what is loaded."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        target = found.get(LOADED.get(tag, "href"))
        if target is None or set(found.get("rel", "").split()) & NOT_LOADED:
            return
        self.links.add(target)
        if tag in LOADED:
            self.loaded.add(target)


def faults(folder):
    """Sentences about links that lead nowhere and about things from elsewhere."""
    paths = [path for path in folder.rglob("*.html") if path.parent.name != "_static"]
    pages = {path: Page(path) for path in paths}
    for path, page in pages.items():
        where = path.relative_to(folder)
        for target in sorted(page.loaded):
            if urlsplit(target).netloc:
                yield f"{where} loads {target}"
        for target in sorted(page.links):
            if not leads_somewhere(target, path, pages):
                yield f"{where} links to {target}, which is not there"


def leads_somewhere(target, path, pages):
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return True
    goal = path
    if parts.path:
        goal = (path.parent / unquote(parts.path)).resolve()
    if not goal.is_file():
        return False
    fragment = unquote(parts.fragment)
    return not fragment or goal not in pages or fragment in pages[goal].anchors


if __name__ == "__main__":
    found = list(faults(Path(sys.argv[1]).resolve()))
    sys.exit("\n".join(found) or None)
