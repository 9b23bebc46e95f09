"""``threecpo demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._options import command as new_command
from ._options import examples, options, output_option
from ._output_paths import is_results, read_run
from ._printing import print_line

if TYPE_CHECKING:
    from ..table import CountTable
    from ._input_file import GivenRows

NAME = "Jane Austen's novels"


class Austen:
    """Counts of words in chapters, which come with the package."""

    def read_rows(self) -> tuple[CountTable, GivenRows]:
        from ..datasets import load_austen

        return load_austen(), {}

    def facts(self) -> dict[str, Any]:
        """Return what is known beside the table: nothing."""
        return {}


@new_command(epilog=examples("threecpo demo", "threecpo demo --open"))
@output_option("Folder for the results. [default: austen.threecpo]")
@options("open")
def command(output: Path | None, *, opened: bool) -> None:
    """Cluster the chapters of Jane Austen's six novels and write a report.

    Each row is a chapter, each column a word, each count how often the chapter uses
    the word. Nothing is downloaded.
    """
    target = output or Path("austen.threecpo")
    _refuse_other_results(target)
    print_line("Clustering the 269 chapters of Jane Austen's six novels.")
    print_line(
        "The fit sees how often each of 2000 words occurs, but neither the titles nor "
        "the number of novels."
    )
    from ..cluster import ThreeCPO
    from ._result_folder import fit_to_folder, open_report
    from ._summary import print_summary

    facts = fit_to_folder(
        Austen(),
        ThreeCPO(random_state=0),
        target,
        force=True,
        called={"rows": "chapters", "columns": "words"},
    )
    print_summary(facts, target, as_json=False)
    if facts["agreement"]["novel"]["ARI"] == 1:
        print_line("Each cluster is one novel, named after the words that mark it.")
    if not opened:
        print_line("Open the report in a browser; --open does it for you.")
    else:
        open_report(target)


def _refuse_other_results(target: Path) -> None:
    """Leave results alone that another command wrote."""
    if is_results(target) and read_run(target).get("input", {}).get("name") != NAME:
        message = f"{target} holds other results; choose another folder with -o."
        raise FileExistsError(message)
