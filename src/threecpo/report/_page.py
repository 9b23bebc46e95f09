"""The report as one HTML page, and its file."""

from __future__ import annotations

import hashlib
import json
import tempfile
import webbrowser
from base64 import b64encode
from functools import cached_property
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._extras import require
from .._validation import check_counts
from .._writing import replaced
from ..plot.style import BLUE, CLUSTERS, GREY, ORANGE
from ..results import block_row_table, choice_facts, figure_data, path_table, row_table
from ..results.fitted import record_of
from ..results.label_comparison import percent
from ..table import CountTable
from . import words
from ._summary import summarise
from ._svg import OUTLIER_MARK, figures, mark_svg, marks_of, on_canvas, on_the_map

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    from ..cluster import ThreeCPO
    from ._svg import Mark

SCRIPTS = ("page.js", "map.js", "clusters.js", "columns.js", "downloads.js")
_FILTERS = ("number", "on_scale", "part", "plural", "ratio", "shade", "sure", "whole")


def render(summary: dict[str, Any]) -> str:
    """Turn what ``summarise`` returns into one HTML page that needs nothing else."""
    jinja2 = require("jinja2", "report", "A report")
    markup = require("markupsafe", "report", "A report").Markup
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {name: getattr(words, name) for name in _FILTERS}
    environment.filters["percent"] = percent
    style = _file("report.css") + _palette()
    script = "".join(map(_file, SCRIPTS))
    drawn = marks_of(summary["order"])
    page: str = environment.from_string(_file("report.html.jinja")).render(
        summary,
        figures={name: markup(svg) for name, svg in figures(summary).items()},
        style=markup(style),
        script=markup(script),
        policy=_policy(style, script),
        data=markup(_island(_data(summary, drawn))),
        marks=[markup(mark_svg(mark)) for mark in drawn],
        outlier_mark=markup(mark_svg(OUTLIER_MARK)),
        colours=[css.rsplit(maxsplit=1)[-1] for css, _ in drawn],
        bar_end=_highest_ratio(summary),
    )
    return page


def _data(summary: dict[str, Any], drawn: list[Mark]) -> dict[str, Any]:
    """What the scripts of the page need."""
    data = {
        "columns": summary["columns"],
        "words": summary["words"],
        "clusters": [cluster["name"] for cluster in summary["clusters"]],
    }
    part = summary["map"]
    if part:
        xs, ys = on_canvas(part, part["x"], part["y"])
        n = len(xs)
        kept = ("names", "cluster", "sure", "by_column")
        data["map"] = {key: part[key] for key in kept} | {
            "x": xs,
            "y": ys,
            "labels": [
                {
                    "name": label["name"],
                    "values": label["values"],
                    "codes": codes,
                    "marks": on_the_map(marks_of(range(len(label["values"]))), n),
                }
                for label, codes in zip(summary["labels"], part["labels"], strict=True)
            ],
            "marks": on_the_map(drawn, n),
            "none": on_the_map([OUTLIER_MARK], n)[0],
        }
    return data


def _highest_ratio(summary: dict[str, Any]) -> float:
    """End of the scale of the bars: the highest ratio, from 4 to 1000."""
    ratios = [
        column["ratio"] or 1.0
        for cluster in summary["clusters"]
        for column in cluster["columns"]
    ]
    return float(min(max([*ratios, 4.0]), 1000.0))


def _palette() -> str:
    """Colours that the figures of ``threecpo.plot`` have too."""
    colours = [(f"c{k}", colour) for k, colour in enumerate(CLUSTERS)]
    colours += [("first", BLUE), ("second", ORANGE), ("gone", GREY)]
    return "".join(f".{name} {{ --c: {colour}; }}\n" for name, colour in colours)


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Only our own style and script, nothing from anywhere."""
    own_style, own_script = (
        "'sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        for text in (style, script)
    )
    return (
        f"default-src 'none'; style-src {own_style}; script-src {own_script}; "
        # A figure is drawn once more to be saved as a picture.
        "img-src blob:; base-uri 'none'; form-action 'none'"
    )


def _island(data: Any) -> str:
    """JSON that is safe inside a script element, with any names in it."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


