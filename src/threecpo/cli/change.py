"""``threecpo cut``, ``merge`` and ``split``: fewer or more clusters in a folder."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING, Any

import click

from ._input_file import counts_of_fit, remembered
from ._options import (
    CLUSTERS,
    INPUT,
    Number,
    examples,
    given,
    new_command,
    option,
    options,
    output_option,
)
from ._output_paths import new_folder, read_run
from ._printing import fail
from ._small_files import read_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..cluster import ThreeCPO
    from ._input_file import GivenRows


_folder = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
_counts = option(
    "--counts",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the counts of the fit.",
    group=INPUT,
)
_output = output_option("Folder for the results. [default: beside DIR]")
_last_options = options("max_unpacked", "names", "no_report", "open", "force", "json")


@new_command(
    epilog=examples(
        "threecpo cut atlas.threecpo -k 5",
        "threecpo cut atlas.threecpo --height 0.5 -o coarse.threecpo",
        "threecpo cut atlas.threecpo -k 5 --counts atlas.h5ad",
    )
)
@_folder
@option(
    "-k",
    "--clusters",
    type=Number(1),
    metavar="N",
    help="Number of clusters to keep.",
    group=CLUSTERS,
)
@option(
    "--height",
    type=Number(0, whole=False),
    metavar="NUMBER",
    help="Merge clusters that the tree joins up to this height.",
    group=CLUSTERS,
)
@_counts
@_output
@_last_options
def cut(folder: Path, clusters: int | None, height: float | None, **given: Any) -> None:
    """Merge the clusters in DIR along their tree, and write a folder of results.

    DIR is a folder that `threecpo fit` wrote. Its counts are not needed: rows stay
    together. With --counts, rows move to where they fit best. The numbers of clusters
    in --names are those in DIR.
    """
    if (clusters is None) == (height is None):
        message = "cut needs either -k or --height."
        raise click.UsageError(message)

    def change(model: ThreeCPO, rows: GivenRows) -> ThreeCPO:
        return model.cut(clusters, height=height, **rows)

    _change(folder, "cut" if clusters is None else str(clusters), change, **given)


@new_command(
    epilog=examples(
        "threecpo merge atlas.threecpo 0,3 1,2",
        'threecpo merge sports.threecpo "football,rugby" -o ball-games.threecpo',
    )
)
@_folder
@click.argument("unions", metavar="A,B...", nargs=-1, required=True)
@_counts
@_output
@_last_options
def merge(folder: Path, unions: tuple[str, ...], **given: Any) -> None:
    """Merge clusters in DIR that you name, and write a folder of results.

    DIR is a folder that `threecpo fit` wrote. 0,3 1,2 merges clusters 0 and 3, and 1
    and 2; names work as well as numbers. The counts are not needed: rows stay
    together. With --counts, rows move to where they fit best. The numbers of clusters
    in --names are those in DIR.
    """

    def change(model: ThreeCPO, rows: GivenRows) -> ThreeCPO:
        members = [[_number(model, each) for each in u.split(",")] for u in unions]
        for union, each in zip(unions, members, strict=True):
            if len(each) < 2:
                fail(f"{union!r} is a single cluster; separate several by commas: 0,3")
        return model.merge(members, **rows)

    _change(folder, "merged", change, **given)


@new_command(
    epilog=examples(
        "threecpo split atlas.threecpo 4",
        'threecpo split atlas.threecpo "CD3D / LTB" --into 3 --counts atlas.h5ad',
    )
)
@_folder
@click.argument("cluster")
@option(
    "--into",
    type=Number(2),
    metavar="N",
    default=2,
    show_default=True,
    help="Number of clusters to split it into.",
    group=CLUSTERS,
)
@_counts
@_output
@_last_options
def split(folder: Path, cluster: str, into: int, **given: Any) -> None:
    """Split a CLUSTER in DIR, by number or name, and write a folder of results.

    DIR is a folder that `threecpo fit` wrote. The counts are read again from the file
    of the fit, or from --counts. Other clusters may change a little.
    """
    if given["counts"] is None:
        given["counts"] = known = remembered(folder).path
        if known == Path() or not known.exists():
            place = "" if known == Path() else f", and {known} is not there"
            fail(f"split needs the counts of the fit{place}; pass --counts FILE.")

    def change(model: ThreeCPO, rows: GivenRows) -> ThreeCPO:
        return model.split(cluster=_number(model, cluster), into=into, **rows)

    _change(folder, "split", change, **given)


def _number(model: ThreeCPO, text: str) -> int:
    """Number of a cluster that is named, or numbered."""
    names = model.cluster_names_.tolist()
    text = text.strip()
    if text in names:
        return names.index(text)
    if text.isdecimal() and int(text) < len(names):
        return int(text)
    fail(
        f"There is no cluster {text!r}; clusters are 0 to {len(names) - 1}, or "
        "their names."
    )


def _change(
    folder: Path,
    ending: str,
    change: Callable[[ThreeCPO, GivenRows], ThreeCPO],
    counts: Path | None,
    names: Path | None,
    output: Path | None,
    *,
    no_report: bool,
    opened: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write and print the results of a changed model."""
    from .._core.overlaps import origins, shared_rows
    from ..persistence import load_plain
    from ..results import read_table
    from ..results.label_comparison import labels_in
    from ._result_folder import (
        MAP_COUNTS,
        open_report,
        print_summary,
        remembered_warnings,
        run_facts,
        write_results,
    )
    from .predict import aligned, read_for

    before = read_run(folder)
    path = folder.absolute()
    beside = path.with_name(f"{path.name.removesuffix('.threecpo')}-{ending}.threecpo")
    target = output or beside
    with new_folder(target, force=force) as new, remembered_warnings() as warned:
        started = time.perf_counter()
        model = load_plain(folder / "model.npz", computes=counts is not None)
        given_names = names and read_names(
            names, model.n_clusters_, before["cluster_sizes"], several=True
        )
        kept = table = None
        rows: GivenRows = {}  # may move
        known = before.get("input", {})
        if counts is None:
            # The points of the map stay, and so do the counts that colour them.
            if (folder / MAP_COUNTS).is_file():
                copyfile(folder / MAP_COUNTS, new / MAP_COUNTS)
            kept = read_table(folder / "labels.csv")
        else:
            source = counts_of_fit(folder, counts)
            table, rows = source.parted(read_for(model, source))
            table, _ = aligned(model, table, counts, zero=False)
            rows = {"X": table, "batch": rows.get("batch")}
            known = known | source.facts()
        changed = change(model, rows)
        shape = model.n_clusters_, changed.n_clusters_
        old_clusters = model.labels_  # of the rows of the new fit
        if table is not None and table.shape[0] != len(old_clusters):
            old_clusters = model.predict(**rows)
        found = origins(shared_rows(old_clusters, changed.labels_, shape))
        if given_names:
            changed = changed.name_clusters(_new_names(given_names, found))
        labels = labels_in(kept or {}) if table is None else table.label_kinds
        facts = run_facts(changed, labels) | {
            "input": known,
            "changed_from": {
                "folder": str(folder),
                "clusters": before["clusters"],
                "origins": found,
            },
            "seconds": {"fit": time.perf_counter() - started},
            "warnings": warned,
            **given({key: before.get(key) for key in ("title", "nouns")}),
        }
        facts = write_results(
            new, changed, table, facts, with_report=not no_report, kept=kept
        )
    print_summary(facts, target, as_json=as_json)
    if opened:
        open_report(target)


def _new_names(names: Any, found: list[list[int]]) -> dict[str, str]:
    """Names of new clusters whose old ones, all whole, have the same name."""
    by_old = dict(enumerate(names)) if isinstance(names, list) else names
    given = {int(k): " ".join(name.split()) for k, name in by_old.items()}
    parts = Counter(old for members in found for old in members)
    new_names = {}
    for new, members in enumerate(found):
        candidates = {given[old] for old in members if given.get(old)}
        if len(candidates) == 1 and all(parts[old] == 1 for old in members):
            new_names[str(new)] = candidates.pop()
    return new_names
