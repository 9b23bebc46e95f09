"""``threecpo compare``."""

from __future__ import annotations

import math
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

import click

from .._progress import progress
from ._input_file import InputFile, source_options
from ._output_paths import table_file
from ._printing import listed, print_json, print_note, print_table
from ._shared_options import (
    AT_LEAST_ONE,
    examples,
    force_option,
    json_option,
    output_option,
    seed_option,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ..table import CountTable


@click.command(
    epilog=examples(
        "threecpo compare cells.h5ad --labels cell_type",
        "threecpo compare words.csv --labels topic --methods 3CPO,SKM,KM -o all.csv",
    )
)
@click.option(
    "-k",
    "--clusters",
    "n_clusters",
    type=AT_LEAST_ONE,
    help="Number of clusters. [default: as many as there are different labels]",
)
@click.option(
    "--methods",
    metavar="NAMES",
    help="Names from the paper, with commas between them. [default: all]",
)
@click.option(
    "--n-init",
    type=AT_LEAST_ONE,
    default=10,
    show_default=True,
    help="Runs of each method.",
)
@output_option("CSV file for the table. [default: only printed]")
@seed_option
@source_options
@force_option
@json_option
def command(
    source: InputFile,
    n_clusters: int | None,
    methods: str | None,
    n_init: int,
    output: Path | None,
    random_state: int,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Compare all methods of the paper on FILE, whose true labels are known.

    The table has each method's agreement with the labels: adjusted Rand index (ARI),
    normalised mutual information (NMI), accuracy (ACC) and purity, 1 at best; the
    number of clusters found, and seconds. With several --labels it has a line for each
    method and kind of labels, and the first says how many clusters there are.
    """
    chosen = _chosen(methods)
    with table_file(output, force=force) as write:
        table = source.read()
        if not table.n_clusters:
            message = f"{source.path} has no labels; name their column by --labels."
            raise ValueError(message)
        if n_clusters is None:
            n_clusters = table.n_clusters
        rows = compared(table, chosen, n_clusters, n_init, random_state)
        write(rows)
    if as_json:
        print_json({"n_clusters": n_clusters, "methods": rows})
    else:
        print_table(rows)


def _chosen(names: str | None) -> dict[str, Any]:
    from .._methods import methods

    known = methods()
    if names is None:
        return known
    by_name = {name.lower(): name for name in known}
    asked = [name.strip() for name in names.split(",")]
    wrong = [name for name in asked if name.lower() not in by_name]
    if wrong:
        message = (
            f"There is no method {wrong[0]!r}; there are {listed(known, len(known))}."
        )
        raise ValueError(message)
    return {by_name[name.lower()]: known[by_name[name.lower()]] for name in asked}


def compared(
    table: CountTable,
    chosen: dict[str, Any],
    n_clusters: int,
    n_init: int,
    random_state: int,
) -> dict[str, list[Any]]:
    """Scores of each method; a method that cannot take these counts has none."""
    from .._labels import encoded
    from ..results import SCORE_NAMES

    kinds = {kind: encoded(texts) for kind, texts in table.label_kinds.items()}
    several = ["labels"] if len(kinds) > 1 else []
    rows: dict[str, list[Any]] = {
        name: [] for name in ("method", *several, *SCORE_NAMES, "clusters", "seconds")
    }
    with progress("Methods", len(chosen), shown=sys.stderr.isatty()) as advance:
        for name, make in chosen.items():
            advance(0, name)
            estimator = make(n_clusters, random_state=random_state, n_init=n_init)
            started = time.perf_counter()
            labels = _labels(name, estimator, table)
            seconds = time.perf_counter() - started
            for kind, truth in kinds.items():
                beside = [kind] if several else []
                line = [name, *beside, *_scores(truth["labels"], labels), seconds]
                for column, value in zip(rows, line, strict=True):
                    rows[column].append(value)
            advance(1, name)
    return rows


def _labels(name: str, estimator: Any, table: CountTable) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return estimator.fit(table).labels_
    except (ValueError, MemoryError) as error:
        print_note(f"{name} left out: {str(error) or 'not enough memory.'}")
        return None


def _scores(truth: Any, labels: Any) -> list[Any]:
    from ..results import SCORE_NAMES, agreement

    if labels is None or not (truth >= 0).any():
        return [math.nan] * len(SCORE_NAMES) + [0]
    scores = agreement(truth, labels)
    return [*(scores[name] for name in SCORE_NAMES), len(set(labels.tolist()) - {-1})]
