"""Buffer planning: the memory of each value of a fused Function.

Parameters live in the caller's arrays, results in the arrays the caller allocates, constants in the module,
everything else in one arena whose space is reused once a value is dead, or in the array of a result that is
written later. The arenas of a control flow op's regions are a part of it, as are the second buffers of a
loop's carries and what kernels need to work in: a step allocates nothing. A reshape shares its operand's
memory; what dies at an instruction that may write a result over it, or at a loop that carries it, hands its
memory on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, Protocol

from ...base.machine import machine
from ...base.records import field, record
from ...ir.access import resolve, viewed
from ...ir.graph import Function, Instruction, Value
from ...ir.registry import Kind
from .arena import ArenaBlock, comes_after, pack

_ALIGNMENT: Final = 64
#: The second buffer of a carry that steps update in place, and of one whose first value's memory it is.
IN_PLACE: Final = -1
FIRST_VALUE: Final = -2


def large_bytes() -> int:
    """Values from this size on hand their memory on, and may lie in the array of a result that is written
    later. What is smaller stays in the first cache, and small arrays are aligned to 16 bytes alone."""
    return machine().l1_bytes


class Kernels(Protocol):
    """Interface through which a plan asks about instructions' kernels."""

    def workspace(self, instruction: Instruction, defs: Mapping[Value, Instruction]) -> int:
        """Number of bytes that the kernel needs as workspace, given the definitions around it."""

    def overwrites(self, instruction: Instruction) -> Collection[tuple[int, int]]:
        """Positions of results, each with that of an operand over which it may be written."""


@record
class BufferPlace:
    """`kind` is input, output, arena or constant; `index` a position, or a byte offset in the arena."""

    kind: str
    index: int


@record(eq=False, frozen=False)
class BufferPlan:
    """Places by value, the arena's size, and results that must be copied: (output, source)."""

    places: dict[Value, BufferPlace] = field(default_factory=dict)
    arena_bytes: int = 0
    copies: list[tuple[int, Value]] = field(default_factory=list)
    #: Layouts of control flow instructions, and where in the arena each begins.
    layouts: dict[Instruction, tuple[BufferLayout, int]] = field(default_factory=dict)
    #: Offsets in the arena of the workspaces of instructions whose kernels need one.
    workspaces: dict[Instruction, int] = field(default_factory=dict)
    #: Carries whose memory the result at the same position may be.
    replaceable: frozenset[int] = frozenset()
    #: `Kernels.overwrites` of each instruction, where parameters are donated.
    overwrites: dict[Instruction, Collection[tuple[int, int]]] = field(default_factory=dict)


@record(eq=False, frozen=False)
class BufferLayout:
    """The workspace of a control flow instruction: an arena that its regions share, behind it the second
    buffers of a loop's carries (or IN_PLACE, or FIRST_VALUE), and a place for a condition.

    For a ``rewind`` `spares` are those of its states, and `carries` has two buffers for each carry: the same
    one twice where steps update it in place, none where it is on the stack.
    """

    plans: tuple[BufferPlan, ...]
    spares: tuple[int, ...]
    condition: int
    nbytes: int
    carries: tuple[tuple[int, int] | None, ...] = ()


def layout_of(
    instruction: Instruction, plans: tuple[BufferPlan, ...], first_values: Collection[int] = ()
) -> BufferLayout:
    """The memory of a control flow instruction with these plans of its regions, where the memory of the
    operands at `first_values` may be written."""
    if instruction.op.kind is Kind.REWIND:
        return _layout_of_rewind(instruction, plans)
    top = _rounded(max(plan.arena_bytes for plan in plans))
    spares: list[int] = []
    for position in range(instruction.attrs.get("carries", 0)):
        if position in plans[-1].replaceable:
            spares.append(IN_PLACE)
        elif position in first_values:
            spares.append(FIRST_VALUE)
        else:
            spares.append(top)
            top += _rounded(instruction.operands[position].type.nbytes)
    return BufferLayout(plans, tuple(spares), top, top + _ALIGNMENT)


