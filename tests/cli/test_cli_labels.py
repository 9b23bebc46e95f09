"""Labels, batches, known clusters and metadata on the command line."""

import json
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from running import (
    COLUMNS,
    KINDS,
    ROWS,
    TRUE,
    X,
    assert_one_line,
    facts_of,
    rows_of,
    written_csv,
)

import threecpo
from threecpo import (
    CountTable,
    ThreeCPO,
    load,
    results,
    select_n_clusters,
    write_counts,
)

TYPES = np.array(KINDS, dtype=object)[TRUE + 1]
DONORS = np.array(["7", "007", ""], dtype=object)[np.arange(len(X)) % 3]
# The last is called as a column of ours.
SEVERAL = {"cell_type": TYPES, "donor": DONORS, "cluster": TYPES[::-1]}


def test_a_column_of_labels_that_is_empty_costs_no_results(run, tmp_path):
    path = written_csv(tmp_path / "cells.csv", kind=[""] * len(X))
    done = run("fit", path, "-k", 3, "--labels", "kind")
    assert "ARI" not in done.out
    assert "agreement" not in facts_of("cells.threecpo")


def test_rows_without_a_label_do_not_count_in_the_scores(run, tmp_path):
    """Rows of all clusters lack a label; with them no score would be 1."""
    labels = ThreeCPO(3, random_state=0).fit(X).labels_
    kinds = [f"kind {k}" if i % 4 else "" for i, k in enumerate(labels)]
    path = written_csv(tmp_path / "cells.csv", kind=kinds)
    run("fit", path, "-k", 3, "--labels", "kind", "-o", "out")
    facts = facts_of("out")
    assert set(facts["agreement"]["kind"].values()) == {1.0}


