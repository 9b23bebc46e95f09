"""Speed over commits: draw what ``speed.py --json FILE`` has written.

    python benchmarks/speed.py --only kmeans --json benchmarks/results/history.jsonl
    python benchmarks/history.py benchmarks/results/history.jsonl

A line of the file is a commit. Drawn are the CPU seconds of a fit over those of
scikit-learn's KMeans in the same run, so that lines of a busy or another machine may
stand together.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from _common import HERE

Line = dict[str, Any]
LETTERS = 8


def git(*arguments: str) -> str:
    """What git says in the repository; nothing outside of one."""
    command = ["git", "-C", str(HERE.parent), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def commit() -> Line:
    """Which code was measured, and when it was written."""
    return {
        "commit": git("rev-parse", "HEAD") or "unknown",
        "changed": bool(git("status", "--porcelain", "--untracked-files=no", "src")),
        "date": git("show", "--no-patch", "--format=%cI", "HEAD")
        or datetime.now(UTC).isoformat(timespec="seconds"),
    }


def read(path: Path) -> list[Line]:
    """Lines of a file, the oldest commit first; none if it does not exist."""
    if not path.exists():
        return []
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return sorted(lines, key=lambda line: datetime.fromisoformat(line["date"]))


def append(path: Path, line: Line) -> None:
    """Add a line, in the place of an earlier one of the same commit."""
    kept = [old for old in read(path) if old["commit"] != line["commit"]]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(one) + "\n" for one in [*kept, line])
    path.write_text(text, encoding="utf-8")


def ratios(lines: list[Line]) -> dict[str, list[float]]:
    """Seconds over KMeans' by data set, nan for commits without it."""
    names = dict.fromkeys(name for line in lines for name in line["kmeans"])
    nothing = {"seconds": float("nan"), "peer": 1.0}
    measured = {
        name: [line["kmeans"].get(name, nothing) for line in lines] for name in names
    }
    return {
        name: [one["seconds"] / one["peer"] for one in of_set]
        for name, of_set in measured.items()
    }


def draw(lines: list[Line], path: Path) -> None:
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
    for name, values in ratios(lines).items():
        ax.plot(range(len(lines)), values, marker="o", label=name)
    names = [line["commit"][:LETTERS] + "*" * line["changed"] for line in lines]
    ax.set_xticks(range(len(lines)), names, rotation=90, family="monospace")
    ax.set(yscale="log", ylabel="CPU seconds of ThreeCPO over KMeans")
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(figure)


def main() -> str | None:
    path = Path(sys.argv[1])
    lines = read(path)
    if not lines:
        return f"{path} has no lines; write one by speed.py --only kmeans --json {path}"
    draw(lines, path.with_suffix(".png"))
    print(f"{len(lines)} commits: {path.with_suffix('.png')}")
    return None


if __name__ == "__main__":
    sys.exit(main())
