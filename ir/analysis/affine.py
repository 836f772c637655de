"""Integers as affine functions: of the number of a loop's step, of positions in an array, and of scalars that
are the same in every step.

The index of ``x[2 * i - 1]`` in step i is ``2 step - 1``; the array of such indices for all steps of a loop
is ``2 position - 1``. Two accesses are compared, and bounds proven, by these.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...base.records import record
from ..access import view_access
from ..dataflow import increment, invariant
from ..dtypes import INT64
from ..graph import Function, Instruction, Value
from ..registry import Kind
from ..types import Shape


@record
class Affine:
    """``constant + step * number of the step + sum of axes[p] * position p + sum of scalars``."""

    constant: int
    step: int
    #: A factor for each axis of the value.
    axes: tuple[int, ...]
    #: Scalars of the program, each with its factor, none of which is 0.
    scalars: tuple[tuple[Value, int], ...] = ()

    def plus(self, other: Affine, times: int = 1) -> Affine:
        """``self + times * other``, of one shape."""
        axes = tuple([x + times * y for x, y in zip(self.axes, other.axes, strict=True)])
        factors = dict(self.scalars)
        for scalar, factor in other.scalars:
            factors[scalar] = factors.get(scalar, 0) + times * factor
        scalars = tuple([(scalar, factor) for scalar, factor in factors.items() if factor])
        return Affine(self.constant + times * other.constant, self.step + times * other.step, axes, scalars)

    def times(self, factor: int) -> Affine:
        """``factor * self``."""
        return Affine(0, 0, (0,) * len(self.axes)).plus(self, factor)

    @property
    def number(self) -> int | None:
        """The number that it is everywhere, if it is one."""
        return None if self.step or any(self.axes) or self.scalars else self.constant

    def bounds(self, shape: Shape, length: int) -> tuple[int, int] | None:
        """The least and the largest value in an array of `shape`, over steps 0 to `length` - 1; None where
        scalars take part."""
        if self.scalars:
            return None
        reach = [self.step * (length - 1)]
        reach += [factor * (size - 1) for factor, size in zip(self.axes, shape, strict=True)]
        return (
            self.constant + sum([min(part, 0) for part in reach]),
            self.constant + sum([max(part, 0) for part in reach]),
        )


class AffineValues:
    """The affine forms of a body's integers.

    `forms` has those of its parameters. Scalars in `same` do not change from step to step, and stand for
    themselves where nothing better is known of them; without `same` all do."""

    def __init__(
        self,
        defs: Mapping[Value, Instruction],
        forms: Mapping[Value, Affine] | None = None,
        same: set[Value] | None = None,
    ) -> None:
        self.defs, self.same = defs, same
        self.forms: dict[Value, Affine | None] = dict(forms or {})

    def of(self, value: Value) -> Affine | None:
        """The affine form of an int64 value, None where it has none."""
        if value.dtype is not INT64:
            return None
        if value not in self.forms:
            form = self._computed(value)
            if form is None and value.shape == () and (self.same is None or value in self.same):
                form = Affine(0, 0, (), ((value, 1),))
            self.forms[value] = form
        return self.forms[value]

    def define(self, instruction: Instruction) -> None:
        """Record the affine form of the result of `instruction`, which is not in the body."""
        if instruction.result.dtype is INT64:
            self.forms[instruction.result] = self._form_of(instruction)

    def _computed(self, value: Value) -> Affine | None:
        instruction = self.defs.get(value)
        return None if instruction is None else self._form_of(instruction)

    def _form_of(self, instruction: Instruction) -> Affine | None:
        name, rank = instruction.op.name, len(instruction.results[0].shape)
        if name == "full":
            return Affine(int(instruction.attrs["value"]), 0, (0,) * rank)
        if name == "iota":
            axes = tuple([int(axis == instruction.attrs["axis"]) for axis in range(rank)])
            return Affine(0, 0, axes)
        if instruction.op.kind is Kind.VIEW:
            return self._viewed(instruction)
        operands = [self.of(operand) for operand in instruction.operands]
        if name in ("cast", "copy"):
            return operands[0]
        if name == "neg":
            return operands[0] and operands[0].times(-1)
        if name not in ("add", "sub", "mul"):
            return None
        x, y = operands
        if x is None or y is None:
            return None
        if name == "mul":
            for factor, other in ((x.number, y), (y.number, x)):
                if factor is not None:
                    return other.times(factor)
            return None
        return x.plus(y, 1 if name == "add" else -1)

    def _viewed(self, view: Instruction) -> Affine | None:
        access = view_access(view)
        form = self.of(view.operands[0])
        if access is None or form is None:
            return None
        axes, constant = [0] * len(view.result.shape), form.constant
        for (axis, step, offset), factor in zip(access.dims, form.axes, strict=True):
            constant += factor * offset
            if axis is not None:
                axes[axis] += factor * step
        return Affine(constant, form.step, tuple(axes), form.scalars)


def loop_forms(scan: Instruction, outer: AffineValues, body: Function | None = None) -> AffineValues:
    """The affine forms of the values in a step of `scan`, with its `body` or another one with the same
    parameters. `outer` has the forms of its operands."""
    body = body or scan.regions[0]
    count, first_slice = scan.attrs["carries"], len(scan.operands) - scan.attrs["slices"]
    forms: dict[Value, Affine] = {}
    for position, (param, operand) in enumerate(zip(body.params, scan.operands, strict=True)):
        form = outer.of(operand) if position < first_slice else None
        if form is None:
            continue
        if position >= count:
            if form.number is not None:
                forms[param] = form
            continue
        each = increment(body, position)
        if each is not None:
            forms[param] = Affine(form.constant, each, (), form.scalars)
    defs = {result: step for step in body.body for result in step.results}
    return AffineValues(defs, forms, invariant(body, body.params[count:first_slice]))


@record
class Counter:
    """A carry to which each step of a while loop adds one, and what it is compared with in the condition."""

    carry: int
    bound: Value


def counted_by(loop: Instruction) -> Counter | None:
    """Match a while loop that runs as long as a counter is less than a loop-invariant bound; its counter."""
    condition, body = loop.regions
    count = loop.attrs["carries"]
    test = next((step for step in condition.body if step.results[0] is condition.results[0]), None)
    if test is None or test.op.name != "lt" or test.operands[0] not in condition.params[:count]:
        return None
    carry = condition.params.index(test.operands[0])
    same = invariant(condition, condition.params[count:])
    if test.operands[1] not in same or test.operands[1].dtype is not INT64 or increment(body, carry) != 1:
        return None
    return Counter(carry, test.operands[1])
