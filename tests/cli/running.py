"""Running commands in this process and in others, and files to run them on."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from containers import planted
from threecpo import CountTable, results
from threecpo.cli import main

X, TRUE = planted(n_background=20)
COLUMNS = [f"gene {j}" for j in range(X.shape[1])]
ROWS = [f"cell {i}" for i in range(len(X))]
KINDS = ["background", "a", "b", "c"]
FILES = {
    "labels.csv",
    "map_counts.json",
    "clusters.csv",
    "columns.csv",
    "top_columns.csv",
    "model.npz",
    "run.json",
    "report.html",
}


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def runner(capsys):
    """Return a function that runs a command in this process and checks how it ends.

    ``run.wrong`` is the same for bad input.
    """

    def run(*arguments, code=0):
        capsys.readouterr()
        found = main([str(argument) for argument in arguments])
        done = Done(found, *capsys.readouterr())
        assert done.code == code, done
        return done

    run.wrong = partial(run, code=2)
    return run


def started(*arguments, **options):
    """Start a command in a process of its own."""
    command = [sys.executable, "-m", "threecpo", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **pipes | options)


def elsewhere(*arguments, **options):
    """Run a command in a process of its own."""
    with started(*arguments, **options) as process:
        out, err = process.communicate(timeout=600)
    return Done(process.returncode, out, err)


def table():
    return CountTable(
        sp.csr_array(X),
        row_names=ROWS,
        column_names=COLUMNS,
        labels=TRUE + 1,
        label_names=KINDS,
        name="planted",
    )


def written_csv(path, array=X, rows=ROWS, columns=COLUMNS, **more):
    """A wide table; more columns by name."""
    lines = [",".join(["", *more, *map(quoted, columns)])]
    for i, row in enumerate(array):
        extra = [values[i] for values in more.values()]
        lines.append(",".join([quoted(rows[i]), *extra, *map(str, row.tolist())]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def facts_of(folder):
    """What the run file of results says."""
    return json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))


def rows_of(folder):
    """The table of rows of results."""
    return results.read_table(Path(folder, "labels.csv"))


def contents(folder):
    """Bytes of every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def everything(folder):
    """Every name below a folder, hidden ones too."""
    return sorted(
        os.path.join(root, name)  # noqa: PTH118
        for root, folders, files in os.walk(folder)
        for name in (*folders, *files)
    )


def assert_one_line(done, *parts):
    """Bad input: exit code 2 and one line, which has these parts."""
    assert done.code == 2, done
    assert done.err.count("\n") == 1, done.err
    assert done.err.startswith("threecpo: ")
    assert done.out == ""
    assert "Traceback" not in done.err
    for part in parts:
        assert part in done.err


def same(a, b):
    """The same bits, NaN and infinity too."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    if a.dtype.kind == "f":
        return a.tobytes() == b.tobytes()
    return a.tolist() == b.tolist()
