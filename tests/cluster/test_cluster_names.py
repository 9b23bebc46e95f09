"""Names of clusters: made of columns, given, kept in files."""

import numpy as np
import pandas as pd
import pytest

import threecpo
from fitting import X, fit
from threecpo import CountTable, ThreeCPO, results
from threecpo.cluster import ClusterDescription

NAMES = [f"gene {j}" for j in range(10)]
TABLE = CountTable(
    X, column_names=NAMES, row_names=[f"cell {i}" for i in range(len(X))]
)


@pytest.fixture(scope="module")
def named():
    return fit(TABLE)


def test_a_name_is_made_of_the_best_columns(named):
    table = named.top_columns(3)
    for k, name in enumerate(named.cluster_names_):
        best = table[(table["group"] == 1) & (table["cluster"] == k)]
        assert name == " / ".join(best["column"])
        assert (best["name"] == name).all()
    assert named.cluster_names_.dtype == object
    assert named.record_.cluster_names is None


def test_columns_without_names_are_numbered():
    model = fit()
    table = model.top_columns(3)
    for k, name in enumerate(model.cluster_names_):
        best = table[(table["group"] == 1) & (table["cluster"] == k)]
        word = "columns" if len(best) > 1 else "column"
        assert name == f"{word} " + " / ".join(map(str, best["column"]))


def test_a_cluster_without_markers_has_its_number():
    assert fit(n_clusters=1).cluster_names_.tolist() == ["cluster 0"]


def test_a_cluster_with_nothing_above_average_is_named_by_what_it_lacks():
    rng = np.random.default_rng(0)
    clusters = np.repeat([0, 1, 2], [300, 60, 60])
    rates = np.full((420, 12), 8.0)
    rates[clusters == 1, 0] = rates[clusters == 2, 1] = 60.0
    # Rows of several sizes: the other columns are shared and say how large each is.
    rates *= rng.gamma(4.0, 0.25, size=(420, 1))
    names = fit(rng.poisson(rates), n_clusters=3).cluster_names_.tolist()
    assert sorted(names[0].removeprefix("less columns ").split(" / ")) == ["0", "1"]
    assert names[1:] == ["column 0", "column 1"] or names[1:] == [
        "column 1",
        "column 0",
    ]


def test_names_tell_clusters_apart():
    model = fit(pd.DataFrame(X, columns=["same"] * 9 + ["other"]).to_numpy())
    names = results.cluster_table(model, column_names=["same"] * 10)["name"]
    assert len(set(names)) == 3
    assert names[1].endswith(" (1)")


def test_long_and_broken_names_are_one_short_line():
    long = [f"k__Bacteria;\n p__Firmicutes; g__Genus number {j}" for j in range(10)]
    name = fit(CountTable(X, column_names=long)).cluster_names_[0]
    first = name.split(" / ")[0]
    assert len(first) == 30
    assert "\n" not in name
    assert first.startswith("k__Bacteria; p")
    assert first.endswith(tuple("0123456789"))


def test_a_list_names_all(named):
    new = named.name_clusters(["T cells", " B\ncells ", "NK"])
    assert new.cluster_names_.tolist() == ["T cells", "B cells", "NK"]
    assert new.record_.cluster_names == ("T cells", "B cells", "NK")
    assert named.record_.cluster_names is None
    assert new is not named
    assert new.get_params() == named.get_params()
    np.testing.assert_array_equal(new.labels_, named.labels_)
    assert set(new.top_columns()["name"]) == {*new.cluster_names_, "shared", "noise"}


def test_a_dict_names_some_by_number_or_name(named):
    made = named.cluster_names_
    new = named.name_clusters({1: "B cells", made[2]: "NK", "0": ""})
    assert new.cluster_names_.tolist() == [made[0], "B cells", "NK"]
    again = new.name_clusters({"NK": "NK cells", np.int64(1): ""})
    assert again.cluster_names_.tolist() == [made[0], made[1], "NK cells"]


def test_a_function_gets_markers_and_typical_rows(named):
    seen = []

    def name(cluster):
        seen.append(cluster)
        return f"{cluster.markers[0]} in {cluster.size}"

    new = named.name_clusters(name)
    sizes = np.bincount(named.labels_)
    table = named.top_columns(10)
    for k, each in enumerate(seen):
        assert isinstance(each, ClusterDescription)
        own = table[(table["group"] == 1) & (table["cluster"] == k)]
        assert each.markers == tuple(own["column"])
        members = np.flatnonzero(named.labels_ == k)
        best = members[np.argsort(-named.margins_[members], kind="stable")[:5]]
        assert each.typical_rows == tuple(f"cell {i}" for i in best)
        assert (each.cluster, each.size) == (k, sizes[k])
        assert each.share == pytest.approx(sizes[k] / len(X))
        assert each.name == named.cluster_names_[k]
        assert new.cluster_names_[k] == f"{own['column'].iloc[0]} in {sizes[k]}"


