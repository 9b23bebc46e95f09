"""Figures say what the model and the path say."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

from containers import planted
from fitting import X, fit
from threecpo import ThreeCPO, plot, results, select_n_clusters
from threecpo.plot import cluster_path, k_path
from threecpo.plot.style import CLUSTERS, GREY, cluster_labels, cluster_styles

FIGURES = {
    "heat_map": plot.heat_map,
    "outliers": plot.outliers,
    "row_map": lambda model, ax=None: plot.row_map(model, X, ax),
}


@pytest.fixture(autouse=True)
def _no_figures_are_left():
    plt.close("all")  # of other tests and examples
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def with_outliers():
    return fit(outliers="final")


@pytest.mark.parametrize("name", FIGURES)
def test_a_given_ax_is_used_and_else_a_new_figure_made(model, name):
    _, (left, right) = plt.subplots(1, 2)
    assert FIGURES[name](model, right) is right
    assert len(plt.get_fignums()) == 1
    assert not left.has_data()
    assert right.has_data()
    assert FIGURES[name](model).get_xlabel()
    assert len(plt.get_fignums()) == 2


def test_every_figure_can_be_drawn(any_model):
    for draw in FIGURES.values():
        draw(any_model).figure.canvas.draw()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "counts", [X[:1], X[:, :1], 0 * X], ids=["one row", "one column", "no counts"]
)
def test_they_can_be_drawn_of_next_to_nothing(counts):
    model = ThreeCPO(1, random_state=0).fit(counts)
    figures = FIGURES | {"row_map": lambda model: plot.row_map(model, counts)}
    for draw in figures.values():
        draw(model).figure.canvas.draw()


def test_without_matplotlib_the_extra_is_named(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    needs = r'^A figure needs matplotlib, .*"threecpo\[plot\]"$'
    for draw in FIGURES.values():
        with pytest.raises(ImportError, match=needs):
            draw(model)


def test_the_heat_map_is_log_ratios_under_the_columns_names(model):
    names = [f"${j}_$" for j in range(10)]
    ax = plot.heat_map(model, column_names=names)
    (image,) = ax.get_images()
    shown = [text.get_text() for text in ax.get_yticklabels()]
    places = [names.index(name) for name in shown]
    order = model.record_.tree.leaves
    ratios = (model.cluster_rates_ / model.shared_rates_)[order][:, places]
    np.testing.assert_allclose(image.get_array().T, np.log2(ratios), atol=1e-3)
    assert sorted(places) == np.flatnonzero(model.column_groups_ == 1).tolist()
    ax.figure.canvas.draw()  # a dollar is no formula


def test_the_heat_map_takes_the_best_columns_of_each_cluster_in_turn(model):
    ax = plot.heat_map(model, n_columns=3)
    shown = {int(text.get_text()) for text in ax.get_yticklabels()}
    top = model.top_columns(1)
    assert shown == set(top.loc[top["group"] == 1, "column"])


def test_the_middle_of_the_heat_map_takes_the_colour_of_its_ground(model):
    colours = plot.heat_map(model).get_images()[0].get_cmap()
    assert colours(0.5)[3] == 0
    assert colours(0.0)[3] == colours(1.0)[3] == 1
    assert colours(0.0)[2] > colours(0.0)[0]
    assert colours(1.0)[0] > colours(1.0)[2]


def test_long_names_are_cut(model):
    ax = plot.heat_map(model, column_names=["x" * 300] * 10)
    assert {len(text.get_text()) for text in ax.get_yticklabels()} == {32}


def test_bars_beyond_the_threshold_are_the_outliers(with_outliers):
    ax = plot.outliers(with_outliers)
    beyond = [bar for bar in ax.patches if bar.get_hatch()]
    n_outliers = (with_outliers.labels_ < 0).sum()
    assert sum(bar.get_height() for bar in beyond) == n_outliers > 0
    assert sum(bar.get_height() for bar in ax.patches) == len(X)
    assert min(bar.get_x() for bar in beyond) == with_outliers.outlier_threshold


def test_the_map_shows_every_row_in_its_cluster(with_outliers):
    ax = plot.row_map(with_outliers, X)
    places = results.row_map(with_outliers, X)
    lines = ax.get_lines()
    assert sum(len(line.get_xdata()) for line in lines) == len(X)
    for line, k in zip(lines, (-1, 0, 1, 2), strict=True):
        here = with_outliers.labels_ == k
        assert len(line.get_xdata()) == here.sum()
        inside = np.isin(line.get_xdata(), places[here, 0].round(4))
        assert inside.mean() > 0.8
        styles = cluster_styles(with_outliers.record_.tree.leaves)
        colour = GREY if k < 0 else styles[k].colour
        assert to_rgba(line.get_color()) == to_rgba(colour)
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]


def test_clusters_look_different_and_relatives_alike():
    assert len(set(cluster_styles(range(400)))) == 400
    for n in (3, 10, 17, 20):
        assert len({style.slot for style in cluster_styles(range(n))}) == n
    order = [3, 0, 2, 1]
    slots = [cluster_styles(order)[k].slot for k in order]
    assert slots == sorted(slots)
    assert len(set(CLUSTERS)) == 20


def test_many_rows_are_drawn_by_some_of_them():
    counts, _ = planted(2, 30)
    many = np.tile(counts, (80, 1))
    ax = plot.row_map(fit(many, 2), many)
    assert sum(len(line.get_xdata()) for line in ax.get_lines()) == 4000


class TestNames:
    """Names of clusters stand wherever their numbers do."""

    names = ("T cells", "$B_$ cells", "x" * 50)

    @pytest.fixture
    def named(self, with_outliers):
        return with_outliers.name_clusters(self.names)

    def shown(self, length):
        *short, long = (f"{k}: {name}" for k, name in enumerate(self.names))
        return [*short, f"{long[: length + 3]}…"]

    def test_below_an_axis(self, named):
        ax = plot.heat_map(named)
        ax.figure.canvas.draw()
        found = [text.get_text() for text in ax.get_xticklabels()]
        assert found[:3] == [self.shown(23)[k] for k in named.record_.tree.leaves]

    def test_beside_the_map(self, named):
        ax = plot.row_map(named, X)
        ax.figure.canvas.draw()
        found = [text.get_text() for text in ax.get_legend().get_texts()]
        assert found == ["outliers", *self.shown(31)]
        assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]

    def test_beside_shares(self, named):
        classes = ["ab"[i % 2] for i in range(len(X))]
        ax = plot.cluster_shares(named, classes)
        ax.figure.canvas.draw()
        found = {text.get_text() for text in ax.get_legend().get_texts()}
        assert {*self.shown(31)} <= found

    def test_given_columns_name_the_clusters_of_a_heat_map(self, model):
        columns = [f"gene {j}" for j in range(X.shape[1])]
        ax = plot.heat_map(model, column_names=columns)
        table = model.top_columns(1, feature_names=columns)
        found = [text.get_text() for text in ax.get_xticklabels()]
        for k, text in zip(model.record_.tree.leaves, found, strict=True):
            best = table["column"][(table["group"] == 1) & (table["cluster"] == k)]
            assert text.startswith(f"{k}: {best.iloc[0]}")

    def test_very_many_clusters_have_numbers(self):
        assert cluster_labels([f"n{k}" for k in range(26)])[-1] == "25"
        assert cluster_labels([f"n{k}" for k in range(25)])[-1] == "24: n24"
        assert cluster_labels(["cluster 0", "ants"]) == ["0", "1: ants"]


COUNTS, _ = planted(n_rows=30)


def path_of(COUNTS=COUNTS, n_clusters=range(1, 6), **options):
    return select_n_clusters(
        COUNTS, n_clusters, **{"n_init": 3, "random_state": 0} | options
    )


@pytest.fixture(scope="module")
def path():
    return path_of()


def curve(ax):
    """Points of the criterion, and where the best is marked."""
    line, mark = ax.get_lines()
    assert len(set(mark.get_xdata())) == 1
    return line.get_xdata(), line.get_ydata(), mark.get_xdata()[0]


def beside(ax):
    return [other for other in ax.figure.axes if other is not ax]


@pytest.mark.parametrize(
    ("criterion", "label"),
    [("mdl", "loss + v(K)"), ("mdl-dispersion", "loss over dispersion + v(K)")],
)
def test_the_criterion_is_drawn_and_its_minimum_marked(path, criterion, label):
    path = path.choose(criterion)
    ax = path.plot()
    k, values, marked = curve(ax)
    np.testing.assert_array_equal(k, path.n_clusters)
    np.testing.assert_array_equal(values, path.totals)
    assert marked == k[np.argmin(values)] == 3
    assert ax.get_xlabel() == "clusters K"
    assert ax.get_ylabel() == f"{label} (●)"
    assert ax.get_title() == "3 clusters"


def test_relevant_columns_have_their_own_axis(path):
    (other,) = beside(path.plot())
    (line,) = other.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), path.n_clusters)
    np.testing.assert_array_equal(line.get_ydata(), path.to_frame()["relevant"])
    assert other.get_ylabel() == "relevant columns (■)"


def test_a_given_ax_is_used_and_no_figure_made(path):
    _, (left, right) = plt.subplots(1, 2)
    assert k_path(path, right) is right
    assert len(plt.get_fignums()) == 1
    assert left.get_lines() == []
    assert len(right.get_lines()) == 2


def test_no_clusters_are_said_in_the_title():
    COUNTS = np.random.default_rng(0).poisson(5.0, size=(80, 10))
    ax = path_of(COUNTS, [1, 2, 3]).plot()
    assert ax.get_title() == "no clusters found"
    assert curve(ax)[2] == 1


def test_numbers_of_clusters_are_whole(path):
    ax = path.plot()
    ax.figure.canvas.draw()
    ticks = ax.get_xticks()
    np.testing.assert_array_equal(ticks, np.rint(ticks))


def test_without_matplotlib_a_path_names_the_extra(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        ImportError, match=r'^A figure needs matplotlib, .*"threecpo\[plot\]"$'
    ):
        path.plot()


@pytest.fixture(scope="module")
def longer():
    return select_n_clusters(
        planted(n_rows=30)[0], range(1, 7), n_init=3, random_state=0
    )


@pytest.mark.parametrize("last", [None, 2, 6])
def test_circles_lines_and_the_best(longer, last):
    ax = cluster_path(longer, last=last)
    shown = last or max(longer.best_k, longer.runner_up) + 1
    part = results.cluster_path(longer.divisions(), shown)
    (circles,) = ax.collections
    places = [(each["x"], each["n_clusters"]) for each in part["clusters"]]
    np.testing.assert_allclose(circles.get_offsets(), places)
    best, *lines = ax.get_lines()
    assert set(best.get_ydata()) == {longer.best_k}
    assert len(lines) == len(part["lines"])
    assert ax.yaxis_inverted()
    plt.close("all")


def test_given_axes_are_used(longer):
    _, ax = plt.subplots()
    assert cluster_path(longer, ax) is ax
    plt.close("all")
