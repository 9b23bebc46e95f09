"""Libraries that only some users need, loaded when they are."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an extra, or say which extra has it."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        message = (
            f"{purpose} needs {name}, which is not installed. "
            f'Install it with: pip install "threecpo[{extra}]"'
        )
        raise ImportError(message, name=name) from error


def frame(table: dict[str, Any]) -> Any:
    """Columns as a pandas frame, or as they are where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        return table
    return pd.DataFrame(table)
