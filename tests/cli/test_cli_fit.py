"""Fits of commands: the files are what the library says, whatever was asked for."""

import hashlib
import re
import sys
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from running import (
    COLUMNS,
    FILES,
    KINDS,
    ROWS,
    TRUE,
    X,
    assert_one_line,
    contents,
    everything,
    facts_of,
    rows_of,
    same,
    written_csv,
)
from sklearn.metrics import adjusted_rand_score

import threecpo
from containers import kinds_of
from threecpo import CountTable, ThreeCPO, load, results, select_n_clusters
from threecpo.cli._input_file import InputFile
from threecpo.cli._result_folder import default_folder
from threecpo.preprocessing import SublinearCounts

ATTRIBUTES = (
    "labels_",
    "nearest_labels_",
    "outlier_scores_",
    "margins_",
    "row_scales_",
    "column_groups_",
    "column_scores_",
    "cluster_rates_",
    "shared_rates_",
    "noise_rates_",
    "restart_losses_",
)


def assert_same_table(path, expected):
    read = results.read_table(path, kinds_of(expected))
    assert list(read) == list(expected)
    expected = results.rounded_table(expected, 6)
    for name, values in expected.items():
        assert same(read[name], values), name


def assert_same_model(path, model):
    read = threecpo.load(path)
    for name in ATTRIBUTES:
        assert same(getattr(read, name), getattr(model, name)), name
    assert read.loss_ == model.loss_
    assert read.n_iter_ == model.n_iter_
    assert read.get_params() == model.get_params()
    assert read.history_.keys() == model.history_.keys()
    for name, entries in model.history_.items():
        assert same(read.history_[name], entries), name


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["-k", 3], {"n_clusters": 3}),
        (
            ["-k", 4, "--outliers", "iterative", "--seed", 7, "--n-init", "auto"],
            {
                "n_clusters": 4,
                "outliers": "iterative",
                "random_state": 7,
                "n_init": "auto",
            },
        ),
        (
            ["-k", "3", "--outliers", "final", "--n-init", "4", "--jobs", "2"],
            {"n_clusters": 3, "outliers": "final", "n_init": 4, "n_jobs": 2},
        ),
    ],
    ids=["plain", "iterative", "final"],
)
def test_files_equal_the_library(arguments, options, run, npz):
    done = run("fit", npz, *arguments, "-o", "out")
    assert done.err == ""
    counts = CountTable(X, column_names=COLUMNS)
    model = ThreeCPO(**{"random_state": 0} | options).fit(counts)
    rows = results.row_table(model, counts, row_names=ROWS)
    if "label" in rows_of("out"):
        rows["label"] = np.array(KINDS, dtype=object)[TRUE + 1]
    columns = results.column_table(model, column_names=COLUMNS)
    tops = results.top_table(model, feature_names=COLUMNS)
    folder = Path("out")
    assert {path.name for path in folder.iterdir()} == FILES
    assert_same_table(folder / "labels.csv", rows)
    assert_same_table(folder / "columns.csv", columns)
    assert_same_table(folder / "top_columns.csv", tops)
    assert_same_model(folder / "model.npz", model)
    facts = facts_of(folder)
    assert facts["loss"] == model.loss_
    assert "</html>" in (folder / "report.html").read_text(encoding="utf-8")


def test_rows_are_called_as_their_user_calls_them(run, npz):
    auto = ["-k", "auto", "--max-clusters", 3, "-o", "out"]
    done = run("fit", npz, *auto, "--rows", "cells")
    assert done.out.startswith("155 cells in ")
    run("report", "out", "--rows", "mouse/mice")
    assert "155 mice in " in Path("out/report.html").read_text(encoding="utf-8")


def test_the_number_of_clusters_may_be_chosen(run, npz):
    done = run("fit", npz, "--max-clusters", 5, "-o", "out")
    model = ThreeCPO("auto", max_clusters=5, random_state=0).fit(X)
    folder = Path("out")
    of_path = {"k_path.csv", "k_divisions.csv"}
    assert {path.name for path in folder.iterdir()} == FILES | of_path
    path = model.k_path_
    found = path.reproducibility(X)
    assert path.sentence() in done.out
    facts = facts_of(folder)
    assert facts["choice"]["reproducibility"] == {str(k): x for k, x in found.items()}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f"<p>{path.sentence()}</p>" in page
    assert all(f'<td class="n">{x:.2f}</td>' in page for x in found.values())
    expected = path.divisions()
    assert_same_table(folder / "k_divisions.csv", expected)
    read = results.read_table(folder / "k_path.csv")
    expected = results.path_table(path) | {"seconds": read["seconds"]}
    assert_same_table(folder / "k_path.csv", expected)
    assert_same_model(folder / "model.npz", model)


