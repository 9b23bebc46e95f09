"""``threecpo completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ._shared_options import examples

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_THREECPO_COMPLETE"


@click.command(
    epilog=examples(
        "threecpo completion bash",
    )
)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print what makes SHELL complete commands, options and files.

    Add it to ~/.bashrc or ~/.zshrc, or write it to
    ~/.config/fish/completions/threecpo.fish.
    """
    root = click.get_current_context().find_root().command
    kind = get_completion_class(shell)
    assert kind is not None
    # The check of bash's version, which click makes here, needs bash itself.
    completed = kind(root, {}, "threecpo", VARIABLE)
    click.echo(kind.source_template % completed.source_vars())


def complete(root: click.Command, asked: str) -> int:
    """Answer a shell that asks what may come next."""
    from click.shell_completion import shell_complete

    return shell_complete(root, {}, "threecpo", VARIABLE, asked)