def test_a_function_can_see_texts_of_the_rows(named):
    texts = [f"text {i}" for i in range(len(X))]
    new = named.name_clusters(lambda each: each.typical_rows[0], texts)
    assert all(name.startswith("text ") for name in new.cluster_names_)
    with pytest.raises(ValueError, match="2 texts for"):
        named.name_clusters(lambda each: each.name, ["a", "b"])


def test_bad_names_are_refused(named):
    for names, message in (
        (["a", "b"], "2 names for 3 clusters"),
        (["a", "b", "a"], "Clusters 0 and 2 are both named 'a'"),
        ({7: "a"}, "no cluster 7 to name; they are 0 to 2"),
        ({"nobody": "a"}, "no cluster 'nobody'"),
        (["a", "b", 3], "name of cluster 2 must be str, not 3"),
        ("abc", "must be a list, a dict or a function"),
        (lambda each: None, "name of cluster 0 must be str, not None"),
    ):
        with pytest.raises(ValueError, match=message):
            named.name_clusters(names)


def test_names_survive_files_and_set_params(named, tmp_path):
    new = named.name_clusters(["T ü", "", "NK"])
    new.save(tmp_path / "model.npz")
    new.set_params(n_clusters=9)
    again = threecpo.load(tmp_path / "model.npz")
    assert again.cluster_names_.tolist() == ["T ü", named.cluster_names_[1], "NK"]
    assert again.cluster_names_.tolist() == new.cluster_names_.tolist()


def test_the_path_stays():
    model = ThreeCPO("auto", max_clusters=4, n_init=2, random_state=0).fit(X)
    new = model.name_clusters({0: "largest"})
    assert new.k_path_ is model.k_path_
    assert new.n_clusters == "auto"


def test_joined_clusters_lose_their_names_and_others_keep_them(named):
    new = named.name_clusters(["a", "b", "c"]).merge([[0, 2]])
    assert sorted(new.record_.cluster_names) == ["", "b"]
    k = new.record_.cluster_names.index("b")
    assert (new.labels_[named.labels_ == 1] == k).all()
    assert new.cluster_names_[1 - k] not in ("", "a", "b", "c")


DAMAGED = {
    "another type": {"cluster_names": np.zeros(3)},
    "too few": {"cluster_names_ends": np.array([1, 3])},
    "no ends": {"cluster_names_ends": None},
    "ends that fall": {"cluster_names_ends": np.array([2, 1, 3])},
    "ends beyond": {"cluster_names_ends": np.array([1, 2, 99])},
    "a negative end": {"cluster_names_ends": np.array([-1, 2, 3])},
    "twice": {"cluster_names": np.frombuffer(b"aba", dtype=np.uint8)},
    "no text": {"cluster_names": np.frombuffer(b"a\xff\xfe", dtype=np.uint8)},
}


def test_damaged_names_of_a_file_are_one_line(named, tmp_path):
    path = tmp_path / "model.npz"
    named.name_clusters(["a", "b", "c"]).save(path)
    with np.load(path, allow_pickle=False) as file:
        whole = dict(file)
    for damage in DAMAGED.values():
        arrays = (whole | damage).items()
        np.savez(path, **{key: each for key, each in arrays if each is not None})
        message = r"model\.npz is a damaged threecpo model: "
        with pytest.raises(ValueError, match=message) as caught:
            threecpo.load(path)
        assert "\n" not in str(caught.value)


def test_clusters_that_are_alike_are_named_by_what_tells_them_apart():
    rng = np.random.default_rng(0)
    clusters = np.repeat([0, 1, 2], [40, 40, 160])
    rates = np.full((240, 14), 6.0)
    rates[clusters < 2, :4] = 90.0  # what two of them have in common
    rates[clusters == 0, 4] = rates[clusters == 1, 5] = 20.0
    rates[clusters == 2, 6] = 60.0
    rates *= rng.gamma(4.0, 0.25, size=(240, 1))
    names = [f"g{j}" for j in range(14)]
    table = CountTable(rng.poisson(rates), column_names=names)
    made = [name.split(" / ") for name in fit(table).cluster_names_]
    one, other, _ = sorted(made, key=lambda name: "g6" in name)
    assert {one[1], other[1]} == {"g4", "g5"}
    assert one[0] == other[0]
    assert one[0] in names[:4]
