"""The command select-k."""

from pathlib import Path

from running import (
    X,
    assert_one_line,
    same,
    written_csv,
)

from threecpo import results, select_n_clusters


class TestSelectK:
    def test_the_path_is_that_of_the_library(self, run):
        done = run("select-k", "cells.npz", "--max", 5, "-o", "path.csv")
        assert done.code == 0
        assert done.err == ""
        path = select_n_clusters(X, range(1, 6), random_state=0)
        assert path.reproducibility(X)
        read = results.read_table("path.csv", results.PATH)
        expected = results.rounded_table(results.path_table(path), 6)
        assert list(read) == list(expected)
        for name in expected.keys() - {"seconds"}:
            assert same(read[name], expected[name]), name
        assert f"best by mdl-dispersion: {path.best_k} clusters" in done.out

    def test_options(self, run):
        options = ["--min", 2, "--max", 6, "--criterion", "mdl", "--n-init", 1]
        options += ["--seed", 3]
        done = run("select-k", "cells.npz", *options, "--json")
        expected = {"criterion": "mdl", "n_init": 1, "random_state": 3}
        one = select_n_clusters(X, range(2, 7), **expected)
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
        assert (tmp_path / "path.csv").read_text() == "old"

    def test_after_an_interrupt_what_is_finished_is_shown(self, run, monkeypatch):
        from threecpo.select import _poisson

        made = []
        of = _poisson.PoissonFit.of.__func__

        def counted(cls, *arguments, **facts):
            made.append(1)
            if len(made) == 3:
                raise KeyboardInterrupt
            return of(cls, *arguments, **facts)

        monkeypatch.setattr(_poisson.PoissonFit, "of", classmethod(counted))
        done = run("select-k", "cells.npz", "--max", 5, "-o", "path.csv")
        assert done.code == 130
        assert [line.split()[0] for line in done.out.splitlines()] == [
            "n_clusters",
            "1",
            "2",
        ]
        assert not Path("path.csv").exists()
