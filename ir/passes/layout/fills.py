"""Arrays that are filled with a number, and then written as a whole before anything is read: not filled.

    y = full(0.0)                       y = empty()
    y[0], y[1:n] = ...                  y[0], y[1:n] = ...

So a loop that writes all elements of ``np.zeros(n)`` passes over the memory once. Which elements ops and
loops write is known before they run; where an element might be read as it was, the array is filled: as a
whole, or there alone, if a loop writes nearly all others first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from ...analysis.affine import AffineValues
from ...builder import Builder
from ...graph import Function, Instruction, Value
from ...ops.creation import EMPTY
from ...registry import Kind
from ..algebra.cleanup import dce
from ..array_loops.boxes import MAX_BOXES, Box, common, whole, without
from ..array_loops.written_elements import UnknownAccess, accesses, box_of, read_region, version_after
from . import is_large_fill

#: Share of the elements that may be filled separately, one in this many, and most boxes of them.
_FEW: Final = 8


def drop_fills(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; what is written as a whole before it is read, by
    updates, scatters and loops, begins as an ``empty``. Itself where there is none."""
    candidates = list(filter(is_large_fill, function.body))
    if not candidates:
        return function
    program = _Program(function)
    begins: dict[tuple[Instruction, int], list[Instruction]] = {}
    for fill in candidates:
        for reader, position in program.uses(fill.result):
            if program.is_overwritten(fill.result, reader, position):
                begins[reader, position] = _filled(fill, [])
            elif fill.op.name == "full" and reader.op.kind is Kind.SCAN:
                left = program.left_by(reader, position, fill.result)
                if left is not None:
                    begins[reader, position] = _filled(fill, left)
    if not begins:
        return function
    body = []
    for instruction in function.body:
        operands = list(instruction.operands)
        for position in range(len(operands)):
            begin = begins.get((instruction, position))
            if begin is not None:
                body += begin
                operands[position] = begin[-1].result
        body.append(instruction.replace(operands=tuple(operands)))
    return dce(Function(function.name, function.params, tuple(body), function.results))


def _filled(fill: Instruction, boxes: list[Box]) -> list[Instruction]:
    """An array like that of `fill`, of which `boxes` are filled."""
    b: Any = Builder()
    b.location = fill.location
    shape, dtype = fill.result.shape, fill.result.dtype
    (array,) = b.append(EMPTY, (), {"shape": shape, "dtype": dtype})
    for box in boxes:
        size = tuple([last - first for first, last in box])
        part = b.full(value=fill.attrs["value"], shape=size, dtype=dtype)
        array = b.update(array, part, start=tuple([first for first, _ in box]), step=(1,) * len(box))
    return list(b.body)


class _Program:
    """Readers of each value of a function, and analysis of reads of arrays before they are written."""

    def __init__(self, function: Function) -> None:
        self.results = function.results
        self.values = AffineValues({value: step for step in function.body for value in step.results})
        self.readers: dict[Value, list[Instruction]] = {}
        for instruction in function.body:
            for operand in dict.fromkeys(instruction.operands):
                self.readers.setdefault(operand, []).append(instruction)

    def uses(self, value: Value) -> Iterator[tuple[Instruction, int]]:
        """The instructions that read `value`, with the positions of their operands."""
        for reader in self.readers.get(value, ()):
            for position, operand in enumerate(reader.operands):
                if operand is value:
                    yield reader, position

    def is_overwritten(self, array: Value, writer: Instruction, position: int) -> bool:
        """Whether `writer`, whose operand at `position` is `array`, and what follows it write all elements
        before any of them is read."""
        shape, left = array.shape, [whole(array.shape)]
        try:
            while True:
                done = accesses(writer, position, self.values)
                for region in done.reads:
                    self._check(box_of(region, shape), left)
                for region in done.writes:
                    box = box_of(region, shape)
                    left = without(left, box) if box is not None else left
                if not left:
                    return True
                version = version_after(writer, position)
                if len(left) > MAX_BOXES or version in self.results:
                    return False
                writer, position = self._next(version, left)
        except UnknownAccess:
            return False

    def left_by(self, writer: Instruction, position: int, array: Value) -> list[Box] | None:
        """The boxes of an array that the loop `writer` does not write, if they are few and have all that it
        reads of the earlier content; else None."""
        shape, left = array.shape, [whole(array.shape)]
        try:
            done = accesses(writer, position, self.values)
        except UnknownAccess:
            return None
        reads = [box_of(region, shape) for region in done.reads]
        for region in done.writes:
            box = box_of(region, shape)
            left = without(left, box) if box is not None else left
        written = [whole(shape)]
        for box in left:
            written = without(written, box)
        few = (
            sum([math.prod([last - first for first, last in box]) for box in left]) * _FEW <= array.type.size
        )
        apart = not any(read is None or any(common(read, box) for box in written) for read in reads)
        return left if few and apart and len(left) <= _FEW else None

    def _next(self, version: Value, left: list[Box]) -> tuple[Instruction, int]:
        """The only instruction that writes to `version`, with the position of the operand. Raises
        UnknownAccess where there is no such instruction, or where others read elements in `left`."""
        writers = []
        for reader, position in self.uses(version):
            if reader.op.kind is Kind.GATHER or reader.op.name == "slice":
                self._check(box_of(read_region(reader, self.values), version.shape), left)
            else:
                writers.append((reader, position))
        if len(writers) != 1:
            raise UnknownAccess
        return writers[0]

    @staticmethod
    def _check(read: Box | None, left: list[Box]) -> None:
        if read is None or any(common(read, box) for box in left):
            raise UnknownAccess
