"""Special functions that run one function of `ir/special`: each is made of its row at its first use.

``functions.pyi`` declares them for type checkers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...surface.making import function_of
from ...surface.special import SPECIAL
from ...tensors.tensor import Tensor
from .operands import special

_ROWS = {name: row for row in SPECIAL for name in row.names.split()}


def __getattr__(name: str) -> Callable[..., Tensor]:
    if name not in _ROWS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    row = _ROWS[name]
    scope: dict[str, Any] = {"__name__": __name__, "special": special}
    function = function_of(row, f"special({row.runs!r}, {', '.join(row.arguments)})", scope)
    function.__doc__ = row.docstring("tj.scipy.special", "", "scipy.special")
    globals().update(dict.fromkeys(row.names.split(), function))
    return function
