"""select-k, compare, report, info, convert, datasets, reproduce and demo."""

import json
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
    everything,
    runner,
    same,
    table,
    written_csv,
)
from sklearn.datasets import load_digits

import threecpo
from threecpo import CountTable, ThreeCPO, results, select_n_clusters

FEW = np.random.default_rng(0).poisson(1.0, size=(50, 40))
LOG_NORMALISED = np.log1p(1e4 * FEW / FEW.sum(axis=1, keepdims=True))


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    threecpo.write_counts(table(), tmp_path / "cells.npz")
    return runner(capsys)


class TestSelectK:
    def test_the_path_is_that_of_the_library(self, run):
        done = run("select-k", "cells.npz", "--max", 5, "-o", "path.csv")
        assert done.code == 0
        assert done.err == ""
        path = select_n_clusters(X, range(1, 6), random_state=0)
        read, expected = results.read_table("path.csv"), results.path_table(path)
        assert list(read) == list(expected)
        for name in expected.keys() - {"seconds"}:
            assert same(read[name], expected[name]), name
        assert f"best by mdl-dispersion: {path.best_k} clusters" in done.out

    def test_it_agrees_with_fit_auto(self, run):
        run("select-k", "cells.npz", "--max", 4, "-o", "path.csv")
        run("fit", "cells.npz", "-k", "auto", "--max-clusters", 4, "-o", "out")
        a, b = (results.read_table(p) for p in ("path.csv", "out/k_path.csv"))
        assert a["total"].tobytes() == b["total"].tobytes()

    def test_options(self, run):
        options = ["--min", 2, "--max", 6, "--criterion", "mdl", "--n-init", 1]
        options += ["--init", "random-labels", "--seed", 3]
        done = run("select-k", "cells.npz", *options, "--json")
        start = ThreeCPO(init="random-labels")
        one, many = (
            select_n_clusters(
                X,
                range(2, 7),
                estimator=start,
                criterion="mdl",
                n_init=n_init,
                random_state=3,
            )
            for n_init in (1, None)
        )
        assert one.totals.tolist() != many.totals.tolist()
        assert done.json["best"] == one.best_k
        assert done.json["criterion"] == "mdl"
        assert done.json["path"]["total"] == one.totals.tolist()

    def test_no_more_clusters_than_rows(self, run, tmp_path):
        written_csv(tmp_path / "few.csv", X[30:34])
        done = run("select-k", "few.csv", "--json")
        assert done.json["path"]["n_clusters"] == [1, 2, 3, 4]

    def test_an_empty_range(self, run):
        done = run("select-k", "cells.npz", "--min", 5, "--max", 4)
        assert_one_line(done, "--min 5", "--max 4")
        done = run("select-k", "cells.npz", "--min", 500, "--max", 600)
        assert_one_line(done, "500", "rows")

    def test_an_existing_file_is_refused_before_the_work(self, run, tmp_path):
        (tmp_path / "path.csv").write_text("old")
        done = run("select-k", "nowhere.npz", "-o", "path.csv")
        assert_one_line(done, "path.csv exists", "--force")
        done = run("compare", "nowhere.npz", "-o", "path.csv")
        assert_one_line(done, "path.csv exists", "--force")
        assert (tmp_path / "path.csv").read_text() == "old"

    def test_the_end_of_the_path_is_told(self, run):
        done = run("select-k", "cells.npz", "--min", 2, "--max", 3)
        assert "a larger --max" in done.out

    def test_after_an_interrupt_what_is_finished_is_shown(self, run, monkeypatch):
        from threecpo.select import _poisson

        made = []
        of = _poisson.PoissonFit.of.__func__

        def counted(cls, *arguments):
            made.append(1)
            if len(made) == 3:
                raise KeyboardInterrupt
            return of(cls, *arguments)

        monkeypatch.setattr(_poisson.PoissonFit, "of", classmethod(counted))
        done = run("select-k", "cells.npz", "--max", 5, "-o", "path.csv")
        assert done.code == 130
        assert [line.split()[0] for line in done.out.splitlines()] == [
            "n_clusters",
            "4",
            "5",
        ]
        assert not Path("path.csv").exists()


