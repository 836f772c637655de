"""Lists to which the steps of a loop append, while the loop is traced: what each step appends, under which
conditions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from ...array.indexing.access import getitem
from ...array.operands import broadcast
from ...base.records import record
from ...ir.graph import Value
from ...ir.interpreter import run_instruction
from ...ir.registry import Kind
from ...pytree import containers_in
from ...state import STATE
from ...tensors.tensor import Tensor
from ...tracing.branches import needed_for
from ...tracing.tracer import Tracer
from ..origins import ContainerOrigins, Origin, is_new
from ..reports import CURRENT, LoopError
from ..variables import Content, Variables
from .blocks import Block, Column, in_one_column, joined
from .buffers import ChangesListError
from .stacked_lists import StackedList, item_content


@record(eq=False)
class Appended:
    """An item that a step appends at one place, or the block of a loop in it. Only steps for which `flag` is
    set do, where there is one."""

    value: Any
    flag: Tensor | None = None


class Recorder:
    """Takes the place of a list while a step is traced, and keeps what the step appends."""

    def __init__(self, tracer: Tracer, replaced: Any) -> None:
        self._tracer = tracer
        #: The identity of the list whose place it takes: a reference would count as another name.
        self.replaced: int = replaced.replaced if isinstance(replaced, Recorder) else id(replaced)
        self.parts: list[Appended] = []

    def append(self, item: Any) -> None:
        """``list.append``"""
        self.add(Appended(item))

    def _refuse(self, *arguments: Any, **options: Any) -> Any:
        raise ChangesListError("it reads or changes a list in the loop that appends to it", self.replaced)

    __len__ = __bool__ = __iter__ = __contains__ = __getitem__ = __setitem__ = __delitem__ = _refuse
    __iadd__ = __add__ = extend = pop = insert = remove = clear = copy = index = count = _refuse
    sort = reverse = _refuse

    def add(self, part: Appended) -> None:
        """Append what an inner statement appends."""
        if STATE.tracer is not self._tracer:
            raise LoopError("it appends to a list in a part of an expression that may not run")
        self.parts.append(part)


#: The names of values that a conditional merges: what a side appends, and the flag of that.
APPENDED: Final = "what is appended"
FLAG: Final = "the flag of an item"


class BranchAppends:
    """The lists of loops to which a conditional appends."""

    def __init__(self, names: Iterable[str], variables: Variables) -> None:
        self._variables = variables
        values = variables.values(names)
        self._before = {name: value for name, value in values.items() if isinstance(value, Recorder)}
        #: The parts that each side appends to each list.
        self._sides: list[list[list[Appended]]] = []

    def enter(self) -> None:
        """Replace the lists by recorders of the running region."""
        if self._before and (refusal := CURRENT.session.growth.refusal):
            raise LoopError(f"it appends to a list under a condition, and {refusal}")
        for name, value in self._before.items():
            self._variables.set(name, Recorder(STATE.tracer, value))

    def restore(self) -> None:
        """Restore the lists."""
        self._variables.update(self._before)

    def leave(self) -> list[Any]:
        """The items that a side has appended, each with its flag."""
        sides = [self._variables.get(name).parts for name in self._before]
        sides = [[_as_line(part) for part in parts] for parts in sides]
        self._sides.append(sides)
        return [value for parts in sides for part in parts for value in _flat_part(part)]

    def counts(self) -> list[list[int]]:
        """The number of values that each list has in the result of `leave`, for each side."""
        return [[2 * len(parts) for parts in side] for side in self._sides]

    def finish(self, values: Sequence[Any]) -> None:
        """Append to each list what `values` have, which are merged ones in the order of both sides."""
        remaining = iter(values)
        for recorder, *sides in zip(self._before.values(), *self._sides, strict=True):
            for pair in itertools.zip_longest(*sides):
                value, flag = next(remaining), next(remaining)
                blocks = [part.value for part in pair if part is not None and isinstance(part.value, Block)]
                if blocks:
                    value, flag = _merged_block(blocks, value, flag), None
                recorder.add(Appended(value, None if flag is True else flag))


def _as_line(part: Appended) -> Appended:
    """`part`, whose items have one type where it is a block."""
    block = part.value
    if isinstance(block, Block):
        block = block.as_line()
        if not block.has_containers:
            return Appended(block)
    elif not any(True for _ in containers_in(block)):
        return part
    raise LoopError("it appends a list or dict to a list under a condition")


def _flat_part(part: Appended) -> tuple[Any, Any]:
    if isinstance(part.value, Block):
        flags = part.value.flags
        return tuple(part.value.columns[0].leaves), True if flags is None else flags
    return part.value, True if part.flag is None else part.flag


def _merged_block(blocks: Sequence[Block], leaves: Sequence[Any], flag: Any) -> Block:
    """The block of the merged `leaves` and `flag` of the `blocks` of one or both sides."""
    models = [block.columns[0] for block in blocks]
    kinds = {(column.structure, block.steps) for column, block in zip(models, blocks, strict=True)}
    if len(kinds) > 1:
        raise LoopError("both sides of a condition append items of several types")
    weak = [all(numbers) for numbers in zip(*[column.weak for column in models], strict=True)]
    if flag is not True and not flag.shape:
        flag = broadcast(flag, (blocks[0].steps,))
    column = Column(models[0].structure, list(leaves), weak)
    return Block([column], blocks[0].steps, None if flag is True else flag)


class Appends:
    """The lists that one loop only appends to."""

    def __init__(self, names: Iterable[str], variables: Variables) -> None:
        self._variables = variables
        self._before: dict[str, Any] = {}
        #: Items that a step appends to each list, each with the weak flags of its leaves.
        self._contents: dict[str, list[tuple[Content, list[bool]]]] = {}
        self._blocks: dict[str, Block | None] = {}
        #: The flag of each item: its position among all, the flags of all steps where they are known, or None
        #: for an item without.
        self._flags: dict[str, list[Any]] = {}
        session = CURRENT.session
        for name in names:
            exclusive = variables.is_exclusive(name)
            value = variables.get(name)
            if type(value) not in (list, StackedList, Recorder):  # another class has an ``append`` of its own
                continue
            if not exclusive and not isinstance(value, Recorder):
                raise LoopError(f"it appends to {name}, a list that another name refers to")
            if session.attempts > 1 and not isinstance(value, Recorder) and not session.is_fresh(value):
                problem = f"it appends to {name}, a list that an enclosing loop or branch also reads"
                raise ChangesListError(problem, id(value))
            self._before[name] = value

    def __bool__(self) -> bool:
        return bool(self._before)

    @property
    def identities(self) -> list[int]:
        """The identities of the lists to which the loop appends."""
        values = self._before.values()
        return [value.replaced if isinstance(value, Recorder) else id(value) for value in values]

    def enter(self) -> None:
        """Replace the lists by recorders of the running region."""
        for name, value in self._before.items():
            self._variables.set(name, Recorder(STATE.tracer, value))

    def restore(self) -> None:
        """Restore the lists."""
        self._variables.update(self._before)

    def leave(
        self, is_weak: Any, counter: Tensor, steps: int | None
    ) -> tuple[list[tuple[str, Any]], list[Tensor]]:
        """The leaves of what the step `counter` of `steps` has appended, each with the name of its list, and
        the flags that say whether it has."""
        leaves: list[tuple[str, Any]] = []
        flags: dict[Any, Tensor] = {}
        for name in self._before:
            parts = _without_blocks(name, self._variables.get(name).parts, is_weak)
            block = parts[0].value if len(parts) == 1 and isinstance(parts[0].value, Block) else None
            if block is not None:
                contents = [
                    (Content(None, column.leaves, column.structure), column.weak) for column in block.columns
                ]
                own = [block.flags] * len(contents)
            else:
                contents = [item_content(name, part.value, is_weak) for part in parts]
                own = [part.flag for part in parts]
            self._contents[name], self._blocks[name] = contents, block
            known: list[Any] = [
                None if flag is None else _of_steps(flag._data, counter, steps) for flag in own
            ]
            if any(flag is not None and k is None for flag, k in zip(own, known, strict=True)):
                for flag in own:
                    if flag is not None:
                        flags.setdefault(flag._data, flag)
                places = list(flags)
                known = [None if flag is None else places.index(flag._data) for flag in own]
            self._flags[name] = known
            leaves += [(name, leaf) for content, _ in contents for leaf in content.leaves]
        return leaves, list(flags.values())

    def check_apart(self, carried: Iterable[frozenset[Origin]]) -> None:
        """Raise LoopError where a list or dict that the step has appended has another name: the items of the
        stack are new ones. `carried` are the origins of those that variables have where the step ends."""
        origins, other_names = ContainerOrigins(), set[Origin]().union(*carried)
        for name, contents in self._contents.items():
            for content, _ in contents:
                for container in containers_in(content.value):
                    own = origins.of(container)
                    if not is_new(own) or other_names & own:
                        kind = list if isinstance(container, StackedList) else type(container)
                        raise LoopError(f"it appends a {kind.__name__} to {name} that another name refers to")
                    other_names |= own

    def finish(self, stacks: Sequence[Tensor], flags: Sequence[Tensor], steps: int) -> None:
        """Append the items of all `steps` to the lists; their leaves are `stacks`, and their flags those of
        all steps."""
        remaining = iter(stacks)
        for name, before in self._before.items():
            inner = self._blocks[name]
            columns = []
            for content, weak in self._contents[name]:
                leaves = [next(remaining) for _ in content.leaves]
                if inner is not None:
                    leaves = [_flattened(leaf) for leaf in leaves]
                assert content.structure is not None
                columns.append(Column(content.structure, leaves, weak))
            if not columns:
                continue
            own = self._flags[name]
            count = steps if inner is None else steps * inner.steps
            if all(flag is None for flag in own):
                block = Block(columns, count)
            elif any(isinstance(flag, int) for flag in own):
                set_ = [None if place is None else _flattened(flags[place]) for place in own]
                block = in_one_column(columns, count, set_)
                CURRENT.session.growth.happens = True
            else:
                block = _chosen(in_one_column(columns, count, [None] * len(columns)), own)
            if isinstance(before, Recorder):
                before.add(Appended(block))
            else:
                stacked = StackedList(before, block)
                CURRENT.session.note_fresh(stacked)
                self._variables.set(name, stacked)


def _of_steps(flag: Value, counter: Tensor, steps: int | None) -> np.ndarray | None:
    """The values of `flag` for all `steps`, None where these do not follow from the `counter` alone."""
    producers = {result: instruction for instruction in STATE.tracer.body for result in instruction.results}
    if steps is None:
        return None
    values: dict[Value, Any] = {counter._data: np.arange(steps)}
    sources = [flag]
    for value in sources:  # which grows
        if value not in values:
            instruction = producers.get(value)
            if instruction is None or instruction.op.kind not in (Kind.ELEMENTWISE, Kind.CREATION):
                return None
            sources += [operand for operand in instruction.operands if operand not in sources]
    with np.errstate(all="ignore"):
        for instruction in needed_for(flag, producers, values):
            run_instruction(instruction, values)
    return np.broadcast_to(values[flag], (steps,))


def _chosen(block: Block, flags: Sequence[Any]) -> Block:
    """The items of `block` for whose steps the known `flags` of their columns are set."""
    (column,), steps = block.columns, len(block) // len(flags)
    rows = [np.ones(steps, bool) if flag is None else flag for flag in flags]
    places = np.flatnonzero(np.stack(rows, axis=1))
    leaves = [getitem(leaf, places) for leaf in column.leaves]
    return Block([Column(column.structure, leaves, column.weak)], len(places))


def _flattened(stacked: Tensor) -> Tensor:
    """The values of all steps, of which each has one or a line of them, as a line."""
    if stacked.ndim < 2:
        return stacked
    return stacked.reshape((stacked.shape[0] * stacked.shape[1], *stacked.shape[2:]))


def _without_blocks(name: str, parts: list[Appended], is_weak: Any) -> list[Appended]:
    """`parts` as items, or as one block: of all items where some have flags."""
    blocks = [part.value for part in parts if isinstance(part.value, Block)]
    if not blocks or len(parts) == 1:
        return parts
    if all(block.flags is None for block in blocks) and all(part.flag is None for part in parts):
        return list(map(Appended, _expanded(parts)))
    lines = []
    for part in parts:
        line = part.value
        if not isinstance(line, Block):
            content, weak = item_content(name, part.value, is_weak)
            assert content.structure is not None
            leaves = [leaf.reshape((1, *leaf.shape)) for leaf in content.leaves]
            flags = None if part.flag is None else part.flag.reshape((1,))
            line = Block([Column(content.structure, leaves, weak)], 1, flags)
        lines.append(line)
    return [Appended(joined(lines))]


def _expanded(parts: list[Appended]) -> Iterator[Any]:
    for part in parts:
        if isinstance(part.value, Block):
            yield from map(part.value.item, range(len(part.value)))
        else:
            yield part.value
