"""Runs a page of documentation: ``python tutorial.py PAGE [--update]``.

Python is checked as doctests are, in one namespace; commands after ``$`` are run, and
must say what stands below them (``...`` is anything). ``--update`` writes into the page
what they say now, and the pictures that they draw beside it.
"""

import contextlib
import doctest
import io
import re
import shlex
import shutil
import sys
import textwrap
import traceback
from pathlib import Path

from threecpo.cli import main

BLOCK = re.compile(
    r"^( *)```(python|console)\n(.*?)^ *```$", flags=re.DOTALL | re.MULTILINE
)
PYTHON, CONSOLE = doctest.ELLIPSIS, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Page:
    def __init__(self):
        self.names, self.failures, self.blocks = {"__name__": "__main__"}, 0, 0

    def run(self, block):
        """Return a block with what its lines say now."""
        margin, kind, text = block.groups()
        self.blocks += 1
        text = textwrap.dedent(text)
        lines = self.commands(text) if kind == "console" else self.python(text)
        return textwrap.indent(f"```{kind}\n{''.join(lines)}```", margin)

    def python(self, text):
        for part in doctest.DocTestParser().parse(text):
            if isinstance(part, str):
                if part.strip():
                    yield part
                continue
            said = self.output(part)
            source = part.source.replace("\n", "\n... ").removesuffix("... ")
            shown = self.checked(part.source, part.want, said, PYTHON)
            yield f">>> {source}{shown}"
        yield "\n"

    def output(self, part):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            try:
                exec(compile(part.source, "<page>", "single"), self.names)
            except Exception as error:
                if part.exc_msg is None:
                    raise
                last = traceback.format_exception_only(error)[-1]
                return part.want.replace(part.exc_msg, last)
        return said.getvalue()

    def commands(self, text):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, want = part.partition("\n")
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                main(shlex.split(command)[1:])
            shown = self.checked(command, want, said.getvalue(), CONSOLE)
            yield f"$ {command}\n{shown}"

    def checked(self, source, want, got, options):
        if doctest.OutputChecker().check_output(want, got, options):
            return want
        self.failures += 1
        sys.stdout.write(f"{source}\nexpected:\n{want}\ngot:\n{got}\n")
        return got


def run_page(path, *, update=False):
    text, page = path.read_text(encoding="utf-8"), Page()
    new = BLOCK.sub(page.run, text)
    sys.stdout.write(f"{page.blocks} blocks, {page.failures} failures\n")
    if update:
        path.write_text(new, encoding="utf-8")
        for picture in Path().glob(f"{path.stem}-*.png"):
            shutil.copy(picture, path.parent / picture.name)
        return 0
    return page.failures


if __name__ == "__main__":
    sys.exit(bool(run_page(Path(sys.argv[1]), update="--update" in sys.argv)))
