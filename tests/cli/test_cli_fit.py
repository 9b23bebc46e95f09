"""``threecpo fit``: the files it writes are what the library says, bit for bit."""

import hashlib
import json
import resource
import sys
from pathlib import Path

import numpy as np
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
    elsewhere,
    everything,
    runner,
    same,
    table,
    written_csv,
)

import threecpo
from threecpo import CountTable, ThreeCPO, results
from threecpo.cli._input_file import InputFile
from threecpo.cli._result_folder import default_folder

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


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


@pytest.fixture
def npz(tmp_path):
    threecpo.write_counts(table(), tmp_path / "cells.npz")
    return tmp_path / "cells.npz"


def assert_same_table(path, expected):
    read = results.read_table(path)
    assert list(read) == list(expected)
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
            ["-k", 4, "--outliers", "iterative", "--seed", 7],
            {"n_clusters": 4, "outliers": "iterative", "random_state": 7},
        ),
        (
            ["-k", 3, "--outliers", "final", "--outlier-threshold", 2.5],
            {"n_clusters": 3, "outliers": "final", "outlier_threshold": 2.5},
        ),
        (["-k", 3, "--n-init", "auto"], {"n_clusters": 3, "n_init": "auto"}),
        (
            ["-k", 3, "--init", "poisson-k-means++", "--n-init", 4, "--jobs", 2],
            {
                "n_clusters": 3,
                "init": "poisson-k-means++",
                "n_init": 4,
                "n_jobs": 2,
            },
        ),
        (
            [
                "-k",
                "3",
                "--column-penalty",
                "none",
                "--assignment",
                "printed",
                "--prior",
                "0.5",
            ],
            {
                "n_clusters": 3,
                "column_penalty": None,
                "assignment": "printed",
                "prior": 0.5,
            },
        ),
        (["-k", 1], {"n_clusters": 1}),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_files_equal_the_library_bit_for_bit(arguments, options, run, npz):
    done = run("fit", npz, *arguments, "-o", "out")
    assert done.code == 0, done.err
    assert done.err == ""
    model = ThreeCPO(**{"random_state": 0} | options).fit(X)
    rows = results.row_table(model, X, row_names=ROWS)
    if "label" in results.read_table("out/labels.csv"):
        rows["label"] = np.array(KINDS, dtype=object)[TRUE + 1]
    columns = results.column_table(model, column_names=COLUMNS)
    tops = results.top_table(model, column_names=COLUMNS)
    folder = Path("out")
    assert {path.name for path in folder.iterdir()} == FILES
    assert_same_table(folder / "labels.csv", rows)
    assert_same_table(folder / "columns.csv", columns)
    assert_same_table(folder / "top_columns.csv", tops)
    assert_same_model(folder / "model.npz", model)
    facts = json.loads((folder / "run.json").read_text())
    assert facts["loss"] == model.loss_
    assert "</html>" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_number_of_clusters_may_be_chosen(run, npz):
    done = run("fit", npz, "-k", "auto", "--max-clusters", 5, "-o", "out")
    assert done.code == 0
    model = ThreeCPO("auto", max_clusters=5, random_state=0).fit(X)
    folder = Path("out")
    of_path = {"k_path.csv", "k_divisions.csv"}
    assert {path.name for path in folder.iterdir()} == FILES | of_path
    path = model.k_path_
    assert path.sentence() in done.out
    assert done.out.count("one level below, cluster ") == path.best_k
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f"<p>{path.choice.sentence()}</p>" in page
    expected = path.divisions()
    read = results.read_table(folder / "k_divisions.csv")
    assert all(same(read[name], expected[name]) for name in expected)
    expected = results.path_table(path)
    read = results.read_table(folder / "k_path.csv")
    assert list(read) == list(expected)
    for name in expected.keys() - {"seconds"}:
        assert same(read[name], expected[name]), name
    assert_same_model(folder / "model.npz", model)


