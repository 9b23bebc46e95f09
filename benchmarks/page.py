"""The map of the rows against scanpy's UMAP, and how fluid a large page is.

    python benchmarks/page.py

The map needs the data set pbmc_kang and scanpy, the page Playwright and Chromium.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

from _common import Report, load, missing_data, parser_of, say, timed
from threecpo import ThreeCPO, report
from threecpo.results import row_map

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

CELLS = "pbmc_kang"
NEIGHBOURS, COMPARED = 15, 4000
N_COLUMNS, N_CLUSTERS, N_ROWS = 50_000, 20, 14_000
OPENED = 5
MAP_TEXT = f"""\
# The map of the rows, and the page

Made by `python benchmarks/page.py`.

Trustworthiness for {NEIGHBOURS} neighbours, of {COMPARED} cells of {CELLS} (1 is best):
how many of a cell's neighbours in the map are true ones, *by counts* (50 principal
components of the normalised logarithms of 2000 variable genes) and *by scores* (those
of the fit, per count). Processor seconds are without compiling.
"""
PAGE_TEXT = f"""\
A report on {N_COLUMNS} columns, {N_CLUSTERS} clusters and {N_ROWS} rows, in Chromium
(median and worst of {OPENED} visits, until the next picture is on the screen; a visit
searches for six words and colours the map by four columns and a label):
"""
# Until the next picture is on the screen.
_PAINTED = """const painted = async (act) => {
    const start = performance.now();
    act();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return performance.now() - start;
};"""
_TYPED = f"""async ([id, words]) => {{
    {_PAINTED}
    const field = document.getElementById(id);
    const took = [];
    for (const word of words) took.push(await painted(() => {{
        field.value = word;
        field.dispatchEvent(new Event(field.tagName === "SELECT" ? "change" : "input"));
    }}));
    return took;
}}"""
OPENING = """() => performance.getEntriesByType("navigation")[0].loadEventEnd"""


def scores_per_count(model: ThreeCPO, X: sp.csr_array) -> Values:
    """Centred scores of the rows over their sums."""
    scores = model.row_scores(X)
    scores = scores - scores.mean(axis=1, keepdims=True)
    return scores / np.maximum(np.asarray(X.sum(axis=1)), 1.0)[:, None]


def scanpy_maps(X: sp.csr_array) -> tuple[Values, Values, float]:
    """Components by scanpy, UMAP of them with its parameters, and the time of that.

    UMAP finds its neighbours itself: those of scanpy 1.11 fail on sparse arrays.
    """
    import anndata
    import scanpy as sc
    from umap import UMAP

    cells = anndata.AnnData(sp.csr_matrix(X, dtype=np.float32))
    sc.pp.normalize_total(cells, target_sum=1e4)
    sc.pp.log1p(cells)
    sc.pp.highly_variable_genes(cells, n_top_genes=2000)
    sc.pp.pca(cells, n_comps=50, mask_var="highly_variable", random_state=0)
    components = cells.obsm["X_pca"]
    umap = UMAP(n_neighbors=NEIGHBOURS, min_dist=0.5, spread=1.0, random_state=0)
    umap.fit(components[:500])  # compiles
    places, seconds = timed(lambda: umap.fit_transform(components))
    return components, places, seconds


def compare_maps(report_: Report, folder: Path) -> None:
    X = load(folder, CELLS).matrix
    say("scanpy's UMAP")
    components, umap, umap_seconds = scanpy_maps(X)
    chosen = np.random.default_rng(0).choice(len(components), COMPARED, replace=False)

    def trusted(true: Values, drawn: Values) -> str:
        found = trustworthiness(true[chosen], drawn[chosen], n_neighbors=NEIGHBOURS)
        return f"{found:.3f}"

    rows: list[list[object]] = []
    for k in (8, 17):
        say(f"map, {k} clusters")
        model = ThreeCPO(k, random_state=0).fit(X)
        scores = scores_per_count(model, X)
        row_map(model, X[:200])  # compiles
        plain, seconds_plain = timed(lambda s=scores: PCA(2).fit_transform(s))
        drawn, seconds_map = timed(lambda m=model: row_map(m, X))
        maps = {
            "two principal directions of the scores": (plain, seconds_plain),
            "row_map": (drawn, seconds_map),
            "UMAP with scanpy's parameters": (umap, umap_seconds),
        }
        rows += [
            [
                f"{name}, {k} clusters",
                trusted(components, places),
                trusted(scores, places),
                f"{took:.1f}",
            ]
            for name, (places, took) in maps.items()
        ]
    report_.add_table([f"map of {len(components)} cells", "by counts", "by scores",
                       "processor seconds"], rows)  # fmt: skip


def large_fit() -> tuple[ThreeCPO, sp.csr_array]:
    """A model of many columns, made in no time: one step from given labels."""
    rng = np.random.default_rng(0)
    labels = np.arange(N_ROWS) % N_CLUSTERS
    places = rng.integers(0, N_COLUMNS, size=(N_CLUSTERS, 3000))
    columns = np.stack([rng.choice(places[k], 200) for k in labels])
    rows = np.repeat(np.arange(N_ROWS), 200)
    ones = np.ones(rows.size)
    X = sp.csr_array((ones, (rows, columns.ravel())), shape=(N_ROWS, N_COLUMNS))
    options = {"init": labels, "max_iter": 1, "column_penalty": None}
    return ThreeCPO(N_CLUSTERS, random_state=0, **options).fit(X), X


def visited(page_file: Path) -> dict[str, list[float]]:
    """Milliseconds of opening, searching and switching, by visit."""
    from playwright.sync_api import sync_playwright

    names = ("open", "search", "colour by a column", "colour by a label")
    took: dict[str, list[float]] = {name: [] for name in names}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for _ in range(OPENED):
            page = browser.new_page()
            page.goto(page_file.as_uri())
            took["open"].append(page.evaluate(OPENING))
            took["search"] += page.evaluate(
                _TYPED, ["search", ["g", "ge", "gene-1", "gene-12", "zzz", ""]]
            )
            typed = page.locator("#packed option").evaluate_all(
                "options => options.slice(0, 4).map((option) => option.value)"
            )
            took["colour by a column"] += page.evaluate(
                _TYPED, ["colour-column", [*typed, ""]]
            )
            took["colour by a label"] += page.evaluate(
                _TYPED, ["colour-by", ["0", "cluster"]]
            )
            page.close()
        browser.close()
    return took


def measure_page(report_: Report) -> None:
    say("page")
    model, X = large_fit()
    names = [f"Gene-{j}" for j in range(N_COLUMNS)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        labels = {"half": [i % 2 for i in range(N_ROWS)]}
        _, seconds = timed(
            lambda: report.write(model, X, path, column_names=names, labels=labels)
        )
        rows: list[list[object]] = [
            ["size, MB", f"{path.stat().st_size / 1e6:.2f}", ""],
            ["writing it, processor seconds", f"{seconds:.1f}", ""],
        ]
        for name, times in visited(path).items():
            line = [f"{name}, ms", f"{np.median(times):.0f}", f"{max(times):.0f}"]
            rows.append(line)
    report_.add(PAGE_TEXT.rstrip())
    report_.add_table(["", "median", "worst"], rows)


def main() -> None:
    parser = parser_of(__doc__, data=True)
    parser.add_argument("--only", choices=["map", "page"], help="one of the two")
    options = parser.parse_args()
    made = Report(options.output)
    made.add(MAP_TEXT.rstrip())
    if options.only != "page":
        if wrong := missing_data(options.data, [CELLS]):
            parser.error(wrong)
        compare_maps(made, options.data)
    if options.only != "map":
        measure_page(made)
    made.write()


if __name__ == "__main__":
    main()
