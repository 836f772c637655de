"""The dtypes tracejit knows, their short names, and NumPy 2's promotion rules (NEP 50).

A dtype is a plain ``numpy.dtype``; in text it has a short name (``f64``, ``i32``, ``bool``). Python
scalars are *weak*: in promotion they stand as the Python types ``bool``, ``int``, ``float`` and
``complex``, which adopt the dtype of what they meet. NumPy itself is asked for every rule, with one
adjustment: with ``set_default_dtype(float32)`` an operation that only meets integers gives float32 where
NumPy gives float64 (as PyTorch does).

float16 is a dtype of memory: each op computes in float32 and rounds its result (`accumulated_in`,
`ir.passes.dtypes.widen_float16`).
"""

from __future__ import annotations

import functools
from typing import Any, Final, TypeAlias

import numpy as np

from ..base.errors import DTypeError

DType: TypeAlias = "np.dtype[Any]"
#: An operand of promotion: a dtype, or the Python type of a weak scalar.
Operand: TypeAlias = "DType | type[int] | type[float] | type[complex]"
#: A Python number, which is weak in promotion.
Number: TypeAlias = "bool | int | float | complex"

BY_NAME: Final[dict[str, DType]] = {
    "bool": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}
#: Names with a number of bits that is no number of bytes of NumPy's.
_IN_BITS: Final = frozenset(BY_NAME) - {"bool", "i8", "u8", "f16"}
SHORT_NAME: Final[dict[DType, str]] = {dtype: name for name, dtype in BY_NAME.items()}

BOOL: Final = BY_NAME["bool"]
INT64: Final = BY_NAME["i64"]
UINT64: Final = BY_NAME["u64"]
FLOAT16: Final = BY_NAME["f16"]
FLOAT32: Final = BY_NAME["f32"]
FLOAT64: Final = BY_NAME["f64"]
FLOATS: Final = (FLOAT16, FLOAT32, FLOAT64)
COMPLEX64: Final = BY_NAME["c64"]
COMPLEX128: Final = BY_NAME["c128"]
#: The dtypes of numbers that are rounded, and carry gradients.
INEXACT: Final = (*FLOATS, COMPLEX64, COMPLEX128)
#: The Python types whose values are weak in promotion.
NUMBERS: Final[frozenset[type]] = frozenset((bool, int, float, complex))

_default_float: DType = FLOAT64
#: The default dtype, or None while any other setting differs from its default value: one read checks both.
_usual_float: DType | None = FLOAT64


def default_dtype() -> DType:
    """The dtype of Python floats and of creation functions.

    Example:
        >>> import tracejit as tj
        >>> tj.default_dtype()
        dtype('float64')
    """
    return _default_float


def set_default_dtype(dtype: Any) -> None:
    """Make `dtype` (float32 or float64) the dtype of new floating tensors.

    Example:
        >>> import tracejit as tj
        >>> tj.set_default_dtype(tj.float32)
        >>> tj.tensor([1.0]).dtype
        dtype('float32')
        >>> tj.set_default_dtype(tj.float64)

    Semantics: ``torch.set_default_dtype``.
    """
    global _default_float, _usual_float
    chosen = as_dtype(dtype)
    if chosen not in (FLOAT32, FLOAT64):
        raise DTypeError(f"set_default_dtype: dtype must be float32 or float64, got {chosen.name}")
    _default_float = chosen
    if _usual_float is not None:
        _usual_float = chosen


def set_usual(usual: bool) -> None:
    """Record whether all settings but the default dtype have their default values."""
    global _usual_float
    _usual_float = _default_float if usual else None


def as_dtype(dtype: Any) -> DType:
    """`dtype` as one of the supported dtypes in native byte order.

    Accepts what ``numpy.dtype`` accepts, and the short names of the IR where they mean nothing in NumPy:
    ``i32`` and ``f64``, but ``i8`` has eight bytes and ``f16`` sixteen. Raises DTypeError.

    Example:
        >>> import tracejit as tj
        >>> tj.as_dtype("f32"), tj.as_dtype(int), tj.as_dtype(float)
        (dtype('float32'), dtype('int64'), dtype('float64'))
    """
    if type(dtype) is type and dtype in _BY_SCALAR_TYPE:
        return _BY_SCALAR_TYPE[dtype]
    if isinstance(dtype, str) and dtype in _IN_BITS:
        return BY_NAME[dtype]
    if dtype is float:
        return _default_float
    if dtype is complex:
        return complex_dtype(_default_float)
    try:
        numpy_dtype = np.dtype(dtype)
    except TypeError as error:
        hint = "; a shape is one argument, as in zeros((2, 3))" if isinstance(dtype, int) else ""
        raise DTypeError(f"{dtype!r} is not a dtype{hint}") from error
    # By kind and size, so that byte-swapped types and C `long long` map to the canonical object.
    supported = _BY_KIND_AND_SIZE.get((numpy_dtype.kind, numpy_dtype.itemsize))
    if supported is None or numpy_dtype.names is not None:
        names = ", ".join(SHORT_NAME.values())
        raise DTypeError(
            f"dtype {numpy_dtype.name or numpy_dtype!s} is not supported; expected one of {names}"
        )
    return supported