@pytest.mark.parametrize("criterion", ["mdl", "mdl-dispersion"])
def test_the_criterion_may_be_chosen(criterion, run, npz):
    arguments = ["-k", "auto", "--max-clusters", 4, "--criterion", criterion]
    assert run("fit", npz, *arguments, "-o", "out").code == 0
    read = results.read_table("out/k_path.csv")
    assert set(read["criterion"]) == {criterion}


def test_the_run_is_described(run, npz):
    done = run("fit", npz, "-k", 3, "--seed", 5, "-o", "out")
    facts = json.loads(Path("out/run.json").read_text())
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
    ari = threecpo.metrics.adjusted_rand_score(TRUE, model.labels_)
    assert facts["agreement"]["ARI"] == ari
    assert f"{ari:.3f}" in done.out
    assert "report: out/report.html" in done.out


def test_json_alone_is_on_stdout(run, npz):
    done = run("fit", npz, "-k", 3, "-o", "out", "--json")
    facts = json.loads(Path("out/run.json").read_text())
    assert done.json == facts | {"output": str(Path("out").absolute())}
    assert done.err == ""


def test_csv_and_npz_of_the_same_counts_give_the_same(run, npz, tmp_path):
    kinds = [KINDS[k + 1] for k in TRUE]
    path = written_csv(tmp_path / "cells.csv", kind=kinds)
    assert run("fit", path, "-k", 3, "--labels", "kind", "-o", "a").code == 0
    assert run("fit", npz, "-k", 3, "-o", "b").code == 0
    for name in ("labels.csv", "columns.csv", "top_columns.csv", "model.npz"):
        assert contents("a")[name] == contents("b")[name]
    facts = [json.loads(Path(out, "run.json").read_text()) for out in "ab"]
    assert facts[0]["agreement"] == pytest.approx(facts[1]["agreement"])


def test_triples_and_a_table_turned_round(run, tmp_path):
    wide = written_csv(tmp_path / "wide.csv")
    long = ["cell,gene,count"]
    long += [
        f"{ROWS[i]},{COLUMNS[j]},{X[i, j]}" for i, j in zip(*X.nonzero(), strict=True)
    ]
    (tmp_path / "long.csv").write_text("\n".join(long))
    turned = written_csv(tmp_path / "turned.csv", X.T, COLUMNS, ROWS)
    assert run("fit", wide, "-k", 3, "-o", "a").code == 0
    assert run("fit", "long.csv", "-k", 3, "--triples", "-o", "b").code == 0
    assert run("fit", turned, "-k", 3, "--transpose", "-o", "c").code == 0
    assert contents("a")["labels.csv"] == contents("c")["labels.csv"]
    assert contents("a")["columns.csv"] == contents("c")["columns.csv"]
    a, b = (results.read_table(f"{out}/labels.csv") for out in "ab")
    of_row = dict(zip(b["row"], b["cluster"], strict=True))
    assert [of_row[row] for row in a["row"]] == a["cluster"].tolist()


def test_a_layer_of_an_h5ad_file(run, tmp_path):
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(np.log1p(X.astype(float)), layers={"raw": X})
    adata.write_h5ad(tmp_path / "cells.h5ad")
    assert_one_line(run("fit", "cells.h5ad", "-k", 3), "layer", "cells.h5ad")
    assert run("fit", "cells.h5ad", "-k", 3, "--layer", "raw").code == 0
    model = ThreeCPO(3, random_state=0).fit(X)
    read = results.read_table("cells.threecpo/labels.csv")
    assert same(read["outlier_score"], model.outlier_scores_)
    facts = json.loads(Path("cells.threecpo/run.json").read_text())
    assert facts["input"]["options"] == {"layer": "raw"}


