"""Python in processes of their own."""

import subprocess
import sys


def run_python(*arguments, check=False, **options):
    """Run Python to its end, and keep what it prints."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=check,
        **options,
    )