def test_a_terminal_shows_a_line_for_each_cluster(run, npz, tmp_path):
    table = written_csv(
        tmp_path / "many.csv",
        np.vstack([X, np.zeros((2, X.shape[1]), dtype=int)]),
        [*ROWS, "nothing", "at all"],
        kind=[*(KINDS[k + 1] for k in TRUE), "", ""],
        town=["Rome"] * (len(X) + 2),
    )
    options = ["--labels", "kind", "--labels", "town", "--outliers", "final"]
    done = run("fit", table, "--max-clusters", 6, "-k", "auto", *options, "-o", "out")
    facts = facts_of("out")
    n_lines = (done.out + done.err).count("\n")
    assert n_lines <= 12 + len(facts["cluster_sizes"]) + 2  # outliers and empty rows
    lines = done.out.splitlines()
    assert lines[1].split() == ["cluster", "size", "name", "main", "kind"]
    for cluster, line in enumerate(lines[2 : 2 + len(facts["cluster_sizes"])]):
        number, size, name, kind = re.split(r"\s{2,}", line.strip())
        assert (int(number), int(size)) == (cluster, facts["cluster_sizes"][cluster])
        assert name == facts["cluster_names"][cluster]
        assert kind == facts["main_labels"]["kind"][cluster]
    assert re.search(r"^empty +2 *$", done.out, flags=re.MULTILINE)


def test_notes_are_not_without_end(run, npz, monkeypatch):
    many = [f"note {i}" for i in range(5)]
    monkeypatch.setattr("threecpo.results.input_checks.problem_lines", lambda _: many)
    done = run("fit", npz, "-k", 3, "-o", "out")
    assert done.err.splitlines() == [
        *(f"threecpo: note: {text}" for text in many[:3]),
        "threecpo: note: 2 more notes in run.json.",
    ]
    assert facts_of("out")["warnings"] == many


def test_the_run_is_described(run, npz):
    done = run("fit", npz, "-k", 3, "--seed", 5, "-o", "out")
    facts = facts_of("out")
    assert facts["format"] == "threecpo-run"
    assert facts["command"] == f"threecpo fit {npz} -k 3 --seed 5 -o out"
    assert facts["versions"]["threecpo"] == threecpo.__version__
    assert set(facts["versions"]) > {
        "python",
        "numpy",
        "scipy",
        "scikit-learn",
        "numba",
    }
    assert facts["seed"] == facts["parameters"]["random_state"] == 5
    assert facts["parameters"]["n_clusters"] == 3
    assert facts["rows"], facts["columns"] == X.shape
    assert sum(facts["cluster_sizes"]) == len(X)
    assert facts["column_groups"] == {"relevant": 6, "shared": 2, "noise": 2}
    assert facts["input"]["path"] == str(npz)
    assert facts["input"]["sha256"] == hashlib.sha256(npz.read_bytes()).hexdigest()
    assert min(facts["seconds"].values()) > 0
    assert facts["warnings"] == []
    model = ThreeCPO(3, random_state=5).fit(X)
    ari = adjusted_rand_score(TRUE, model.labels_)
    assert facts["agreement"]["label"]["ARI"] == ari
    assert f"ARI {ari:.2f}" in done.out
    assert "Report: out/report.html" in done.out


def test_json_alone_is_on_stdout(run, npz):
    done = run("fit", npz, "-k", 3, "-o", "out", "--json")
    facts = facts_of("out")
    assert done.json == facts | {"output": str(Path("out").absolute())}
    assert done.err == ""


def test_warnings_are_one_line_each_and_kept(run, tmp_path):
    path = written_csv(tmp_path / "cells.csv", np.round(X / 7, 3))
    done = run("fit", path, "-k", 3, "-o", "out")
    assert done.err.count("\n") == 1
    assert "threecpo: note:" in done.err
    assert "not integers" in done.err
    facts = facts_of("out")
    assert len(facts["warnings"]) == 1
    assert "not integers" in facts["warnings"][0]


