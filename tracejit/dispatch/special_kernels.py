"""Eager special functions as native code: ufuncs that `runtime.native.special_ufuncs` compiles.

Jitted functions call the same vector code. Where there can be no native code, the kernels of the records
compute with NumPy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..base.errors import CompilerWarning, TracejitError
from ..base.loading import load_module
from ..ir.dtypes import FLOAT32, FLOAT64, DType
from ..ir.ops.special import SPECIAL, computed_in
from ..ir.registry import OPS, Op

_NUMBERS: Final = frozenset((int, float))
_FLOATS: Final = frozenset((FLOAT64, FLOAT32))
#: The functions that were used, by name, derivative and dtype; None where NumPy computes.
_UFUNCS: Final[dict[tuple[str, tuple[int, ...], DType], Callable[..., Any] | None]] = {}


def _kernel_of(op: Op) -> Callable[..., Any]:
    slow = op.eval

    def kernel(*operands: Any, function: str, orders: tuple[int, ...]) -> Any:
        dtype = None
        for operand in operands:
            if type(operand) is np.ndarray:
                if dtype is None:
                    dtype = operand.dtype
                elif operand.dtype is not dtype:
                    dtype = None
                    break
            elif type(operand) not in _NUMBERS:
                dtype = None
                break
        if dtype not in _FLOATS:
            dtype = computed_in(*operands)
            if dtype not in _FLOATS:  # float16 is a dtype for storage
                operands = tuple([np.asarray(operand, FLOAT32) for operand in operands])
                return np.asarray(kernel(*operands, function=function, orders=orders), dtype)
            operands = tuple([np.asarray(operand, dtype) for operand in operands])
        key = function, orders, dtype
        ufunc = _UFUNCS.get(key)
        if ufunc is None:
            if key not in _UFUNCS:
                _UFUNCS[key] = _ufunc(*key)
                return kernel(*operands, function=function, orders=orders)
            return slow(*operands, function=function, orders=orders)
        return ufunc(*operands)

    return kernel


def _ufunc(name: str, orders: tuple[int, ...], dtype: DType) -> Callable[..., Any] | None:
    """The ufunc, or None with a warning where it cannot be made."""
    runtime = load_module("..runtime.native.special_ufuncs", __package__)
    if runtime.problem():
        return None
    try:
        ufunc: Callable[..., Any] = runtime.special_ufunc(name, orders, dtype)
    except (TracejitError, OSError, ImportError) as error:
        warnings.warn(
            f"{name}: computed with NumPy, as it cannot be compiled: {error}", CompilerWarning, stacklevel=2
        )
        return None
    return ufunc


for _op in SPECIAL:
    OPS.substitute(_op, _kernel_of(_op))
