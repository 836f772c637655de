"""Elementwise functions that run one op: one for each row of `surface.elementwise`.

``ufuncs.pyi`` declares them for type checkers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...dispatch import special_kernels as _special_kernels  # noqa: F401 - what gradients call is native
from ...ir.registry import OPS
from ...surface.elementwise import ELEMENTWISE
from ...tensors.tensor import Tensor
from .making import made

#: Methods of Tensor that are these functions, by name.
METHODS: Final[dict[str, Callable[..., Tensor]]] = {}
#: Functions that methods write in place, by the number of operands and the method's name.
IN_PLACE: Final[dict[int, dict[str, Callable[..., Tensor]]]] = {1: {}, 2: {}}

for _row in ELEMENTWISE:
    _call = made(_row)
    globals().update(dict.fromkeys(_row.names.split(), _call))
    for _name in _row.methods.split():
        _in_place = _name.endswith("_") and not _name.endswith("__")
        (IN_PLACE[len(OPS[_row.runs].params)] if _in_place else METHODS)[_name] = _call
