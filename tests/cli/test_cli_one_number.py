"""One number for one thing: the files, the terminal and the page of a fit agree."""

import json
import re
from html import unescape

import anndata
import numpy as np
import pytest
from running import facts_of, rows_of, written_csv

from containers import unpacked
from threecpo import results

OPTIONS = {
    "plain": [],
    "chosen": ["--max-clusters", 6],
    "outliers": ["-k", 3, "--outliers", "final"],
    "iterative": ["-k", 4, "--outliers", "iterative", "--robust"],
    "known": ["-k", 4, "--known", "kind"],
    "batch": ["-k", 3, "--batch", "lab", "--stability"],
    "fixed": ["-k", 3, "--fix-group", "g0=noise", "--outliers", "final"],
    "log1p": ["-k", 5, "--transform", "log1p", "--stability"],
    "sqrt": ["-k", 3, "--transform", "sqrt", "--labels", "lab"],
}


def table(path, seed):
    """Counts of some kinds, with rows that have none, wild rows and odd names."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, 90)
    rates = rng.gamma(0.7, 6.0, size=(3, 9))[kinds]
    X = rng.poisson(rates * rng.gamma(4.0, 0.25, size=(90, 1)))
    X[rng.choice(90, 4, replace=False)] = 0
    X[rng.choice(90, 2, replace=False), 8] = 300
    X = np.column_stack([X, rng.poisson(5.0, 90)])
    names = [*(f"g{j}" for j in range(8)), "=odd, name", "-x"]
    written_csv(path, X, [f"r{i}" for i in range(90)], names)
    lines = path.read_text().splitlines()
    known = ["abc"[k] if i % 3 else "" for i, k in enumerate(kinds)]
    labs = [f"lab {i % 2}" for i in range(90)]
    beside = zip(lines[1:], known, labs, strict=True)
    joined = [f"{line},{kind},{lab}" for line, kind, lab in beside]
    path.write_text("\n".join([f"{lines[0]},kind,lab", *joined]) + "\n")
    return X


def sheet(book, name):
    header, *lines = book[name].values
    return dict(zip(header, map(list, zip(*lines, strict=True)), strict=True))


def cells(page, table_id):
    """Texts of a table of the page, its foot included."""
    (body,) = re.findall(rf'<table[^>]*id="{table_id}".*?</table>', page, re.DOTALL)
    rows = re.findall(r"<tr.*?</tr>", body, re.DOTALL)
    plain = [
        [
            " ".join(unescape(re.sub("<[^>]*>", " ", cell)).split())
            for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)
        ]
        for row in rows
    ]
    return plain[1:]


def close(found, expected, rel=1e-5):
    found, expected = (
        np.array([np.nan if value is None else value for value in values], dtype=float)
        for values in (found, expected)
    )
    np.testing.assert_allclose(found, expected, rtol=rel, atol=1e-12)


@pytest.mark.parametrize("name", OPTIONS)
def test_every_place_says_the_same(name, run, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    X = table(tmp_path / "t.csv", seed=len(name))
    options = [] if "--labels" in OPTIONS[name] else ["--labels", "kind"]
    options += ["--drop", "kind"] if options == [] and "--known" not in name else []
    options += ["--drop", "lab"] if "lab" not in OPTIONS[name] else []
    written = ["--write", "xlsx", "--write", "h5ad", "-o", "out"]
    done = run("fit", "t.csv", *OPTIONS[name], *options, *written)
    out = tmp_path / "out"
    labels = rows_of(out)
    clusters = results.read_table(out / "clusters.csv")
    columns = results.read_table(out / "columns.csv")
    facts = facts_of(out)
    book = openpyxl.load_workbook(out / "segments.xlsx")
    adata = anndata.read_h5ad(out / "segments.h5ad")
    page = (out / "report.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    n = facts["clusters"]

    # Sizes, and rows that are in no cluster.
    sizes = np.bincount(labels["cluster"][labels["cluster"] >= 0], minlength=n).tolist()
    overview = cells(page, "overview")
    terminal = [line.split() for line in done.out.splitlines()[2 : 2 + n]]
    of_h5ad = adata.obs["threecpo"].value_counts()
    tree = facts["cluster_sizes"]
    assert clusters["size"].tolist() == tree == sizes
    assert sheet(book, "clusters")["size"] == sizes
    assert [int(of_h5ad[str(k)]) for k in range(n)] == sizes
    assert [int(row[1]) for row in overview[:n]] == sizes
    assert [int(line[1]) for line in terminal] == sizes
    for code, key, called in (
        (-1, "outliers", "outlier"),
        (-2, "rows_without_counts", "without counts"),
    ):
        found = int((labels["cluster"] == code).sum())
        assert facts[key] == found == int(of_h5ad.get(called, 0))
        assert (labels["name"] == called).sum() == found
    assert (
        facts["rows_without_counts"] == (X[:, labels_used(columns)].sum(1) == 0).sum()
    )
    close(clusters["share"], np.array(sizes) / 90)

    # Names.
    names = [labels["name"][labels["cluster"] == k][0] for k in range(n)]
    assert clusters["name"].tolist() == facts["cluster_names"] == names
    assert sheet(book, "clusters")["name"] == names
    assert adata.obs["threecpo_name"].tolist() == labels["name"].tolist()
    assert [row[0] for row in overview[:n]] == [f"{k} {x}" for k, x in enumerate(names)]
    assert data["clusters"] == names
    assert all(x in done.out for x in names)

    # Confidence.
    if "confidence" in labels:
        inside = labels["cluster"] >= 0
        assert np.isnan(labels["confidence"][~inside]).all()
        close(adata.obs["threecpo_confidence"], labels["confidence"])
        means = [labels["confidence"][labels["cluster"] == k].mean() for k in range(n)]
        close(clusters["confidence"], means)
        close(facts["confidence"], means)
        shown = re.findall(r"mean confidence >?([\d.]+)(?: \(|; )", unescape(page))
        close(np.minimum(means, 0.99), [float(x) for x in shown], rel=0.02)
        for word in ("clear", "likely", "doubtful"):
            counted = int((labels["sure"] == word).sum())
            assert not counted or f"{counted} row" in page

    # Verdicts.
    measured = out / "stability.csv"
    assert measured.exists() == ("verdict" in clusters) == ("stability" in facts)
    if measured.exists():
        verdicts = results.read_table(measured)["verdict"][:n].tolist()
        assert {*verdicts} <= {"stable", "doubtful", "not distinct"}
        assert clusters["verdict"].tolist() == facts["stability"]["verdicts"]
        assert clusters["verdict"].tolist() == sheet(book, "clusters")["verdict"]
        assert clusters["verdict"].tolist() == list(adata.uns["threecpo"]["verdicts"])
        assert [row[-1] for row in overview[:n]] == verdicts
        lines = done.out.splitlines()[2 : 2 + n]
        ends = zip(lines, verdicts, strict=True)
        assert all(line.rstrip().endswith(word) for line, word in ends)
        cards = re.findall(r"mean confidence >?[\d.]+; ([a-z ]+)<", unescape(page))
        assert cards == verdicts == clusters["verdict"].tolist()
        counted = run("info", "out").out
        assert all(f"{verdicts.count(word)} {word}" in counted for word in verdicts)

    # The choice of K.
    assert (out / "k_path.csv").exists() == ("-k" not in OPTIONS[name])
    if "choice" in facts:
        path, chosen = (
            results.read_table(out / "k_path.csv"),
            facts["choice"],
        )
        again = zip(path["n_clusters"], path["reproducibility"], strict=True)
        again = {str(k): x for k, x in again if not np.isnan(x)}
        assert again.keys() == chosen["reproducibility"].keys()
        close(again.values(), chosen["reproducibility"].values())
        assert n == 1 or str(chosen["best"]) in again
        assert all(f'<td class="n">{x:.2f}</td>' in page for x in again.values())
        close(adata.uns["threecpo"]["k_path"]["total"], path["total"])
        for place in (done.out, run("info", "out").out, unescape(page)):
            assert chosen["sentence"] in place

    # Columns: groups and expected counts.
    groups = {"relevant": 1, "shared": 0, "noise": -1}
    for group, code in groups.items():
        counted = columns["group"].tolist().count(code)
        assert facts["column_groups"][group] == counted
        assert adata.var["threecpo_group"].tolist().count(group) == counted
        assert data["columns"]["groups"].count(code) == counted
    profile, of_book = sheet(book, "profile"), sheet(book, "columns")
    assert of_book["column"] == columns["column"].tolist() == profile["column"]
    for k in range(n):
        here = columns[f"here_{k}"].astype(float)
        close(of_book[f"here_{k}"], here)
        close(profile[f"{k} {names[k]}"], here)
        close(unpacked(data["columns"]["rates"][k]), here, rel=6e-3)
    top = results.read_table(out / "top_columns.csv")
    place = {column: j for j, column in enumerate(columns["column"])}
    for k, column, here in zip(top["cluster"], top["column"], top["here"], strict=True):
        if k >= 0:
            close([here], [float(columns[f"here_{k}"][place[column]])])

    # Labels.
    (kind,) = (each for each in facts.get("agreement", {"": {}}))
    if kind:
        purity = facts["agreement"][kind]["purity"]
        assert f"purity {purity:.2f}" in done.out
        given = labels[f"label_{kind}"] if kind != "label" else labels["label"]
        rows = [
            given[(labels["cluster"] == k) & (given != "")]
            for k in np.unique(labels["cluster"])
        ]
        most = [max((list(x).count(y) for y in set(x)), default=0) for x in rows]
        close([purity], [sum(most) / sum(map(len, rows))])
        main = facts["main_labels"][kind]
        assert [row[2] for row in overview[:n]] == main
        assert all(text in done.out for text in main)


def labels_used(columns):
    """Columns in which a row may have counts to belong to a cluster."""
    return np.flatnonzero(columns["group"] != -1)
