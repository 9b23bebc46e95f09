"""What is run when the site is made: the tutorial on novels, and reports to look at."""

import contextlib
import os
import shutil
import tempfile
import warnings
from pathlib import Path

NOVELS = Path(__file__).resolve().parents[1] / "tutorials" / "novels.md"
N_CUSTOMERS, N_PRODUCTS, N_SEGMENTS, N_ODD = 1200, 60, 5, 12
PRODUCTS = [
    "bread",
    "milk",
    "cheese",
    "apples",
    "rice",
    "nappies",
    "wine",
    "coffee",
    "soap",
    "flour",
]
KINDS = ["organic", "small", "large", "frozen", "own-brand", "imported"]


def make(folder):
    """Write the reports of the gallery, unless they are there."""
    gallery = folder / "gallery"
    gallery.mkdir(parents=True, exist_ok=True)
    if not (gallery / "austen.html").exists():
        make_novels(gallery / "austen.html")
    if not (gallery / "customers.html").exists():
        make_customers(gallery / "customers.html")


def make_novels(path):
    """Run the tutorial; it fails where it says something else than it shows."""
    import matplotlib as mpl

    import tutorial

    mpl.use("Agg")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with warnings.catch_warnings(action="ignore"):
            failures = tutorial.run_page(NOVELS)
        if failures:
            message = f"{failures} examples of {os.fspath(NOVELS)} failed"
            raise RuntimeError(message)
        shutil.copy(Path("austen.threecpo", "report.html"), path)


def customers():
    """Customers with baskets of one of five kinds, and some that buy anything."""
    import numpy as np

    from threecpo import CountTable

    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(N_PRODUCTS, 0.8), size=N_SEGMENTS)
    shares[:, -12:] = rng.dirichlet(np.full(12, 5.0)) * 0.2  # everybody buys these
    segments = rng.integers(N_SEGMENTS, size=N_CUSTOMERS)
    rates = shares[segments]
    rates[:N_ODD] = rng.dirichlet(np.full(N_PRODUCTS, 0.3), size=N_ODD)
    sizes = rng.gamma(2.0, 60.0, size=(N_CUSTOMERS, 1))
    bursts = rng.gamma(4.0, 0.25, size=rates.shape)
    regions = np.array(["north", "south", "west"])[rng.integers(3, size=N_CUSTOMERS)]
    table = CountTable(
        rng.poisson(sizes * rates * bursts),
        row_names=[f"customer {i + 1}" for i in range(N_CUSTOMERS)],
        column_names=[f"{kind} {product}" for product in PRODUCTS for kind in KINDS],
        name="Customers of a shop",
        source="drawn at random for this page",
    )
    return table, {"segment drawn": segments, "region": regions}


def make_customers(path):
    """Choose the number of clusters and write the report."""
    from threecpo import ThreeCPO, report

    table, labels = customers()
    model = ThreeCPO("auto", max_clusters=10, outliers="final", random_state=0)
    report.write(
        model.fit(table),
        table,
        path,
        labels=labels,
        row_noun="customers",
        column_noun="products",
        title=table.name,
    )
