"""Narrow last dimensions are written out: three columns become three values.

The vectors of a nest lie along its last dimension, so that rows of three numbers (points in space, colours,
the components of a mixture) leave most of a vector empty, and a reduction over them is a fold within a
vector for every row. Written out,

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
from .cleanup import dce
from .columns import FOLDS, cuts_column, folds_columns, is_large, is_of_flat_memory, joins_columns
from .simplify import may_be_minus_zero, simplify

#: The maximum number of ops on columns that are written out.
MAX_WRITTEN: Final = 100
#: The kinds of what folds columns, or puts them side by side.
_WITH_COLUMNS: Final = frozenset((Kind.REDUCTION, Kind.CONCAT, Kind.UPDATE))
_BY_ELEMENT: Final = (Kind.ELEMENTWISE, Kind.VIEW)


def split_narrow_axes(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: reductions of large values with few columns, and arithmetic on
    columns put side by side, read the columns one by one; no dead code where it changed anything."""
    while not {op.kind for op in function.ops}.isdisjoint(_WITH_COLUMNS):
        written = _Columns(function).run()
        if written is function:
            break
        function = written
    return function


class _Columns:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.defs = function.defs
        self.b = Builder()
        self.known: dict[Value, tuple[Value, ...]] = {}
        #: Columns of zeros beside a column, and columns to which one was added: they have no minus zero.
        self.zeros: set[Value] = set()
        self.cleared: set[Value] = set()
        #: The instructions that are computed by column.
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
        members = sum(
            instruction.op.kind is Kind.ELEMENTWISE and instruction not in before
            for instruction in function.body
        )
        return dce(simplify(function)) if members <= MAX_WRITTEN else self.function

    # -- what is computed by column ---------------------------------------------------------------

    def _choose(self) -> None:
        """Choose the instructions to compute by column: reductions that fold columns, arithmetic that reads
        columns, and the producers of both."""
        body = self.function.body
        candidates = [instruction for instruction in body if instruction.op.kind in _WITH_COLUMNS]
        folds = [
            instruction
            for instruction in candidates
            if folds_columns(instruction)
            and is_large(instruction)
            and not is_of_flat_memory(instruction, self.defs)
        ]
        joins = [instruction for instruction in candidates if joins_columns(instruction, self.defs)]
        #: The instructions whose results are read only one column at a time.
        apart = self._read_apart() if folds or joins else ()
        # from the inside out: distances in two dimensions first, then the least of four distances
        rank = max([instruction.operands[0].type.ndim for instruction in (*folds, *joins)], default=0)
        #: The values that depend on the columns of each row.
        follows: set[Value] = set()
        for candidate in body if rank else ():
            if any(operand in follows for operand in candidate.operands) and candidate.op.kind in _BY_ELEMENT:
                follows.update(candidate.results)
            if cuts_column(candidate):
                definition = self.defs.get(candidate.operands[0])
                if definition in self.chosen and definition is not None and self._by_column(definition):
                    self.chosen.add(candidate)
            if not is_large(candidate) or candidate.operands[0].type.ndim != rank:
                continue
            folds_here = folds_columns(candidate) and not is_of_flat_memory(candidate, self.defs)
            if folds_here or candidate in apart or self._reads_columns(candidate, follows):
                self.chosen.add(candidate)
                follows.update(candidate.results)
                self._choose_producers(candidate)

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
            definition = self.defs.get(value)
            if definition is None:
                continue
            if definition in self.chosen or joins_columns(definition, self.defs):
                return True
            if definition.op.kind is Kind.VIEW and value in follows:
                if definition.operands[0].type.size == rows:
                    return True
                stack += definition.operands
        return False

    def _choose_producers(self, instruction: Instruction) -> None:
        """Choose the arithmetic from which `instruction` follows."""
        stack, seen = self._narrow(instruction), set[Value]()
        while stack:
            value = stack.pop()
            definition = self.defs.get(value)
            if (
                definition is None
                or value in seen
                or definition in self.chosen
                or not self._by_column(definition)
            ):
                continue
            seen.add(value)
            if definition.op.kind in (Kind.ELEMENTWISE, Kind.CONCAT, Kind.UPDATE):
                self.chosen.add(definition)
            stack += self._narrow(definition)

    def _narrow(self, definition: Instruction) -> list[Value]:
        """The operands of an instruction that it reads by column. Broadcast operands are not, unless they
        have been chosen."""
        like = definition.operands[0] if definition.op.kind is Kind.REDUCTION else definition.result
        return [
            operand
            for operand in definition.operands
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
                definition = self.defs.get(operand)
                if (
                    operand not in narrow
                    or definition is None
                    or not (definition in self.chosen or self._is_view(definition))
                ):
                    whole.add(operand)
        return whole

    def _by_column(self, definition: Instruction) -> bool:
        """Whether the columns of an instruction's result follow from the columns of its operands."""
        (result, *_) = definition.results
        if definition.op.kind is Kind.ELEMENTWISE:
            return is_large(definition)
        if definition.op.name in ("full", "broadcast") or joins_columns(definition, self.defs):
            return True
        if definition.op.name == "reshape":
            return definition.operands[0].shape[-1:] == result.shape[-1:]
        if definition.op.name == "transpose":
            return bool(definition.attrs["perm"][-1] == len(result.shape) - 1)
        if definition.op.name == "slice":
            own = (definition.attrs["start"][-1], definition.attrs["size"][-1], definition.attrs["step"][-1])
            return own == (0, definition.operands[0].shape[-1], 1)
        return False

    def _is_view(self, definition: Instruction) -> bool:
        """Whether columns of the result are views of columns."""
        return definition.op.kind in (Kind.VIEW, Kind.CREATION) and self._by_column(definition)

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
        """Replace the results of the last instruction, which computed `value`, by those of `instruction`."""
        definition = self.b.body.pop()
        assert definition.result is value, "the value was made last"
        self.b.body.append(
            Instruction(
                definition.op,
                definition.operands,
                definition.attrs,
                instruction.results,
                instruction.location,
                definition.regions,
            )
        )

    def _columns(self, value: Value) -> tuple[Value, ...]:
        """The columns of `value`: of one that is the same in all, that value for each."""
        pending = [value]
        while pending:  # operands first, without recursion: chains are long
            current = pending[-1]
            definition = self.defs.get(current)
            missing = []
            if (
                current not in self.known
                and definition is not None
                and (self._by_column(definition) or definition in self.chosen)
            ):
                missing = [value for value in self._narrow(definition) if value not in self.known]
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
        """Compute the columns of `value` from the columns of its operands, which are known."""
        b, definition, count = self.b, self.defs.get(value), value.shape[-1]
        if definition is not None and definition in self.chosen and cuts_column(definition):
            return (self.known[definition.operands[0]][definition.attrs["start"][-1]],)
        if definition is not None and joins_columns(definition, self.defs):
            return self._joined(definition)
        if definition is None or not self._by_column(definition):
            return self._read(value)
        b.location = definition.location
        attrs = _of_column(definition)
        if definition.op.kind is Kind.CREATION:
            return b.append(definition.op, (), attrs) * count
        (operand, *_) = definition.operands
        if operand.shape[-1:] != value.shape[-1:]:  # broadcast: the same in all columns
            if operand in self.known:
                (operand,) = self.known[operand]
            elif operand.shape:
                operand = self._only_column(operand)
            return (b.broadcast_to(operand, value.shape[:-1]),) * count
        columns: list[Value] = []
        done: dict[tuple[Value, ...], Value] = {}
        for operands in zip(*[self.known[operand] for operand in definition.operands], strict=True):
            if operands not in done:
                done[operands] = self._apply(definition, operands, attrs)
            columns.append(done[operands])
        return tuple(columns)

    def _joined(self, definition: Instruction) -> tuple[Value, ...]:
        """The columns that `definition` puts side by side, or one among zeros."""
        inside = definition.operands if definition.op.kind is Kind.CONCAT else definition.operands[1:]
        own = [self.known[value][0] if value in self.known else self._only_column(value) for value in inside]
        if definition.op.kind is Kind.CONCAT:
            return tuple(own)
        columns = list(self.known[definition.operands[0]])
        self.zeros.update(columns)
        self.cleared.update(columns)
        columns[definition.attrs["start"][-1]] = own[0]
        return tuple(columns)

    def _apply(self, definition: Instruction, operands: tuple[Value, ...], attrs: dict[str, object]) -> Value:
        """`definition` on columns. Gradients of columns are added up among zeros: x + 0 = x but for minus
        zero, and a sum is minus zero only where both parts are."""
        cleared = definition.op.name == "add" and any(operand in self.cleared for operand in operands)
        if cleared and all(operand in self.cleared for operand in operands):
            rest = [operand for operand in operands if operand not in self.zeros]
            if len(rest) < 2:
                return rest[0] if rest else operands[0]
        result = self.b.append(definition.op, operands, attrs)[0]
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
        definition, shape = self.defs.get(value), value.shape[:-1]
        if (
            definition is not None
            and definition.op.name == "reshape"
            and definition.operands[0].shape == shape
        ):
            return definition.operands[0]
        return self.b.append(OPS["reshape"], (value,), {"shape": shape})[0]


def _of_column(definition: Instruction) -> dict[str, object]:
    """The attributes of an instruction, see `_by_column`, on one column."""
    attrs = dict(definition.attrs)
    if definition.op.kind is Kind.ELEMENTWISE:
        return attrs
    return {name: value[:-1] if isinstance(value, tuple) else value for name, value in attrs.items()}