def plans_of(instruction: Instruction, kernels: Kernels) -> tuple[BufferPlan, ...]:
    """The plans of a control flow instruction's regions."""
    count = instruction.attrs.get("carries", 0)
    if instruction.op.kind is not Kind.REWIND:
        return tuple([plan_buffers(region, kernels, count) for region in instruction.regions])
    condition, body, backward = instruction.regions
    states = instruction.attrs["states"]
    return (
        plan_buffers(condition, kernels),
        plan_buffers(body, kernels, count),
        plan_buffers(backward, kernels, states, len(instruction.operands) - states),
    )


def on_stack(rewind: Instruction) -> list[bool]:
    """Flags of the carries of a ``rewind`` that its backward step reads, so that each step's are kept."""
    backward = rewind.regions[2]
    read = {operand for instruction in backward.body for operand in instruction.operands} | set(
        backward.results
    )
    return [param in read for param in backward.params[: rewind.attrs["carries"]]]


def _layout_of_rewind(instruction: Instruction, plans: tuple[BufferPlan, ...]) -> BufferLayout:
    top = _rounded(max(plan.arena_bytes for plan in plans))
    spares: list[int] = []
    for position in range(instruction.attrs["states"]):
        if position in plans[2].replaceable:
            spares.append(IN_PLACE)
            continue
        spares.append(top)
        top += _rounded(instruction.results[position].type.nbytes)
    carries: list[tuple[int, int] | None] = []
    for position, kept in enumerate(on_stack(instruction)):
        if kept:
            carries.append(None)
            continue
        size = _rounded(instruction.operands[position].type.nbytes)
        flag = position in plans[1].replaceable
        carries.append((top, top if flag else top + size))
        top += size if flag else 2 * size
    return BufferLayout(plans, tuple(spares), top, top + _ALIGNMENT, tuple(carries))


