"""Files that the site offers: the report on the novels, and tutorials as notebooks."""

import json
import re
from pathlib import Path

import tutorial

TUTORIALS = Path(__file__).resolve().parents[1] / "tutorials"
TITLE = re.compile(r"\A# (.*)")
DOWNLOAD = re.compile(r" *<a [^>]*download>.*?</a>", flags=re.DOTALL)
PROMPT = re.compile(r"^(?:>>>|\.\.\.) ?", flags=re.MULTILINE)


def make(folder):
    """Write the report, unless it is there, and the notebooks."""
    folder.mkdir(exist_ok=True)
    if not (folder / "austen.html").exists():
        write_report(folder / "austen.html")
    notebooks = folder / "notebooks"
    notebooks.mkdir(exist_ok=True)
    for page in TUTORIALS.glob("*.md"):
        if page.stem != "index":
            text = json.dumps(notebook(page.read_text(encoding="utf-8")), indent=1)
            (notebooks / f"{page.stem}.ipynb").write_text(text, encoding="utf-8")


def write_report(path):
    from threecpo import ThreeCPO, report
    from threecpo.datasets import load_austen

    table = load_austen()
    model = ThreeCPO(random_state=0).fit(table)
    report.write(
        *(model, table, path),
        labels=table,
        title=table.name,
        row_noun="chapters",
        column_noun="words",
    )


def notebook(page):
    """Return a page as a notebook: text, Python and commands, without their output."""
    cells, at = [], 0
    page = DOWNLOAD.sub("", page)
    for block in tutorial.BLOCK.finditer(page):
        cells.append(cell("markdown", page[at : block.start()]))
        cells.append(cell("code", code(block[2], block[3])))
        at = block.end()
    cells.append(cell("markdown", page[at:]))
    kept = [each for each in cells if each["source"]]
    for number, each in enumerate(kept):
        each["id"] = f"cell-{number}"
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": python, "title": TITLE.match(page)[1]}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": kept}


def code(kind, text):
    """Return the lines of a block that are typed in."""
    lines = text.splitlines()
    if kind == "console":
        return "\n".join(f"!{line[2:]}" for line in lines if line.startswith("$ "))
    typed = [line for line in lines if line.startswith((">>>", "..."))]
    return PROMPT.sub("", "\n".join(typed))


def cell(kind, text):
    empty = {"outputs": [], "execution_count": None} if kind == "code" else {}
    lines = text.strip().splitlines(keepends=True)
    return {"cell_type": kind, "metadata": {}, "source": lines} | empty