class TestSeveralKinds:
    asked = ("--labels", "cell_type", "--labels", "donor", "--labels", "cluster")

    @pytest.fixture
    def csv(self, tmp_path):
        return written_csv(tmp_path / "cells.csv", **SEVERAL)

    def test_every_kind_is_compared_and_none_is_counted(self, run, csv):
        done = run("fit", csv, "-k", 3, *self.asked, "-o", "out")
        model = ThreeCPO(3, random_state=0).fit(X)
        assert threecpo.load("out/model.npz").loss_ == model.loss_
        facts = facts_of("out")
        assert list(facts["agreement"]) == list(SEVERAL)
        for kind, compared in results.label_tables(model, SEVERAL).items():
            assert facts["agreement"][kind] == pytest.approx(compared.scores)
            assert facts["label_shares"][kind] == compared.sentences
            ari = compared.scores["ARI"]
            assert f"with {kind}: ARI {ari:.2f}, purity " in done.out

    def test_every_kind_is_in_the_report_also_without_the_counts(self, run, csv):
        run("fit", csv, "-k", 3, *self.asked, "-o", "out")
        page = Path("out/report.html").read_text()
        csv.unlink()
        for place, kind in enumerate(SEVERAL):
            assert f'<option value="{place}">{kind}</option>' in page
            assert f'<h3 id="label-{place}"><bdi>{kind.capitalize()}</bdi></h3>' in page
        run("report", "out")
        assert Path("out/report.html").read_text() == page

    def test_the_report_may_show_some_of_them(self, run, csv):
        run("fit", csv, "-k", 3, *self.asked, "-o", "out")
        run("report", "out", "--labels", "donor", "--labels", "cluster")
        page = Path("out/report.html").read_text()
        assert '<option value="1">cluster</option>' in page
        assert ">cell_type<" not in page
        assert_one_line(
            run.wrong("report", "out", "--labels", "habitat"),
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
        run("fit", csv, "-k", 3, *self.asked, "-o", "out")
        run("predict", "out", csv, *self.asked, "-o", "again.csv")
        rows, again = map(results.read_table, ("out/labels.csv", "again.csv"))
        assert list(again)[-3:] == [f"label_{kind}" for kind in SEVERAL]
        assert all(rows[name].tolist() == again[name].tolist() for name in again)

    @pytest.mark.parametrize("again", [[], ["--counts", "cells.csv"]])
    def test_fewer_clusters_are_compared_too(self, again, run, csv):
        run("fit", csv, "-k", 3, *self.asked, "-o", "out")
        done = run("cut", "out", "-k", 2, *again, "-o", "two")
        assert done.out.count(": ARI ") == 3
        assert "label_donor" in rows_of("two")

    def test_a_batch_may_be_compared_as_well(self, run, csv):
        options = ["-k", 3, "--batch", "donor", *self.asked, "--no-report"]
        # Some rows have no donor.
        assert_one_line(run.wrong("fit", csv, *options, "-o", "out"), "batch")
        full = written_csv(csv, cell_type=TYPES, donor=["x", "y", "z"] * len(X))
        labels = ["--labels", "donor", "--labels", "cell_type"]
        done = run("fit", full, "-k", 3, "--batch", "donor", *labels, "-o", "out")
        assert "Agreement with donor" in done.out
        assert threecpo.load("out/model.npz").n_features_in_ == X.shape[1]


KNOWN = np.full(len(X), "", dtype=object)


for name, k in (("moss", 2), ("fern", 0)):
    KNOWN[np.flatnonzero(k == TRUE)[:4]] = name


FRAME = pd.DataFrame(X, columns=COLUMNS)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "counts.csv"
    frame = FRAME.copy()
    frame.insert(0, "habitat", KNOWN)
    frame.to_csv(path, index=False)
    return path


def test_known_clusters_are_a_column_of_the_file(path, tmp_path, run):
    target = tmp_path / "out"
    options = ["-k", "3", "--known", "habitat", "--seed", "0"]
    run("fit", path, *options, "-o", target, "--json")
    model = load(target / "model.npz")
    expected = ThreeCPO(3, random_state=0)
    expected.fit(FRAME, known_labels=KNOWN)
    assert model.loss_ == expected.loss_
    assert model.cluster_names_[:2].tolist() == ["fern", "moss"]
    facts = facts_of(target)
    assert facts["input"]["known"] == "habitat"
    assert facts["known"]["rows"] == 8
    assert facts["known"]["clusters"] == ["fern", "moss"]
    assert "8 rows were held in known clusters" in (target / "report.html").read_text()


def test_groups_are_given_by_name(path, tmp_path, run):
    target = tmp_path / "out"
    options = ["-k", "3", "--known", "habitat", "--fix-group", f"{COLUMNS[0]}=noise"]
    options += ["--fix-group", f"{COLUMNS[6]}=relevant"]
    run("fit", path, *options, "-o", target)
    model = load(target / "model.npz")
    assert model.column_groups_[[0, 6]].tolist() == [-1, 1]
    page = (target / "report.html").read_text()
    said = f"{COLUMNS[0]} (noise), {COLUMNS[6]} (relevant)"
    assert f"2 columns have fixed groups: {said}." in page
    assert_one_line(
        run.wrong(
            "fit", path, "-k", "3", "--fix-group", "reads", "-o", tmp_path / "no"
        ),
        "'reads' is not a column and its group",
    )
    options = ["-k", "3", "--known", "habitat", "--fix-group", "reads=noise"]
    assert_one_line(
        run.wrong("fit", path, *options, "-o", tmp_path / "no"),
        "'reads' is not a column of X",
    )


@pytest.mark.parametrize("kind", ["json", "csv", "header"])
def test_seed_columns_are_a_file(kind, path, tmp_path, run):
    seeds = {"b first": [COLUMNS[2], COLUMNS[3]], "a": [COLUMNS[0]]}
    if kind == "json":
        file = tmp_path / "seeds.json"
        file.write_text(json.dumps(seeds))
    else:
        file = tmp_path / "seeds.csv"
        lines = [f"{name},{column}" for name, each in seeds.items() for column in each]
        header = ["cluster,column"] if kind == "header" else []
        file.write_text("\n".join([*header, *lines]))
    target = tmp_path / "out"
    options = ["-k", "3", "--seed-columns", file, "--labels", "habitat"]
    run("fit", path, *options, "--no-report", "-o", target)
    model = load(target / "model.npz")
    expected = ThreeCPO(3, random_state=0, seed_columns=seeds).fit(FRAME)
    assert model.loss_ == expected.loss_
    assert model.cluster_names_[:2].tolist() == ["b first", "a"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("seeds.json", "[1]", "must hold an object"),
        ("seeds.json", "{", "does not contain seed columns"),
        ("seeds.csv", "", "does not contain seed columns"),
        ("seeds.csv", "rugby,scrum", "'scrum' is not a column of X"),
    ],
)
def test_seeds_that_are_none(name, text, words, path, tmp_path, run):
    (tmp_path / name).write_text(text)
    options = ["-k", "3", "--seed-columns", tmp_path / name, "--labels", "habitat"]
    assert_one_line(run.wrong("fit", path, *options, "-o", tmp_path / "out"), words)
    assert not (tmp_path / "out").exists()


