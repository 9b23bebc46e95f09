"""Draws docs/images/report.png: ``python docs/_ext/report_picture.py``.

Runs ``threecpo demo`` and shows the top of its report in Chromium, with the first
cluster chosen. Needs playwright and Debian's chromium.
"""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from threecpo.cli import main

TARGET = Path(__file__).parents[1] / "images" / "report.png"
SIZE = {"width": 1400, "height": 940}


def draw(folder):
    if main(["demo", "--output", f"{folder}/austen"]):
        raise SystemExit(1)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(Path(folder, "austen", "report.html").as_uri())
        page.locator("#overview [data-cluster='0'] a").click()
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=TARGET)
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        draw(made)
