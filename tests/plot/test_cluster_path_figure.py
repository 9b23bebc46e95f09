"""The picture of how clusters divide shows what the path says."""

import matplotlib as mpl
import numpy as np
import pytest

from containers import planted
from threecpo import results, select_n_clusters
from threecpo.plot import cluster_path

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def path():
    return select_n_clusters(
        planted(n_rows=30)[0], range(1, 7), n_init=3, random_state=0
    )


@pytest.mark.parametrize("last", [None, 2, 6])
def test_circles_lines_and_the_best(path, last):
    ax = cluster_path(path, last=last)
    shown = last or max(path.best_k, path.runner_up) + 1
    part = results.cluster_path(path.divisions(), shown)
    (circles,) = ax.collections
    places = [(each["x"], each["n_clusters"]) for each in part["clusters"]]
    np.testing.assert_allclose(circles.get_offsets(), places)
    best, *lines = ax.get_lines()
    assert set(best.get_ydata()) == {path.best_k}
    assert len(lines) == len(part["lines"])
    assert ax.yaxis_inverted()
    plt.close("all")


def test_given_axes_are_used(path):
    _, ax = plt.subplots()
    assert cluster_path(path, ax) is ax
    plt.close("all")
