"""Interpreter of the loop form over NumPy arrays: the meaning of kernels, to which passes and code are
held."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...base.errors import TracejitError
from ...ir.dtypes import BY_NAME
from ...ir.registry import Op
from .affine import Affine
from .intrinsics import INTRINSICS
from .nodes import (
    INTERLEAVED,
    LANES,
    TASKS,
    Accumulate,
    Aligned,
    Alloc,
    Call,
    Carry,
    Compute,
    Condition,
    Constant,
    Fail,
    Fence,
    Fold,
    For,
    Holds,
    If,
    InRange,
    Invert,
    Kernel,
    Let,
    Load,
    Node,
    Operand,
    Poll,
    Prefetch,
    Quotient,
    Store,
    Total,
    While,
    unit_of,
)
from .rewriting import folding_op, named_by

#: Elements of an array, or one of them.
Array: TypeAlias = "np.ndarray[Any, Any]"


class InterpretedFailure(TracejitError):
    """An interpreted kernel left with the message of a `Fail`."""


def interpret_kernel(
    kernel: Kernel,
    buffers: Sequence[Array],
    symbols: Mapping[str, int] | None = None,
    rng: np.random.Generator | None = None,
) -> None:
    """Run `kernel` over `buffers`, flat arrays in the order of its own, where `symbols` have values. Tasks
    run one by one from the last one on, or with `rng` in parts and an order that it draws. Raises
    InterpretedFailure, and IndexError for what is read or written outside of buffers."""
    run = _Run(dict(symbols or {}), rng)
    for declared, array in zip(kernel.buffers, buffers, strict=True):
        assert array.dtype == BY_NAME[declared.dtype], f"{declared.name}: {array.dtype}"
        size = declared.size.value(run.indices)
        assert array.shape == (size,), f"{declared.name}: {array.shape} in place of {size} elements"
        run.memory[declared.name] = array
    run.block(kernel.body, {})


Values: TypeAlias = "dict[str, Any]"


class _Run:
    def __init__(self, symbols: dict[str, int], rng: np.random.Generator | None) -> None:
        #: The values of symbols and indices.
        self.indices = symbols  # and of integers by their names, as ``%k``
        self.memory: dict[str, Array] = {}
        self.rng = rng

    def block(self, nodes: Sequence[Node], outer: Values) -> Values:
        """Run `nodes`; the values known at their end."""
        values = dict(outer)
        for node in nodes:
            self.node(node, values)
        return values

    def node(self, node: Node, values: Values) -> None:
        self.run(node, values)
        for name in named_by(node):
            if isinstance(values.get(name), np.int64):
                self.indices[f"%{name}"] = int(values[name])

    def run(self, node: Node, values: Values) -> None:
        if isinstance(node, Let):
            values[node.name] = np.asarray(self.at(node.index)).astype(BY_NAME[node.dtype])[()]
        elif isinstance(node, Holds):
            values[node.name] = np.bool_(self.holds(node.conditions, values))
        elif isinstance(node, Load):
            self.load(node, values)
        elif isinstance(node, Store):
            if self.holds(node.guard, values) and (node.mask is None or self.value(node.mask, values)):
                for number, operand in enumerate(node.values):
                    array, place = self.element(node.buffer, self.at(node.index) + number)
                    array[place] = self.value(operand, values)
        elif isinstance(node, Compute):
            values[node.name] = _computed(node, [self.value(operand, values) for operand in node.operands])
        elif isinstance(node, Fold):
            accumulator, operand = self.value(node.accumulator, values), self.value(node.operand, values)
            values[node.name] = _folded(node.op, accumulator, operand)
        elif isinstance(node, Accumulate):
            x, y, error = (self.value(operand, values) for operand in (node.total, node.operand, node.error))
            with np.errstate(all="ignore"):
                total = x + y
                values[node.names[0]], values[node.names[1]] = total, error + (y - (total - x))
        elif isinstance(node, Total):
            total, error = self.value(node.total, values), self.value(node.error, values)
            with np.errstate(all="ignore"):
                whole = total + error
                values[node.name] = whole if whole == whole and whole != total else total
        elif isinstance(node, Invert):
            values[node.name] = self.value(node.divisor, values)
        elif isinstance(node, Quotient):
            with np.errstate(all="ignore"):
                values[node.name] = self.value(node.operand, values) / values[node.inverse]
        elif isinstance(node, For):
            self.loop(node, values)
        elif isinstance(node, While):
            self.while_loop(node, values)
        elif isinstance(node, If):
            self.block(node.then if self.holds(node.condition, values) else node.otherwise, values)
        elif isinstance(node, Alloc):
            size = node.size.value(self.indices)
            # what nobody wrote must not matter
            garbage = (self.rng or np.random.default_rng(0)).integers(1, 100, size)
            self.memory[node.name] = garbage.astype(BY_NAME[node.dtype])
        elif isinstance(node, Call):
            self.call(node)
        elif isinstance(node, Fail):
            if not self.holds(node.unless, values):
                raise InterpretedFailure(node.message)
        else:
            assert isinstance(node, (Poll, Fence, Prefetch)), node

    # -- memory -----------------------------------------------------------------------------------

    def at(self, index: Affine) -> int:
        return index.value(self.indices)

    def element(self, buffer: str, place: int) -> tuple[Array, int]:
        array = self.memory[buffer]
        if not 0 <= place < len(array):
            raise IndexError(f"{buffer}[{place}] of {len(array)} elements")
        return array, place

    def load(self, node: Load, values: Values) -> None:
        holds = self.holds(node.guard, values) and (node.mask is None or self.value(node.mask, values))
        for number, name in enumerate(node.names):
            if holds:
                array, place = self.element(node.buffer, self.at(node.index) + number)
                values[name] = array[place]
            else:
                values[name] = BY_NAME[node.dtype].type(0)

    def call(self, node: Call) -> None:
        intrinsic = INTRINSICS[node.callee]
        pairs = list(zip(intrinsic.places(node.sizes), node.places, strict=True))
        places = [
            [
                [
                    self.element(buffer, self.at(index) + row * step + column)
                    for column in range(shape.columns)
                ]
                for row in range(shape.rows)
            ]
            for shape, (buffer, index, step) in pairs
        ]
        read = [
            np.array([[array[place] for array, place in row] for row in rows])
            for (shape, _), rows in zip(pairs, places, strict=True)
            if not shape.written
        ]
        written = [rows for (shape, _), rows in zip(pairs, places, strict=True) if shape.written]
        for rows, results in zip(written, intrinsic.meaning(node.sizes, *read), strict=True):
            for row, values in zip(rows, results, strict=True):
                for (array, place), value in zip(row, values, strict=True):
                    array[place] = value

    # -- values and conditions --------------------------------------------------------------------

    def value(self, operand: Operand, values: Values) -> Any:
        if isinstance(operand, Constant):
            return BY_NAME[operand.dtype].type(operand.value)
        return values[operand]

    def holds(self, condition: Condition, values: Values) -> bool:
        if isinstance(condition, str):
            return bool(values[condition])
        if isinstance(condition, Aligned):  # both ways mean the same
            return self.rng is None or bool(self.rng.integers(2))
        return all(self.inside(check) for check in condition)

    def inside(self, check: InRange) -> bool:
        index = self.at(check.index)
        return index >= 0 and (check.count is None or index < self.at(check.count))

    # -- loops ------------------------------------------------------------------------------------

    def loop(self, node: For, values: Values) -> None:
        lo, hi = max(map(self.at, node.lo)), min(map(self.at, node.hi))
        if node.kind == LANES:
            self.lanes(node, values, range(lo, hi, node.step))
            return
        if node.kind == INTERLEAVED and node.carried:
            self.copies(node, values, range(lo, hi, node.step))
            return
        state = [self.value(carry.first, values) for carry in node.carried]
        for first, stop in self.parts(node, lo, hi):
            self.indices[node.index] = first
            if node.end:
                self.indices[node.end] = stop
            inner = self.entered(node.carried, values, state)
            inner = self.block(node.body, inner)
            state = [self.value(carry.following, inner) for carry in node.carried]
        self.leave(node, values, state)

    def entered(self, carried: Sequence[Carry], outer: Values, state: Sequence[Any]) -> Values:
        """The values at the beginning of an iteration."""
        for carry, value in zip(carried, state, strict=True):
            if carry.dtype == "i64":
                self.indices[f"%{carry.name}"] = int(value)
        return {**outer, **{carry.name: value for carry, value in zip(carried, state, strict=True)}}

    def leave(self, node: For, values: Values, state: Sequence[Any]) -> None:
        self.indices.pop(node.index, None)
        self.indices.pop(node.end, None)
        values.update({carry.result: value for carry, value in zip(node.carried, state, strict=True)})

    def parts(self, node: For, lo: int, hi: int) -> Iterator[tuple[int, int]]:
        """The iterations: each the index and, of tasks, the end of a part."""
        if node.kind != TASKS:
            yield from ((index, index + node.step) for index in range(lo, hi, node.step))
            return
        if self.rng is None:
            yield from ((index, index + 1) for index in reversed(range(lo, hi)))
            return
        cuts = sorted({lo, hi, *self.rng.integers(lo, hi + 1, 3).tolist()} if lo < hi else ())
        parts = list(itertools.pairwise(cuts))
        yield from (parts[number] for number in self.rng.permutation(len(parts)))

    def lanes(self, node: For, values: Values, indices: range) -> None:
        """A loop of lanes: each folds into an identity of its own, and the loop folds these by halves."""
        assert len(indices) <= node.width, f"{len(indices)} iterations in {node.width} lanes"
        units, folded = self.units(node), _folding(node)
        lanes = [self.apart(node, values, index, units) for index in indices]
        lanes += [units] * (node.width - len(lanes))
        while node.carried and len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [folded(*pair) for pair in zip(lanes[:half], lanes[half:], strict=True)]
        firsts = [self.value(carry.first, values) for carry in node.carried]
        self.leave(node, values, folded(firsts, lanes[0]) if node.carried else [])

    def copies(self, node: For, values: Values, indices: range) -> None:
        """A loop of copies that fold: the first one goes on with what was folded before, the others begin
        anew, and neighbours are folded in pairs."""
        units, folded = self.units(node), _folding(node)
        states = [self.value(carry.first, values) for carry in node.carried], *[units] * (len(indices) - 1)
        parts = [self.apart(node, values, index, state) for index, state in zip(indices, states, strict=True)]
        while len(parts) > 1:
            parts = [folded(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
        self.leave(node, values, parts[0])

    def units(self, node: For) -> list[Any]:
        """The identities of the folds of a loop."""
        return [self.value(unit_of(op_of(node, carry), carry.dtype), {}) for carry in node.carried]

    def apart(self, node: For, values: Values, index: int, state: Sequence[Any]) -> list[Any]:
        """Run one iteration of a loop, which begins with `state`; the values that it hands on."""
        self.indices[node.index] = index
        inner = self.block(node.body, self.entered(node.carried, values, state))
        return [self.value(carry.following, inner) for carry in node.carried]

    def while_loop(self, node: While, values: Values) -> None:
        state = [self.value(carry.first, values) for carry in node.carried]
        while True:
            inner = self.entered(node.carried, values, state)
            inner = self.block(node.body, inner)
            state = [self.value(carry.following, inner) for carry in node.carried]
            if not self.value(node.condition, inner):
                break
        values.update({carry.result: value for carry, value in zip(node.carried, state, strict=True)})


def op_of(loop: For, carry: Carry) -> Op:
    """The reduction by which a loop of lanes or of copies makes what it hands on as `carry`."""
    op = folding_op(loop.body, carry.name, carry.following)
    assert op is not None, f"%{carry.name}: {loop.kind} hand on what folds make of it, and nothing else"
    return op


def _folding(loop: For) -> Callable[[Sequence[Any], Sequence[Any]], list[Any]]:
    """The function that folds what two iterations of `loop` hand on."""
    ops = [op_of(loop, carry) for carry in loop.carried]
    return lambda some, others: [_folded(op, x, y) for op, x, y in zip(ops, some, others, strict=True)]


def _folded(op: Op, accumulator: Any, operand: Any) -> Any:
    with np.errstate(all="ignore"):
        return op.eval(np.array([accumulator, operand]), axes=(0,))[()]


def _computed(node: Compute, operands: Sequence[Any]) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(node.op.eval(*operands, **node.attrs)).astype(BY_NAME[node.dtype])[()]
