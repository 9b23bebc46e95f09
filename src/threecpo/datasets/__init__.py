"""Data to try things on."""

from ._synth import make_synth

__all__ = ["make_synth"]
