"""Ops that move, create and convert complex values, on planes.

A rule is ``rule(b, instruction, operands)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ...builder import Builder
from ...dtypes import BOOL, is_complex, real_dtype
from ...graph import Instruction, Value
from .complex_arithmetic import truth
from .complex_functions import whole_power
from .planes import Planes

Rule = Callable[[Builder, Instruction, list[Any]], Any]
#: NumPy computes whole powers below this by products.
_MOST_FACTORS: Final = 100


def whole_exponent(
    exponent: Value, defs: Mapping[Value, Instruction]
) -> Callable[[Any, Planes], Planes] | None:
    """The power with `exponent`, where that is a whole constant whose power NumPy computes by products."""
    definition = defs.get(exponent)
    if definition is not None and definition.op.name == "broadcast":
        definition = defs.get(definition.operands[0])
    if definition is None or definition.op.name != "full":
        return None
    number = complex(definition.attrs["value"])
    if number.imag or not number.real or number.real % 1 or abs(number.real) >= _MOST_FACTORS:
        return None
    whole = int(number.real)
    return lambda b, x: whole_power(b, x, whole)


def _apart(b: Builder, instruction: Instruction, operands: list[Any]) -> Planes:
    """The op on the real parts, and on the imaginary ones; other operands are those of both."""
    op, attrs = instruction.op, instruction.attrs
    re, im = (
        b.append(op, tuple([getattr(x, part) if isinstance(x, Planes) else x for x in operands]), attrs)[0]
        for part in ("re", "im")
    )
    return Planes(re, im)


def _constant(b: Builder, instruction: Instruction, operands: list[Any]) -> Planes:
    attrs = dict(instruction.attrs)
    attrs["dtype"] = real_dtype(attrs["dtype"])
    for name in ("value", "data"):
        if name in attrs:
            numbers = attrs.pop(name)
            parts = [
                tuple([getattr(complex(number), part) for number in numbers])
                if isinstance(numbers, tuple)
                else getattr(complex(numbers), part)
                for part in ("real", "imag")
            ]
            re, im = (b.append(instruction.op, (), {name: part, **attrs})[0] for part in parts)
            return Planes(re, im)
    (re,) = b.append(instruction.op, (), attrs)
    return Planes(re, _zeros(b, re))


def _zeros(b: Builder, like: Value) -> Any:
    return b.full(value=0.0, shape=like.shape, dtype=like.dtype)


def _cast(b: Builder, instruction: Instruction, operands: list[Any]) -> Any:
    (x,), dtype = operands, instruction.attrs["dtype"]
    if not is_complex(dtype):
        return truth(b, x) if dtype is BOOL else _as(b, x.re, dtype)
    part = real_dtype(dtype)
    if isinstance(x, Planes):
        return Planes(_as(b, x.re, part), _as(b, x.im, part))
    re = _as(b, x, part)
    return Planes(re, _zeros(b, re))


def _as(b: Builder, x: Value, dtype: Any) -> Any:
    return x if x.dtype is dtype else b.cast(x, dtype=dtype)


STRUCTURE: Final[dict[str, Rule]] = {
    **dict.fromkeys(
        (
            "barrier",
            "broadcast",
            "concat",
            "cumsum",
            "gather",
            "reshape",
            "scatter",
            "slice",
            "sum",
            "transpose",
            "update",
        ),
        _apart,
    ),
    **dict.fromkeys(("constant", "full", "iota"), _constant),
    "cast": _cast,
    "complex": lambda b, instruction, operands: Planes(*operands),
    "imag": lambda b, instruction, operands: operands[0].im,
    "real": lambda b, instruction, operands: operands[0].re,
}