def test_the_number_of_clusters(path, run):
    options = ["--known", "habitat", "--min", "2", "--max", "4", "--json"]
    done = run("select-k", path, *options)
    expected = select_n_clusters(FRAME, range(2, 5), random_state=0, known_labels=KNOWN)
    assert done.json["best"] == expected.best_k
    np.testing.assert_allclose(done.json["path"]["total"], expected.totals, rtol=1e-12)
    assert_one_line(
        run.wrong("select-k", path, "--known", "habitat", "--min", "1", "--max", "3"),
        "n_clusters=1, but 2 clusters are known; for example, row ",
        "is in cluster 'moss'.",
    )


def test_files_in_blocks(tmp_path, run):
    obs = pd.DataFrame({"type": KNOWN}, index=[f"c{i}" for i in range(len(X))])
    adata = anndata.AnnData(X.astype(np.float32), obs=obs)
    path = tmp_path / "cells.h5ad"
    adata.write_h5ad(path)
    target = tmp_path / "out"
    options = ["-k", "3", "--known", "type", "--max-memory", "1GB", "--no-report"]
    run("fit", path, *options, "-o", target)
    model = load(target / "model.npz")
    expected = ThreeCPO(3, random_state=0).fit(X, known_labels=KNOWN)
    np.testing.assert_array_equal(model.labels_, expected.labels_)


@pytest.fixture
def study(tmp_path):
    """Counts, and what is known of their rows in another order."""
    rng = np.random.default_rng(0)
    kind, lab = rng.integers(2, size=80), rng.integers(2, size=80)
    rates = np.exp(rng.normal(size=(2, 8)))
    effects = np.exp(0.7 * rng.normal(size=(2, 8)))
    X = rng.poisson(6 * rates[kind] * effects[lab])
    names = [f"s{i}" for i in range(80)]
    columns = [f"c{j}" for j in range(8)]
    pd.DataFrame(X, names, columns).to_csv(tmp_path / "counts.csv")
    known = {"sample": names, "kind": kind, "lab": [f"lab {b}" for b in lab]}
    frame = pd.DataFrame(known).iloc[::-1]
    frame.to_csv(tmp_path / "known.csv", index=False)
    return tmp_path, X, np.array([f"lab {b}" for b in lab]), names, columns


