"""Calls of ops by the functions of this package."""

from __future__ import annotations

from typing import Any

from ...array.operands import SCALARS, as_tensor, cast, promoted, run
from ...base.errors import TracejitError
from ...dispatch import special_kernels as _special_kernels  # noqa: F401 - makes eager kernels native
from ...ir.dtypes import is_inexact, result_type
from ...tensors.tensor import Tensor


def special(name: str, *operands: Any) -> Tensor:
    """The special function `name` of operands that are broadcast, in a floating dtype."""
    values = [value if type(value) in SCALARS else as_tensor(value) for value in operands]
    op = f"special{len(values)}"
    try:
        return run(op, *values, function=name, orders=(0,) * len(values))
    except TracejitError as error:
        if str(error).startswith(f"{op}: "):
            error.args = (f"{name}{str(error).removeprefix(op)}", *error.args[1:])
        raise


def floats(*operands: Any) -> list[Tensor]:
    """`operands` as tensors of one floating dtype: integers of all sizes in the default dtype or float64."""
    values = promoted(*operands)
    dtype = values[0].dtype
    return values if is_inexact(dtype) else [cast(value, result_type(dtype, float)) for value in values]
