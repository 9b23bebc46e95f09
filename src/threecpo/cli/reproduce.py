"""``threecpo reproduce``."""

from __future__ import annotations

import click

from ._options import examples


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
    epilog=examples(
        "threecpo reproduce --list",
        "threecpo reproduce traditional --executions 2",
    ),
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> int:
    """Repeat a table or figure of the paper."""
    from ..experiments import main

    return main(list(arguments), prog="threecpo reproduce")
