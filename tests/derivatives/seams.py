"""Decisions of our own algorithms: which way each comparison goes, for each element.

A function is traced and interpreted, and what its comparisons give is noted: in the rules of derivatives, in
the algorithms of special functions, and in the code of elementary ones, which is compiled to note it. Two
numbers that took the same ways have the same decisions; where neighbours have others there is a seam between
them.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.codegen.llvm.emitter import Reg
from tracejit.codegen.llvm.function import Declarations, text_of
from tracejit.codegen.llvm.target import host
from tracejit.codegen.maths import MathsWriter
from tracejit.ir.interpreter import InterpreterStep, interpret_watched
from tracejit.ir.registry import Op
from tracejit.ir.special.arrays import ArrayEvaluator
from tracejit.ir.special.table import compute_checked, special

from ..codegen.maths.maths_harness import link

#: Elements that are looked at together.
BLOCK = 2048
#: Odd, near 2^63 times the golden ratio.
_FACTOR = 0x4F1BBCDCBFA53E0B


def _noted(decisions: np.ndarray, ways: Any) -> np.ndarray:
    """`decisions` with `ways` behind them. Not linear, since ways may themselves be such numbers."""
    mixed = (decisions ^ (ways + np.int64(1))) * np.int64(_FACTOR)
    return np.asarray(mixed ^ (mixed >> np.int64(29)))


class WatchedEvaluator(ArrayEvaluator):
    """The evaluator of arrays, which notes each decision in `decisions`, a number for each element."""

    def __init__(self, size: int, is_single: bool, decisions: np.ndarray) -> None:
        super().__init__(size, compute_checked)
        self.is_single, self.epsilon = is_single, 2.0**-26 if is_single else self.epsilon
        self.decisions = decisions
        #: Indices of the elements that are computed, and which of them a loop has not yet left.
        self.places, self.going = np.arange(size), np.ones(size, bool)

    def note(self, condition: Any) -> None:
        places = self.places[self.going]
        taken = np.broadcast_to(condition, (self.size,))[self.going]
        self.decisions[places] = _noted(self.decisions[places], taken)

    def select(self, condition: Any, x: Any, y: Any) -> Any:
        self.note(condition)
        return super().select(condition, x, y)

    def loop_values(
        self, condition: Callable[..., Any], body: Callable[..., Any], state: list[Any], limit: int
    ) -> list[Any]:
        before = self.going

        def noted(*values: Any) -> Any:
            going = np.broadcast_to(condition(*values), (self.size,))
            self.note(going)
            self.going = self.going & going
            return going

        result = super().loop_values(noted, body, state, limit)
        self.going = before
        return result

    def choose_values(
        self, operands: list[Any], branches: list[tuple[Any, Callable[..., list[Any]]]]
    ) -> list[Any]:
        rest = np.ones(self.size, bool)
        watched = []
        for mask, function in branches:
            chosen = rest if mask is None else rest & mask
            rest = rest & ~chosen
            if mask is not None:
                self.note(chosen)
            watched.append((mask, self._inside(np.flatnonzero(chosen), function)))
        return super().choose_values(operands, watched)

    def _inside(self, where: np.ndarray, function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def run(*operands: Any) -> list[Any]:
            places, going = self.places, self.going
            self.places, self.going = places[where], going[where]
            results = function(*operands)
            self.places, self.going = places, going
            return results

        return run


class WatchedWriter(MathsWriter):
    """The writer of scalar code that notes each comparison of floats in the number at `PLACE`."""

    PLACE = "%decisions"

    def _compare(self, float_code: str, signed: str, unsigned: str, x: Any, y: Any) -> Reg:
        result = super()._compare(float_code, signed, unsigned, x, y)
        if any(isinstance(operand, Reg) and operand.is_float for operand in (x, y)):
            before = self.load(self.PLACE, "i64")
            taken = self.select(result, self.const(2, before), self.const(1, before))
            self.store(self.mul(self.xor(before, taken), _FACTOR), self.PLACE)
        return result


@functools.cache
def _compiled(op: Op, dtype: str, arity: int, attrs: tuple[tuple[str, Any], ...]) -> Any:
    """``entry(decisions, operands..., count)`` of the code of `op`, or None where that compares no floats."""
    w = WatchedWriter(Declarations(host()))

    def step(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        operands = [w.load(w.offset(f"%a{place}", dtype, index), dtype) for place in range(arity)]
        w.store(w.const(0, Reg("", "i64")), w.PLACE)
        op.emit(w, *operands, **dict(attrs))
        w.store(w.load(w.PLACE, "i64"), w.offset("%out", "i64", index))
        return ()

    w.loop(0, Reg("%n", "i64"), 1, step, nonempty=True)
    w.ret()
    name = "_".join(["decisions", op.name, dtype, *[str(value) for _, value in attrs]])
    pointers = "".join(f"ptr %a{place}, " for place in range(arity))
    function = w.function(f"void @{name}(ptr {w.PLACE}, ptr %out, {pointers}i64 %n)", "nounwind")
    text = text_of([*w.declarations.values(), function])
    if "fcmp" not in text:
        return None
    address, library = link(text, name)
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (arity + 2), ctypes.c_int64)(address)
    entry.library = library  # type: ignore[attr-defined]
    return entry


def _elementary(step: InterpreterStep, dtype: type) -> np.ndarray | None:
    """The decisions of the code of an op of floats, or None where it has none."""
    op, attrs = step.instruction.op, step.instruction.attrs
    if op.emit is None or any(x.dtype != dtype or x.shape != (BLOCK,) for x in step.operands):
        return None
    name = "f64" if dtype is np.float64 else "f32"
    entry = _compiled(op, name, len(step.operands), tuple(sorted(attrs.items())))
    if entry is None:
        return None
    held = [np.ascontiguousarray(x) for x in step.operands]
    place, out = np.zeros(1, np.int64), np.zeros(BLOCK, np.int64)
    entry(place.ctypes.data, out.ctypes.data, *[x.ctypes.data for x in held], BLOCK)
    return out


class Seams:
    """The decisions of `function` of `arity` operands of `dtype`."""

    def __init__(self, function: Callable[..., Any], dtype: type, arity: int) -> None:
        self.function, self.dtype, self.arity = function, dtype, arity
        self._traced: Any = None

    def decisions(self, operands: Sequence[np.ndarray]) -> np.ndarray:
        """A number for each of `BLOCK` elements, equal for equal decisions."""
        if self._traced is None:
            self._traced = tj.trace(self.function, *[tj.ones(BLOCK, self.dtype) * 0.5] * self.arity)
        decisions = np.zeros(BLOCK, np.int64)

        def note(numbers: np.ndarray) -> None:
            for column in numbers.reshape(BLOCK, -1).T:
                decisions[:] = _noted(decisions, column)

        def watch(step: InterpreterStep) -> None:
            op = step.instruction.op
            (result, *_) = step.results
            if result.shape[:1] != (BLOCK,):
                return
            if op.name.startswith("special"):
                name, orders = (step.instruction.attrs[key] for key in ("function", "orders"))
                single = self.dtype is np.float32 and special(name).single and not any(orders)
                ways = np.zeros(result.size, np.int64)
                flat = [np.ravel(x).astype(np.float64) for x in step.operands]
                compute_checked(WatchedEvaluator(result.size, single, ways), name, orders, flat)
                note(ways)
            elif result.dtype == bool:
                note(result)
            elif (elementary := _elementary(step, self.dtype)) is not None:
                note(elementary)

        interpret_watched(self._traced, operands, watch)
        return decisions