def _rounded(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


def reads(instruction: Instruction, defs: Mapping[Value, Instruction]) -> list[Value]:
    """The values whose memory `instruction` reads; some kernels read through views."""
    if instruction.op.kind.traits.reads_views:
        return [resolve(operand, defs)[0] for operand in instruction.operands]
    return list(instruction.operands)


def plan_buffers(
    function: Function,
    kernels: Kernels,
    carries: int = 0,
    first: int = 0,
    donated: Collection[int] | None = None,
) -> BufferPlan:
    """Place every value of `function`, whose instructions run in order.

    Of a region, a loop's body with so many carries, which come in as the parameters from `first` on. Of a
    whole function `donated` is given: results that might be written over those parameters lend their memory
    to nothing else.
    """
    return _Planner(function, kernels, donated).run(carries, first)


class _Planner:
    def __init__(self, function: Function, kernels: Kernels, donated: Collection[int] | None) -> None:
        self.function, self.kernels = function, kernels
        self.defs = {result: instruction for instruction in function.body for result in instruction.results}
        self.positions = {instruction: position for position, instruction in enumerate(function.body)}
        self.plan = BufferPlan()
        #: The value whose memory a value shares.
        self.owner: dict[Value, Value] = {}
        self.last_use: dict[Value, int] = {}
        self.donated = donated
        taken = {function.params[position].type for position in donated or ()}
        #: The results whose arrays may hold other values before.
        self.lending = [
            i for i, result in enumerate(function.results) if donated is not None and result.type not in taken
        ]
        self.regions: dict[Instruction, tuple[BufferPlan, ...]] = {}
        #: Carries of loops that have their first value's memory as their second buffer.
        self.first_values: dict[Instruction, list[int]] = {}

    def root(self, value: Value) -> Value:
        """The value that owns `value`'s memory: reshapes share."""
        return viewed(value, self.defs)

    def run(self, carries: int, first: int) -> BufferPlan:
        function, plan = self.function, self.plan
        for position, param in enumerate(function.params):
            plan.places[param] = BufferPlace("input", position)
        constants = 0
        for instruction in function.body:
            if instruction.op.kind is Kind.CREATION:
                plan.places[instruction.result] = BufferPlace("constant", constants)
                constants += 1
            elif instruction.op.kind.traits.control:
                self.regions[instruction] = plans_of(instruction, self.kernels)
        self._find_last_uses()
        for position, result in enumerate(function.results):
            root = self.root(result)
            if root in plan.places:
                plan.copies.append((position, root))
            else:
                plan.places[root] = BufferPlace("output", position)
        self._take_over()
        self._fill_arena()
        for view in function.body:
            if view.op.kind is Kind.VIEW:
                plan.places[view.result] = plan.places[self.root(view.result)]
        plan.replaceable = self._replaceable(carries, first)
        if self.donated:
            plan.overwrites = {
                instruction: self.kernels.overwrites(instruction) for instruction in function.body
            }
        return plan

    def _replaceable(self, carries: int, first: int) -> frozenset[int]:
        """Results that overwrite their parameters: the first write to a result's place is by the instruction
        in which the parameter dies."""
        indices = set()
        seen: set[BufferPlace] = set()
        for number, instruction in enumerate(self.function.body):
            for place in {self.plan.places[result] for result in instruction.results} - seen:
                if place.kind != "output" or place.index >= carries:
                    continue
                seen.add(place)
                param = self.function.params[first + place.index]
                if self.last_use.get(param) == number and any(
                    x is param and self.plan.places[result] == place
                    for result, x in self._overwritten(instruction)
                ):
                    indices.add(place.index)
        return frozenset(indices)

    def _find_last_uses(self) -> None:
        for position, instruction in enumerate(self.function.body):
            if instruction.op.kind is not Kind.VIEW:
                for value in reads(instruction, self.defs):
                    self.last_use[self.root(value)] = position
        for result in self.function.results:
            self.last_use[self.root(result)] = len(self.function.body)

    # -- memory that is handed on -----------------------------------------------------------------

    def _overwritten(self, instruction: Instruction) -> Iterator[tuple[Value, Value]]:
        """Results of `instruction` that may be written over a value that it reads, with that value."""
        roots = [self.root(value) for value in instruction.operands]
        if instruction.op.kind.traits.updates_operand:
            if roots[0] not in roots[1:]:
                yield instruction.result, roots[0]
        elif max([result.type.nbytes for result in instruction.results], default=0) < large_bytes():
            return
        elif instruction.op.kind in (Kind.SCAN, Kind.WHILE):
            for position in range(instruction.attrs["carries"]):
                if roots.count(roots[position]) == 1:
                    yield instruction.results[position], roots[position]
        else:
            pairs = self.kernels.overwrites(instruction)
            for i, result in enumerate(instruction.results):
                for x in dict.fromkeys(roots):
                    read = [position for position, root in enumerate(roots) if root is x]
                    if x.type.nbytes <= result.type.nbytes and all((i, j) in pairs for j in read):
                        yield result, x

    def _take_over(self) -> None:
        """Let values that die share the memory of what is written over them, from the last one back."""
        for position in range(len(self.function.body) - 1, -1, -1):
            instruction = self.function.body[position]
            done: set[Value] = set()
            for result, x in self._overwritten(instruction):
                if x in self.plan.places or x in done or result in done or self.last_use.get(x) != position:
                    continue
                if instruction.op.kind in (Kind.SCAN, Kind.WHILE):
                    carry = instruction.results.index(result)
                    if self._second_buffer(instruction, carry):
                        self.first_values.setdefault(instruction, []).append(carry)
                        continue
                    if (
                        instruction.op.kind is Kind.WHILE
                        and carry not in self.regions[instruction][-1].replaceable
                    ):
                        continue
                owner = self.owner.get(result, result)
                place = self.plan.places.get(owner)
                lent = place is None or place.kind != "output" or place.index in self.lending
                if not (lent or instruction.op.kind.traits.updates_operand or self._lends(place, x)):
                    continue
                done |= {result, x}
                self.owner[x] = owner
                self.last_use[owner] = max(self.last_use.get(owner, position), position)
                if place is not None:
                    self.plan.places[x] = place

    def _lends(self, place: BufferPlace | None, x: Value) -> bool:
        """Whether `x` may lie in the array of a result at `place`, and that still be a donated parameter."""
        if place is None:
            return True
        params = [self.function.params[position] for position in self.donated or ()]
        same = [param for param in params if param.type == self.function.results[place.index].type]
        return comes_after(x, same, self.defs, self.positions, self.last_use, self.root)

    def _second_buffer(self, loop: Instruction, carry: int) -> bool:
        """Whether the first value of a carry is free once it is read, as the first step writes to the result:
        so it does where an odd number of steps is left, and in loops of unknown length."""
        if carry in self.regions[loop][-1].replaceable:
            return False
        return loop.op.kind is Kind.WHILE or loop.attrs["length"] % 2 == 1

    # -- the arena --------------------------------------------------------------------------------

    def _fill_arena(self) -> None:
        """Place the values that have no memory yet in the arena."""
        blocks: list[ArenaBlock] = []
        #: Values by block; else what takes an offset.
        values: dict[int, Value] = {}
        allocated: set[Value] = set()
        layouts: dict[int, tuple[Instruction, BufferLayout]] = {}
        workspaces: dict[int, Instruction] = {}
        for position, instruction in enumerate(self.function.body):
            if instruction.op.kind is Kind.VIEW:
                continue
            if instruction in self.regions:
                layout = layout_of(
                    instruction, self.regions[instruction], self.first_values.get(instruction, ())
                )
                layouts[len(blocks)] = instruction, layout
                blocks.append(ArenaBlock(position, position, layout.nbytes))
            needed = self.kernels.workspace(instruction, self.defs)
            if needed:
                workspaces[len(blocks)] = instruction
                blocks.append(ArenaBlock(position, position, _rounded(needed)))
            for result in instruction.results:
                owner = self.owner.get(result, result)
                if result in self.plan.places or owner in allocated:
                    continue
                allocated.add(owner)
                values[len(blocks)] = owner
                last = max(self.last_use.get(owner, position), position)
                blocks.append(ArenaBlock(position, last, _rounded(max(owner.type.nbytes, 1))))
        places = self._borrowed(blocks, values)
        inside = [number for number in range(len(blocks)) if number not in places]
        offsets, self.plan.arena_bytes = pack([blocks[number] for number in inside])
        for number, offset in zip(inside, offsets, strict=True):
            if number in layouts:
                instruction, layout = layouts[number]
                self.plan.layouts[instruction] = layout, offset
            elif number in workspaces:
                self.plan.workspaces[workspaces[number]] = offset
            else:
                places[number] = BufferPlace("arena", offset)
        by_owner = {values[number]: place for number, place in places.items()}
        for instruction in self.function.body:
            for result in instruction.results:
                if instruction.op.kind is not Kind.VIEW and result not in self.plan.places:
                    self.plan.places[result] = by_owner[self.owner.get(result, result)]

    def _borrowed(self, blocks: list[ArenaBlock], values: Mapping[int, Value]) -> dict[int, BufferPlace]:
        """Places of large values in the arrays of results that nothing is written to while they live."""
        written = dict.fromkeys(self.lending, len(self.function.body))
        for position in range(len(self.function.body) - 1, -1, -1):
            for result in self.function.body[position].results:
                place = self.plan.places.get(result)
                if place is not None and place.kind == "output" and place.index in written:
                    written[place.index] = position
        rooms = sorted(self.lending, key=lambda i: self.function.results[i].type.nbytes)
        lives: dict[int, list[ArenaBlock]] = {i: [] for i in self.lending}
        places: dict[int, BufferPlace] = {}
        for number in sorted(values, key=lambda i: -blocks[i].nbytes):
            block, nbytes = blocks[number], values[number].type.nbytes
            if nbytes < large_bytes():
                break
            for room in rooms:
                if (
                    nbytes <= self.function.results[room].type.nbytes
                    and block.end < written[room]
                    and all(life.end < block.start or block.end < life.start for life in lives[room])
                ):
                    lives[room].append(block)
                    places[number] = BufferPlace("output", room)
                    break
        return places
