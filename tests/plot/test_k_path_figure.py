"""The picture of a path says what its table says."""

import sys

import matplotlib as mpl
import numpy as np
import pytest

from containers import planted
from threecpo import select_n_clusters
from threecpo.plot import k_path

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
X, _ = planted(n_rows=30)


@pytest.fixture(autouse=True)
def _no_figures_are_left():
    plt.close("all")  # of other tests and examples
    yield
    plt.close("all")


def path_of(X=X, n_clusters=range(1, 6), **options):
    return select_n_clusters(
        X, n_clusters, **{"n_init": 3, "random_state": 0} | options
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
    X = np.random.default_rng(0).poisson(5.0, size=(80, 10))
    ax = path_of(X, [1, 2, 3]).plot()
    assert ax.get_title() == "no clusters found"
    assert curve(ax)[2] == 1


def test_numbers_of_clusters_are_whole(path):
    ax = path.plot()
    ax.figure.canvas.draw()
    ticks = ax.get_xticks()
    np.testing.assert_array_equal(ticks, np.rint(ticks))


def test_without_matplotlib_the_extra_is_named(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        ImportError, match=r'^A figure needs matplotlib, .*"threecpo\[plot\]"$'
    ):
        path.plot()