class TestCompare:
    METHODS = ("3CPO", "SKM", "RF+KM", "TauCC")

    def test_scores_are_those_of_the_methods(self, run):
        chosen = ",".join(self.METHODS)
        done = run("compare", "cells.npz", "--methods", chosen, "--json")
        assert done.code == 0
        table = done.json["methods"]
        assert table["method"] == list(self.METHODS)
        assert done.json["n_clusters"] == 4
        for i, name in enumerate(self.METHODS):
            model = threecpo.methods()[name](4, random_state=0, n_init=10).fit(X)
            ari = threecpo.metrics.adjusted_rand_score(TRUE, model.labels_)
            assert table["ARI"][i] == ari
            assert table["clusters"][i] == len(np.unique(model.labels_))
            assert table["seconds"][i] > 0

    def test_a_column_of_labels_that_is_empty_is_told_at_once(self, run, tmp_path):
        path = written_csv(tmp_path / "cells.csv", kind=[""] * len(X))
        told = "has no labels; name their column by --labels."
        assert_one_line(run("compare", path, "--labels", "kind"), told)

    def test_all_methods_are_compared_by_default(self, run, tmp_path):
        kinds = [KINDS[k + 1] for k in TRUE]
        path = written_csv(tmp_path / "cells.csv", kind=kinds)
        done = run("compare", path, "--labels", "kind", "--n-init", 1, "-o", "all.csv")
        assert done.code == 0, done.err
        lines = done.out.splitlines()
        names = list(threecpo.methods())
        assert lines[0].split()[:5] == ["method", "ARI", "NMI", "ACC", "purity"]
        assert [line.split()[0] for line in lines[1:]] == names
        written = Path("all.csv").read_text().splitlines()
        assert [line.split(",")[0] for line in written[1:]] == names

    def test_a_method_that_fails_is_left_out(self, run, monkeypatch):
        from threecpo.cluster import SphericalKMeans

        def fit(self, X, y=None):
            message = "too much"
            raise ValueError(message)

        monkeypatch.setattr(SphericalKMeans, "fit", fit)
        done = run("compare", "cells.npz", "--methods", "SKM,KM", "--json")
        assert done.code == 0
        assert done.err == "threecpo: SKM left out: too much\n"
        assert done.json["methods"]["ARI"][0] is None
        assert done.json["methods"]["ARI"][1] > 0

    def test_names_are_checked_before_anything_is_read(self, run):
        done = run("compare", "nowhere.npz", "--methods", "KM,4CPO")
        assert_one_line(done, "'4CPO'", "3CPO", "BM25+SKM")

    def test_labels_are_needed(self, run, tmp_path):
        path = written_csv(tmp_path / "cells.csv")
        assert_one_line(run("compare", path), "cells.csv", "--labels")


class TestReport:
    def test_it_is_made_anew_from_the_other_files(self, run):
        assert run("fit", "cells.npz", "-k", "auto", "--max-clusters", 4).code == 0
        before = contents("cells.threecpo")
        Path("cells.npz").unlink()
        Path("cells.threecpo/report.html").unlink()
        done = run("report", "cells.threecpo")
        assert done == (0, "report: cells.threecpo/report.html\n", "")
        assert contents("cells.threecpo") == before

    def test_json(self, run):
        run("fit", "cells.npz", "-k", 2)
        told = run("report", "cells.threecpo", "--json").json
        assert Path(told["report"]).name == "report.html"

    @pytest.mark.parametrize("name", ["nowhere", "cells.npz", "."])
    def test_what_is_no_result(self, name, run):
        assert_one_line(run("report", name), "no folder of results")

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("labels.csv", ""),
            ("labels.csv", "row,cluster\na,b\n"),
            ("labels.csv", "row,cluster,nearest,margin\na,0,0,1\n"),
            ("model.npz", "no model"),
            ("run.json", '{"format": "threecpo-run"}'),
            ("run.json", '{"format": "threecpo-run", "input": 3}'),
            ("k_path.csv", "n_clusters\n1\n"),
        ],
    )
    def test_damaged_files_are_one_line_and_the_old_report_stays(self, name, text, run):
        run("fit", "cells.npz", "-k", 2)
        Path("cells.threecpo", name).write_text(text)
        before = contents("cells.threecpo")
        assert_one_line(run("report", "cells.threecpo"))
        assert contents("cells.threecpo") == before

    @pytest.mark.parametrize("name", ["labels.csv", "model.npz"])
    def test_missing_files(self, name, run):
        run("fit", "cells.npz", "-k", 2)
        Path("cells.threecpo", name).unlink()
        assert_one_line(run("report", "cells.threecpo"), name)


