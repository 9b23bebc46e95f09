"""A real browser for the tests of the page: Chromium, driven by Playwright.

Looks for Debian's chromium. Where CI or THREECPO_TESTS_INSTALL_CHROMIUM is set, it is
installed with apt-get if it is missing.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from report_models import EDGES, HOSTILE, hostile, wide

from containers import planted
from threecpo import ThreeCPO, report


def found_chromium():
    usual = Path("/usr/bin/chromium")
    return shutil.which("chromium") or (str(usual) if usual.exists() else None)


def install_chromium():
    """Install it once, even if several processes want it at the same time."""
    wanted = ("CI", "THREECPO_TESTS_INSTALL_CHROMIUM")
    if not any(os.environ.get(name, "") not in ("", "0", "false") for name in wanted):
        pytest.skip(f"no chromium (set {wanted[1]}=1 to install it with apt-get)")
    if not shutil.which("apt-get") or os.geteuid() != 0:
        pytest.skip("no chromium, and no apt-get as root to install it with")
    with Path(tempfile.gettempdir(), "threecpo-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if found_chromium():
            return
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        options = {"capture_output": True, "timeout": 600, "env": environment}
        subprocess.run(["apt-get", "update"], check=False, **options)
        command = ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]
        done = subprocess.run(command, check=False, **options)
    if not found_chromium():
        pytest.skip(f"chromium cannot be installed: {done.stderr[-200:]!r}")


@pytest.fixture(scope="session")
def browser():
    playwright_api = pytest.importorskip("playwright.sync_api")
    if not found_chromium():
        install_chromium()
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found_chromium(), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Files of the reports that the tests open."""
    folder = tmp_path_factory.mktemp("pages")

    def save(name, model, X, **options):
        report.write(model, X, folder / f"{name}.html", title=name, **options)

    X, _ = planted(3, 40, 15)
    model = ThreeCPO(3, outliers="final", random_state=0, n_init=2).fit(X)
    names = ["Bach", "alpha", "beta 2", "beta 10", "Gamma", "x1", "x2", "x3", "y", "é"]
    save("plain", model, X, column_names=names, run={"seed": 0})
    habitats = [["wood", "field", "<b>moor</b>"][i % 3] for i in range(len(X))]
    labels = {"habitat": habitats, "year": [2020 + i % 2 for i in range(len(X))]}
    save("labelled", model, X, labels=labels, row_noun="sites")
    model, X = hostile()
    rows = [HOSTILE[i % len(HOSTILE)] for i in range(len(X))]
    save("hostile", model, X, column_names=HOSTILE, row_names=rows)
    for name in ("one cluster", "one row", "forty clusters", "chosen"):
        save(name, *EDGES[name])
    model, X = wide()
    save("wide", model, X, column_names=[f"Gene-{j}" for j in range(50_000)])
    return folder


@pytest.fixture
def visit(browser, pages):
    """Open a report; whatever it complains about or asks for fails the test."""
    contexts, trouble = [], []

    def visit(name, **options):
        options = {"viewport": {"width": 1200, "height": 900}} | options
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        address = (pages / f"{name}.html").as_uri()
        # A figure that is saved as a picture is drawn from memory.
        own = (address, "blob:null/")
        page.on(
            "request",
            lambda request: request.url.startswith(own) or trouble.append(request.url),
        )
        page.goto(address)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert trouble == []
