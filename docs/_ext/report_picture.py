"""Draws the first screens of reports: ``python docs/_ext/report_picture.py``.

docs/images/report.png is that of ``threecpo demo``. With ``--data FOLDER`` also those
of blood cells and customers, from pbmc_kang.npz and wholesales.npz there. Needs
playwright and Debian's chromium.
"""

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from threecpo.cli import main

IMAGES = Path(__file__).parents[1] / "images"
SIZE = {"width": 1400, "height": 900}
CELLS = ["--rows", "cells", "--columns", "genes"]
CUSTOMERS = ["--rows", "customers", "--columns", "products"]


def commands(data):
    """What writes the results that each picture shows."""
    yield "report", ["demo"]
    if data is not None:
        cells = ["fit", str(data / "pbmc_kang.npz"), *CELLS]
        yield "report-cells", [*cells, "--title", "Blood cells, control and stimulated"]
        customers = ["fit", str(data / "wholesales.npz"), *CUSTOMERS]
        yield "report-customers", [*customers, "--title", "Wholesale customers"]


def draw(browser, name, command):
    with tempfile.TemporaryDirectory() as made:
        if main([*command, "--output", f"{made}/results"]):
            raise SystemExit(1)
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(Path(made, "results", "report.html").as_uri())
        page.screenshot(path=IMAGES / f"{name}.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    data = parser.parse_args().data
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        for name, command in commands(data):
            draw(browser, name, command)
        browser.close()
