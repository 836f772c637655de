"""The values of a Function that repeat others, while broadcasts are sunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....builder import Builder
from ....graph import Instruction, Value
from ....registry import OPS, Attrs, Kind, Op
from ....types import Shape
from ...rewriting import constant_of, defined_by
from .. import LARGE
from .repeated_axes import CommonAxes, Line, cut_by
from .repeated_joins import Join, join_of


class RepeatedValues:
    """The values that repeat others in a Function that is being written: `lines`, and `joins` of parts, some
    of which repeat. What it emits is sunk at once by ``sink(instruction)``, where that gives results."""

    def __init__(self, b: Builder, sink: Callable[[Instruction], tuple[Value, ...] | None]) -> None:
        self.b, self._sink = b, sink
        self.defs: dict[Value, Instruction] = {}
        self.lines: dict[Value, Line] = {}
        self.joins: dict[Value, Join] = {}
        #: Instructions of the body that `define` has noted.
        self._noted = 0

    def define(self) -> None:
        """Note the instructions that were appended since."""
        fresh = self.b.body[self._noted :]
        self._noted = len(self.b.body)
        for written in fresh:
            for result in written.results:
                self.defs[result] = written
            if written.op.name in ("broadcast", "reshape"):
                self._note(written)
            elif written.op.kind is Kind.CONCAT and written.result.type.size >= LARGE:
                join = join_of(written, self.lines)
                if join is not None:
                    self.joins[written.result] = join

    def emit(self, op: Op, operands: Sequence[Value], attrs: Attrs) -> Value:
        """The result of `op`, sunk."""
        self.define()
        (result,) = self.b.append(op, tuple(operands), attrs)
        sunk = self._sink(self.b.body[-1])
        self.define()
        return result if sunk is None else sunk[0]

    def _note(self, view: Instruction) -> None:
        """Add the result of a broadcast, or of a reshape of what is repeated, to the `lines`."""
        (source,), result = view.operands, view.result
        inner = self.lines.get(source)
        if view.op.name == "reshape":
            cut = cut_by(inner, result.shape) if inner is not None else None
            if inner is not None and cut is not None:
                self.lines[result] = self.cut(inner, cut)
        elif source.type.ndim == result.type.ndim and constant_of(result, self.defs) is None:
            self.lines[result] = Line(source, result.shape, (1,) * len(result.shape))

    def cut(self, line: Line, cut: CommonAxes) -> Line:
        """`line` along the axes of `cut`."""
        return Line(self.reshaped(line.value, cut.sizes), cut.fine, cut.counts)

    def plain(self, value: Value) -> Line | None:
        """The line that `value` repeats along axes of its own: of one number, too."""
        line = self.lines.get(value)
        if line is not None:
            return line if line.is_plain else None
        constant, ones = constant_of(value, self.defs), (1,) * len(value.shape)
        if constant is None or value.type.size < LARGE:
            return None
        return Line(self.b.full(value=constant, shape=ones, dtype=value.dtype), value.shape, ones)

    def reshaped(self, value: Value, shape: Shape) -> Value:
        """`value` with another shape."""
        if value.shape == shape:
            return value
        if value in self.joins:
            return self.emit(OPS["reshape"], (value,), {"shape": shape})
        view = defined_by(value, "reshape", self.defs)
        if view is not None:
            return self.reshaped(view.operands[0], shape)
        result: Value = self.b.reshape(value, shape=shape)
        self.defs[result] = self.b.body[-1]
        return result

    def repeat(self, value: Value, shape: Shape) -> Value:
        """`value`, of as many axes, repeated to `shape`."""
        return self.b.broadcast_to(value, shape)

    def whole(self, value: Value, fine: Shape, shape: Shape) -> Value:
        """`value`, repeated along axes of `fine`, which are merged to `shape`."""
        return self.reshaped(self.repeat(value, fine), shape)

    def times(self, value: Value, count: int) -> Value:
        """The sum of `count` copies of `value`; of integers, as it overflows."""
        dtype = value.dtype
        factor = self.b.scalar(np.array(count).astype(dtype).item(), dtype)
        return self.emit(OPS["mul"], (value, self.repeat(factor, value.shape)), {})
