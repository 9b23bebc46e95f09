"""Files of results: tidy CSV, Markdown, figures and manifests."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from threecpo import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "joblib", "matplotlib")
# The same bytes for the same figure, whenever it is drawn.
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "threecpo",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "figure.constrained_layout.use": True,
}


def write_text(path: Path, text: str) -> None:
    """Write beside and rename, so that a killed run leaves the old file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_csv(
    path: Path, columns: Sequence[str], rows: Iterable[dict[str, Any]]
) -> None:
    """One line for each row; numbers with six significant digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _plain(value) for name, value in row.items()})
    write_text(path, text.getvalue())


def write_json(path: Path, content: dict[str, Any]) -> None:
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write_figure(path: Path, figure: Any) -> None:
    """Save as SVG and PNG, and close."""
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        figure.savefig(path.with_suffix(".png"), dpi=110, metadata={"Software": None})
    plt.close(figure)


def axes(n_rows: int, n_columns: int, **options: Any) -> tuple[Any, Any]:
    """A figure and its axes, always as a grid."""
    from matplotlib import pyplot as plt

    with plt.rc_context(STYLE):
        return plt.subplots(n_rows, n_columns, squeeze=False, **options)


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[Any]], *, texts: int = 1
) -> str:
    """The first columns, which are texts, to the left, the others to the right."""
    lines = [[_safe(cell) for cell in line] for line in (header, *rows)]
    lines.insert(1, [*["---"] * texts, *["---:"] * (len(header) - texts)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def environment() -> dict[str, Any]:
    """Versions and machine, as far as they may matter for results."""
    versions = {"threecpo": __version__, "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            continue
    machine = f"{platform.system()} {platform.machine()}"
    return {"versions": versions, "machine": machine, "cores": os.cpu_count()}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return "" if value is None else value


def _safe(cell: Any) -> str:
    return str(cell).replace("|", r"\|").replace("\n", " ")
