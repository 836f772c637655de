"""Pads move in front of the arithmetic that is padded, so that one loop nest computes both.

A *pad* is an `update` of a uniform constant: a step of a stencil with a border, for one. Apart, the
arithmetic writes its result to memory and the pad copies it. Moved,

    pad(f(a, b), c)  =  where(pad(true, false), f(pad(a, 0), pad(b, 0)), c)

reads `a` and `b` through windows (`inlining.py`), and what `f` makes of the zeros outside is not used. So
does an update of any other value that leaves little of it: a step that keeps its border. Factors move
behind pads with zeros,

    pad(a * c, 0)  =  pad(a, 0) * c

also where several pads read the product, as in gradients of stencils.

Arithmetic that others read, too, is repeated in front of the pad where it costs less than memory does: what
follows from parameters in a few cycles. The value and gradient of Rosenbrock's function so read `x` twice and
write the gradient, and nothing between.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

from ...access import counter_strides, resolve
from ...builder import Builder
from ...dataflow import read_counts
from ...dtypes import BOOL
from ...graph import Function, Instruction, Value
from ...grouping.inlining import is_window
from ...grouping.reasons import why_alone
from ...registry import OPS, Kind
from ..algebra.cleanup import dce
from ..fusion.rematerialization_after import MAX_CYCLES, least_bytes
from ..rewriting import Definitions, constant_of, rewrite

#: Each value that is read costs a check of its place at each element.
MAX_LEAVES: Final = 12
#: The written part covers at least one half of a value that is not constant; less is written in place.
COVERED: Final = 2


def move_pads(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: pads of elementwise results that nothing else reads, or that
    are cheap to compute again, are pads of what those are computed from; no dead code where it changed
    anything."""
    if not any(op.kind is Kind.UPDATE for op in function.ops):
        return function
    uses = read_counts(function)
    padded = Counter(
        instruction.operands[1] for instruction in function.body if instruction.op.kind is Kind.UPDATE
    )
    params = frozenset(function.params)

    def rule(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
        outside, value = instruction.operands
        around = constant_of(outside, defs)
        if any(step != 1 for step in instruction.attrs["step"]):
            return None
        if around is None and COVERED * value.type.size < outside.type.size:
            return None
        if around == 0 and padded[value] > 1:
            scaled = _scaled(b, instruction, defs)
            if scaled is not None:
                return scaled
        moved = _Moved(b, instruction, defs, uses, params)
        if not moved.inside(instruction.operands[1]) or not moved.fits():
            return None
        return moved.write(outside if around is None else around)

    moved = rewrite(function, {"update": (rule,)})
    return function if moved is function else dce(moved)


def _scaled(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """A pad with zeros of a product with a constant as such a product."""
    definition = defs.get(instruction.operands[1])
    if definition is None or definition.op.name != "mul" or instruction.result.dtype.kind != "f":
        return None
    for factor, other in (definition.operands, definition.operands[::-1]):
        number = constant_of(factor, defs)
        source = defs.get(resolve(other, defs)[0])
        if source is not None and (counter_strides(source, defs) is not None or is_window(source, defs)):
            continue  # not read through a window
        # minus zero is no zero of a pad, and infinity makes none of it
        if number is not None and 0 < number < math.inf:
            (pad,) = b.append(instruction.op, (instruction.operands[0], other), instruction.attrs)
            scaled: Value = b.mul(pad, b.scalar(number, factor.dtype))
            return scaled
    return None


class _Moved:
    """Rewriting of the pad `instruction`: it pads the operands of an expression in place of its result."""

    def __init__(
        self,
        b: Builder,
        instruction: Instruction,
        defs: Definitions,
        uses: Counter[Value],
        params: frozenset[Value],
    ) -> None:
        self.b, self.instruction, self.defs, self.uses, self.params = b, instruction, defs, uses, params
        self.shape = instruction.result.shape
        self._padded: dict[Value, Value] = {}
        #: Whether values that others read, too, are computed again.
        self._again: dict[Value, bool] = {}

    def inside(self, value: Value) -> bool:
        """Whether `value` is arithmetic for the pad alone, or is computed again for it."""
        if not self._is_arithmetic(value):
            return False
        if self.uses[value] == 1:
            return True
        if value not in self._again:
            self._again[value] = self._is_cheap(value)
        return self._again[value]

    def _is_arithmetic(self, value: Value) -> bool:
        definition = self.defs.get(value)
        return definition is not None and definition.op.kind is Kind.ELEMENTWISE and not why_alone(definition)

    def _is_cheap(self, value: Value) -> bool:
        """Whether `value` is large, and follows in a few cycles from parameters that are not much larger."""
        if value.type.nbytes < least_bytes():
            return False
        cost, stack, nbytes = 0.0, [value], 0
        read: set[Value] = set()
        seen: set[Value] = set()
        while stack:
            current = stack.pop()
            if current in seen or constant_of(current, self.defs) is not None:
                continue
            seen.add(current)
            if self._is_arithmetic(current):
                definition = self.defs[current]
                cost += definition.op.cost
                stack.extend(definition.operands)
                continue
            source, _ = resolve(current, self.defs)
            if source not in self.params:
                return False  # it would have to live longer
            if source not in read:
                read.add(source)
                nbytes += source.type.nbytes
            if cost > MAX_CYCLES:
                return False
        return cost <= MAX_CYCLES and 0 < nbytes <= 2 * value.type.nbytes

    def fits(self) -> bool:
        """Whether the expression reads few values, and all of them can be read through windows."""
        leaves: set[Value] = set()
        stack = [self.instruction.operands[1]]
        while stack:
            value = stack.pop()
            if self.inside(value):
                stack.extend(self.defs[value].operands)
            elif constant_of(value, self.defs) is None:
                definition = self.defs.get(value)
                if definition is not None and (
                    counter_strides(definition, self.defs) is not None or is_window(definition, self.defs)
                ):
                    return False
                leaves.add(value)
        return 0 < len(leaves) <= MAX_LEAVES

    def write(self, around: Value | bool | int | float) -> Value:
        """Append the expression on padded operands, with `around` selected outside; returns its value."""
        b, location = self.b, self.b.location
        value = self._moved(self.instruction.operands[1])
        b.location = location
        inside = b.broadcast_to(b.scalar(True, BOOL), self.instruction.operands[1].shape)
        chosen = self._pad(inside)
        outside = around if isinstance(around, Value) else b.scalar(around, value.dtype)
        written: Value = b.where(chosen, value, outside)
        return written

    def _moved(self, value: Value) -> Value:
        """Pad `value`: inside it is unchanged, outside it may be anything."""
        b = self.b
        if self.inside(value):
            definition = self.defs[value]
            operands = tuple([self._moved(operand) for operand in definition.operands])
            b.location = definition.location
            return b.append(definition.op, operands, definition.attrs)[0]
        constant = constant_of(value, self.defs)
        if constant is not None:
            return b.broadcast_to(b.scalar(constant, value.dtype), self.shape)
        if value not in self._padded:
            self._padded[value] = self._pad(value)
        return self._padded[value]

    def _pad(self, value: Value) -> Value:
        zeros = self.b.broadcast_to(self.b.scalar(0, value.dtype), self.shape)
        return self.b.append(OPS["update"], (zeros, value), self.instruction.attrs)[0]