@pytest.mark.parametrize(
    ("options", "n_columns"),
    [([], 10), (["--index", 0], 10), (["--no-index"], 11), (["--drop", "gene 3"], 9)],
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


def test_the_folder_of_a_folder(tmp_path):
    (tmp_path / "run.1").mkdir()
    assert default_folder(tmp_path / "run.1") == Path("run.1.threecpo")


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


def test_warnings_are_one_line_each_and_kept(run, tmp_path):
    path = written_csv(tmp_path / "cells.csv", np.round(X / 7, 3))
    done = run("fit", path, "-k", 3, "-o", "out")
    assert done.code == 0
    assert done.err.count("\n") == 1
    assert "threecpo: note:" in done.err
    assert "not whole numbers" in done.err
    facts = json.loads(Path("out/run.json").read_text())
    assert len(facts["warnings"]) == 1
    assert "not whole numbers" in facts["warnings"][0]


def test_without_a_report(run, npz, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    before = everything(tmp_path)
    # Reported before anything is read.
    done = run("fit", "nowhere.npz", "-k", 3, "-o", "out")
    assert_one_line(done, "jinja2", "threecpo[report]", "--no-report")
    assert everything(tmp_path) == before
    done = run("fit", npz, "-k", 3, "-o", "out", "--no-report")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "results: out"
    assert {path.name for path in Path("out").iterdir()} == FILES - {"report.html"}
    monkeypatch.undo()
    assert run("report", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize("name", ["wholesales", "bbcsports"])
def test_real_counts_give_the_bits_of_the_library(name, run, data_dir, load_data):
    X, _ = load_data(name)
    done = run("fit", data_dir / f"{name}.npz", "-k", 5, "--outliers", "final")
    assert done.code == 0, done.err
    model = ThreeCPO(5, outliers="final", random_state=0).fit(X)
    folder = Path(f"{name}.threecpo")
    assert_same_model(folder / "model.npz", model)
    read = results.read_table(folder / "labels.csv")
    expected = results.row_table(model, X)
    for column, values in expected.items():
        assert same(read[column], values), column


@pytest.mark.slow
def test_a_command_costs_little_more_than_its_fit(data_dir, load_data, tmp_path):
    """In processor time, which others on the machine hardly change."""
    X, _ = load_data("newsgroups20")

    def fit():
        ThreeCPO(20, random_state=0).fit(X)

    def command():
        path = data_dir / "newsgroups20.npz"
        assert elsewhere("fit", path, "-k", 20, cwd=tmp_path).code == 0

    fit()
    alone = processor_seconds(resource.RUSAGE_SELF, fit)
    whole = processor_seconds(resource.RUSAGE_CHILDREN, command)
    assert whole < 1.5 * alone + 6


def processor_seconds(who, action):
    before = resource.getrusage(who)
    action()
    after = resource.getrusage(who)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


DEGENERATE = {
    "one count": [[3]],
    "nothing": [[0]],
    "only zeros": np.zeros((5, 4), dtype=int),
    "one row": [[1, 2, 3]],
    "one column": [[1], [5], [0], [7]],
    "all alike": np.full((6, 3), 4),
    "huge counts": [[2**51, 1], [3, 2**51], [1, 1]],
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_tables_go_all_the_way(name, run, tmp_path):
    threecpo.write_counts(CountTable(np.array(DEGENERATE[name])), "x.npz")
    for k in (1, "auto"):
        assert run("fit", "x.npz", "-k", k, "--force").code == 0
        assert run("predict", "x.threecpo", "x.npz").code == 0
        assert run("report", "x.threecpo").code == 0
    for command in ("info", "select-k"):
        for more in ([], ["--json"]):
            assert run(command, "x.npz", *more).code == 0


HOSTILE = [
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
        tmp_path / "cells.csv", columns=HOSTILE, rows=[f"[{i}]" for i in range(len(X))]
    )
    done = run("fit", path, "-k", 3, "-o", "out")
    assert done.code == 0, done.err
    assert results.read_table("out/columns.csv")["column"].tolist() == HOSTILE
    assert results.read_table("out/labels.csv")["row"][0] == "[0]"
    assert threecpo.load("out/model.npz").feature_names_in_.tolist() == HOSTILE
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    shown = run("info", path)
    assert "[bold red]gene[/], [/]" in shown.out


@pytest.mark.parametrize("k", ["0", "-1", "many", "1.5", ""])
def test_a_wrong_number_of_clusters(k, run, npz, tmp_path):
    before = everything(tmp_path)
    assert_one_line(run("fit", npz, "-k", k), "'-k'", "auto")
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["-k", 10_000], ["n_clusters=10000"]),
        (["-k", 3, "--jobs", 0], ["n_jobs=0"]),
        (["-k", 3, "--layer", "raw"], ["layer"]),
        (["-k", 3, "--format", "h5ad"], ["cells.npz"]),
        ([], ["Missing option", "-k"]),
    ],
)
def test_what_cannot_be_done_leaves_nothing_behind(
    arguments, parts, run, npz, tmp_path
):
    before = everything(tmp_path)
    assert_one_line(run("fit", npz, *arguments, "-o", "new/deep/out"), *parts)
    assert everything(tmp_path) == before


def test_more_threads_give_the_same_files(run, npz):
    for jobs in (1, 3):
        assert run("fit", npz, "-k", 3, "--jobs", jobs, "-o", f"out{jobs}").code == 0
    one, three = contents("out1"), contents("out3")
    for name in ("labels.csv", "columns.csv", "top_columns.csv"):
        assert one[name] == three[name]


def test_a_column_of_labels_that_is_empty_costs_no_results(run, tmp_path):
    path = written_csv(tmp_path / "cells.csv", kind=[""] * len(X))
    done = run("fit", path, "-k", 3, "--labels", "kind")
    assert done.code == 0, done.err
    assert "Rand index" not in done.out
    assert "agreement" not in json.loads(Path("cells.threecpo/run.json").read_text())


def test_rows_without_a_label_do_not_count_in_the_scores(run, tmp_path):
    """Rows of all clusters lack a label; with them no score would be 1."""
    labels = ThreeCPO(3, random_state=0).fit(X).labels_
    kinds = [f"kind {k}" if i % 4 else "" for i, k in enumerate(labels)]
    path = written_csv(tmp_path / "cells.csv", kind=kinds)
    done = run("fit", path, "-k", 3, "--labels", "kind", "-o", "out")
    assert done.code == 0, done.err
    facts = json.loads(Path("out/run.json").read_text())
    assert set(facts["agreement"].values()) == {1.0}


def test_names_of_a_file_stay_with_its_model(run, npz, recwarn):
    """From the file to the model and to what it says of the same file again."""
    assert run("fit", npz, "-k", 3, "-o", "out").code == 0
    model, read = threecpo.load("out/model.npz"), threecpo.read_counts(npz)
    assert model.record_.row_names.tolist() == ROWS
    assert model.record_.column_names.tolist() == COLUMNS
    recwarn.clear()
    np.testing.assert_array_equal(model.predict(read), model.labels_)
    assert results.row_table(model)["row"].tolist() == ROWS
    assert not recwarn.list


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
    assert run("info", path).code == 0
    of_reading = len(calls)
    assert run("fit", path, "-k", 3, "-o", "out").code == 0
    assert len(calls) == 2 * of_reading <= 2


def test_losses_that_differ_by_rounding_alone_are_drawn(run, tmp_path):
    (tmp_path / "t.csv").write_text(",a,b\nr1,1,5\nr2,3,0\n")
    assert run("fit", "t.csv", "-k", 2).code == 0
    assert {path.name for path in Path("t.threecpo").iterdir()} == FILES


def test_whether_clusters_are_real(run, npz):
    done = run("fit", npz, "-k", 3, "--stability", "--no-report", "-o", "out")
    assert done.code == 0, done.err
    model = ThreeCPO(3, random_state=0).fit(X)
    expected = model.stability(X)
    read = results.read_table("out/stability.csv")
    assert read["real"].tolist() == [int(real) for real in expected["real"]]
    assert same(read["jaccard"], np.asarray(expected["jaccard"]))
    n_real = int(np.sum(expected["real"][3:]))
    assert f"{n_real} of 2 divisions of the tree are real" in done.out
    facts = json.loads(Path("out/run.json").read_text(encoding="utf-8"))
    assert facts["stability"]["real"] == n_real
    assert "stability.csv" in facts["files"]


def test_blocks_have_no_stability(run, npz):
    done = run("fit", npz, "-k", 3, "--stability", "--max-memory", "1GB")
    assert done.code == 2
    assert "--stability needs the counts in memory" in done.err


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("names.txt", "T cells\n\nB cells\nNK\n"),
        ("names.csv", "cluster,size,name\n1,9,B cells\n0,9,T cells\n2,9,NK\n"),
        ("names.json", '["T cells", "B cells", "NK"]'),
        ("names.json", '{"0": "T cells", "2": "NK", "1": "B cells"}'),
    ],
)
def test_names_come_from_a_file(file, content, run, npz):
    Path(file).write_text(content, encoding="utf-8")
    done = run("fit", npz, "-k", 3, "--names", file, "-o", "out")
    assert done.code == 0, done.err
    assert "T cells" in done.out
    expected = ["T cells", "B cells", "NK"]
    assert results.read_table("out/clusters.csv")["name"].tolist() == expected
    assert threecpo.load("out/model.npz").cluster_names_.tolist() == expected
    # The table itself, edited or not, is such a file.
    again = run("fit", npz, "-k", 3, "--names", "out/clusters.csv", "-o", "again")
    assert again.code == 0, again.err
    assert results.read_table("again/clusters.csv")["name"].tolist() == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [("7", "list or an object"), ("{", "holds no names"), ('["a"]', "1 names for 3")],
)
def test_a_file_without_names_is_one_line(content, message, run, npz):
    Path("names.json").write_text(content, encoding="utf-8")
    done = run("fit", npz, "-k", 3, "--names", "names.json", "-o", "out")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not Path("out").exists()