_BY_KIND_AND_SIZE: Final = {(dtype.kind, dtype.itemsize): dtype for dtype in SHORT_NAME}
_BY_SCALAR_TYPE: Final = {dtype.type: dtype for dtype in SHORT_NAME}


def is_real_floating(dtype: DType) -> bool:
    """Whether `dtype` is of real floating numbers: ordered, with NaN, infinities and a machine epsilon."""
    return dtype.kind == "f"


def is_complex(dtype: DType) -> bool:
    """Whether `dtype` is of complex numbers."""
    return dtype.kind == "c"


def is_inexact(dtype: DType) -> bool:
    """Whether `dtype` stands for numbers that are rounded, so that quotients and roots keep it."""
    return dtype.kind in "fc"


def is_differentiable(dtype: DType) -> bool:
    """Whether values of `dtype` carry gradients."""
    return dtype.kind in "fc"


def real_dtype(dtype: DType) -> DType:
    """The dtype of the real and imaginary parts of `dtype`; itself where that is not complex."""
    return _REAL.get(dtype, dtype)


def complex_dtype(dtype: DType) -> DType:
    """The complex dtype that holds numbers of the floating `dtype`; itself where that is complex."""
    return _COMPLEX.get(dtype, dtype)


_REAL: Final = {COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}
_COMPLEX: Final = {FLOAT16: COMPLEX64, FLOAT32: COMPLEX64, FLOAT64: COMPLEX128}


def accumulated_in(dtype: DType) -> DType:
    """The dtype in which sums and products of `dtype` are added up: float32 for float16, else `dtype`."""
    return FLOAT32 if dtype is FLOAT16 else dtype


def result_type(*operands: Operand) -> DType:
    """The common dtype of `operands`, by NumPy 2's rules.

    >>> result_type(FLOAT32, float).name, result_type(INT64, FLOAT32).name
    ('float32', 'float64')
    """
    result = _result_type(operands)
    if _default_float is FLOAT32 and _narrows(operands) and any(o is float or o is complex for o in operands):
        return _NARROWED.get(result, result)
    return result


@functools.lru_cache(maxsize=4096)
def _result_type(operands: tuple[Operand, ...]) -> DType:
    stand_ins = [operand(0) if isinstance(operand, type) else operand for operand in operands]
    return as_dtype(np.result_type(*stand_ins))


def _narrows(operands: tuple[Operand, ...]) -> bool:
    """Whether no operand is float64 or complex128. By identity: ``np.dtype("f8") == float`` is true."""
    return not any(operand is FLOAT64 or operand is COMPLEX128 for operand in operands)


#: Replacements for wide result dtypes of narrow operands where the default dtype is float32.
_NARROWED: Final = {FLOAT64: FLOAT32, COMPLEX128: COMPLEX64}


def ufunc_types(ufunc: np.ufunc, operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    """The dtypes of `ufunc`'s loop for `operands`: one per input, then one per output.

    Raises DTypeError where NumPy has no loop (``np.exp`` of strings, ``np.bitwise_and`` of floats).

    >>> [t.name for t in ufunc_types(np.true_divide, (INT64, INT64))]
    ['float64', 'float64', 'float64']
    """
    types = _ufunc_types(ufunc, operands)
    if _default_float is FLOAT32 and _narrows(operands):
        return tuple([_NARROWED.get(dtype, dtype) for dtype in types])
    return types


@functools.lru_cache(maxsize=4096)
def _ufunc_types(ufunc: np.ufunc, operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    if all(operand is int for operand in operands):  # NumPy compares Python integers as objects
        operands = (INT64,) * len(operands)
    try:
        dtypes = ufunc.resolve_dtypes((*operands, *[None] * ufunc.nout))
    except TypeError as error:
        described = ", ".join(describe(operand) for operand in operands)
        raise DTypeError(f"{ufunc.__name__}: no meaning for operands of type ({described})") from error
    return tuple(as_dtype(dtype) for dtype in dtypes)


def describe(operand: Operand) -> str:
    """A dtype's or weak scalar's name for messages."""
    return f"Python {operand.__name__}" if isinstance(operand, type) else operand.name
