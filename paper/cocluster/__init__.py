"""Estimators that cluster rows and columns at once."""

from ._elbm import ELBM
from ._info import CoclustInfo
from ._mod import CoclustMod
from ._selbm import SELBM
from ._specmod import CoclustSpecMod
from ._taucc import TauCC

__all__ = ["ELBM", "SELBM", "CoclustInfo", "CoclustMod", "CoclustSpecMod", "TauCC"]
