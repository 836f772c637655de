"""The tests of the Array API's suite that may fail, with the reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

#: Reasons by a regular expression for the name of the test.
EXPECTED: Final = {
    r"\[(floor_divide|__i?floordiv__)\(.*infinity": "as NumPy's, inf // 2 is nan and 2 // -inf is -1",
    r"\[expm1\(real\(x_i\) is (.infinity|NaN) and imag": "as NumPy's, expm1 of infinite and NaN parts is NaN",
    r"test_finfo\[": "limits are NumPy's scalars, as NumPy's finfo has them: np.float32 is no Python float",
    r"test_(meshgrid|broadcast_arrays)$": "tuples, as NumPy gives, and as the standard asks from 2025.12 on",
}
#: Reasons for tests that fail in some runs only: their random elements differ by process.
SOMETIMES: Final = {
    r"\[tanh\(real\(x_i\) is \+infinity and isfinite": "as NumPy's, the 0 has the sign of sin(2 y), as in C",
    r"\[expm1\(\(real\(x_i\) is \+0 or real": "as NumPy's, expm1 of -0 is -0",
}
#: Tests in which NumPy fails besides: it is run to compare.
_OF_NUMPY: Final = (
    r"test_iinfo\[",
    r"test_signature",
    r"test_r?fftfreq$",
)


def reason_for(name: str, module: str) -> str | None:
    """Reason why the test `name` may fail for the library `module`; None where it may not."""
    for pattern, reason in (EXPECTED | SOMETIMES).items():
        if re.search(pattern, name):
            return reason
    if module == "numpy" and any(re.search(pattern, name) for pattern in _OF_NUMPY):
        return "NumPy does not follow the standard there"
    return None


def unused(failed: Iterable[str]) -> list[str]:
    """The patterns that match no test of those that `failed`."""
    names = list(failed)
    return [pattern for pattern in EXPECTED if not any(re.search(pattern, name) for name in names)]
