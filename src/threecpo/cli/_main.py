"""The group of commands, and how they end: exit codes and one line about errors."""

from __future__ import annotations

import os
import platform
import re
import signal
import sys
import threading
import warnings
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ._input_file import with_named_triples
from ._options import examples
from ._output_paths import LIBRARIES
from ._printing import in_options, print_note

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Seconds until a request to end that was lost is repeated.
AGAIN = 0.2
# The exit code of what was asked to end.
ENDED = 128 + signal.SIGTERM
SIGNALS = [signal.SIGTERM, *([signal.SIGALRM] if hasattr(signal, "SIGALRM") else [])]


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let a polite request to end (SIGTERM) clean up as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = threading.Event()

    def end(_number: int, _frame: object) -> None:
        asked.set()
        _end()

    before = {number: signal.signal(number, end) for number in SIGNALS}
    shown, sys.unraisablehook = sys.unraisablehook, _show_others
    try:
        yield
    except Exception:
        if asked.is_set():  # a compiler or an extension has made another error of it
            raise SystemExit(ENDED) from None
        raise
    finally:
        sys.unraisablehook = shown
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _end() -> None:
    """Raise, and raise again: callbacks of a compiler lose what is raised in them."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
    # Cleaning up after the first time is not to be disturbed.
    if not isinstance(sys.exc_info()[1], SystemExit):
        raise SystemExit(ENDED)


def _show_others(lost: sys.UnraisableHookArgs) -> None:
    """Say nothing of a request to end that was lost: it is repeated."""
    if not isinstance(lost.exc_value, SystemExit):
        sys.__unraisablehook__(lost)


# Names of commands and of the modules that have them, each as `command` unless named.
COMMANDS = {
    "fit": "fit",
    "predict": "predict",
    "cut": "change:cut",
    "merge": "change:merge",
    "split": "change:split",
    "select-k": "select_k",
    "test": "test",
    "report": "report",
    "info": "info",
    "convert": "convert",
    "demo": "fit:demo",
}


class Commands(click.Group):
    """Loads the module of a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = get_close_matches(args[0], COMMANDS, n=1, cutoff=0.65)
        if args[0] not in COMMANDS and near:
            message = f"There is no command {args[0]!r}. Did you mean {near[0]!r}?"
            raise click.UsageError(message, ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        found = import_module(f".{module}", __package__)
        command: click.Command = getattr(found, name or "command")
        return command


@click.command(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples(
        "threecpo demo",
        "threecpo info atlas.h5ad",
        "threecpo fit atlas.h5ad --rows cells --open",
        "threecpo fit words.csv -k 5 --outliers iterative -o words-5",
    ),
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.option(
    "--verbose", is_flag=True, help="With --version, also show library versions."
)
@click.pass_context
def commands(ctx: click.Context, *, version: bool, verbose: bool) -> None:
    """Cluster the rows of a table of counts, and find out which columns matter."""
    if version:
        click.echo("\n".join(_version_lines(verbose=verbose)))
        ctx.exit()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _version_lines(*, verbose: bool) -> Iterator[str]:
    """Lines about this installation, for people who report a problem."""
    yield f"threecpo {metadata.version('threecpo')}"
    if not verbose:
        return
    yield f"python {platform.python_version()} on {platform.platform()}"
    yield f"cores {os.cpu_count()}"
    needed = [need for need in metadata.requires("threecpo") or () if "extra" in need]
    names = {re.split(r"[^\w-]", need)[0] for need in needed}
    for name in (*LIBRARIES, *sorted(names - {"threecpo", *LIBRARIES})):
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            yield f"{name} not installed"
    with suppress(ImportError):
        from h5py.version import hdf5_version

        yield f"hdf5 {hdf5_version}"


def run(arguments: Sequence[str] | None) -> int:
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
        # What is still to be printed goes nowhere, without a word at the end.
        with suppress(OSError, ValueError):
            descriptor = os.open(os.devnull, os.O_WRONLY)
            os.dup2(descriptor, sys.stdout.fileno())
            os.close(descriptor)
        return 1  # as click does
    except (click.Abort, KeyboardInterrupt):
        print_note("interrupted.")
        return 130
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        help_of = f" See: {context.command_path} --help" if context else ""
        print_note(f"{error.format_message()}{help_of}")
        return 2
    except (ValueError, OSError, ImportError) as error:
        if os.environ.get("THREECPO_TRACEBACK"):
            raise
        about = in_options(error)
        if isinstance(error, OSError) and error.filename is not None and error.strerror:
            about = f"{os.fsdecode(error.filename)}: {error.strerror}."
        print_note(about)
        return 2
    except MemoryError:
        print_note("not enough memory for this; try a part of the rows or columns.")
        return 1
    return code if isinstance(code, int) else 0


@contextmanager
def _printed_warnings() -> Iterator[None]:
    """Print warnings of the library as one line each, and no others."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print_note(f"note: {in_options(message)}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
