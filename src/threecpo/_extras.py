"""Optional dependencies, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an extra, or name the extra that has it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise missing(module.partition(".")[0], extra, purpose) from error


def missing(name: str, extra: str, purpose: str) -> ImportError:
    """Error about a library that is not there, with the extra that has it."""
    message = (
        f"{purpose} needs {name}, which is not installed. "
        f'Install it with: pip install "threecpo[{extra}]"'
    )
    return ImportError(message, name=name)


def frame(table: dict[str, Any]) -> Any:
    """Columns as a pandas frame, or as they are where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        return table
    return pd.DataFrame(table)
