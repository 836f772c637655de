"""Anomaly detection: a NaN in backward names the forward line that made it. Semantics:
``torch.autograd.detect_anomaly``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..eager.tensor import Tensor
from ..ir.errors import GradientError
from ..state import STATE

if TYPE_CHECKING:
    from .nodes import Node


def check_parts(node: Node, parts: Sequence[Any]) -> None:
    """Raise GradientError where a cotangent that `node` gave has a NaN."""
    if not STATE.anomaly:
        return
    for position, part in enumerate(parts):
        value = part._data if isinstance(part, Tensor) else part
        if isinstance(value, (np.ndarray, np.generic)) and np.isnan(value).any():
            where = node.location
            line = f" of the operation at {where.file}:{where.line}" if where else ""
            raise GradientError(
                f"function {node.name()!r} returned nan values in its {position}th output: the gradient"
                f"{line} with respect to that operand is nan"
            )
