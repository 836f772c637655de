"""Copies in C order, and what ``copy.copy`` and ``copy.deepcopy`` make of tensors.

Where a function is traced or differentiated, and of a tensor in a graph, ``copy.copy`` is an operation like
``x.copy()``, and gradients flow through it. Else it is PyTorch's: a leaf of its own.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..arguments.errors import checks_itself, named
from ..base.errors import GradientError
from ..dispatch.eager_functions import EagerFunction
from ..ir.registry import OPS, Builtin
from ..state import STATE
from ..tape.views import is_known_in_order, lies_in_order
from ..tensors.tensor import Tensor, is_eager_scalar, rebuilt
from . import manipulation
from .manipulation import ROWS
from .operands import given_as, run


@named("copy")
def _copy(x: Tensor) -> Tensor:
    """A copy in C order."""
    in_order = is_known_in_order(x) if x.is_traced else lies_in_order(x)
    return given_as(x, run("copy" if in_order else "contiguous", x))


_COPY: Final = EagerFunction(OPS["copy"], _copy, Builtin(np.ndarray.copy))


@checks_itself  # `manipulation.copy` does, and a wrapper would cost half of a small copy's time
def copy(x: Tensor, order: str = ROWS) -> Tensor:
    """A copy of `x` that lies in C order, as ``numpy.ndarray.copy`` makes it, or in `order`."""
    return _COPY.run(x) if order is ROWS else manipulation.copy(x, order)


def in_order(x: Tensor) -> Tensor:
    """`x`, or a copy that lies in C order if `x` does not."""
    return x if lies_in_order(x) else run("contiguous", x)


def _is_operation() -> bool:
    return STATE.tracer is not None or STATE.differentiating is not None


def copied(x: Tensor) -> Tensor:
    """``copy.copy(x)``: of a leaf, a leaf that shares memory, where it is no operation."""
    if _is_operation() or x._node is not None:
        return copy(x)
    function, arguments = x.__reduce__()
    result: Tensor = function(*arguments)
    return result


def deep_copied(x: Tensor, memo: dict[int, Any]) -> Tensor:
    """``copy.deepcopy(x)``. Raises GradientError for what is no leaf, where it is no operation."""
    if _is_operation():
        return copy(x)
    if x._node is not None:
        raise GradientError("only leaf tensors can be deep-copied; use x.detach().copy()")
    result = rebuilt(np.array(x._concrete("copying", "x.copy()")), x._requires_grad, not is_eager_scalar(x))
    if x._grad is not None:
        result._grad = deep_copied(x._grad, memo)
    return result
