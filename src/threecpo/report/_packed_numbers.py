"""Numbers of three significant digits in two bytes each, as text.

A page with 50 000 columns in 20 clusters holds a million of them. Ten bits are the
digits, 0 to 999, and six the power of ten, from -32 to 31; all ones is no number.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NONE = 0xFFFF


def pack(values: NDArray[np.float64]) -> str:
    """Values of 0 or more, as base64 text; below 1e-30 they are 0."""
    known = np.isfinite(values)
    positive = known & (values >= 1e-30)
    safe = np.minimum(np.where(positive, values, 1.0), 9e33)
    power = np.floor(np.log10(safe)).astype(np.int64) - 2
    digits = np.rint(safe / 10.0**power).astype(np.int64)
    # 999.7 is 1000, and a logarithm may be off by its last bit.
    digits, power = (
        np.where(digits >= 1000, 100, digits),
        np.where(digits >= 1000, power + 1, power),
    )
    codes = np.where(positive, digits * 64 + power + 32, 32)
    codes = np.where(known, codes, _NONE)
    return b64encode(codes.astype("<u2").tobytes()).decode()


def unpack(text: str) -> NDArray[np.float64]:
    """The values again, NaN for no number."""
    codes = np.frombuffer(b64decode(text), dtype="<u2").astype(np.int64)
    values = [float(f"{code >> 6}e{(code & 63) - 32}") for code in codes.tolist()]
    return np.where(codes == _NONE, np.nan, values)