def test_without_a_report(run, npz, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    before = everything(tmp_path)
    # Reported before anything is read.
    assert_one_line(
        run.wrong("fit", "nowhere.npz", "-k", 3, "-o", "out"),
        "jinja2",
        "threecpo[report]",
        "--no-report",
    )
    assert everything(tmp_path) == before
    done = run("fit", npz, "-k", 3, "-o", "out", "--no-report")
    assert done.out.splitlines()[-1] == "Results: out"
    assert {path.name for path in Path("out").iterdir()} == FILES - {"report.html"}
    monkeypatch.undo()
    run("report", tmp_path / "out")
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["-k", 10_000], ["-k 10000"]),
        (["-k", 3, "--jobs", 0], ["--jobs 0"]),
        (["-k", 3, "--layer", "raw"], ["layer"]),
    ],
)
def test_what_cannot_be_done_leaves_nothing_behind(
    arguments, parts, run, npz, tmp_path
):
    before = everything(tmp_path)
    assert_one_line(run.wrong("fit", npz, *arguments, "-o", "new/deep/out"), *parts)
    assert everything(tmp_path) == before


def test_whether_clusters_are_real(run, npz):
    done = run("fit", npz, "-k", 3, "--stability", "--no-report", "-o", "out")
    model = ThreeCPO(3, random_state=0).fit(X)
    expected = model.stability(X)
    read = results.read_table("out/stability.csv")
    assert read["distinct"].tolist() == expected["distinct"].tolist()
    np.testing.assert_allclose(read["jaccard"], expected["jaccard"], rtol=1e-5)
    header = done.out.splitlines()[1]
    assert header.split() == ["cluster", "size", "name", "main", "label", "verdict"]
    facts = facts_of("out")
    assert facts["stability"]["verdicts"] == expected["verdict"][:3].tolist()
    assert "stability.csv" in facts["files"]
    Path("n.txt").write_text("a\nb\nc\n", encoding="utf-8")
    run("report", "out", "--names", "n.txt")
    named = results.read_table("out/clusters.csv")
    assert named["name"].tolist() == ["a", "b", "c"]
    assert named["verdict"].tolist() == expected["verdict"][:3].tolist()


def test_csv_and_npz_of_the_same_counts_give_the_same(run, npz, tmp_path):
    kinds = [KINDS[k + 1] for k in TRUE]
    path = written_csv(tmp_path / "cells.csv", kind=kinds)
    run("fit", path, "-k", 3, "--labels", "kind", "-o", "a")
    run("fit", npz, "-k", 3, "-o", "b")
    for name in ("columns.csv", "top_columns.csv", "model.npz"):
        assert contents("a")[name] == contents("b")[name]
    of_csv, of_npz = (rows_of(f"{out}") for out in "ab")
    assert of_csv.pop("label_kind").tolist() == of_npz.pop("label").tolist()
    assert all(same(of_csv[name], of_npz[name]) for name in of_npz)
    assert list(of_csv) == list(of_npz)
    facts = [facts_of(out) for out in "ab"]
    scores = facts[0]["agreement"]["kind"], facts[1]["agreement"]["label"]
    assert scores[0] == pytest.approx(scores[1])


def test_triples_and_a_table_turned_round(run, tmp_path):
    wide = written_csv(tmp_path / "wide.csv")
    long = ["cell,gene,count"]
    long += [
        f"{ROWS[i]},{COLUMNS[j]},{X[i, j]}" for i, j in zip(*X.nonzero(), strict=True)
    ]
    (tmp_path / "long.csv").write_text("\n".join(long))
    turned = written_csv(tmp_path / "turned.csv", X.T, COLUMNS, ROWS)
    run("fit", wide, "-k", 3, "-o", "a")
    run("fit", "long.csv", "-k", 3, "--triples", "-o", "b")
    run("fit", turned, "-k", 3, "--transpose", "-o", "c")
    assert contents("a")["labels.csv"] == contents("c")["labels.csv"]
    assert contents("a")["columns.csv"] == contents("c")["columns.csv"]
    a, b = (rows_of(f"{out}") for out in "ab")
    of_row = dict(zip(b["row"], b["cluster"], strict=True))
    assert [of_row[row] for row in a["row"]] == a["cluster"].tolist()


def test_a_layer_of_an_h5ad_file(run, tmp_path):
    adata = anndata.AnnData(np.log1p(X.astype(float)), layers={"raw": X})
    adata.write_h5ad(tmp_path / "cells.h5ad")
    assert_one_line(run.wrong("fit", "cells.h5ad", "-k", 3), "layer", "cells.h5ad")
    run("fit", "cells.h5ad", "-k", 3, "--layer", "raw")
    model = ThreeCPO(3, random_state=0).fit(X)
    read = rows_of("cells.threecpo")
    scores = model.outlier_scores_
    np.testing.assert_allclose(read["outlier_score"], scores, rtol=1e-5)
    facts = facts_of("cells.threecpo")
    assert facts["input"]["options"] == {"layer": "raw"}


