"""Complex numbers and their parts.

Gradient rules are without conjugation, JAX's convention: the cotangent of the operand of a linear map L is
the c for which Re(ct L(dx)) = Re(c dx) for all dx. Holomorphic functions need no rules of their own by it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import (
    FLOAT16,
    FLOAT32,
    FLOAT64,
    DType,
    Operand,
    complex_dtype,
    default_dtype,
    is_complex,
    real_dtype,
    result_type,
)
from ..errors import DTypeError
from ..registry import Attrs, Kind
from ..transforms.batching import batch_pointwise
from ..types import TensorType
from .define import define, elementwise, same_shape

Types = tuple[TensorType, ...]


def _part_infer(name: str) -> Any:
    def infer(types: Types, attrs: Attrs) -> Types:
        if not is_complex(types[0].dtype):
            raise DTypeError(f"{name}: expected a complex operand, got {types[0]}")
        return (types[0].with_dtype(real_dtype(types[0].dtype)),)

    return infer


REAL = define(
    "real", Kind.VIEW, "x", doc="the real part of complex x", infer=_part_infer("real"), eval=np.real,
    # ct Re(dx) = Re(ct dx)
    vjp={"x": lambda b, ct: b.complex(ct, 0.0)},
    put=lambda b, x, new: b.complex(new, b.imag(x)), batch=batch_pointwise,
)  # fmt: skip
IMAG = define(
    "imag", Kind.VIEW, "x", doc="the imaginary part of complex x", infer=_part_infer("imag"), eval=np.imag,
    # ct Im(dx) = Re(-i ct dx)
    vjp={"x": lambda b, ct: b.complex(0.0, b.neg(ct))},
    put=lambda b, x, new: b.complex(b.real(x), new), batch=batch_pointwise,
)  # fmt: skip
CONJ = elementwise(
    "conj", "x", np.conjugate, doc="the conjugate; x where that is real",
    vjp={"x": lambda b, ct: b.conj(ct)}, emit=lambda b, x: x,
)  # fmt: skip


def _complex_promote(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    dtype = result_type(*operands)
    if is_complex(dtype):
        raise DTypeError(f"complex: expected real parts, got {dtype.name}")
    if dtype not in (FLOAT32, FLOAT64):
        dtype = FLOAT32 if dtype is FLOAT16 else default_dtype()
    return dtype, dtype


def _complex_infer(types: Types, attrs: Attrs) -> Types:
    dtype = types[0].dtype
    if dtype is not types[1].dtype or dtype not in (FLOAT32, FLOAT64):
        raise DTypeError(
            f"complex: expected two operands of one floating dtype, got {types[0]} and {types[1]}"
        )
    return (TensorType(complex_dtype(dtype), same_shape("complex", types)),)


def _complex_eval(re: Any, im: Any) -> Any:
    dtype = _complex_promote(tuple([x if isinstance(x, np.dtype) else _kind(x) for x in (re, im)]))[0]
    shape = np.broadcast_shapes(np.shape(re), np.shape(im))
    result = np.empty(shape, complex_dtype(dtype))
    result.real, result.imag = re, im
    return result


def _kind(x: Any) -> Operand:
    return type(x) if type(x) in (int, float) else np.asarray(x).dtype


COMPLEX = define(
    "complex", Kind.ELEMENTWISE, "re im", doc="re + i im", infer=_complex_infer, eval=_complex_eval,
    promote=_complex_promote,
    # Re(ct i dim) = Re(-Im(ct) dim)
    vjp={"re": lambda b, ct: b.real(ct), "im": lambda b, ct: b.neg(b.imag(ct))},
)  # fmt: skip
