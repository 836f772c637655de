"""Linear algebra of complex matrices that lie in memory as pairs of real numbers.

The pass ``complex-planes`` writes it, so that code generation knows no complex dtypes: an operand
``c128[n, n]`` is ``f64[n, n, 2]``, the same memory. Gradients are taken before that pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....base.errors import ShapeError
from ...dtypes import complex_dtype, is_complex, real_dtype
from ...graph import Instruction, Value
from ...registry import NONDIFF, OPS, Attrs, Kind, Op, Regions
from ...types import TensorType, Types
from ..define import define


def paired(type_: TensorType) -> TensorType:
    """The type of a complex value's memory as real numbers. A real type stays as it is."""
    if not is_complex(type_.dtype):
        return type_
    return TensorType(real_dtype(type_.dtype), (*type_.shape, 2))


def _complex_type(type_: TensorType) -> TensorType:
    if type_.ndim == 0 or type_.shape[-1] != 2 or type_.dtype.kind != "f":
        raise ShapeError(f"complex_linalg: expected pairs of real numbers on the last axis, got {type_}")
    return TensorType(complex_dtype(type_.dtype), type_.shape[:-1])


def _op(attrs: Attrs) -> Op:
    op = OPS.get(attrs["op"])
    if op is None or op.kind is not Kind.LINALG:
        raise ShapeError(f"complex_linalg: {attrs['op']!r} is no op of linear algebra")
    return op


def _complex_types(types: Types, attrs: Attrs) -> Types:
    if len(attrs["pairs"]) != len(types):
        raise ShapeError(f"complex_linalg: pairs must have {len(types)} elements, got {attrs['pairs']}")
    return tuple(
        [_complex_type(type_) if pair else type_ for type_, pair in zip(types, attrs["pairs"], strict=True)]
    )


def _result_types(types: Types, attrs: Attrs) -> Types:
    op, options = _op(attrs), dict(attrs["options"])
    operands = _complex_types(types, attrs)
    return op.infer(operands, options)


def complex_instruction(instruction: Instruction) -> Instruction:
    """The instruction on complex values that a ``complex_linalg`` is; any other as it is."""
    if instruction.op is not COMPLEX_LINALG:
        return instruction
    attrs = instruction.attrs
    types = _complex_types(tuple([operand.type for operand in instruction.operands]), attrs)
    op, options = _op(attrs), dict(attrs["options"])
    results = tuple([Value(type_) for type_ in op.infer(types, options)])
    return Instruction(op, tuple(map(Value, types)), options, results, instruction.location)


def attrs_of(instruction: Instruction) -> dict[str, Any]:
    """The attributes of the ``complex_linalg`` that stands for an `instruction` on complex values."""
    return {
        "op": instruction.op.name,
        "pairs": tuple([is_complex(operand.dtype) for operand in instruction.operands]),
        "options": tuple(sorted(instruction.attrs.items())),
    }


def _infer(types: Types, attrs: Attrs) -> Types:
    return tuple(map(paired, _result_types(types, attrs)))


def _run(call: Any, regions: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    arguments = [
        np.ascontiguousarray(array).view(complex_dtype(array.dtype))[..., 0] if pair else array
        for array, pair in zip(operands, attrs["pairs"], strict=True)
    ]
    outcome = _op(attrs).eval(*arguments, **dict(attrs["options"]))
    return [_as_pairs(result) for result in (outcome if isinstance(outcome, tuple) else (outcome,))]


def _as_pairs(array: Any) -> Any:
    if not is_complex(array.dtype):
        return array
    return np.ascontiguousarray(array)[..., None].view(real_dtype(array.dtype))


def _eval(*operands: Any, **attrs: Any) -> Any:
    results = tuple(_run(None, (), operands, attrs))
    return results if len(results) > 1 else results[0]


COMPLEX_LINALG = define(
    "complex_linalg", Kind.LINALG, "*inputs", infer=_infer, eval=_eval, vjp=NONDIFF,
    doc="the results of the op of linear algebra named `op`, with attributes `options`: complex matrices are "
    "real arrays with a last axis of two, which `pairs` says of each operand",
    attrs={"op": (str,), "pairs": (tuple,), "options": (tuple,)},
    regions=Regions(lambda types, attrs, regions: _infer(types, attrs), _run),
)  # fmt: skip