@pytest.mark.parametrize(
    ("options", "n_columns"),
    [
        ([], 10),
        (["--index", 0], 10),
        (["--index", "none"], 11),
        (["--drop", "gene 3"], 9),
    ],
)
def test_row_names_may_be_chosen(options, n_columns, run, tmp_path):
    path = written_csv(tmp_path / "cells.csv", rows=[str(i) for i in range(len(X))])
    facts = run("info", path, *options, "--json").json
    assert facts["columns"] == n_columns


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("atlas.csv", "atlas.threecpo"),
        ("atlas.v2.csv", "atlas.v2.threecpo"),
        ("atlas.tsv.gz", "atlas.threecpo"),
        (".hidden.csv", ".hidden.threecpo"),
        ("sub/atlas.csv", "atlas.threecpo"),
    ],
)
def test_the_folder_is_named_after_the_file(name, folder):
    assert default_folder(Path(name)) == Path(folder)


def test_a_folder_is_hashed_by_names_and_contents(tmp_path):
    def hashed(files):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return InputFile(folder, {}).sha256()

    one = hashed({"a/1.txt": "x", "a/2.txt": "y"})
    assert one == hashed({"a/2.txt": "y", "a/1.txt": "x"})
    different = [
        {"a/1.txt": "y", "a/2.txt": "x"},
        {"a/1.txt": "x", "b/2.txt": "y"},
        {"a/1.txt": "x", "a/2.txt": "y", "a/3.txt": ""},
        {"a/1.txt": "xy", "a/2.txt": ""},
    ]
    assert len({one, *map(hashed, different)}) == 5


def test_counts_of_a_file_are_checked_once(run, tmp_path, monkeypatch):
    """What makes counts of arrays is called for the file alone."""
    from threecpo import _validation

    path = written_csv(tmp_path / "cells.csv")
    calls = []
    for name in ("from_sparse", "from_dense"):
        made = getattr(_validation, name)

        def counted(*arguments, made=made, **options):
            calls.append(made)
            return made(*arguments, **options)

        monkeypatch.setattr(_validation, name, counted)
    run("info", path)
    of_reading = len(calls)
    run("fit", path, "-k", 3, "-o", "out")
    assert len(calls) == 2 * of_reading <= 2


def test_triples_among_more_columns(run, tmp_path):
    lines = ["day,who,what,n", "1,ann,milk,2", "1,bob,bread,1", "2,ann,milk,3"]
    (tmp_path / "sales.csv").write_text("\n".join(lines))
    advice = run.wrong("info", "sales.csv", "--triples").err
    assert "--triples needs three columns, but there are 4. Pass the names of" in advice
    for given in (
        ("sales.csv", "--triples", "who", "what", "n"),
        ("--triples", "who", "what", "n", "sales.csv"),
        ("--triples", "sales.csv", "--drop", "day"),
    ):
        facts = run("info", *given, "--json").json
        assert (facts["rows"], facts["columns"], facts["total"]) == (2, 2, 6)
    run("fit", "sales.csv", "-k", 1, "--triples", "who", "what", "n", "-o", "c")


DEGENERATE = {
    "nothing": [[0]],
    "one row": [[1, 2, 3]],
    "one column": [[1], [5], [0], [7]],
    "all alike": np.full((6, 3), 4),
    "huge counts": [[2**51, 1], [3, 2**51], [1, 1]],
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_tables_go_all_the_way(name, run, tmp_path):
    threecpo.write_counts(CountTable(np.array(DEGENERATE[name])), "x.npz")
    for k in (1, "auto"):
        run("fit", "x.npz", "-k", k, "--force")
        run("predict", "x.threecpo", "x.npz")
        run("report", "x.threecpo")
    run("info", "x.npz")
    run("select-k", "x.npz", "--json")


HOSTILE_COLUMNS = [
    "[bold red]gene[/]",
    "[/]",
    "<script>alert(1)</script>",
    "=1+1",
    "a,b",
    'say "hi"',
    "\u202eevil",
    "naïve 基因 🧬",
    "%s %d {x}",
    "c:\\path",
]


def test_hostile_names_come_through_as_they_are(run, tmp_path):
    path = written_csv(
        tmp_path / "cells.csv",
        columns=HOSTILE_COLUMNS,
        rows=[f"[{i}]" for i in range(len(X))],
    )
    run("fit", path, "-k", 3, "-o", "out")
    assert results.read_table("out/columns.csv")["column"].tolist() == HOSTILE_COLUMNS
    assert rows_of("out")["row"][0] == "[0]"
    assert threecpo.load("out/model.npz").feature_names_in_.tolist() == HOSTILE_COLUMNS
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    shown = run("info", path)
    assert "[bold red]gene[/], [/]" in shown.out


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=120)
    X = rng.poisson(8 * np.exp(rng.normal(size=(2, 8)))[labels])
    X = np.hstack([X, rng.negative_binomial(0.3, 0.02, (120, 2))])
    X[:2] *= 9
    path = tmp_path / "counts.csv"
    pd.DataFrame(X, columns=[f"c{j}" for j in range(10)]).to_csv(path, index=False)
    return path, X


