"""Draws docs/images/report.png: ``python docs/_ext/report_picture.py``.

Runs ``threecpo demo`` and shows its report in Chromium, the map in the light theme
beside the clusters in the dark one. Needs playwright and Debian's chromium.
"""

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from threecpo.cli import main

TARGET = Path(__file__).parents[1] / "images" / "report.png"
SIZE = {"width": 1000, "height": 1120}
LEFT_OUT = {
    "light": "nav, [aria-labelledby=path]",
    "dark": "header, nav, [aria-labelledby=path], [aria-labelledby=map]",
}
REMOVE = "(parts) => document.querySelectorAll(parts).forEach((part) => part.remove())"


def shown(browser, page_file, theme):
    """Return the page in a theme, without the parts that the picture leaves out."""
    page = browser.new_page(viewport=SIZE, color_scheme=theme)
    page.goto(page_file.as_uri())
    page.evaluate(REMOVE, LEFT_OUT[theme])
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def draw(folder):
    if main(["demo", "--output", f"{folder}/austen"]):
        raise SystemExit(1)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        page_file = Path(folder, "austen", "report.html")
        parts = [shown(browser, page_file, theme) for theme in LEFT_OUT]
        browser.close()
    picture = Image.new("RGB", (2 * SIZE["width"], SIZE["height"]))
    for place, part in enumerate(parts):
        picture.paste(part, (place * SIZE["width"], 0))
    picture.save(TARGET, optimize=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        draw(made)