class Report:
    """A report on a fitted model, built on first use.

    A notebook shows it as the last line of a cell, apart from the rest of the page.

    Parameters
    ----------
    model : ThreeCPO
        A fitted model. With ``n_clusters="auto"`` the report shows the path as well.
    X : CountTable, array-like, frame or sparse matrix of shape (n_rows, n_columns), \
blocks of them, or None
        The counts it was fitted on, for the map of the rows; None leaves the map out.
        Of blocks, a path for instance, as :func:`threecpo.distributed.fit` takes them,
        some rows are drawn for the map, and the page says so.
    row_names : sequence of str, default=None
        Names of the rows; None takes those of a CountTable, else those of the fit,
        else their numbers, from 0.
    column_names : sequence of str, default=None
        Names of the columns; None takes those of the fit, or their numbers, from 0.
    run : mapping, default=None
        Facts about the run that the report lists: plain values, or mappings of them.
    title : str, default=""
        Heading of the report, such as the name of the data.
    labels : mapping of str to sequence, frame, sequence or CountTable, default=None
        Labels to compare the clusters with, such as ``{"cell type": …, "donor": …}``:
        a value for each row, None where it is not known. None takes those of X, if it
        is a CountTable with labels.
    names : sequence of str, dict or callable, default=None
        Names of clusters, as :meth:`threecpo.ThreeCPO.name_clusters` takes them; None
        keeps those of the model.
    row_noun, column_noun : str, default="rows" and "columns"
        What rows and columns are, such as ``"cells"`` and ``"genes"``.
    stability : dict of str to ndarray or frame, default=None
        What ``model.stability(X)`` returned: how far clusters and joins of the tree
        can be trusted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from threecpo import ThreeCPO
    >>> from threecpo.datasets import make_synth
    >>> from threecpo.report import Report
    >>> X, truth = make_synth(300, random_state=0)
    >>> model = ThreeCPO(3, random_state=0).fit(X)
    >>> report = Report(model, X, labels=truth, row_noun="sites")
    >>> report
    Report(300 sites in 3 clusters, told apart by 2 of 6 columns.)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.save(Path(folder, "report.html"))
    ...     Path(folder, "report.html").read_text() == report.html
    True
    """

    def __init__(
        self,
        model: ThreeCPO,
        X: Any = None,
        *,
        row_names: Iterable[Any] | None = None,
        column_names: Iterable[Any] | None = None,
        run: Mapping[str, Any] | None = None,
        title: str = "",
        labels: Mapping[str, Any] | Any = None,
        names: Any = None,
        row_noun: str = "rows",
        column_noun: str = "columns",
        stability: Any = None,
    ) -> None:
        from ..io.blocks import are_blocks

        table = X if isinstance(X, CountTable) else None
        if names is not None:
            model = model.name_clusters(names, table)
        k_path, map_counts = getattr(model, "k_path_", None), None
        make = block_row_table if X is not None and are_blocks(X) else row_table
        rows = make(model, X, row_names=row_names)
        if X is not None and make is row_table:
            named = None if table is None else model
            counts = check_counts(X, named, reset=named is None).matrix()
            map_counts = figure_data.map_counts(record_of(model), rows, counts)
        self.summary = summarise(
            model,
            rows,
            column_names=column_names,
            path=None if k_path is None else path_table(k_path),
            run=run,
            title=title or ("" if table is None else table.name),
            labels=table if labels is None else labels,
            row_titles=None if table is None else table.row_titles,
            row_noun=row_noun,
            column_noun=column_noun,
            choice=None if k_path is None else choice_facts(k_path),
            stability=stability,
            map_counts=map_counts,
        )

    @cached_property
    def html(self) -> str:
        """The page."""
        return render(self.summary)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file; an existing one is replaced once it is complete."""
        write_page(self.html, path)

    def open(self) -> Path:
        """Write the page to a temporary file and open it in a browser."""
        path = Path(tempfile.mkdtemp(prefix="threecpo-"), "report.html")
        self.save(path)
        webbrowser.open(path.as_uri())
        return path

    def _repr_html_(self) -> str:
        """Show the page in a frame that reaches nothing outside it."""
        return (
            '<iframe title="Report about clusters" width="100%" height="720" '
            'sandbox="allow-scripts allow-downloads" style="border: 1px solid #8888; '
            f'resize: vertical" srcdoc="{escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        """Say the first finding."""
        return f"Report({self.summary['lead']})"


def write(model: ThreeCPO, X: Any, path: str | PathLike[str], **options: Any) -> None:
    """Write a report on a fitted model as one HTML file.

    Parameters
    ----------
    model, X
        As in :class:`Report`.
    path : str or path-like
        File to write; an existing one is replaced once the new one is complete.
    **options
        Those of :class:`Report`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from threecpo import ThreeCPO, report
    >>> from threecpo.datasets import make_synth
    >>> X, _ = make_synth(300, random_state=0)
    >>> model = ThreeCPO(3, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.write(model, X, f"{folder}/report.html", title="Synth")
    ...     "<h1>Synth</h1>" in Path(folder, "report.html").read_text()
    True
    """
    Report(model, X, **options).save(path)


def write_page(page: str, path: str | PathLike[str]) -> None:
    """Write what ``render`` returns to a file."""
    with replaced(Path(path)) as beside:
        beside.write_text(page, encoding="utf-8", newline="\n")
