"""Algebraic simplification: a table of local equations.

Every equation holds in IEEE arithmetic, NaN, infinities and signed zeros included, up to the rounding of
small integer powers. (So x + 0 stays: it turns -0 into 0. x * 0 stays: it may be NaN.)

Termination: each rule removes an instruction from the use chain, or replaces one by strictly cheaper
ones; none introduces an op that another rule turns back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ....base.loading import LazyModule
from ...builder import Builder
from ...graph import Function, Instruction, Value
from ...types import remove_axes
from ..rewriting import Definitions, Rule, constant_of, defined_by, rewrite

if TYPE_CHECKING:
    from . import gathers, repeated_lines, shifted_sums, triangular_systems
else:  # with the first of their ops
    gathers = LazyModule(".gathers", __package__)
    repeated_lines = LazyModule(".repeated_lines", __package__)
    shifted_sums = LazyModule(".shifted_sums", __package__)
    triangular_systems = LazyModule(".triangular_systems", __package__)


def simplify(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; no rule of `RULES` applies any more.

    Once over the body is enough: a rule looks at nothing but what is before it, which is simple then.
    """
    return rewrite(function, RULES)


#: The ops whose results may be uniform constants.
_OF_CONSTANTS: Final = frozenset(("full", "broadcast"))


def _mul(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    x, y = instruction.operands
    for value, other in ((x, y), (y, x)):
        definition = defs.get(other)
        if definition is None or definition.op.name not in _OF_CONSTANTS:
            continue
        constant = constant_of(other, defs)
        if constant == 1 and not isinstance(constant, bool):
            return value  # x * 1 = x
        if constant == -1 and value.dtype.kind in "if":
            return b.neg(value)  # type: ignore[no-any-return]  # x * -1 = -x
    return None


def _strong_mul(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """A product by a finite number but 0 is a usual one."""
    x, y = instruction.operands
    for value, other in ((x, y), (y, x)):
        constant = constant_of(other, defs) if value.dtype.kind == "f" else None
        if constant is not None and constant != 0 and math.isfinite(constant):
            return value if constant == 1 else b.mul(value, other)
    return None


def _add(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    x, y = instruction.operands
    for value, other in ((x, y), (y, x)):
        definition = defs.get(other)
        if definition is None:
            continue
        if definition.op.name == "neg":
            return b.sub(value, definition.operands[0])  # type: ignore[no-any-return]  # x + (-y) = x - y
        if definition.op.name not in _OF_CONSTANTS:
            continue
        constant = constant_of(other, defs)
        # x + (-0.0) = x; integers have one zero
        if (
            constant == 0
            and value.dtype.kind in "iuf"
            and (value.dtype.kind != "f" or math.copysign(1.0, constant) < 0)
        ):
            return value
    return None


def _sub(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    x, y = instruction.operands
    negated = defined_by(y, "neg", defs)
    if negated:
        return b.add(x, negated.operands[0])  # type: ignore[no-any-return]  # x - (-y) = x + y
    constant = constant_of(y, defs)
    if constant == 0 and (x.dtype.kind != "f" or math.copysign(1.0, constant) > 0):
        return x  # x - 0 = x
    return None


def _reciprocal(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    root = defined_by(instruction.operands[0], "sqrt", defs)
    return b.rsqrt(root.operands[0]) if root else None  # 1 / sqrt(x), sooner and with one rounding


def _div(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    x, y = instruction.operands
    if constant_of(x, defs) == 1 and (root := defined_by(y, "sqrt", defs)):
        return b.rsqrt(root.operands[0])  # type: ignore[no-any-return]
    constant = constant_of(y, defs)
    if constant == 1:
        return x  # x / 1 = x
    if constant is not None and constant != 0 and math.isfinite(constant):
        mantissa, exponent = math.frexp(constant)
        if abs(mantissa) == 0.5 and abs(exponent) < 100:
            return b.mul(x, 1.0 / constant)  # type: ignore[no-any-return]  # x / 2^k = x * 2^-k, exactly
    return None


def _neg(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    inner = defined_by(instruction.operands[0], "neg", defs)
    return inner.operands[0] if inner else None  # -(-x) = x


def _pow(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    x, y = instruction.operands
    exponent = constant_of(y, defs)
    if exponent is None or isinstance(exponent, bool) or x.dtype.kind == "b":
        return None
    if exponent == 1:
        return x  # x^1 = x
    if exponent == 2:
        return b.square(x)  # type: ignore[no-any-return]
    if exponent == 3:
        return b.mul(b.square(x), x)  # type: ignore[no-any-return]
    if exponent == 4:
        return b.square(b.square(x))  # type: ignore[no-any-return]
    if exponent == 0:
        return b.full(value=x.dtype.type(1).item(), shape=x.shape, dtype=x.dtype)  # type: ignore[no-any-return]
    if exponent == -1 and x.dtype.kind == "f":
        return b.reciprocal(x)  # type: ignore[no-any-return]
    return None


def _where(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    condition, x, y = instruction.operands
    constant = constant_of(condition, defs)
    if constant is not None:
        return x if constant else y
    return x if x is y else None  # where(c, x, x) = x


def _less(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """Fold ``abs(x) < 0`` of floats to false. Quotients of complex by real numbers have such comparisons."""
    x, y = instruction.operands
    if x.dtype.kind != "f" or constant_of(y, defs) != 0 or defined_by(x, "abs", defs) is None:
        return None
    return b.full(value=False, shape=instruction.result.shape, dtype=instruction.result.dtype)  # type: ignore[no-any-return]


def _and(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """Replace ``x and true`` by ``x``."""
    for value, other in (instruction.operands, instruction.operands[::-1]):
        if constant_of(other, defs) is True and value.type == instruction.result.type:
            return value
    return None


def _square(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    inner = defined_by(instruction.operands[0], "neg", defs) or defined_by(
        instruction.operands[0], "abs", defs
    )
    # (-x)^2 = |x|^2 = x^2
    return b.square(inner.operands[0]) if inner else None


def _cast(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    (x,), dtype = instruction.operands, instruction.result.dtype
    if x.dtype is dtype:
        return x
    inner = defined_by(x, "cast", defs)
    if inner and x.dtype.kind == dtype.kind == "f":
        (source,) = inner.operands
        if source.dtype.kind == "f" and source.dtype.itemsize < x.dtype.itemsize:
            return b.cast(source, dtype=dtype)  # type: ignore[no-any-return]  # after a conversion that loses nothing
    return None


def _same_type(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """A view that changes neither shape nor order."""
    (x,) = instruction.operands
    return x if x.type == instruction.result.type else None


def _reshape(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    inner = defined_by(instruction.operands[0], "reshape", defs)
    if inner:  # reshape(reshape(x)) = reshape(x)
        return b.reshape(inner.operands[0], shape=instruction.result.shape)  # type: ignore[no-any-return]
    return _moved_constant(b, instruction, defs)


def _broadcast(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    inner = defined_by(instruction.operands[0], "broadcast", defs)
    if inner:  # broadcast(broadcast(x)) = broadcast(x)
        return b.broadcast(inner.operands[0], shape=instruction.result.shape)  # type: ignore[no-any-return]
    return None


def _moved_constant(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """A view or cast-free rearrangement of a uniform constant is a uniform constant."""
    constant = constant_of(instruction.operands[0], defs)
    if constant is None:
        return None
    return b.full(value=constant, shape=instruction.result.shape, dtype=instruction.result.dtype)  # type: ignore[no-any-return]


def _transpose(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    (x,), perm = instruction.operands, instruction.attrs["perm"]
    if perm == tuple(range(len(perm))):
        return x
    inner = defined_by(x, "transpose", defs)
    if inner:  # transpose(transpose(x, p), q) = transpose(x, p[q])
        return b.transpose(  # type: ignore[no-any-return]
            inner.operands[0], perm=tuple(inner.attrs["perm"][axis] for axis in perm)
        )
    wide = [axis for axis in perm if x.shape[axis] != 1]
    if wide == sorted(wide):  # moves only axes of size 1
        return b.reshape(x, shape=instruction.result.shape)  # type: ignore[no-any-return]
    return _moved_constant(b, instruction, defs)


def _slice(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    (x,), attrs = instruction.operands, instruction.attrs
    if x.type == instruction.result.type and all(step == 1 for step in attrs["step"]):
        return x
    inner = defined_by(x, "slice", defs)
    if inner:  # slice(slice(x)) = slice(x)
        starts, steps = inner.attrs["start"], inner.attrs["step"]
        return b.slice(  # type: ignore[no-any-return]
            inner.operands[0],
            start=tuple(s + d * at for s, d, at in zip(starts, steps, attrs["start"], strict=True)),
            size=attrs["size"],
            step=tuple(d * by for d, by in zip(steps, attrs["step"], strict=True)),
        )
    return _slice_of_update(b, instruction, defs) or _moved_constant(b, instruction, defs)


def _slice_of_update(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """Forward the written value to a read of one element that was just written. (Windows of padded arrays
    stay: they are read alike, side by side.)"""
    update, attrs = defined_by(instruction.operands[0], "update", defs), instruction.attrs
    if update is None or instruction.result.type.size != 1 or any(step != 1 for step in update.attrs["step"]):
        return None
    part = update.operands[1]
    start = tuple(at - first for at, first in zip(attrs["start"], update.attrs["start"], strict=True))
    if any(
        at < 0 or at + size > whole for at, size, whole in zip(start, attrs["size"], part.shape, strict=True)
    ):
        return None
    return b.slice(part, start=start, size=attrs["size"], step=(1,) * len(start))  # type: ignore[no-any-return]


def _concat(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    parts = [x for x in instruction.operands if x.type.size]
    if len(parts) == 1:
        return parts[0]
    if parts and len(parts) < len(instruction.operands):  # empty parts add nothing
        return b.concat(*parts, axis=instruction.attrs["axis"])  # type: ignore[no-any-return]
    return None


def _update(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    x, v = instruction.operands
    if x.type == v.type and all(step == 1 for step in instruction.attrs["step"]):
        return v  # everything is replaced
    return x if v.type.size == 0 else None


#: Ops whose results are never -0.0.
_WITHOUT_MINUS_ZERO: Final = frozenset(("square", "abs", "exp", "exp2", "iota", "sum"))


def may_be_minus_zero(value: Value, defs: Definitions) -> bool:
    """Whether elements of `value` may be -0.0, as far as the op tells that computes it."""
    if value.dtype.kind != "f":
        return False
    definition = defs.get(value)
    if definition is None:
        return True
    if definition.op.name == "mul":
        return definition.operands[0] is not definition.operands[1]
    if definition.op.name in ("cast", "reshape", "broadcast", "transpose"):
        return may_be_minus_zero(definition.operands[0], defs)
    return definition.op.name not in _WITHOUT_MINUS_ZERO


def _reduction(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """Drop axes of size 1 from a reduction, and fold one of a uniform constant."""
    (x,), axes = instruction.operands, instruction.attrs["axes"]
    constant = constant_of(x, defs)
    if constant is not None and x.type.size:
        count = math.prod(x.shape[axis] for axis in axes)
        if instruction.op.name == "sum" and x.dtype.kind != "b":
            constant = x.dtype.type(constant * count + 0.0).item() if x.dtype.kind == "f" else None
        elif instruction.op.name == "prod" or (instruction.op.name == "nanmax" and constant != constant):
            constant = None
        if constant is not None:
            return b.full(value=constant, shape=instruction.result.shape, dtype=instruction.result.dtype)  # type: ignore[no-any-return]
    narrow = [axis for axis in axes if x.shape[axis] == 1]
    if not narrow and axes:
        return None
    dropped = b.reshape(x, shape=remove_axes(x.shape, narrow)) if narrow else x
    wide = [axis for axis in axes if x.shape[axis] != 1]
    if not wide and instruction.op.name == "nanmax":
        return b.fmax(dropped, -math.inf)  # type: ignore[no-any-return]
    if not wide:
        # a sum begins with 0, so that of -0.0 alone is 0.0
        clear = instruction.op.name == "sum" and may_be_minus_zero(x, defs)
        return b.add(dropped, 0.0) if clear else dropped
    shifted = tuple(axis - sum(gone < axis for gone in narrow) for axis in wide)
    return b.apply(instruction.op, (dropped,), {"axes": shifted})  # type: ignore[no-any-return]


def _reduction_of_transpose(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """A reduction of a transposed value is one of the value, as it lies in memory."""
    transpose = defined_by(instruction.operands[0], "transpose", defs)
    if transpose is None:
        return None
    perm, axes = transpose.attrs["perm"], instruction.attrs["axes"]
    kept = [perm[axis] for axis in range(len(perm)) if axis not in axes]
    folded = tuple(sorted(perm[axis] for axis in axes))
    value = b.apply(instruction.op, transpose.operands, {**instruction.attrs, "axes": folded})
    order = tuple(sorted(kept).index(axis) for axis in kept)
    return value if order == tuple(range(len(order))) else b.transpose(value, perm=order)  # type: ignore[no-any-return]


def _matmul(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """An empty inner dimension sums nothing."""
    if instruction.operands[0].shape[-1] == 0:
        zero = instruction.result.dtype.type(0).item()
        return b.full(value=zero, shape=instruction.result.shape, dtype=instruction.result.dtype)  # type: ignore[no-any-return]
    return None


#: Rules for repeated lines (`repeated_lines.py`), by the names of ops.
LINE_RULES: Final[Mapping[str, Sequence[Rule]]] = {
    "slice": (lambda b, i, defs: repeated_lines.elements_of_repeated_lines(b, i, defs),),
    "matmul": (lambda b, i, defs: repeated_lines.product_of_repeated_lines(b, i, defs),),
    "gather": (lambda b, i, defs: repeated_lines.gather_of_repeated_lines(b, i, defs),),
    **dict.fromkeys(
        (
            *("argmax", "argmin", "sort", "argsort", "cumsum", "cumprod", "cummax", "cummin"),
            *("fft", "rfft", "irfft"),
        ),
        (lambda b, i, defs: repeated_lines.once_for_repeated_lines(b, i, defs),),
    ),
}
RULES: Mapping[str, Sequence[Rule]] = {
    "add": (_add,),
    "sub": (_sub,),
    "mul": (_mul,),
    "strong_mul": (_strong_mul,),
    "div": (_div,),
    "reciprocal": (_reciprocal,),
    "neg": (_neg,),
    "pow": (_pow,),
    "square": (_square,),
    "where": (_where,),
    "lt": (_less,),
    "logical_and": (_and,),
    "cast": (_cast,),
    "reshape": (_same_type, _reshape),
    "broadcast": (_same_type, _broadcast),
    "transpose": (_transpose,),
    **LINE_RULES,
    "slice": (_slice, *LINE_RULES["slice"]),
    "concat": (_concat,),
    "update": (_update,),
    "matmul": (_matmul, *LINE_RULES["matmul"]),
    "lu_solve": (lambda b, i, defs: triangular_systems.solve_triangular(b, i, defs),),
    "convolve": (lambda b, i, defs: shifted_sums.shifted_sums(b, i, defs),),
    "gather": (
        lambda b, i, defs: gathers.gather_of_transpose(b, i, defs),
        lambda b, i, defs: gathers.gather_of_rows(b, i, defs),
        *LINE_RULES["gather"],
    ),
    **dict.fromkeys(
        ("sum", "prod", "max", "nanmax", "min", "all", "any"), (_reduction, _reduction_of_transpose)
    ),
}
