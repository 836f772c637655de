"""Complex numbers and their parts.

Gradient rules are without conjugation, JAX's convention: the cotangent of the operand of a linear map L is
the c for which Re(ct L(dx)) = Re(c dx) for all dx. Holomorphic functions need no rules of their own by it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...base.errors import DTypeError, ShapeError
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
from ..registry import Attrs, Kind
from ..transforms.batching import batch_pointwise
from ..types import TensorType, Types
from .define import define, elementwise, same_shape


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
    "conj", "x", np.conjugate, linear=("x",), doc="the conjugate; x where that is real",
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


# -- pairs ----------------------------------------------------------------------------------------


def _pairs_infer(types: Types, attrs: Attrs) -> Types:
    (x,) = types
    if not is_complex(x.dtype):
        raise DTypeError(f"view_as_real: expected a complex operand, got {x}")
    return (TensorType(real_dtype(x.dtype), (*x.shape, 2)),)


def _pairs_eval(x: Any) -> Any:
    parts = np.asarray(x).real
    return as_strided(parts, (*parts.shape, 2), (*parts.strides, parts.itemsize))


def _pairs_as_complex_infer(types: Types, attrs: Attrs) -> Types:
    (x,) = types
    if x.dtype not in (FLOAT32, FLOAT64):
        raise DTypeError(f"view_as_complex: expected an operand of float32 or float64, got {x}")
    if x.shape[-1:] != (2,):
        raise ShapeError(f"view_as_complex: expected a last axis of size 2, got {x}")
    return (TensorType(complex_dtype(x.dtype), x.shape[:-1]),)


def _pairs_as_complex_eval(x: Any) -> Any:
    pairs = x if x.strides[-1] == x.itemsize else np.ascontiguousarray(x)
    return pairs.view(complex_dtype(x.dtype))[..., 0]


VIEW_AS_REAL = define(
    "view_as_real", Kind.VIEW, "x", doc="the real and imaginary parts of complex x along a last axis",
    infer=_pairs_infer, eval=_pairs_eval,
    # g Re(dx) + h Im(dx) = Re((g - i h) dx)
    vjp={"x": lambda b, ct: b.conj(b.view_as_complex(ct))},
    put=lambda b, x, new: b.view_as_complex(new), batch=batch_pointwise,
)  # fmt: skip
VIEW_AS_COMPLEX = define(
    "view_as_complex", Kind.VIEW, "x", doc="x[..., 0] + i x[..., 1], of a last axis of size 2",
    infer=_pairs_as_complex_infer, eval=_pairs_as_complex_eval,
    vjp={"x": lambda b, ct: b.view_as_real(b.conj(ct))},
    put=lambda b, x, new: b.view_as_real(new), batch=batch_pointwise,
)  # fmt: skip