def test_triples_among_more_columns(run, tmp_path):
    lines = ["day,who,what,n", "1,ann,milk,2", "1,bob,bread,1", "2,ann,milk,3"]
    (tmp_path / "sales.csv").write_text("\n".join(lines))
    advice = run("info", "sales.csv", "--triples").err
    assert "pass --triples with the names of" in advice
    for given in (
        ("sales.csv", "--triples", "who", "what", "n"),
        ("--triples", "who", "what", "n", "sales.csv"),
        ("--triples", "sales.csv", "--drop", "day"),
    ):
        facts = run("info", *given, "--json").json
        assert (facts["rows"], facts["columns"], facts["total"]) == (2, 2, 6)
    facts = run("info", "sales.csv", "--pairs", "who", "what", "--json").json
    assert (facts["rows"], facts["columns"], facts["total"]) == (2, 2, 3)
    done = run("fit", "sales.csv", "-k", 1, "--triples", "who", "what", "n", "-o", "c")
    assert done.code == 0, done.err


class TestHoldOut:
    def test_the_deepest_rows_are_left_out_of_the_fit(self, run, npz):
        for given in ("10%", "0.1"):
            options = ("--hold-out-deepest", given, "--no-report", "--force")
            facts = run("fit", npz, "-k", 3, "-o", "out", *options, "--json").json
            assert facts["parameters"]["hold_out_deepest"] == 0.1
        alone = threecpo.ThreeCPO(3, hold_out_deepest=0.1, random_state=0)
        assert facts["loss"] == alone.fit(threecpo.read_counts(npz)).loss_

    @pytest.mark.parametrize("given", ["100%", "-1", "x", "5 rows", "nan"])
    def test_what_is_no_share(self, run, npz, given):
        done = run("fit", npz, "-k", 3, f"--hold-out-deepest={given}")
        assert done.code == 2
        assert "is no part of the rows, such as 5% or 0.05" in done.err
