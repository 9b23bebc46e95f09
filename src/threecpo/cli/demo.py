"""``threecpo demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._shared_options import (
    examples,
    force_option,
    jobs_option,
    json_option,
    output_option,
)

if TYPE_CHECKING:
    from ..table import CountTable
    from ._input_file import GivenRows


class Digits:
    """Handwritten digits, which come with scikit-learn."""

    def read_rows(self) -> tuple[CountTable, GivenRows]:
        from sklearn.datasets import load_digits

        from ..table import CountTable

        digits = load_digits()
        side = range(8)
        names: dict[str, Any] = {
            "row_names": [f"image {i}" for i in range(len(digits.data))],
            "column_names": [f"pixel {y},{x}" for y in side for x in side],
            "label_names": [str(digit) for digit in range(10)],
        }
        table = CountTable(
            digits.data,
            labels=digits.target,
            name="Handwritten digits",
            source="scikit-learn's load_digits",
            **names,
        )
        return table, {}

    def facts(self) -> dict[str, Any]:
        """Return what is known beside the table: nothing."""
        return {}


@click.command(
    epilog=examples(
        "threecpo demo",
    )
)
@output_option("Folder for the results. [default: digits.threecpo]")
@jobs_option
@force_option
@json_option
def command(
    output: Path | None, n_jobs: int | None, *, force: bool, as_json: bool
) -> None:
    """Cluster handwritten digits and write a report to look at.

    Each row is an image of 8 x 8 pixels, each column a pixel, each count the ink in it
    (0 to 16). Nothing is downloaded.
    """
    from ..cluster import ThreeCPO
    from ._result_folder import fit_to_folder
    from ._summary import print_summary

    target = output or Path("digits.threecpo")
    model = ThreeCPO(10, outliers="final", random_state=0, n_jobs=n_jobs)
    facts = fit_to_folder(Digits(), model, target, force=force)
    print_summary(facts, target, as_json=as_json)