def test_labels_and_batches_of_a_fit(study, run):
    folder, X, lab, *_ = study
    beside = ["--metadata", folder / "known.csv", "--labels", "kind", "--batch", "lab"]
    out = folder / "out"
    done = run("fit", folder / "counts.csv", "-k", "2", *beside, "-o", out)
    assert "Agreement with kind" in done.out
    assert (
        load(out / "model.npz").loss_
        == ThreeCPO(2, random_state=0).fit(X, batch=lab).loss_
    )
    rows = pd.read_csv(out / "labels.csv")
    assert list(rows.filter(like="label_")) == ["label_kind"]
    facts = facts_of(out)["input"]
    assert facts["batch"] == "lab"
    assert facts["options"]["metadata"] == str(folder / "known.csv")
    done = run("predict", out, folder / "counts.csv", *beside, "-o", folder / "new.csv")
    new = pd.read_csv(folder / "new.csv")
    assert new["cluster"].equals(rows["cluster"])
    assert new["label_kind"].equals(rows["label_kind"])
    cut = ["cut", out, "-k", "1", "--counts", folder / "counts.csv", "--no-report"]
    run(*cut)


def test_info_and_select_take_it_too(study, run):
    folder, *_ = study
    counts = folder / "counts.csv"
    beside = ["--metadata", folder / "known.csv", "--labels", "kind"]
    assert "kind: 0, 1" in run("info", counts, *beside).out
    assert_one_line(
        run.wrong("info", counts, "--metadata", folder / "known.csv"),
        "name the columns to take by --labels; it has 'kind', 'lab'",
    )
    options = ["--metadata", folder / "known.csv", "--batch", "lab", "--max", "2"]
    run("select-k", counts, *options)


def test_what_is_missing_is_said_once(study, run):
    folder, *_ = study
    lines = (folder / "known.csv").read_text().splitlines(keepends=True)
    (folder / "known.csv").write_text("".join([*lines[:-1], "s99,1,lab 0\n"]))
    beside = ["--metadata", folder / "known.csv", "--labels", "kind"]
    out = folder / "out"
    done = run("fit", folder / "counts.csv", "-k", "2", *beside, "-o", out)
    sentence = "1 of 80 rows has no metadata ('s0'), and 1 of 80 names in it has no row"
    assert done.err.count(sentence) == 1
    warned = facts_of(out)["warnings"]
    assert any(sentence in text for text in warned)


def test_every_row_needs_a_batch(study, run):
    folder, *_ = study
    lines = (folder / "known.csv").read_text().splitlines(keepends=True)
    (folder / "known.csv").write_text("".join(lines[:-2]))
    beside = ["--metadata", folder / "known.csv", "--batch", "lab"]
    fit = ["fit", folder / "counts.csv", "-k", "2", "--no-report", "-o", folder / "out"]
    said = run.wrong(*fit, *beside).err
    for part in (
        "2 rows of 80 without a batch in",
        "(s0, s1): fill it in, for example with 'unknown', or leave these rows out",
        "; leave rows without metadata out by --only-matched.",
    ):
        assert part in said
    run(*fit, *beside, "--only-matched")
    assert len((folder / "out" / "labels.csv").read_text().splitlines()) == 1 + 78
    (folder / "known.csv").write_text(
        "".join([*lines[:-2], "s0,0,unknown\n", "s1,0,unknown\n"])
    )
    run(*fit, *beside, "--force")


def test_a_report_of_a_fit_that_did_not_know_labels(study, run):
    folder, *_ = study
    out = folder / "out"
    run("fit", folder / "counts.csv", "-k", "2", "-o", out)
    assert "lab 0" not in (out / "report.html").read_text()
    beside = ["--metadata", folder / "known.csv", "--labels", "lab"]
    run("report", out, *beside)
    assert "lab 0" in (out / "report.html").read_text()
    assert_one_line(
        run.wrong("report", out, "--labels", "lab"),
        "in a separate file with --metadata",
    )


