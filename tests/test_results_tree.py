"""The tree in words, as a figure, and as scanpy takes it."""

import json

import matplotlib as mpl
import numpy as np
import pytest

from fitting import X, fit
from threecpo import plot, results

mpl.use("Agg")


@pytest.fixture(scope="module")
def model():
    return fit(n_clusters=5)


def test_every_join_has_a_name_and_what_divides_it(model):
    nodes = results.tree_nodes(model)
    assert json.loads(json.dumps(nodes)) == nodes
    assert [node["node"] for node in nodes] == [5, 6, 7, 8]
    leaves = model.cluster_names_.tolist()
    for node in nodes:
        if node["left"] < 5:
            assert node["left_name"] == leaves[node["left"]]
        assert not set(node["left_markers"]) & set(node["right_markers"])
    assert any(node["left_markers"] or node["right_markers"] for node in nodes)


def test_markers_tell_two_branches_apart():
    rng = np.random.default_rng(0)
    rates = np.array([[40, 30, 10, 20], [40, 10, 30, 20], [2, 10, 10, 60]])
    counts = rng.poisson(np.repeat(rates, 60, axis=0))
    model = fit(counts, column_penalty=None)
    first, last = results.tree_nodes(model, column_names="abcd")
    a, b = (model.labels_[[0, 60]]).tolist()
    assert {first["left"], first["right"]} == {a, b}
    sides = {
        first["left"]: first["left_markers"],
        first["right"]: first["right_markers"],
    }
    assert sides[a][0] == "b"
    assert sides[b][0] == "c"
    assert first["markers"][0] == "a"
    assert first["name"] in (last["left_name"], last["right_name"])


def test_the_figure_joins_where_the_tree_does(model):
    part = results.tree_figure(model)
    assert json.loads(json.dumps(part)) == part
    assert part["leaves"] == model.record_.tree.leaves
    assert part["sizes"] == np.bincount(model.labels_)[part["leaves"]].tolist()
    for node, height in zip(part["nodes"], model.tree_[:, 2], strict=True):
        (a, low), (_, one), (_, two), (b, high) = node["path"]
        assert one == two == height >= max(low, high)
        assert node["place"] == (a + b) / 2
    ax = plot.dendrogram(model)
    assert len(ax.get_yticklabels()) == 5


@pytest.mark.parametrize("names", ["$a$ $b", "=x"])
def test_names_are_drawn_as_they_are(names, model):
    columns = [f"{names}{j}" for j in range(X.shape[1])]
    ax = plot.dendrogram(model, column_names=columns)
    ax.figure.canvas.draw()


def test_one_cluster_is_a_leaf():
    model = fit(n_clusters=1)
    assert results.tree_nodes(model) == []
    assert results.tree_figure(model)["leaves"] == [0]
    plot.dendrogram(model)
    assert results.cluster_table(model)["joins"].tolist() == [-1]


def test_the_table_of_clusters_says_what_each_is_joined_with(model):
    table = results.cluster_table(model)
    left, right = model.tree_[0, :2].astype(int)
    assert table["joins"][left] == right
    assert table["joins"][right] == left
    assert table["join_height"][left] == model.tree_[0, 2]
    order = np.argsort(table["tree_order"]).tolist()
    assert order == model.record_.tree.leaves
