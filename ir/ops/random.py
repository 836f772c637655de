"""Counter-based random bits: the Threefry-2x32 block function with 20 rounds.

Source: Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011 (Random123).
Threefry turns a counter of two 32-bit words into two words that look random, under a key of two words.

Packing: a key, a counter and a result are each one u64, whose word 0 is the *high* half and word 1 the low.
So counting up from 0 changes word 1 first, and the bits of counter i are the 64 bits that JAX draws at flat
position i (with ``jax_threefry_partitionable``, its default).

Beside it stand products of words, bits of floats, and functions of the C library: draws of NumPy's generators
are written with them (`tracejit/numpy_random`), which must give the same bits as NumPy's C code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...base.errors import DTypeError
from ..dtypes import BY_NAME, FLOAT64, DType, Operand, describe
from ..registry import NONDIFF, Attrs, Kind
from ..types import TensorType
from .define import define, same_shape

_UINT64: Final = BY_NAME["u64"]
_UINT32: Final = np.uint32
#: Rotations of four rounds, in turn (Salmon et al., table for Threefry-2x32).
_ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
#: Key words are injected after every four of the 20 rounds.
_INJECTIONS: Final = 5
#: Parity of the key schedule, from Skein.
_PARITY: Final = 0x1BD11BDA
_MASK: Final = 0xFFFFFFFF
#: Elements that NumPy works on at a time: few enough that all temporaries stay in the second-level cache.
_BLOCK: Final = 1 << 14
#: Most elements for which Python integers are faster than some two hundred NumPy calls.
_FEW: Final = 16


def threefry_of_ints(key: int, counter: int) -> int:
    """The result for one key and counter, in Python integers: faster than NumPy on a single element.

    >>> hex(threefry_of_ints(0, 0))
    '0x6b20015999ba4efe'
    """
    k0, k1 = key >> 32, key & _MASK
    schedule = (k0, k1, k0 ^ k1 ^ _PARITY)
    x0, x1 = (counter >> 32) + k0 & _MASK, (counter & _MASK) + k1 & _MASK
    for injection in range(_INJECTIONS):
        for rotation in _ROTATIONS[injection % 2]:
            x0 = x0 + x1 & _MASK
            x1 = (x1 << rotation & _MASK | x1 >> 32 - rotation) ^ x0
        x0 = x0 + schedule[(injection + 1) % 3] & _MASK
        x1 = x1 + schedule[(injection + 2) % 3] + injection + 1 & _MASK
    return x0 << 32 | x1


def _threefry_of_rows(key: Any, counter: Any) -> Any:
    """The results for two arrays of rank 1, one of which may have a single element."""
    k0, k1 = (key >> 32).astype(_UINT32), key.astype(_UINT32)
    schedule = (k0, k1, k0 ^ k1 ^ _UINT32(_PARITY))
    x0 = (counter >> 32).astype(_UINT32) + k0
    x1 = counter.astype(_UINT32) + k1
    turned = np.empty_like(x1)
    for injection in range(_INJECTIONS):
        for rotation in _ROTATIONS[injection % 2]:
            x0 += x1
            np.left_shift(x1, rotation, out=turned)
            np.right_shift(x1, 32 - rotation, out=x1)
            x1 |= turned
            x1 ^= x0
        x0 += schedule[(injection + 1) % 3]
        x1 += schedule[(injection + 2) % 3] + _UINT32(injection + 1)
    return x0.astype(_UINT64) << 32 | x1


def _threefry_eval(key: Any, counter: Any) -> Any:
    arrays = []
    for operand in (key, counter):
        if type(operand) is not int and getattr(operand, "dtype", None) != _UINT64:
            raise DTypeError(
                f"threefry: expected operands of dtype uint64, got {np.asarray(operand).dtype.name}"
            )
        arrays.append(np.asarray(operand, _UINT64))
    shape = np.broadcast_shapes(arrays[0].shape, arrays[1].shape)
    out = np.empty(shape, _UINT64)
    if out.size <= _FEW:
        pairs = zip(*(np.broadcast_to(array, shape).ravel().tolist() for array in arrays), strict=True)
        return np.array([threefry_of_ints(*pair) for pair in pairs], _UINT64).reshape(shape)
    rows = [(array if array.size == 1 else np.broadcast_to(array, shape)).reshape(-1) for array in arrays]
    flat = out.reshape(-1)
    for start in range(0, out.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        flat[part] = _threefry_of_rows(*(row if row.size == 1 else row[part] for row in rows))
    return out


def _threefry_promote(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    # No conversion: a signed or narrower counter is most likely a mistake.
    for operand in operands:
        if operand is not _UINT64 and operand is not int:
            described = ", ".join(map(describe, operands))
            raise DTypeError(f"threefry: expected operands of dtype uint64, got ({described})")
    return (_UINT64, _UINT64)


def _threefry_infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    _threefry_promote(tuple(type_.dtype for type_ in types))
    return (TensorType(_UINT64, same_shape("threefry", types)),)


def _threefry_emit(b: Any, key: Any, counter: Any) -> Any:
    k0, k1 = b.cast(b.lshr(key, 32), "u32"), b.cast(key, "u32")
    schedule = (k0, k1, b.xor(b.xor(k0, k1), _PARITY))
    x0 = b.add(b.cast(b.lshr(counter, 32), "u32"), k0)
    x1 = b.add(b.cast(counter, "u32"), k1)
    for injection in range(_INJECTIONS):
        for rotation in _ROTATIONS[injection % 2]:
            x0 = b.add(x0, x1)
            x1 = b.xor(b.or_(b.shl(x1, rotation), b.lshr(x1, 32 - rotation)), x0)
        x0 = b.add(x0, schedule[(injection + 1) % 3])
        x1 = b.add(x1, b.add(schedule[(injection + 2) % 3], injection + 1))
    return b.or_(b.shl(b.cast(x0, "u64"), 32), b.cast(x1, "u64"))


THREEFRY = define(
    "threefry", Kind.ELEMENTWISE, "key counter", doc="64 random bits: Threefry-2x32 of `counter` under `key`",
    infer=_threefry_infer, eval=_threefry_eval, promote=_threefry_promote, vjp=NONDIFF, emit=_threefry_emit,
    cost=60.0,
)  # fmt: skip


# -- words, of which NumPy's generators make their numbers ---------------------------------------------

#: The low half of a word, and the bits of one.
_LOW: Final = np.uint64(_MASK)
_HALF: Final = np.uint64(32)


def _of(dtype: DType, result: DType, name: str) -> dict[str, Any]:
    """The type rules of the op `name`, whose operands have `dtype` and are not converted."""

    def promote(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
        if any(operand is not dtype for operand in operands):
            described = ", ".join(map(describe, operands))
            raise DTypeError(f"{name}: expected operands of dtype {dtype.name}, got ({described})")
        return (dtype,) * len(operands)

    def infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
        promote(tuple(type_.dtype for type_ in types))
        return (TensorType(result, same_shape(name, types)),)

    return {"promote": promote, "infer": infer}


def _checked(name: str, dtype: DType, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel`, which raises DTypeError for operands of other dtypes than `dtype`."""

    def checked(*operands: Any, **attrs: Any) -> Any:
        for operand in operands:
            if getattr(operand, "dtype", None) != dtype:
                raise DTypeError(
                    f"{name}: expected operands of dtype {dtype.name}, got {np.asarray(operand).dtype.name}"
                )
        return kernel(*operands, **attrs)

    return checked


