"""The command compare."""

from pathlib import Path

import numpy as np
import pytest
from running import (
    KINDS,
    TRUE,
    X,
    assert_one_line,
    beside_cells,
    written_csv,
)

import threecpo


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    return beside_cells(capsys, tmp_path, monkeypatch)


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

    def test_a_column_of_labels_that_is_empty_is_reported_at_once(self, run, tmp_path):
        path = written_csv(tmp_path / "cells.csv", kind=[""] * len(X))
        facts = "has no labels; name their column by --labels."
        assert_one_line(run("compare", path, "--labels", "kind"), facts)

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
