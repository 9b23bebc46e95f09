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