def _mul_high_eval(x: Any, y: Any) -> Any:
    # products of halves: the middle ones carry into the high word
    low_x, high_x, low_y, high_y = x & _LOW, x >> _HALF, y & _LOW, y >> _HALF
    first = high_x * low_y + (low_x * low_y >> _HALF)
    second = low_x * high_y + (first & _LOW)
    return high_x * high_y + (first >> _HALF) + (second >> _HALF)


MUL_HIGH = define(
    "mul_high", Kind.ELEMENTWISE, "x y", doc="the high 64 bits of x y, the product of two words of 64 bits",
    eval=_checked("mul_high", _UINT64, _mul_high_eval), vjp=NONDIFF,
    emit=lambda b, x, y: b.mul_high(x, y), commutative=True, cost=4.0,
    **_of(_UINT64, _UINT64, "mul_high"),
)  # fmt: skip
FLOAT_BITS = define(
    "float_bits", Kind.ELEMENTWISE, "x", doc="the bits of a float64 as a word",
    eval=_checked("float_bits", FLOAT64, lambda x: np.asarray(x).view(_UINT64)), vjp=NONDIFF,
    emit=lambda b, x: b.bitcast(x, "u64"), **_of(FLOAT64, _UINT64, "float_bits"),
)  # fmt: skip
BITS_FLOAT = define(
    "bits_float", Kind.ELEMENTWISE, "x", doc="the float64 whose bits are those of a word",
    eval=_checked("bits_float", _UINT64, lambda x: np.asarray(x).view(FLOAT64)), vjp=NONDIFF,
    emit=lambda b, x: b.bitcast(x, "f64"), **_of(_UINT64, FLOAT64, "bits_float"),
)  # fmt: skip

#: The functions of the C library that `libm` calls, with what they are at the end of their domain.
_OF_C: Final[dict[str, tuple[Callable[[float], float], float]]] = {
    "log": (math.log, 0.0), "log1p": (math.log1p, -1.0),
}  # fmt: skip


def _libm_of_number(function: str, x: float) -> float:
    if function == "exp":
        try:
            return math.exp(x)
        except OverflowError:
            return math.inf
    compute, end = _OF_C[function]
    if x <= end:
        return -math.inf if x == end else math.nan
    return compute(x)  # Python's math calls the C library there


def _pow_of_numbers(x: float, y: float) -> float:
    infinity = -math.inf if math.copysign(1.0, x) < 0.0 and y % 2 == 1 else math.inf
    try:
        return math.pow(x, y)
    except OverflowError:
        return infinity
    except ValueError:
        return infinity if x == 0.0 else math.nan


def _libm_eval(x: Any, function: str) -> Any:
    x = np.asarray(x)
    numbers = [_libm_of_number(function, number) for number in x.ravel().tolist()]
    return np.array(numbers, FLOAT64).reshape(x.shape)


LIBM = define(
    "libm", Kind.ELEMENTWISE, "x", doc="`function` of x, exp, log or log1p, by the C library of the process",
    attrs={"function": (str,)}, eval=_checked("libm", FLOAT64, _libm_eval), vjp=NONDIFF,
    emit=lambda b, x, function: b.call_elementwise(function, "f64", x), cost=40.0,
    **_of(FLOAT64, FLOAT64, "libm"),
)  # fmt: skip
LIBM_POW = define(
    "libm_pow", Kind.ELEMENTWISE, "x y", doc="x to the power y, by the C library of the process",
    eval=_checked("libm_pow", FLOAT64, np.vectorize(_pow_of_numbers, otypes=[FLOAT64])), vjp=NONDIFF,
    emit=lambda b, x, y: b.call_elementwise("pow", "f64", x, y), cost=60.0,
    **_of(FLOAT64, FLOAT64, "libm_pow"),
)  # fmt: skip
