"""Ops that call Python functions while a program runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..callbacks import callable_of
from ..dtypes import BOOL
from ..errors import GradientError, ShapeError
from ..registry import NONDIFF, Attrs, Kind
from ..types import TensorType
from .define import define

Types = tuple[TensorType, ...]


def _infer(types: Types, attrs: Attrs) -> Types:
    shapes, dtypes = attrs["shapes"], attrs["dtypes"]
    if not shapes or len(shapes) != len(dtypes):
        raise ShapeError(
            f"pure_callback: expected a shape and a dtype for each of one or more results, got "
            f"{len(shapes)} shapes and {len(dtypes)} dtypes"
        )
    return tuple([TensorType(dtype, tuple(shape)) for shape, dtype in zip(shapes, dtypes, strict=True)])


def _call(*inputs: Any, callback: str, shapes: Any, dtypes: Any) -> Any:
    # copies: the operands' memory is the program's, and used for other things afterwards
    results = callable_of(callback)(*[np.array(one) for one in inputs])
    return results if len(results) > 1 else results[0]


def no_gradient(callback: str) -> str:
    """Why a call of a Python function cannot be differentiated, and what to do."""
    return (
        f"pure_callback: {callback.split('#')[0]} is a Python function, which has no gradient; give it one "
        "with tj.custom_vjp around the call, or make its arguments constants with tj.stop_gradient"
    )


def _refuse(b: Any, ct: Any, callback: str) -> Any:
    raise GradientError(no_gradient(callback))


PURE_CALLBACK = define(
    "pure_callback", Kind.HOST, "*inputs", infer=_infer, eval=_call, vjp={"*inputs": _refuse},
    attrs={"callback": (str,), "shapes": (tuple,), "dtypes": (tuple,)},
    doc="the results of a Python function of `inputs`, which may run any number of times or not at all",
)  # fmt: skip


def _effect(*inputs: Any, callback: str) -> Any:
    callable_of(callback)(*[np.array(one) for one in inputs])
    return np.True_


DEBUG_CALLBACK = define(
    "debug_callback", Kind.HOST, "*inputs", infer=lambda types, attrs: (TensorType(BOOL, ()),), eval=_effect,
    vjp=NONDIFF, attrs={"callback": (str,)}, effect=True,
    doc="true, after a Python function ran on `inputs` for what it does; runs once, in program order",
)  # fmt: skip
