"""Cluster scikit-learn's handwritten digits and draw what was found.

Each row is an image of 8 x 8 pixels, each column a pixel, each count the ink in it (0
to 16). Run as ``python examples/digits.py [picture.png]``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from threecpo import ThreeCPO

SIDE = 8
# Group: name, colour (told apart by colour-blind readers too) and mark.
GROUPS = {
    1: ("relevant", "#0072B2", ""),
    0: ("shared", "#E69F00", "0"),
    -1: ("noise", "#DDDDDD", "–"),
}
MEANINGS = {
    1: "differs between clusters",
    0: "follows the row's size",
    -1: "one constant for all rows",
}


def fit(X: np.ndarray) -> tuple[ThreeCPO, float]:
    """Return the fitted model and its time in seconds, compilation left out."""
    ThreeCPO(2, n_init=1, random_state=0).fit(X[:50])
    start = perf_counter()
    model = ThreeCPO(n_clusters=10, random_state=0).fit(X)
    return model, perf_counter() - start


def dominant_digits(model: ThreeCPO, digits: np.ndarray) -> list[tuple[int, float]]:
    """For each cluster its most frequent digit, and that digit's share of the rows."""
    counts = [np.bincount(digits[model.labels_ == k]) for k in range(model.n_clusters_)]
    return [(int(c.argmax()), float(c.max() / c.sum())) for c in counts]


def summarise(model: ThreeCPO, digits: np.ndarray, seconds: float) -> None:
    n_rows, n_columns = len(digits), model.n_features_in_
    print(f"\n{n_rows} images (rows) x {n_columns} pixels (columns)")
    print("\ncluster   rows   most frequent digit")
    sizes = np.bincount(model.labels_)
    for k, (digit, share) in enumerate(dominant_digits(model, digits)):
        print(f"{k:7d} {sizes[k]:6d}   {digit} ({share:4.0%})")
    print("\ncolumns                                            pixels (row, column)")
    for group, (name, _, _) in GROUPS.items():
        pixels = np.flatnonzero(model.column_groups_ == group)
        told = f"{name:<8} {len(pixels):3d}   {MEANINGS[group]}"
        print(f"{told:<48}   {listed(pixels)}")
    ari = adjusted_rand_score(digits, model.labels_)
    print(f"\nloss {model.loss_:.1f}, best of {len(model.restart_losses_)} runs")
    print(f"time {seconds:.2f} s for all runs, compilation left out")
    print(f"agreement with the true digits: ARI {ari:.2f} (1 is perfect, 0 is chance)")


def listed(pixels: np.ndarray, most: int = 10) -> str:
    """Pixels as (row, column), or that they are all others."""
    if len(pixels) > most:
        return "all others"
    return " ".join(f"({p // SIDE},{p % SIDE})" for p in pixels)


def draw(model: ThreeCPO, digits: np.ndarray, path: Path) -> None:
    """Draw each cluster's profile, and beside them the groups of the pixels."""
    plt.rcParams.update({"font.size": 9, "text.color": "#222222"})
    figure = plt.figure(figsize=(10.6, 5.0), facecolor="white")
    grid = figure.add_gridspec(
        2, 7, width_ratios=[1, 1, 1, 1, 1, 0.1, 1.85], wspace=0.14, hspace=0.36
    )
    grid.update(left=0.015, right=0.985, top=0.79, bottom=0.13)

    # Shares of a cluster's ink: rates of different clusters have no common scale when
    # C0 holds next to nothing, as here.
    shares = model.cluster_rates_ / model.cluster_rates_.sum(axis=1, keepdims=True)
    sizes = np.bincount(model.labels_)
    for k, (digit, share) in enumerate(dominant_digits(model, digits)):
        axes = figure.add_subplot(grid[k // 5, k % 5])
        image = axes.imshow(
            shares[k].reshape(SIDE, SIDE), "Blues", vmin=0, vmax=shares.max()
        )
        axes.set_title(f"cluster {k}, {sizes[k]} rows", fontsize=9, pad=3)
        axes.set_xlabel(f"{share:.0%} are {digit}s", fontsize=9, labelpad=3)
        plain(axes)
    below = figure.add_axes((0.256, 0.033, 0.2, 0.018))
    bar = figure.colorbar(image, cax=below, orientation="horizontal", ticks=[])
    bar.outline.set_edgecolor("#bbbbbb")
    figure.text(0.248, 0.03, "no ink", ha="right", fontsize=8.5)
    figure.text(0.464, 0.03, "much ink", ha="left", fontsize=8.5)

    axes = figure.add_subplot(grid[:, 6])
    groups = model.column_groups_.reshape(SIDE, SIDE)
    colours = ListedColormap([GROUPS[g][1] for g in sorted(GROUPS)])
    axes.imshow(groups, colours, vmin=-1, vmax=1)
    for (y, x), group in np.ndenumerate(groups):
        axes.text(x, y, GROUPS[group][2], ha="center", va="center", fontsize=9)
    axes.set_xticks(np.arange(SIDE - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(SIDE - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    plain(axes)
    axes.set_anchor("N")
    axes.set_title("group of each pixel", fontsize=9, pad=3)
    handles = [
        Patch(
            facecolor=colour,
            label=f"{name} ({np.count_nonzero(groups == g)}): {MEANINGS[g]}",
        )
        for g, (name, colour, _) in GROUPS.items()
    ]
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.03),
        frameon=False,
        fontsize=8.5,
    )

    figure.text(
        0.015, 0.925, "Handwritten digits as counts of ink", fontsize=14, weight="bold"
    )
    figure.text(
        0.015,
        0.865,
        f"{len(digits)} images, {model.n_clusters_} clusters found without the true "
        "digits: where each cluster has its ink, and which pixels matter",
        fontsize=9.5,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def plain(axes: plt.Axes) -> None:
    """Take ticks away and keep a thin frame."""
    axes.tick_params(which="both", length=0, labelleft=False, labelbottom=False)
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_edgecolor("#bbbbbb")


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo/digits.png")
    X, digits = load_digits(return_X_y=True)
    model, seconds = fit(X)
    summarise(model, digits, seconds)
    draw(model, digits, path)
    print(f"picture: {path.resolve()}\n")


if __name__ == "__main__":
    main()
