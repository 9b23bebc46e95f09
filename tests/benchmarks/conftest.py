"""The folder of benchmarks is no package: its modules are found by their names."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
