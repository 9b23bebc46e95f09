"""Inputs chosen by coverage: ``python -m fuzz.guided TARGET --seconds N``.

For the parsers that threecpo has of its own: csv, mtx, jsonl and biom-json. It needs
atheris (``python -m pip install atheris``; wheels exist for Python 3.11 to 3.13 on
Linux), which is no dependency of the tests. Only the error that a door promises may
escape; anything else ends the run, and the input is kept in ``--keep``.

libFuzzer stops an input after 10 seconds or at 2 GB. ``--corpus`` keeps inputs that
reached new code, for later runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TARGETS = ("csv", "csv-triples", "mtx", "jsonl", "biom-json")
# By whole packages; compiled loops cannot be watched, so they are imported before.
_WATCHED = ["threecpo"]


def main(argv: Sequence[str] | None = None) -> None:
    """Run libFuzzer, which ends the process."""
    given = _parser().parse_args(argv)
    try:
        import atheris
    except ImportError:
        sys.exit("fuzz.guided needs atheris: python -m pip install atheris.")
    _load_compiled_loops()
    with atheris.instrument_imports(include=_WATCHED):
        from .targets import registry

    warnings.simplefilter("ignore")
    target: Any = registry()[given.target]
    with tempfile.TemporaryDirectory(dir=_memory()) as scratch:
        folder = Path(scratch, "input")
        folder.mkdir()
        # The readers of single formats are imported here, and watched as well.
        with atheris.instrument_imports(include=_WATCHED):
            target.warm_up(folder)
        corpus = given.corpus or Path(scratch, "corpus")
        _plant(target, corpus)
        given.keep.mkdir(parents=True, exist_ok=True)
        options = [
            f"-max_total_time={given.seconds}",
            f"-artifact_prefix={given.keep}/{given.target}-",
            *("-timeout=10", "-rss_limit_mb=2048", "-max_len=4096"),
            f"-seed={given.seed}",
        ]
        command = [sys.argv[0], *options, str(corpus)]
        atheris.Setup(command, one_input(target, folder))
        atheris.Fuzz()


def one_input(target: Any, folder: Path) -> Callable[[bytes], None]:
    """Return what libFuzzer calls with each content."""
    path = folder / target.opened

    def use(content: bytes) -> None:
        path.write_bytes(content)
        try:
            target.use(folder)
        except Exception as error:
            if not target.is_own(error, folder):
                raise

    return use


def _load_compiled_loops() -> None:
    import scipy.sparse as sp

    from threecpo import ThreeCPO

    ThreeCPO(1).fit(sp.csr_array([[1, 2], [3, 4]]))


def _plant(target: Any, corpus: Path) -> None:
    """Begin with the valid files."""
    corpus.mkdir(parents=True, exist_ok=True)
    for i, tree in enumerate(target.seeds()):
        (corpus / f"seed-{i}").write_bytes(tree[target.opened])


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m fuzz.guided",
        description="Let coverage choose inputs for a parser.",
    )
    add = parser.add_argument
    add("target", choices=TARGETS)
    add("--seconds", type=int, default=300, help="how long (default: 300)")
    add("--seed", type=int, default=1)
    add("--corpus", type=Path, help="folder of inputs that reached new code")
    add("--keep", type=Path, default=Path("fuzz-failures"), help="folder of failures")
    return parser


if __name__ == "__main__":
    main()