class TestInfo:
    def test_facts(self, run):
        told = run("info", "cells.npz", "--json").json
        assert (told["rows"], told["columns"]) == X.shape
        assert told["stored"] == np.count_nonzero(X)
        assert told["density"] == np.count_nonzero(X) / X.size
        assert told["total"] == X.sum()
        assert (told["least"], told["most"]) == (X.min(), X.max())
        assert told["whole"] is True
        sums = X.sum(axis=1)
        assert told["row_sums"] == {
            "least": sums.min(),
            "most": sums.max(),
            "median": np.median(sums),
        }
        assert told["first_column_names"] == COLUMNS[:4]
        assert told["first_row_names"] == ROWS[:4]
        assert told["labels"] == KINDS
        assert told["warnings"] == []

    def test_poisson_counts_are_not_overdispersed_and_clusters_are(
        self, run, tmp_path, seed
    ):
        rng = np.random.default_rng(seed)
        sizes = rng.uniform(1, 5, size=(2000, 1))
        plain = rng.poisson(sizes * rng.uniform(1, 9, size=20))
        wild = rng.poisson(plain * rng.gamma(2, 0.5, size=plain.shape))
        for name, array in (("plain", plain), ("wild", wild)):
            threecpo.write_counts(CountTable(array), tmp_path / f"{name}.npz")
        one, other = (
            run("info", f"{name}.npz", "--json").json["overdispersion"]
            for name in ("plain", "wild")
        )
        assert one["median"] == pytest.approx(1, abs=0.1)
        assert one["above_2"] == 0
        assert other["median"] > 2
        assert other["above_2"] > 0.9

    @pytest.mark.parametrize(
        ("array", "warning"),
        [
            (LOG_NORMALISED, "looks log-normalised"),
            (X / 3, "not whole numbers"),
            (X * (np.arange(len(X)) > 1)[:, None], "2 rows with no counts"),
            (X * (np.arange(X.shape[1]) > 0), "1 column with no counts"),
            (np.minimum(X, 1), "presence and absence"),
            (np.column_stack([X[:, 0], 300 - X[:, 0]]), "all rows have the sum 300"),
            (np.zeros((3, 2), dtype=int), "3 rows with no counts"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_warnings(self, array, warning, run, tmp_path):
        threecpo.write_counts(CountTable(array), tmp_path / "odd.npz")
        done = run("info", "odd.npz")
        assert done.code == 0
        assert done.err == ""
        assert warning in done.out
        (found,) = [
            text
            for text in run("info", "odd.npz", "--json").json["warnings"]
            if warning in text
        ]
        assert f"! {found}" in done.out.splitlines()

    def test_names_that_occur_twice(self, run, tmp_path):
        names = ["gene", *COLUMNS[1:-1], "gene"]
        named = CountTable(X, column_names=names, row_names=["a"] * len(X))
        from threecpo.cli.info import described

        found = described(named)["warnings"]
        assert found == [
            "row names that occur more than once: a",
            "column names that occur more than once: gene",
        ]

    def test_control_characters_do_not_reach_the_terminal(self, run, tmp_path):
        names = ["\x1b[31mred\x1b[0m", "\x07bell", *COLUMNS[2:]]
        written_csv(tmp_path / "odd.csv", X, ROWS, names)
        out = run("info", "odd.csv").out
        assert "\x1b" not in out
        assert "\x07" not in out
        assert "\\x1b[31mred" in out


class TestConvert:
    @pytest.mark.parametrize(
        "name", ["a.csv", "a.tsv.gz", "a.npz", "a.h5ad", "a.parquet"]
    )
    def test_there_and_back(self, name, run):
        if name.endswith("h5ad"):
            pytest.importorskip("anndata")
        done = run("convert", "cells.npz", name)
        assert done == (0, f"{name}: 165 rows x 10 columns.\n", "") or done.code == 0
        labels = [] if name.endswith("npz") else ["--labels", "label"]
        assert run("convert", name, "back.npz", *labels).code == 0
        first, last = (threecpo.read_counts(p) for p in ("cells.npz", "back.npz"))
        assert (first.X != last.X).nnz == 0
        assert first.row_names.tolist() == last.row_names.tolist()
        assert first.column_names.tolist() == last.column_names.tolist()

    def test_long_and_turned_round(self, run, tmp_path):
        assert run("convert", "cells.npz", "long.csv", "--long").code == 0
        lines = Path("long.csv").read_text().splitlines()
        assert len(lines) == np.count_nonzero(X) + 1
        written_csv(tmp_path / "wide.csv")
        assert run("convert", "wide.csv", "t.npz", "--transpose").code == 0
        np.testing.assert_array_equal(threecpo.read_counts("t.npz").X.toarray(), X.T)

    def test_existing_files_are_not_replaced_unasked(self, run):
        run("convert", "cells.npz", "a.csv")
        assert_one_line(run("convert", "cells.npz", "a.csv"), "a.csv")
        assert run("convert", "cells.npz", "a.csv", "--force").code == 0

    def test_an_unknown_suffix(self, run, tmp_path):
        before = everything(tmp_path)
        assert_one_line(run("convert", "cells.npz", "a.docx"), "a.docx")
        assert everything(tmp_path) == before
        told = run("convert", "cells.npz", "a.docx", "--to", "csv", "--json").json
        assert told["rows"] == len(X)

    def test_folders_are_made_as_by_other_commands(self, run, tmp_path):
        assert run("convert", "cells.npz", "new/deep/a.csv").code == 0
        assert Path("new/deep/a.csv").exists()
        before = everything(tmp_path)
        assert_one_line(run("convert", "no.npz", "other/a.csv"), "no.npz")
        assert everything(tmp_path) == before

    @pytest.mark.parametrize(
        ("name", "reason"), [("a.docx", "none of csv"), ("cells.npz", "pass --force")]
    )
    def test_nothing_is_read_that_cannot_be_written(
        self, name, reason, run, monkeypatch
    ):
        monkeypatch.setattr("threecpo.io.read_counts", None)
        assert_one_line(run("convert", "cells.npz", name), reason)


class TestDatasets:
    def test_they_are_listed(self, run):
        done = run("datasets", "list")
        names = list(threecpo.datasets.catalogue())
        assert [line.split()[0] for line in done.out.splitlines()] == ["name", *names]
        told = run("datasets", "list", "--json").json
        assert [entry["name"] for entry in told] == names
        assert all(entry["home"].startswith("http") for entry in told)

    def test_one_is_fetched(self, run, raw_dir):
        if not list(raw_dir.glob("*holesale*")):
            pytest.skip("no archive of Wholesales on this machine")
        done = run("datasets", "fetch", "wholesales", "--home", raw_dir)
        assert done.code == 0, done.err
        assert "wholesales.npz: 440 rows x 6 columns." in done.out
        assert "Terms:" in done.out
        assert threecpo.read_counts("wholesales.npz").n_clusters == 2

    def test_an_unknown_name(self, run):
        assert_one_line(run("datasets", "fetch", "iris"), "'iris'", "bbcnews")

    def test_a_download_that_fails_leaves_nothing(self, run, tmp_path, monkeypatch):
        from threecpo.datasets import DataNotFoundError, _files

        def fail(*_, **__):
            message = "no network"
            raise DataNotFoundError(message)

        monkeypatch.setattr(_files, "_downloaded", fail)
        before = everything(tmp_path)
        done = run("datasets", "fetch", "wholesales", "--home", tmp_path)
        assert_one_line(done, "no network")
        assert everything(tmp_path) == before


class TestReproduce:
    def test_experiments_are_listed(self, run):
        from threecpo.experiments import EXPERIMENTS

        assert run("reproduce").out.splitlines() == list(EXPERIMENTS)
        assert run("reproduce", "--json").json == list(EXPERIMENTS)

    def test_one_is_run(self, run):
        options = ["--datasets", "Synth", "--executions", 2, "--restarts", 2]
        done = run("reproduce", "columns", *options, "--jobs", 1, "-o", "here")
        assert done.code == 0, done.err
        assert done.out == "results: here\n"
        assert list(Path("here").glob("columns*"))

    def test_an_unknown_name(self, run):
        assert_one_line(run("reproduce", "tables"), "'tables'", "columns")


class TestDemo:
    def test_it_writes_a_report(self, run):
        done = run("demo")
        assert done.code == 0
        assert done.out.splitlines()[-1] == "report: digits.threecpo/report.html"
        folder = Path("digits.threecpo")
        assert {path.name for path in folder.iterdir()} == FILES
        digits = load_digits()
        model = ThreeCPO(10, outliers="final", random_state=0).fit(digits.data)
        assert same(threecpo.load(folder / "model.npz").labels_, model.labels_)
        told = json.loads((folder / "run.json").read_text())
        assert told["agreement"]["ARI"] > 0.6
        names = threecpo.load(folder / "model.npz").feature_names_in_
        assert names[[0, 9, 63]].tolist() == ["pixel 0,0", "pixel 1,1", "pixel 7,7"]
