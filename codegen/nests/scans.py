"""Kernels that walk along one axis in order: cumulative sums, and the index of an extremum.

The elements behind the axis are walked together in vectors where they fill one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Instruction, Value
from ..emitter import Reg, constant
from ..loops import FunctionWriter
from ..target import Target
from .kernel import Kernel, signature


def cumulative_kernel(
    name: str, instruction: Instruction, target: Target, declarations: dict[str, str]
) -> Kernel:
    """Running folds along an axis."""
    (x,) = instruction.operands
    w = FunctionWriter(declarations)
    dtype = SHORT_NAME[x.dtype]
    axis, reverse = instruction.attrs["axis"], instruction.attrs["reverse"]
    extent, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    fold = instruction.op.reduction
    assert fold is not None

    def column(start: Reg, lanes: int) -> None:
        def step(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            position = w.sub(extent - 1, index) if reverse else index
            at = w.add(start, w.mul(position, inner))
            total: Reg = fold.combine(w, state[0], w.load(w.offset("%b0", dtype, at), dtype, lanes))
            w.store(total, w.offset("%b1", dtype, at))
            return [total]

        w.loop(0, extent, 1, step, [constant(fold.identity(dtype), dtype, lanes)])

    _columns(w, x, axis, target.lanes(dtype), column)
    w.line("ret void")
    description = f"cumulative {name}: {instruction.op.name} of {x.type} along axis {axis}"
    return Kernel(name, w.function(signature(name, 2), "nounwind"), description, cycles=4.0 * x.type.size)


def arg_reduction_kernel(
    name: str, instruction: Instruction, target: Target, declarations: dict[str, str]
) -> Kernel:
    """The index along an axis of the first element that beats all others."""
    (x,) = instruction.operands
    w = FunctionWriter(declarations)
    dtype = SHORT_NAME[x.dtype]
    axis = instruction.attrs["axis"]
    extent, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    better = instruction.op.emit
    assert better is not None

    def column(start: Reg, lanes: int) -> None:
        def step(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            best, where = state
            value = w.load(w.offset("%b0", dtype, w.add(start, w.mul(index, inner))), dtype, lanes)
            wins = better(w, value, best)
            return [w.select(wins, value, best), w.select(wins, w.splat(index, lanes), where)]

        first = w.load(w.offset("%b0", dtype, start), dtype, lanes)
        _, where = w.loop(1, extent, 1, step, [first, constant(0, "i64", lanes)])
        outer_index = _result_place(w, start, extent, inner)
        w.store(where, w.offset("%b1", "i64", outer_index))

    _columns(w, x, axis, target.lanes("i64"), column)
    w.line("ret void")
    description = f"arg-reduction {name}: {instruction.op.name} of {x.type} along axis {axis}"
    return Kernel(name, w.function(signature(name, 2), "nounwind"), description, cycles=4.0 * x.type.size)


def _result_place(w: FunctionWriter, start: Reg, extent: int, inner: int) -> Reg:
    """Where the result for the column that starts at element `start` goes: the axis is gone."""
    row = constant(extent * inner, "i64")
    outer = w.assign(f"udiv {start}, {row.text}", "i64")
    return w.add(w.mul(outer, inner), w.sub(start, w.mul(outer, row)))


def _columns(w: FunctionWriter, x: Value, axis: int, lanes: int, column: Callable[[Reg, int], None]) -> None:
    """Call ``column(start, lanes)`` for the start of every column along `axis`, vectors first."""
    outer = math.prod(x.shape[:axis])
    extent, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    if extent == 0:
        return
    whole = inner // lanes * lanes

    def rows(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        base = w.mul(index, extent * inner)

        def vectors(position: Reg, _: list[Reg]) -> Sequence[Reg]:
            column(w.add(base, position), lanes)
            return ()

        def singles(position: Reg, _: list[Reg]) -> Sequence[Reg]:
            column(w.add(base, position), 1)
            return ()

        w.loop(0, whole, lanes, vectors)
        w.loop(whole, inner, 1, singles)
        return ()

    w.loop(0, outer, 1, rows)
