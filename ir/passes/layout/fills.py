"""Arrays that are filled with a number, and then written as a whole before anything is read: not filled.

    y = full(0.0)                       y = empty()
    y[0], y[1:n] = ...                  y[0], y[1:n] = ...

So a loop that writes all elements of ``np.zeros(n)`` passes over the memory once. Which elements ops and
loops write is known before they run; where an element might be read as it was, the array is filled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...graph import Function, Instruction, Value
from ...ops.shape import EMPTY
from ...registry import Kind
from ..algebra.cleanup import dce
from ..array_loops.affine import AffineValues
from ..array_loops.boxes import MOST_BOXES, Box, common, whole, without
from ..array_loops.written_elements import UnknownAccess, accesses, box_of, read_region, version_after

#: Filling what is smaller costs nothing that could be felt.
MIN_BYTES: Final = 1 << 12


def drop_fills(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; what is written as a whole before it is read, by
    updates, scatters and loops, begins as an ``empty``. Itself where there is none."""
    candidates = [
        instruction
        for instruction in function.body
        if instruction.op.kind is Kind.CREATION and instruction.result.type.nbytes >= MIN_BYTES
    ]
    if not candidates:
        return function
    program = _Program(function)
    begins: dict[tuple[Instruction, int], Instruction] = {}
    for fill in candidates:
        for reader, position in program.uses(fill.result):
            if program.is_overwritten(fill.result, reader, position):
                attrs = {"shape": fill.result.shape, "dtype": fill.result.dtype}
                results = (Value(fill.result.type, fill.result.hint),)
                begins[reader, position] = Instruction(EMPTY, (), attrs, results, fill.location)
    if not begins:
        return function
    body = []
    for instruction in function.body:
        operands = list(instruction.operands)
        for position in range(len(operands)):
            begin = begins.get((instruction, position))
            if begin is not None:
                body.append(begin)
                operands[position] = begin.result
        body.append(instruction.replace(operands=tuple(operands)))
    return dce(Function(function.name, function.params, tuple(body), function.results))


class _Program:
    """Who reads which value of a function, and what may be read of arrays before it is written."""

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
                if len(left) > MOST_BOXES or version in self.results:
                    return False
                writer, position = self._next(version, left)
        except UnknownAccess:
            return False

    def _next(self, version: Value, left: list[Box]) -> tuple[Instruction, int]:
        """What writes to `version`, of which nothing in `left` is read. Raises UnknownAccess."""
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
