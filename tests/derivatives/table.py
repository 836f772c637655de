"""The table of derivatives: every differentiable elementwise function with its truth."""

from __future__ import annotations

from typing import Final

from . import activations, elementary, special
from .entries import Entry

ENTRIES: Final[list[Entry]] = [*elementary.ENTRIES, *activations.ENTRIES, *special.ENTRIES]

_SEVERAL = "several operands, with bounds of its own: tests/ir/special and docs/special.md"
_ALONG = "along an axis, not elementwise"
#: Public names of elementwise modules that are in no row, and why.
EXCUSED: Final = {
    "divmod": "floor_divide and remainder",
    "special.psi": "digamma by another name",
    **dict.fromkeys(("nn.softmax", "nn.log_softmax"), _ALONG),
    **dict.fromkeys(("special.softmax", "special.log_softmax", "special.logsumexp"), _ALONG),
    **dict.fromkeys(
        [
            f"special.{name}"
            for name in (
                "betainc", "betaincc", "betaincinv", "binom", "comb", "gammainc", "gammaincc", "gammainccinv",
                "gammaincinv", "hyp1f1", "hyp2f1", "iv", "ive", "jv", "kv", "kve", "lpmv", "sph_harm",
                "sph_harm_y", "sph_legendre_p",
            )
        ],
        _SEVERAL,
    ),
}  # fmt: skip
#: Differentiable elementwise ops that no row reaches, and why.
EXCUSED_OPS: Final = {
    "fma": "x y + z: made by a pass, and written by nobody",
    "barrier": "its operand",
    "rounded": "its operand",
    "nan_unless_zero": "NaN where a derivative is undetermined: tests/tracejit/linalg/test_table.py",
    "complex": "complex numbers: tests/tracejit/test_complex_derivatives.py",
    "conj": "complex numbers: tests/tracejit/test_complex_derivatives.py",
    "imag": "complex numbers: tests/tracejit/test_complex_derivatives.py",
    "real": "complex numbers: tests/tracejit/test_complex_derivatives.py",
    "special3": _SEVERAL,
    "special4": _SEVERAL,
}


def covered() -> set[str]:
    """The public names that have rows: what stands before `` of `` or a comma."""
    return {entry.name.split(" of ")[0].split(",")[0] for entry in ENTRIES}
