"""Labels of one or several kinds on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
from running import KINDS, TRUE, X, assert_one_line, written_csv

import threecpo
from threecpo import ThreeCPO, results

TYPES = np.array(KINDS, dtype=object)[TRUE + 1]
DONORS = np.array(["7", "007", ""], dtype=object)[np.arange(len(X)) % 3]
# The last is called as a column of ours.
SEVERAL = {"cell_type": TYPES, "donor": DONORS, "cluster": TYPES[::-1]}


def test_a_column_of_labels_that_is_empty_costs_no_results(run, tmp_path):
    path = written_csv(tmp_path / "cells.csv", kind=[""] * len(X))
    done = run("fit", path, "-k", 3, "--labels", "kind")
    assert done.code == 0, done.err
    assert "ARI" not in done.out
    assert "agreement" not in json.loads(Path("cells.threecpo/run.json").read_text())


def test_rows_without_a_label_do_not_count_in_the_scores(run, tmp_path):
    """Rows of all clusters lack a label; with them no score would be 1."""
    labels = ThreeCPO(3, random_state=0).fit(X).labels_
    kinds = [f"kind {k}" if i % 4 else "" for i, k in enumerate(labels)]
    path = written_csv(tmp_path / "cells.csv", kind=kinds)
    done = run("fit", path, "-k", 3, "--labels", "kind", "-o", "out")
    assert done.code == 0, done.err
    facts = json.loads(Path("out/run.json").read_text())
    assert set(facts["agreement"]["kind"].values()) == {1.0}


class TestSeveralKinds:
    asked = ("--labels", "cell_type", "--labels", "donor", "--labels", "cluster")

    @pytest.fixture
    def csv(self, tmp_path):
        return written_csv(tmp_path / "cells.csv", **SEVERAL)

    def test_every_kind_is_compared_and_none_is_counted(self, run, csv):
        done = run("fit", csv, "-k", 3, *self.asked, "-o", "out")
        assert done.code == 0, done.err
        model = ThreeCPO(3, random_state=0).fit(X)
        assert threecpo.load("out/model.npz").loss_ == model.loss_
        facts = json.loads(Path("out/run.json").read_text())
        assert list(facts["agreement"]) == list(SEVERAL)
        for kind, compared in results.label_tables(model, SEVERAL).items():
            assert facts["agreement"][kind] == pytest.approx(compared.scores)
            assert facts["label_shares"][kind] == compared.sentences
            ari = compared.scores["ARI"]
            assert f"with {kind}: ARI {ari:.2f}, purity " in done.out

    def test_every_kind_is_in_the_report_also_without_the_counts(self, run, csv):
        assert run("fit", csv, "-k", 3, *self.asked, "-o", "out").code == 0
        page = Path("out/report.html").read_text()
        csv.unlink()
        for place, kind in enumerate(SEVERAL):
            assert f'<option value="{place}">{kind}</option>' in page
            assert f'<h3 id="label-{place}"><bdi>{kind.capitalize()}</bdi></h3>' in page
        assert run("report", "out").code == 0
        assert Path("out/report.html").read_text() == page

    def test_the_report_may_show_some_of_them(self, run, csv):
        assert run("fit", csv, "-k", 3, *self.asked, "-o", "out").code == 0
        done = run("report", "out", "--labels", "donor", "--labels", "cluster")
        assert done.code == 0, done.err
        page = Path("out/report.html").read_text()
        assert '<option value="1">cluster</option>' in page
        assert ">cell_type<" not in page
        assert_one_line(
            run("report", "out", "--labels", "habitat"),
            "labels.csv has no column 'habitat'; its labels are cell_type, donor, "
            "cluster",
        )

    def test_info_names_the_values_of_every_kind(self, run, csv):
        done = run("info", csv, *self.asked)
        assert done.out.count("  labels   ") == 3
        assert "labels          donor: 007, 7\n" in done.out
        facts = run("info", csv, *self.asked, "--json").json
        assert facts["label_kinds"]["donor"] == ["007", "7"]
        assert facts["labels"] == facts["label_kinds"]["cell_type"]
        assert facts["columns"] == X.shape[1]

    def test_new_rows_keep_their_labels(self, run, csv):
        assert run("fit", csv, "-k", 3, *self.asked, "-o", "out").code == 0
        done = run("predict", "out", csv, *self.asked, "-o", "again.csv")
        assert done.code == 0, done.err
        rows, again = map(results.read_table, ("out/labels.csv", "again.csv"))
        assert list(again)[-3:] == [f"label_{kind}" for kind in SEVERAL]
        assert all(rows[name].tolist() == again[name].tolist() for name in again)

    @pytest.mark.parametrize("again", [[], ["--counts", "cells.csv"]])
    def test_fewer_clusters_are_compared_too(self, again, run, csv):
        assert run("fit", csv, "-k", 3, *self.asked, "-o", "out").code == 0
        done = run("cut", "out", "-k", 2, *again, "-o", "two")
        assert done.code == 0, done.err
        assert done.out.count(": ARI ") == 3
        assert "label_donor" in results.read_table("two/labels.csv", results.ROWS)

    def test_a_batch_may_be_compared_as_well(self, run, csv):
        options = ["-k", 3, "--batch", "donor", *self.asked, "--no-report"]
        done = run("fit", csv, *options, "-o", "out")
        assert done.code == 2  # rows without a donor
        assert_one_line(done, "batch")
        full = written_csv(csv, cell_type=TYPES, donor=["x", "y", "z"] * len(X))
        labels = ["--labels", "donor", "--labels", "cell_type"]
        done = run("fit", full, "-k", 3, "--batch", "donor", *labels, "-o", "out")
        assert done.code == 0, done.err
        assert "Agreement with donor" in done.out
        assert threecpo.load("out/model.npz").n_features_in_ == X.shape[1]
