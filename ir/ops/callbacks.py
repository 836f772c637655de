"""Ops that call Python functions while a program runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import GradientError, ShapeError
from ..callbacks import CallbackName, callable_of, named
from ..dtypes import BOOL
from ..registry import NONDIFF, Attrs, Kind
from ..transforms.batching import spread
from ..types import TensorType, Types
from .define import define


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
    results = callable_of(callback)(*[np.array(input_) for input_ in inputs])
    return results if len(results) > 1 else results[0]


def no_gradient(callback: str) -> str:
    """The error message for differentiating a call of a Python function, with the remedies."""
    return (
        f"pure_callback: {callback.split('#')[0]} is a Python function, which has no gradient; give it one "
        "with tj.custom_vjp around the call, or make its arguments constants with tj.stop_gradient"
    )


def _refuse(b: Any, ct: Any, callback: str) -> Any:
    raise GradientError(no_gradient(callback))


def _each(name: str, mapped: Any, size: int) -> CallbackName:
    """The callable behind `name`, called once for each example."""
    callback, hint = callable_of(name), name.split("#")[0]

    def call(*inputs: Any) -> Any:
        return [
            callback(*[input_[i] if many else input_ for input_, many in zip(inputs, mapped, strict=True)])
            for i in range(size)
        ]

    return named(call, hint)


def _batch_pure(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    attrs = instruction.attrs
    each = callable_of(_each(attrs["callback"], mapped, size))
    types = list(zip(attrs["shapes"], attrs["dtypes"], strict=True))

    def call(*inputs: Any) -> Any:
        rows = each(*inputs)
        return [
            np.array([row[i] for row in rows], dtype).reshape(size, *shape)
            for i, (shape, dtype) in enumerate(types)
        ]

    shapes = tuple([(size, *shape) for shape in attrs["shapes"]])
    name = named(call, attrs["callback"].split("#")[0])
    return b.append(instruction.op, tuple(operands), {**attrs, "callback": name, "shapes": shapes})


PURE_CALLBACK = define(
    "pure_callback", Kind.HOST, "*inputs", infer=_infer, eval=_call, vjp={"*inputs": _refuse},
    attrs={"callback": (str,), "shapes": (tuple,), "dtypes": (tuple,)},
    doc="the results of a Python function of `inputs`, which may run any number of times or not at all",
    batch=_batch_pure,
)  # fmt: skip


def _effect(*inputs: Any, callback: str) -> Any:
    callable_of(callback)(*[np.array(input_) for input_ in inputs])
    return np.True_


def _batch_effect(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    name = _each(instruction.attrs["callback"], mapped, size)
    (done,) = b.append(instruction.op, tuple(operands), {"callback": name})
    return [spread(b, done, size)]


DEBUG_CALLBACK = define(
    "debug_callback", Kind.HOST, "*inputs", infer=lambda types, attrs: (TensorType(BOOL, ()),), eval=_effect,
    vjp=NONDIFF, attrs={"callback": (str,)}, effect=True, batch=_batch_effect,
    doc="true, after a Python function ran on `inputs` for what it does; runs once, in program order",
)  # fmt: skip
