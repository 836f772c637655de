"""The sine and cosine integrals."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from .operands import special


def sici(x: Any) -> tuple[Tensor, Tensor]:
    """The sine and the cosine integral of `x`; the second of negative x is its real part, that of -x.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.sici(1.0)
        (tensor(0.94608307), tensor(0.33740392))

    Semantics: ``scipy.special.sici`` of real numbers.
    """
    return special("si", x), special("ci", x)