def test_what_is_held_back_is_named(table, tmp_path, run):
    path, X = table
    target = tmp_path / "out"
    options = ["-k", "2", "--robust"]
    run("fit", path, *options, "-o", target)
    model = load(target / "model.npz")
    expected = ThreeCPO(2, random_state=0, robust=True).fit(X)
    assert model.loss_ == expected.loss_
    columns = pd.read_csv(target / "columns.csv")
    assert np.allclose(columns["weight"], expected.column_weights_, rtol=1e-5)
    rows = pd.read_csv(target / "labels.csv")
    assert np.allclose(rows["weight"], expected.row_weights_)
    page = (target / "report.html").read_text("utf-8")
    assert "vary too much and are downweighted: c" in page
    assert "with many counts are downweighted" in page


def test_transformed_counts_are_said_once(table, tmp_path, run):
    path, X = table
    target = tmp_path / "out"
    options = ["-k", "2", "--transform", "log1p", "--no-report"]
    done = run("fit", path, *options, "-o", target)
    assert "integers" not in done.err
    values = SublinearCounts("log1p", table=True).fit_transform(X)
    expected = ThreeCPO(2, random_state=0).fit(values)
    assert load(target / "model.npz").loss_ == expected.loss_
    assert facts_of(target)["input"]["options"] == {"transform": "log1p"}
    new = tmp_path / "new.csv"
    done = run("predict", target, path, "--transform", "log1p", "-o", new)
    assert np.array_equal(pd.read_csv(new)["cluster"], expected.labels_)


def test_the_path_is_that_of_the_library(run):
    done = run("select-k", "cells.npz", "--max", 5, "-o", "path.csv")
    assert done.err == ""
    path = select_n_clusters(X, range(1, 6), random_state=0)
    assert path.reproducibility(X)
    read = results.read_table("path.csv")
    expected = results.rounded_table(results.path_table(path), 6)
    assert list(read) == list(expected)
    for name in expected.keys() - {"seconds"}:
        assert same(read[name], expected[name]), name
    assert f"best by mdl-dispersion: {path.best_k} clusters" in done.out


def test_options(run):
    options = ["--min", 2, "--max", 6, "--criterion", "mdl", "--n-init", 1]
    options += ["--seed", 3]
    done = run("select-k", "cells.npz", *options, "--json")
    expected = {"criterion": "mdl", "n_init": 1, "random_state": 3}
    one = select_n_clusters(X, range(2, 7), **expected)
    assert done.json["best"] == one.best_k
    assert done.json["criterion"] == "mdl"
    assert done.json["path"]["total"] == one.totals.tolist()


def test_no_more_clusters_than_rows(run, tmp_path):
    written_csv(tmp_path / "few.csv", X[30:34])
    done = run("select-k", "few.csv", "--json")
    assert done.json["path"]["n_clusters"] == [1, 2, 3, 4]


def test_an_empty_range(run):
    assert_one_line(
        run.wrong("select-k", "cells.npz", "--min", 5, "--max", 4), "--min 5", "--max 4"
    )
    assert_one_line(
        run.wrong("select-k", "cells.npz", "--min", 500, "--max", 600), "500", "rows"
    )


def test_an_existing_file_is_refused_before_the_work(run, tmp_path):
    (tmp_path / "path.csv").write_text("old")
    assert_one_line(
        run.wrong("select-k", "nowhere.npz", "-o", "path.csv"),
        "path.csv exists",
        "--force",
    )
    assert (tmp_path / "path.csv").read_text() == "old"


def test_after_an_interrupt_what_is_finished_is_shown(run, monkeypatch):
    from threecpo.select import _poisson

    made = []
    of = _poisson.PoissonFit.of.__func__

    def counted(cls, *arguments, **facts):
        made.append(1)
        if len(made) == 3:
            raise KeyboardInterrupt
        return of(cls, *arguments, **facts)

    monkeypatch.setattr(_poisson.PoissonFit, "of", classmethod(counted))
    done = run("select-k", "cells.npz", "--max", 5, "-o", "path.csv", code=130)
    assert [line.split()[0] for line in done.out.splitlines()] == [
        "n_clusters",
        "1",
        "2",
    ]
    assert not Path("path.csv").exists()
