"""The group of commands, and how they end: exit codes and one line about errors."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ._endings import ended_by_signals, write_to_nowhere
from ._input_file import with_named_triples
from ._option_names import as_options
from ._printing import print_note
from ._shared_options import examples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Names of commands and of the modules of this package that have them.
COMMANDS = {
    "fit": "fit",
    "predict": "predict",
    "cut": "cut",
    "merge": "merge",
    "select-k": "select_k",
    "report": "report",
    "info": "info",
    "convert": "convert",
    "demo": "demo",
    "completion": "completion",
}


class Commands(click.Group):
    """Loads the module of a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f".{COMMANDS[cmd_name]}", __package__)
        command: click.Command = module.command
        return command


@click.command(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples(
        "threecpo demo",
        "threecpo info atlas.h5ad",
        "threecpo fit atlas.h5ad -k auto -o atlas-results",
        "threecpo fit words.csv -k 5 --outliers iterative",
    ),
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.option(
    "--verbose", is_flag=True, help="With --version: those of libraries, too."
)
@click.pass_context
def commands(ctx: click.Context, *, version: bool, verbose: bool) -> None:
    """Cluster the rows of a table of counts, and find out which columns matter."""
    if version:
        from ._versions import version_lines

        click.echo("\n".join(version_lines(verbose=verbose)))
        ctx.exit()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str] | None) -> int:
    """Run a command and return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if sys.stdout is None:  # closed before we were started
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    try:
        with _printed_warnings(), ended_by_signals():
            code = commands.main(
                with_named_triples(given),
                prog_name="threecpo",
                standalone_mode=False,
                obj=tuple(given),
            )
            sys.stdout.flush()
    except BrokenPipeError:
        write_to_nowhere()
        return 1  # as click does
    except (click.Abort, KeyboardInterrupt):
        print_note("interrupted.")
        return 130
    except click.ClickException as error:
        print_note(_about_usage(error))
        return 2
    except (ValueError, OSError, ImportError) as error:
        if os.environ.get("THREECPO_TRACEBACK"):
            raise
        print_note(as_options(_about(error)))
        return 2
    except MemoryError:
        print_note("not enough memory for this; try a part of the rows or columns.")
        return 1
    return code if isinstance(code, int) else 0


def _about_usage(error: click.ClickException) -> str:
    text = error.format_message()
    context = getattr(error, "ctx", None)
    if context is None:
        return text
    return f"{text} See: {context.command_path} --help"


def _about(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}."
    return str(error)


@contextmanager
def _printed_warnings() -> Iterator[None]:
    """Print warnings of the library as one line each, and no others."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print_note(as_options(f"note: {message}"))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
