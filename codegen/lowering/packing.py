"""Vectors of scalar computations: expensive ops that do not depend on each other share their instructions.

Sixty sines of sixty scalars are eight sines of vectors: less code to compile and to run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, TypeAlias

from ...ir.analysis.loop_arrays import is_array, written_versions
from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Function, Instruction, Value
from ...ir.registry import Attrs, Kind, Op
from ..llvm.emitter import Reg
from ..llvm.function import Code
from ..llvm.target import Target
from ..maths import MathsWriter

#: Ops from this cost on are worth putting operands into vectors and taking results out.
PACKED_COST: Final = 8.0
#: Expensive ops are written in place so many times, and called from then on: each takes milliseconds to
#: compile.
INLINED_USES: Final = 6

#: Number of elements at which a group of ops is written.
GROUP_ELEMENTS: Final = 16

#: Key of an op's code: its name, its attributes, the types of its operands.
_Shape: TypeAlias = tuple[str, ...]


def in_groups(function: Function) -> list[list[Instruction]]:
    """Order the instructions of `function` so that expensive elementwise ops that are alike and independent
    stand in groups, and everything else alone.

    A group has about as many elements as fit vectors, those that are needed next, and stands where the first
    of them is needed: results of a larger one would fill all registers until they are.
    """
    if sum(map(_expensive, function.body)) < 2:
        return [[instruction] for instruction in function.body]
    needs = _needs(function)
    level: dict[Value, int] = {}
    groups: list[list[Instruction]] = []
    group_of: dict[Instruction, list[Instruction]] = {}
    alike: dict[object, list[Instruction]] = {}
    for instruction in function.body:
        expensive = _expensive(instruction)
        # ops on one level do not depend on each other
        own = max([level.get(value, 0) for value in needs[instruction]], default=0) + expensive
        level.update(dict.fromkeys(instruction.results, own))
        group: list[Instruction] = []
        if expensive:
            types = tuple([operand.dtype for operand in instruction.operands])
            key = (own, instruction.op.name, types, repr(tuple(instruction.attrs.items())))
            members = alike.get(key)
            if members is not None and sum(member.result.type.size for member in members) < GROUP_ELEMENTS:
                group = members
            alike[key] = group
        group.append(instruction)
        group_of[instruction] = group
    defs = {result: instruction for instruction in function.body for result in instruction.results}
    placed: set[Value] = set()
    for instruction in function.body:
        stack = [instruction]
        while stack:  # what a group needs comes before it
            group = group_of[stack[-1]]
            if group[0].results[0] in placed:
                stack.pop()
                continue
            missing = [
                defs[value]
                for member in group
                for value in needs[member]
                if value in defs and value not in placed
            ]
            if missing:
                stack += missing
                continue
            groups.append(group)
            placed.update(result for member in group for result in member.results)
    return groups


def _needs(function: Function) -> dict[Instruction, list[Value]]:
    """Values that must be computed before each instruction: its operands and, if it writes the next version
    of an array, the results of the earlier readers of the current version."""
    readers: dict[Value, list[Instruction]] = {}
    needs: dict[Instruction, list[Value]] = {}
    for instruction in function.body:
        overwritten = {operand for operand, _ in written_versions(instruction) or ()}
        before = [
            result
            for operand in overwritten
            for reader in readers.get(operand, ())
            for result in reader.results
        ]
        needs[instruction] = [*instruction.operands, *before]
        for operand in instruction.operands:
            if is_array(operand):
                readers.setdefault(operand, []).append(instruction)
    return needs


def _expensive(instruction: Instruction) -> bool:
    return _is_expensive(instruction.op)


def _is_expensive(op: Op) -> bool:
    return op.kind is Kind.ELEMENTWISE and op.cost >= PACKED_COST


class OpWriter:
    """Writes elementwise ops: their code, or from some number of uses on a call of it."""

    def __init__(
        self,
        name: str,
        w: MathsWriter,
        inlined: int = INLINED_USES,
        folded_alone: frozenset[Value] = frozenset(),
    ) -> None:
        self.name, self.w, self.inlined = name, w, inlined
        #: Results that one fold reads and nothing else: a product is rounded once with its sum.
        self.folded_alone = folded_alone
        self.uses: Counter[_Shape] = Counter()
        #: Functions for expensive ops that are used often, by op and operand types: their results, and
        #: the functions.
        self.outlined: dict[_Shape, tuple[str, Reg]] = {}
        self.functions: Code = []

    def emitted(self, instruction: Instruction, operands: Sequence[Reg]) -> Reg:
        """The op's code, or a call of it where there is much of it already."""
        alone = instruction.results[0] in self.folded_alone
        return self.emitted_op(instruction.op, instruction.attrs, operands, alone=alone)

    def emitted_op(self, op: Op, attrs: Attrs, operands: Sequence[Reg], *, alone: bool = False) -> Reg:
        """The code of `op`, or a call of it where there is much of it already. Its result is read by one fold
        `alone`, or rounded as it is."""
        emit = op.emit
        assert emit is not None
        shape: _Shape = ()
        if _is_expensive(op):
            shape = (op.name, repr(tuple(attrs.items())), *[x.type for x in operands])
            self.uses[shape] += 1
        if not shape or self.uses[shape] <= self.inlined:
            written: Reg = emit(self.w, *operands, **attrs)
            return written if alone else self.w.rounded(written)
        if shape not in self.outlined:
            name = f"{self.name}_{op.name}{len(self.outlined)}"
            w = MathsWriter(self.w.declarations)
            params = [Reg(f"%x{i}", x.dtype, x.lanes) for i, x in enumerate(operands)]
            result: Reg = emit(w, *params, **attrs)
            w.ret(result)
            signature = f"internal {result.type} @{name}({', '.join(map(str, params))})"
            self.functions.append(w.function(signature, "nounwind"))
            self.outlined[shape] = name, result
        name, result = self.outlined[shape]
        return self.w.result_of(name, result.dtype, result.lanes, *operands)


class PackingWriter(OpWriter):
    """Writes elementwise ops on many scalars."""

    def __init__(self, name: str, w: MathsWriter, target: Target) -> None:
        super().__init__(name, w)
        self.target = target

    def packed(self, instruction: Instruction, rows: Sequence[Sequence[Reg]]) -> list[Reg]:
        """The op of `instruction` on each row of operands."""
        dtypes = [SHORT_NAME[value.dtype] for value in (*instruction.operands, instruction.result)]
        lanes = min(self.target.lanes(dtype) for dtype in dtypes)
        if not _expensive(instruction) or lanes == 1 or len(rows) == 1:
            return [self.emitted(instruction, row) for row in rows]
        results: list[Reg] = []
        for start in range(0, len(rows), lanes):
            part = rows[start : start + lanes]
            width = 1
            while width < len(part):
                width *= 2
            # a last row fills the vector: what is poison may not be divided by
            filled = [*part, *[part[-1]] * (width - len(part))]
            vector = self.emitted(instruction, [self.vector(column) for column in zip(*filled, strict=True)])
            results += [self.w.extract(vector, lane) for lane in range(len(part))]
        return results

    def vector(self, scalars: Sequence[Reg]) -> Reg:
        """The scalars as the lanes of a vector."""
        if all(scalar.text == scalars[0].text for scalar in scalars):
            return self.w.splat(scalars[0], len(scalars))
        dtype, lanes = scalars[0].dtype, len(scalars)
        vector = Reg("poison", dtype, lanes)
        for lane, reg in enumerate(scalars):
            vector = self.w.arrange("insertelement", dtype, lanes, vector, reg, Reg(str(lane), "i64"))
        return vector