@pytest.mark.parametrize("name", ["counts.h5ad", "counts"])
def test_batches_of_blocks(name, study, run):
    folder, X, lab, names, columns = study
    table = CountTable(X, row_names=names, column_names=columns)
    write_counts(table, folder / name, format="10x" if name == "counts" else None)
    options = ["-k", "2", "--max-memory", "1GB", "--no-report", "-o", folder / "out"]
    beside = ["--metadata", folder / "known.csv"]
    run("fit", folder / name, *options, *beside, "--batch", "lab")
    expected = ThreeCPO(2, random_state=0).fit(X, batch=lab)
    assert load(folder / "out" / "model.npz").loss_ == expected.loss_
    lines = (folder / "known.csv").read_text().splitlines()
    (folder / "fewer.csv").write_text("\n".join(lines[:-3]))
    beside = ["--metadata", folder / "fewer.csv"]
    matched = (*options, *beside, "--batch", "lab", "--only-matched")
    run("fit", folder / name, *matched, "-o", folder / "fewer")
    assert len(load(folder / "fewer" / "model.npz").labels_) == len(lines) - 4
    assert_one_line(
        run.wrong("fit", folder / name, *options, *beside),
        "--metadata cannot be used with --max-memory",
    )


LABELS = np.array(KINDS)[TRUE + 1]
BATCH = ["x" if i % 2 else "y" for i in range(len(X))]


@pytest.fixture
def metadata(tmp_path):
    """A table that lacks the last row."""
    lines = map(",".join, zip(ROWS[:-1], LABELS, BATCH, strict=False))
    (tmp_path / "about.csv").write_text("\n".join(["row,kind,site", *lines]))


@pytest.mark.parametrize("flags", [[], ["--independent"]])
def test_table_and_tree_are_those_of_the_library(flags, run):
    done = run("test", "cells.npz", *flags, "-o", "tested.csv")
    assert done.err == ""
    expected = results.label_significance(X, LABELS, independent=bool(flags))
    kinds = {name: np.asarray(expected.table[name]).dtype for name in expected.table}
    read = results.read_table("tested.csv", kinds)
    for name, values in results.rounded_table(expected.table, 6).items():
        np.testing.assert_array_equal(read[name], values)
    assert expected.summary in done.out
    tree = done.out.split("Distinct")[0].splitlines()
    assert len(tree) == len(expected.table["node"])
    assert tree[0].startswith("p ")
    for k, name in enumerate(expected.groups):
        rows, verdict = (expected.table[each][k] for each in ("rows", "verdict"))
        assert sum(f"{name} ({rows} rows): {verdict}" in line for line in tree) == 1


def test_labels_and_batches_of_a_table_beside_the_counts(run, tmp_path, metadata):
    written_csv(tmp_path / "counts.csv")
    about = ["--metadata", "about.csv", "--only-matched", "--labels", "kind"]
    done = run("test", "counts.csv", *about, "--batch", "site", "--seed", 3, "--json")
    found = results.label_significance(
        X[:-1], LABELS[:-1], batch=BATCH[:-1], random_state=3
    )
    assert done.json["name"] == "kind"
    assert done.json["sentences"] == found.sentences
    assert done.json["linkage"] == found.linkage.tolist()
    p_values = np.array(done.json["table"]["p_value"], dtype=float)
    np.testing.assert_array_equal(p_values, found.table["p_value"])


def test_blocks_are_refused(run):
    assert_one_line(
        run.wrong("test", "cells.npz", "--max-memory", "1GB"),
        "reads all counts into memory",
        "a sample of the rows",
    )


def test_one_column_of_labels_is_needed(run, tmp_path, metadata):
    written_csv(tmp_path / "counts.csv")
    assert_one_line(
        run.wrong("test", "counts.csv", "-o", "tested.csv"),
        "Choose one column of groups with --labels COLUMN",
    )
    about = ["--metadata", "about.csv", "--only-matched"]
    assert_one_line(
        run.wrong("test", "counts.csv", *about, "--labels", "kind", "--labels", "site"),
        "such as kind, site",
    )
    written_csv(tmp_path / "one.csv", site=["x"] * len(X))
    assert_one_line(
        run.wrong("test", "one.csv", "--labels", "site"),
        "labels 'site' has one group, 'x'",
        "nothing to test",
    )
    assert not (tmp_path / "tested.csv").exists()
