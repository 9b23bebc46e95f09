"""Runs a page of documentation: ``python tutorial.py PAGE`` in an empty folder.

Python is checked as doctests are, in one namespace; commands after ``$`` are run, and
must say what stands below them (``...`` is anything).
"""

import contextlib
import doctest
import io
import re
import shlex
import sys
from pathlib import Path

from threecpo.cli import main

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_python(text, names, page, line):
    test = doctest.DocTestParser().get_doctest(text, names, page, page, line)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, clear_globs=False)
    names.update(test.globs)
    return runner.failures


def run_commands(text):
    failures = 0
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            main(shlex.split(command)[1:])
        if not doctest.OutputChecker().check_output(expected, said.getvalue(), OPTIONS):
            failures += 1
            got = said.getvalue()
            sys.stdout.write(f"$ {command}\nexpected:\n{expected}\ngot:\n{got}\n")
    return failures


def run_page(path):
    page = Path(path).read_text(encoding="utf-8")
    names, failures, blocks = {"__name__": "__main__"}, 0, 0
    for block in BLOCK.finditer(page):
        kind, text = block.groups()
        blocks += 1
        if kind == "console":
            failures += run_commands(text)
        else:
            line = page.count("\n", 0, block.start()) + 1
            failures += run_python(text, names, path, line)
    sys.stdout.write(f"{blocks} blocks, {failures} failures\n")
    return failures


if __name__ == "__main__":
    sys.exit(bool(run_page(sys.argv[1])))
