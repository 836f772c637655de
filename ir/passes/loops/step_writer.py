"""The body of a loop from the steps of a repetition.

Positions that advance by the same number each become arithmetic on the number of the step, and slices and
updates there become reads and writes of ``gather`` and ``scatter``; other positions, and constants that
change, are listed in an array of which each step has its element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ....base.records import record
from ...builder import Builder
from ...dtypes import INT64, DType
from ...graph import Function, Value
from ...types import Shape, TensorType
from .repeated_steps import (
    Carried,
    Element,
    Inside,
    Listed,
    RepeatedSteps,
    StepColumn,
    Unchanged,
    changed_axes,
    is_affine,
)


@record
class Constants:
    """Constants of `shape`, one for each step, whose elements are in `data`."""

    data: tuple[tuple[Any, ...], ...]
    shape: Shape
    dtype: DType


Stacked: TypeAlias = Element | Listed | Constants


class StepWriter:
    """Writes one step of `steps`, as a region of ``scan``.

    Attributes, once it is written:
        starts: what the carries begin with, None for zeros, and their types.
        invariants: the operands that all steps read.
        slices: the stacks of which each step has its slice.
        finals: values of the steps that are last carries, by position among those.
    """

    def __init__(self, steps: RepeatedSteps) -> None:
        self.steps = steps
        self.b = Builder()
        self.starts: list[tuple[Value | None, TensorType]] = []
        self.invariants: dict[Value, Value] = {}
        self.slices: dict[Stacked, Value] = {}
        self.finals: dict[Value, int] = {}
        self._carries: dict[Carried, list[Value]] = {}
        self._params: list[Value] = []
        self._results: list[list[Value]] = []
        self._counter: Value | None = None
        self._positions: dict[tuple[int, int], Value] = {}

    def write(self, stacked: Sequence[tuple[int, int]], lasts: Sequence[tuple[int, int]]) -> Function:
        """The region. It stacks the results `stacked`, by column and number, and carries `lasts`."""
        self._add_carries()
        for column in self.steps.columns:
            operands = tuple([self._operand(source) for source in column.sources])
            self.b.location = column.template.also_for(column.instructions[1:]).location
            self._results.append(list(self._instruction(column, operands)))
        self.b.location = self.steps.columns[0].template.location
        next_carries = self._next_carries()
        for slot, number in lasts:
            value = self._results[slot][number]
            final = self.steps.columns[slot].instructions[-1].results[number]
            if final in self.finals:
                continue
            self._carry(None, value.type)
            self.finals[final] = len(next_carries)
            next_carries.append(value)
        self.b.params = [*self._params, *self.invariants.values(), *self.slices.values()]
        results = [*next_carries, *[self._results[slot][number] for slot, number in stacked]]
        return self.b.finish("step", results)

    def _add_carries(self) -> None:
        """A chain of carries for each recurrence: the value of the step before, and of those before it."""
        sources = {
            source
            for column in self.steps.columns
            for source in column.sources
            if isinstance(source, Carried)
        }
        for source in sorted(sources, key=lambda each: (-each.distance, each.slot, each.result)):
            if not any(_continues(longer, source) for longer in self._carries):
                # step 0 reads the first of what it starts with, which is furthest back
                self._carries[source] = [self._carry(start, start.type) for start in reversed(source.starts)]

    def _carry(self, start: Value | None, type_: TensorType) -> Value:
        self.starts.append((start, type_))
        param = Value(type_)
        self._params.append(param)
        return param

    def _next_carries(self) -> list[Value]:
        """The carries of the next step. Records which values of the steps are in the last carries."""
        after: dict[Value, Value] = {}
        if self._counter is not None:
            after[self._counter] = self.b.add(self._counter, 1)
        for source, chain in self._carries.items():
            column = self.steps.columns[source.slot]
            computed = self._results[source.slot][source.result]
            for param, value in zip(chain, [computed, *chain], strict=False):
                after[param] = value
            for back, param in enumerate(chain):
                value = column.instructions[-1 - back].results[source.result]
                self.finals[value] = self._params.index(param)
        return [after[param] for param in self._params]

    # -- operands -----------------------------------------------------------------------------------

    def _operand(self, source: Any) -> Value:
        if isinstance(source, Inside):
            return self._results[source.slot][source.result]
        if isinstance(source, Unchanged):
            return self.invariants.setdefault(source.value, Value(source.value.type))
        if isinstance(source, Carried):
            return next(
                chain[source.distance - 1]
                for longer, chain in self._carries.items()
                if _continues(longer, source)
            )
        if isinstance(source, Element):
            return self._slice(source, source.stack.type.with_shape(source.stack.shape[1:]))
        return self._slice(source, source.values[0].type)

    def _slice(self, source: Stacked, type_: TensorType) -> Value:
        return self.slices.setdefault(source, Value(type_))

    def _position(self, numbers: Sequence[int]) -> Value:
        """The integer that is ``numbers[i]`` in step i."""
        if not is_affine(numbers):
            rows = tuple([(number,) for number in numbers])
            return self._slice(Constants(rows, (), INT64), TensorType(INT64, ()))
        first, each = numbers[0], numbers[1] - numbers[0]
        if (first, each) not in self._positions:
            if self._counter is None:
                self._counter = self._carry(None, TensorType(INT64, ()))
            position = self._counter if each == 1 else self.b.mul(self._counter, each)
            self._positions[first, each] = position if first == 0 else self.b.add(position, first)
        return self._positions[first, each]

    # -- instructions -------------------------------------------------------------------------------

    def _instruction(self, column: StepColumn, operands: tuple[Value, ...]) -> tuple[Value, ...]:
        template = column.template
        if not column.changing:
            return self.b.append(template.op, operands, template.attrs)
        if template.op.name == "slice":
            return (self._read(operands[0], column.changing, template.attrs),)
        if template.op.name == "update":
            return (self._written(operands[0], operands[1], column.changing, template.attrs),)
        return (self._constant(column.changing, template.attrs),)

    def _constant(self, values: tuple[Any, ...], attrs: Any) -> Value:
        shape, dtype = attrs["shape"], attrs["dtype"]
        if "value" not in attrs:
            return self._slice(Constants(values, shape, dtype), TensorType(dtype, shape))
        if dtype is INT64 and is_affine(values):
            value = self._position(values)
        else:
            rows = tuple([(value,) for value in values])
            value = self._slice(Constants(rows, (), dtype), TensorType(dtype, ()))
        return self.b.broadcast_to(value, shape)

    def _read(self, x: Value, starts: Sequence[Shape], attrs: Any) -> Value:
        """The slice of `x` at the positions `starts`."""
        size, step = attrs["size"], attrs["step"]
        axes = changed_axes(starts)
        x = self._static(x, axes, starts[0], size, step)
        gathered = self.b.gather(x, *self._indices(axes, starts, size, step), axes=_named(axes))
        order = [axis for axis in axes if size[axis] != 1] + _others(len(size), axes)
        perm = tuple([order.index(axis) for axis in sorted(order)])
        if perm != tuple(range(len(perm))):
            gathered = self.b.transpose(gathered, perm=perm)
        return self._reshaped(gathered, size)

    def _static(self, x: Value, axes: Shape, start: Shape, size: Shape, step: Shape) -> Value:
        """Slice `x` along the axes where the slice is the same in all steps."""
        taken = [(0, extent, 1) for extent in x.shape]
        for axis in _others(len(size), axes):
            taken[axis] = start[axis], size[axis], step[axis]
        if all(part == (0, extent, 1) for part, extent in zip(taken, x.shape, strict=True)):
            return x
        first, count, each = zip(*taken, strict=True)
        result: Value = self.b.slice(x, start=first, size=count, step=each)
        return result

    def _written(self, x: Value, value: Value, starts: Sequence[Shape], attrs: Any) -> Value:
        """`x` with `value` at the positions `starts`."""
        size, step = value.shape, attrs["step"]
        changed = changed_axes(starts)
        # of other axes a single position is an index, too
        axes = tuple(
            [axis for axis in range(len(size)) if axis in changed or size[axis] == 1 != x.shape[axis]]
        )
        rest = _others(len(size), axes)
        indices = self._indices(axes, starts, size, step)
        if any((starts[0][axis], size[axis], step[axis]) != (0, x.shape[axis], 1) for axis in rest):
            value = self._window_with(x, value, starts, step, rest)
            size = value.shape
        several = [axis for axis in axes if size[axis] != 1]
        present = sorted([*several, *rest])
        value = self._reshaped(value, tuple([size[axis] for axis in present]))
        perm = tuple([present.index(axis) for axis in (*several, *rest)])
        if perm != tuple(range(len(perm))):
            value = self.b.transpose(value, perm=perm)
        result: Value = self.b.scatter(x, value, *indices, mode="set", axes=_named(axes))
        return result

    def _window_with(
        self, x: Value, value: Value, starts: Sequence[Shape], step: Shape, rest: Sequence[int]
    ) -> Value:
        """The part of `x` that is whole along the axes `rest`, after the update at `starts`."""
        axes = range(len(step))
        whole = [tuple([0 if axis in rest else start[axis] for axis in axes]) for start in starts]
        size = tuple([x.shape[axis] if axis in rest else value.shape[axis] for axis in axes])
        each = tuple([1 if axis in rest else step[axis] for axis in axes])
        window = self._read(x, whole, {"size": size, "step": each})
        result: Value = self.b.update(
            window,
            value,
            start=tuple([starts[0][axis] if axis in rest else 0 for axis in axes]),
            step=tuple([step[axis] if axis in rest else 1 for axis in axes]),
        )
        return result

    def _indices(self, axes: Shape, starts: Sequence[Shape], size: Shape, step: Shape) -> list[Value]:
        """The indices of a slice along each of `axes`, in the shape of its axes of several elements."""
        several = [axis for axis in axes if size[axis] != 1]
        shape = tuple([size[axis] for axis in several])
        indices = []
        for axis in axes:
            index = self._number([start[axis] for start in starts])
            if size[axis] != 1:
                place = self.b.iota(shape=shape, axis=several.index(axis), dtype=INT64)
                index = self.b.add(place if step[axis] == 1 else self.b.mul(place, step[axis]), index)
            indices.append(self.b.broadcast_to(index, shape))
        return indices

    def _number(self, numbers: Sequence[int]) -> Value:
        if any(number != numbers[0] for number in numbers):
            return self._position(numbers)
        return self.b.scalar(numbers[0], INT64)

    def _reshaped(self, x: Value, shape: Shape) -> Value:
        result: Value = x if x.shape == shape else self.b.reshape(x, shape=shape)
        return result


def _continues(longer: Carried, source: Carried) -> bool:
    """Whether the carries for `longer` are those for `source`, too."""
    return (
        longer.slot == source.slot
        and longer.result == source.result
        and longer.starts[-source.distance :] == source.starts
    )


def _named(axes: Shape) -> Shape:
    """`axes` as ``gather`` takes them: the first ones have no names."""
    return () if axes == tuple(range(len(axes))) else axes


def _others(rank: int, axes: Shape) -> list[int]:
    return [axis for axis in range(rank) if axis not in axes]
