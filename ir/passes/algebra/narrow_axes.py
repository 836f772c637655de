"""Narrow last dimensions are written out: three columns become three values.

The lanes of a nest run along its last dimension, so that rows of three numbers (points in space, colours,
the components of a mixture) leave most of a vector empty, and a reduction over them is a fold across lanes
for every row. Written out,

    sum(f(x), axes of 3 columns)  =  f(x[..., 0]) + f(x[..., 1]) + f(x[..., 2])

which has no narrow dimension: distances of all pairs, what follows from them, and sums over the pairs are
one nest along the pairs.

Columns that are put side by side and cut apart again (the state of three coupled equations, for many initial
conditions at once) stay apart between the two, and so do the gradients of columns, each among zeros. Only
what is read in some other way is put side by side in memory.
"""

from __future__ import annotations

from typing import Final

from ...builder import Builder
from ...graph import Function, Instruction, Value
from ...registry import OPS, Kind
from ..fusion.reasons import MAX_MEMBERS
from .cleanup import dce
from .columns import FOLDS, cuts_column, folds_columns, is_large, joins_columns
from .simplify import may_be_minus_zero, simplify

_BY_ELEMENT: Final = (Kind.ELEMENTWISE, Kind.VIEW)


def split_narrow_axes(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: reductions of large values with few columns, and arithmetic on
    columns put side by side, read the columns one by one; no dead code where it changed anything."""
    while True:
        written = _Columns(function).run()
        if written is function:
            return function
        function = written


class _Columns:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.defs = {result: instruction for instruction in function.body for result in instruction.results}
        self.b = Builder()
        self.known: dict[Value, tuple[Value, ...]] = {}
        #: Columns of zeros beside a column, and columns to which one was added: they have no minus zero.
        self.zeros: set[Value] = set()
        self.cleared: set[Value] = set()
        #: What is computed by column.
        self.chosen: set[Instruction] = set()

    def run(self) -> Function:
        self._choose()
        if not self.chosen:
            return self.function
        whole = self._needed_whole()
        for instruction in self.function.body:
            if instruction in self.chosen and instruction.result in whole:
                self.b.location = instruction.location
                self._write(instruction)
            else:
                self.b.body.append(instruction)
        function = self.function
        function = dce(Function(function.name, function.params, tuple(self.b.body), function.results))
        before = set(self.function.body)
        made = sum(
            instruction.op.kind is Kind.ELEMENTWISE and instruction not in before
            for instruction in function.body
        )
        return dce(simplify(function)) if made <= MAX_MEMBERS // 2 else self.function

    # -- what is computed by column ---------------------------------------------------------------

    def _choose(self) -> None:
        """Reductions that fold columns; what follows from them for each row; and what reads either by column,
        with what that is computed of."""
        folds = [
            instruction
            for instruction in self.function.body
            if is_large(instruction) and folds_columns(instruction)
        ]
        joins = [instruction for instruction in self.function.body if joins_columns(instruction, self.defs)]
        #: What is read only one column at a time.
        apart = self._read_apart() if folds or joins else ()
        # from the inside out: distances in two dimensions first, then the least of four distances
        rank = max([instruction.operands[0].type.ndim for instruction in (*folds, *joins)], default=0)
        #: What follows from the columns of each row.
        follows: set[Value] = set()
        for one in self.function.body if rank else ():
            if any(operand in follows for operand in one.operands) and one.op.kind in _BY_ELEMENT:
                follows.update(one.results)
            if cuts_column(one):
                made = self.defs.get(one.operands[0])
                if made in self.chosen and made is not None and self._by_column(made):
                    self.chosen.add(one)
            if not is_large(one) or one.operands[0].type.ndim != rank:
                continue
            if folds_columns(one) or one in apart or self._reads_columns(one, follows):
                self.chosen.add(one)
                follows.update(one.results)
                self._choose_producers(one)

    def _read_apart(self) -> set[Instruction]:
        """The arithmetic whose results are read one column at a time and in no other way."""
        read, whole = set[Instruction](), set(self.function.results)
        for instruction in self.function.body:
            if cuts_column(instruction) and instruction.operands[0] in self.defs:
                read.add(self.defs[instruction.operands[0]])
            else:
                whole.update(instruction.operands)
        return {
            instruction
            for instruction in read
            if instruction.op.kind is Kind.ELEMENTWISE and instruction.result not in whole
        }

    def _reads_columns(self, instruction: Instruction, follows: set[Value]) -> bool:
        """Whether an instruction reads what is computed by column, or what is in `follows` in all columns."""
        rows = instruction.operands[0].type.size // instruction.operands[0].shape[-1]
        stack = list(instruction.operands)
        while stack:
            value = stack.pop()
            made = self.defs.get(value)
            if made is None:
                continue
            if made in self.chosen or joins_columns(made, self.defs):
                return True
            if made.op.kind is Kind.VIEW and value in follows:
                if made.operands[0].type.size == rows:
                    return True
                stack += made.operands
        return False

    def _choose_producers(self, instruction: Instruction) -> None:
        """Choose the arithmetic from which `instruction` follows."""
        stack, seen = self._narrow(instruction), set[Value]()
        while stack:
            value = stack.pop()
            made = self.defs.get(value)
            if made is None or value in seen or made in self.chosen or not self._by_column(made):
                continue
            seen.add(value)
            if made.op.kind in (Kind.ELEMENTWISE, Kind.CONCAT, Kind.UPDATE):
                self.chosen.add(made)
            stack += self._narrow(made)

    def _narrow(self, made: Instruction) -> list[Value]:
        """The operands of an instruction that it reads by column: not what it broadcasts, unless that has
        been chosen."""
        like = made.operands[0] if made.op.kind is Kind.REDUCTION else made.result
        return [
            operand
            for operand in made.operands
            if operand.shape
            and (operand.shape[-1] == like.shape[-1] or self.defs.get(operand) in self.chosen)
        ]

    def _needed_whole(self) -> set[Value]:
        """The values that are read otherwise than by column."""
        whole, by_column = set(self.function.results), set[Value]()
        for instruction in reversed(self.function.body):
            here = any(result in whole for result in instruction.results)
            narrow: list[Value] = []
            if (
                any(result in by_column for result in instruction.results) and not here
            ) or instruction in self.chosen:
                if not here and instruction.results[0] not in by_column:
                    continue
                narrow = (
                    self._narrow(instruction)
                    if instruction in self.chosen or self._by_column(instruction)
                    else []
                )
            elif not here:
                continue
            by_column.update(narrow)
            for operand in instruction.operands:
                made = self.defs.get(operand)
                if operand not in narrow or made is None or not (made in self.chosen or self._is_view(made)):
                    whole.add(operand)
        return whole

    def _by_column(self, made: Instruction) -> bool:
        """Whether the columns of an instruction's result follow from the columns of its operands."""
        (result, *_) = made.results
        if made.op.kind is Kind.ELEMENTWISE:
            return is_large(made)
        if made.op.name in ("full", "broadcast") or joins_columns(made, self.defs):
            return True
        if made.op.name == "reshape":
            return made.operands[0].shape[-1:] == result.shape[-1:]
        if made.op.name == "transpose":
            return bool(made.attrs["perm"][-1] == len(result.shape) - 1)
        if made.op.name == "slice":
            own = (made.attrs["start"][-1], made.attrs["size"][-1], made.attrs["step"][-1])
            return own == (0, made.operands[0].shape[-1], 1)
        return False

    def _is_view(self, made: Instruction) -> bool:
        """Whether columns of the result are views of columns."""
        return made.op.kind in (Kind.VIEW, Kind.CREATION) and self._by_column(made)

    # -- writing ----------------------------------------------------------------------------------

    def _write(self, instruction: Instruction) -> None:
        """Append `instruction` by columns; its result is the value that it was."""
        if instruction.op.kind is not Kind.REDUCTION:
            self._join(instruction, self._columns(instruction.result))
            return
        b, axes = self.b, instruction.attrs["axes"]
        columns = self._columns(instruction.operands[0])
        if folds_columns(instruction):
            last = len(instruction.operands[0].shape) - 1
            total = columns[0]
            if (
                instruction.op.name == "sum"
                and len(columns) > 1
                and may_be_minus_zero(instruction.operands[0], self.defs)
            ):
                total = b.add(total, 0.0)  # a sum begins with 0, so that of -0.0 alone is 0.0
            for column in columns[1:]:
                total = b.apply(OPS[FOLDS[instruction.op.name]], (total, column), {})
            others = tuple(axis for axis in axes if axis != last)
            if others:
                (total,) = b.append(instruction.op, (total,), {"axes": others})
            self._stands_for(instruction, total)
            return
        reduced = [b.append(instruction.op, (column,), instruction.attrs)[0] for column in columns]
        self._join(instruction, tuple(reduced))

    def _join(self, instruction: Instruction, columns: tuple[Value, ...]) -> None:
        """Append the value whose columns those are, as the result of `instruction`."""
        b, shape = self.b, (*instruction.result.shape[:-1], 1)
        self.known[instruction.result] = columns
        if len(columns) == 1:
            self._stands_for(instruction, b.append(OPS["reshape"], columns, {"shape": shape})[0])
            return
        apart = tuple([b.append(OPS["reshape"], (column,), {"shape": shape})[0] for column in columns])
        self._stands_for(instruction, b.append(OPS["concat"], apart, {"axis": len(shape) - 1})[0])

    def _stands_for(self, instruction: Instruction, value: Value) -> None:
        """Let the last instruction, which made `value`, give the result of `instruction`."""
        made = self.b.body.pop()
        assert made.result is value, "the value was made last"
        self.b.body.append(
            Instruction(
                made.op, made.operands, made.attrs, instruction.results, instruction.location, made.regions
            )
        )

    def _columns(self, value: Value) -> tuple[Value, ...]:
        """The columns of `value`: of one that is the same in all, that value for each."""
        pending = [value]
        while pending:  # operands first, without recursion: chains are long
            current = pending[-1]
            made = self.defs.get(current)
            missing = []
            if (
                current not in self.known
                and made is not None
                and (self._by_column(made) or made in self.chosen)
            ):
                missing = [value for value in self._narrow(made) if value not in self.known]
            if missing:
                pending += missing
                continue
            pending.pop()
            if current not in self.known:
                location = self.b.location
                self.known[current] = self._made(current)
                self.b.location = location
        return self.known[value]

    def _made(self, value: Value) -> tuple[Value, ...]:
        """The columns of `value`, where those of what it is computed from are known."""
        b, made, count = self.b, self.defs.get(value), value.shape[-1]
        if made is not None and made in self.chosen and cuts_column(made):
            return (self.known[made.operands[0]][made.attrs["start"][-1]],)
        if made is not None and joins_columns(made, self.defs):
            return self._joined(made)
        if made is None or not self._by_column(made):
            return self._read(value)
        b.location = made.location
        attrs = _of_column(made)
        if made.op.kind is Kind.CREATION:
            return b.append(made.op, (), attrs) * count
        (operand, *_) = made.operands
        if operand.shape[-1:] != value.shape[-1:]:  # broadcast: the same in all columns
            if operand in self.known:
                (operand,) = self.known[operand]
            elif operand.shape:
                operand = self._only_column(operand)
            return (b.broadcast_to(operand, value.shape[:-1]),) * count
        columns: list[Value] = []
        done: dict[tuple[Value, ...], Value] = {}
        for operands in zip(*[self.known[operand] for operand in made.operands], strict=True):
            if operands not in done:
                done[operands] = self._apply(made, operands, attrs)
            columns.append(done[operands])
        return tuple(columns)

    def _joined(self, made: Instruction) -> tuple[Value, ...]:
        """The columns that `made` puts side by side, or one among zeros."""
        inside = made.operands if made.op.kind is Kind.CONCAT else made.operands[1:]
        own = [self.known[value][0] if value in self.known else self._only_column(value) for value in inside]
        if made.op.kind is Kind.CONCAT:
            return tuple(own)
        columns = list(self.known[made.operands[0]])
        self.zeros.update(columns)
        self.cleared.update(columns)
        columns[made.attrs["start"][-1]] = own[0]
        return tuple(columns)

    def _apply(self, made: Instruction, operands: tuple[Value, ...], attrs: dict[str, object]) -> Value:
        """`made` on columns. Gradients of columns are added up among zeros: x + 0 = x but for minus zero, and
        a sum is minus zero only where both parts are."""
        cleared = made.op.name == "add" and any(operand in self.cleared for operand in operands)
        if cleared and all(operand in self.cleared for operand in operands):
            rest = [operand for operand in operands if operand not in self.zeros]
            if len(rest) < 2:
                return rest[0] if rest else operands[0]
        result = self.b.append(made.op, operands, attrs)[0]
        if cleared:
            self.cleared.add(result)
        return result

    def _read(self, value: Value) -> tuple[Value, ...]:
        """The columns of a value in memory, as views."""
        b, rank, columns = self.b, len(value.shape), []
        if value.shape[-1] == 1:
            return (self._only_column(value),)
        for column in range(value.shape[-1]):
            attrs = {
                "start": (0,) * (rank - 1) + (column,),
                "size": (*value.shape[:-1], 1),
                "step": (1,) * rank,
            }
            (cut,) = b.append(OPS["slice"], (value,), attrs)
            columns.append(b.append(OPS["reshape"], (cut,), {"shape": value.shape[:-1]})[0])
        return tuple(columns)

    def _only_column(self, value: Value) -> Value:
        """`value`, whose last size is 1, without that dimension."""
        made, shape = self.defs.get(value), value.shape[:-1]
        if made is not None and made.op.name == "reshape" and made.operands[0].shape == shape:
            return made.operands[0]
        return self.b.append(OPS["reshape"], (value,), {"shape": shape})[0]


def _of_column(made: Instruction) -> dict[str, object]:
    """The attributes of an instruction, see `_by_column`, on one column."""
    attrs = dict(made.attrs)
    if made.op.kind is Kind.ELEMENTWISE:
        return attrs
    return {name: value[:-1] if isinstance(value, tuple) else value for name, value in attrs.items()}
