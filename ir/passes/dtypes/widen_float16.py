"""Arithmetic on float16 is written in float32: operands are converted, and each result is rounded.

    f16: add(x, y)  =  cast(add(cast(x, f32), cast(y, f32)), f16)

So does NumPy, whose results a compiled function then has. Sums and products, running ones and those of
matrices included, add up in float32 and round once, as the ops' NumPy kernels do (`ops.define.in_float32`).

What only moves elements keeps float16: views, copies, gathers, writes, choices, carries of loops. So
codegen meets it in memory, in conversions, and in the few ops that work on its bits (`Op.takes_float16`).

A result that needs no rounding, the larger of two float16 or the negative of one, is read in float32 without
the conversion there and back.
"""

from __future__ import annotations

from typing import Final

from ...builder import Builder
from ...dtypes import FLOAT16, FLOAT32
from ...graph import Function, Instruction, Substitution, Value
from ...registry import Kind

#: Ops beside extrema whose result on float16 values is a float16 value.
_EXACT: Final = frozenset(
    (
        "neg", "abs", "sign", "copysign", "floor", "ceil", "trunc", "rint",
        "maximum", "minimum", "fmax", "fmin", "clip", "heaviside", "sort",
    )
)  # fmt: skip


def widen_float16(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: no op but those that move elements, conversions and those that
    take float16 as it is has an operand or a result of float16; the same results up to the order of sums."""
    if FLOAT16 not in function.dtypes:
        return function
    return _Widening(function).run()


class _Widening:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.b = Builder()
        self.b.params = list(function.params)
        self.table = Substitution()
        #: Equal float32 values, by the float16 values.
        self.wide: dict[Value, Value] = {}

    def run(self) -> Function:
        for original in self.function.body:
            instruction = self.table.apply(original)
            self.b.location = instruction.location
            if instruction.op.name == "cast":
                self._convert(original, instruction)
            elif _computes_float16(instruction):
                self._widen(original, instruction)
            else:
                self.b.body.append(instruction)
        function = self.function
        return Function(function.name, function.params, tuple(self.b.body), self.table.all(function.results))

    def _convert(self, original: Instruction, instruction: Instruction) -> None:
        """Simplify a conversion: read the float32 form of its operand if there is one, and convert each value
        to float32 once."""
        operand, result = instruction.operands[0], instruction.result
        wide = self.wide.get(operand)
        if wide is None:
            self.b.body.append(instruction)
            if operand.dtype is FLOAT16 and result.dtype is FLOAT32:
                self.wide[operand] = result
        elif result.dtype is FLOAT32:
            self.table[original.result] = wide
        else:
            self.table[original.result] = self.b.cast(wide, dtype=result.dtype)

    def _widen(self, original: Instruction, instruction: Instruction) -> None:
        """The instruction on float32, and its float16 results rounded."""
        operands = tuple([self._widened(operand) for operand in instruction.operands])
        attrs = instruction.attrs
        if "dtype" in attrs:
            attrs = {**attrs, "dtype": FLOAT32}
        results = self.b.append(instruction.op, operands, attrs)
        for old, new in zip(original.results, results, strict=True):
            if old.dtype is not FLOAT16:
                self.table[old] = new
                continue
            rounded = self.table[old] = self.b.cast(new, dtype=FLOAT16)
            if _is_exact(instruction):
                self.wide[rounded] = new

    def _widened(self, value: Value) -> Value:
        if value.dtype is not FLOAT16:
            return value
        wide = self.wide.get(value)
        if wide is None:
            wide = self.wide[value] = self.b.cast(value, dtype=FLOAT32)
        return wide


def _computes_float16(instruction: Instruction) -> bool:
    """Whether an instruction computes on float16, rather than move elements."""
    op, operands = instruction.op, instruction.operands
    if not any(value.dtype is FLOAT16 for value in (*operands, *instruction.results)):
        return False
    if op.kind is Kind.SCATTER:
        return bool(instruction.attrs["mode"] != "set")
    if op.name == "iota":  # its elements are counted up
        return True
    return op.kind.traits.computes and not op.takes_float16


def _is_exact(instruction: Instruction) -> bool:
    """Whether the results on float16 values are float16 values."""
    op = instruction.op
    return op.name in _EXACT or (op.reduction is not None and op.reduction.idempotent)
