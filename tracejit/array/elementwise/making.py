"""Make the elementwise functions that run one op, from the rows of `surface.elementwise`.

Each is the callable that ``dispatch`` makes of its op, so calling it costs one Python frame. Dtypes follow
NumPy 2 (NEP 50: Python numbers adopt the dtype of what they meet). Integers are computed in float64 by
functions of floats, those of 16 bits in float32, and bools and those of 8 bits in float16.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from ...dispatch.dispatch import elementwise
from ...ir.registry import OPS
from ...provided import UFUNC_METHODS
from ...surface.rows import Row
from ...tensors.tensor import Tensor


def add_ufunc_methods(call: Callable[..., Any], name: str) -> None:
    """Give `call` the methods that NumPy's ufunc `name` has, as in ``add.reduce``."""
    for method in ("reduce", "accumulate", "outer", "at", "reduceat"):
        setattr(call, method, functools.partial(_run_method, method, name))


def _run_method(method: str, name: str, *inputs: Any, **options: Any) -> Any:
    """A method of NumPy's ufunc `name`, whose module loads at first use."""
    methods = UFUNC_METHODS()
    return methods.run_method(method, name, inputs, options)


_DETAILS: Final = """\
{shapes} DTypeError for dtypes without a meaning. `out` is a tensor that takes the result, `where`
selects the places that are computed (the others keep the value of `out`, or are 0), and `dtype` is what
it is computed in, to which `casting` must lead. `order` and `subok` make no difference.

"""


def made(row: Row) -> Callable[..., Tensor]:
    """The function of a row."""
    op = OPS[row.runs]
    call = elementwise(op)
    shapes = "`x` is anything that `asarray` takes; the result has its shape."
    if len(op.params) == 2:
        shapes = "`x` and `y` broadcast; ShapeError where they do not."
        add_ufunc_methods(call, row.name)
    call.__name__ = call.__qualname__ = row.name
    call.__module__ = "tracejit.array"
    call.__doc__ = row.docstring("tj", _DETAILS.format(shapes=shapes), "numpy")
    return call
