"""Lambert's W, by its real branches."""

from __future__ import annotations

from typing import Any

from ...base.errors import DomainError
from ...tensors.tensor import Tensor
from .operands import special


def lambertw(z: Any, k: int = 0) -> Tensor:
    """The real branch `k` of Lambert's W, which solves w exp(w) = z: 0 for z >= -1 / e, -1 for -1 / e <= z <
    0.

    NaN where a branch is complex.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.lambertw(1.0)
        tensor(0.56714329)

    Raises DomainError unless `k` is 0 or -1. Semantics: ``scipy.special.lambertw``, but real.
    """
    if k not in (0, -1):
        raise DomainError(f"lambertw: expected k to be 0 or -1, whose branches are real, got {k!r}")
    return special("lambertw_m1" if k else "lambertw_0", z)
