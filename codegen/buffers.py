"""Buffer planning: where each value of a fused Function lives in memory.

Parameters live in the caller's arrays, results in the arrays the caller allocates, constants in the module,
everything else in one arena whose space is reused once a value is dead. The arenas of a control flow op's
regions are a part of it, as are the second buffers of a loop's carries and what kernels need to work in: a
step allocates nothing. A reshape
shares its operand's memory; an update or scatter takes over the memory of an operand that dies there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from ..ir.access import resolve
from ..ir.graph import Function, Instruction, Value
from ..ir.passes.control import CONTROL
from ..ir.records import field, record
from ..ir.registry import Kind

_ALIGNMENT: Final = 64
#: Ops that change a few elements of their first operand.
TAKES_OVER: Final = (Kind.UPDATE, Kind.SCATTER)
#: Kinds whose kernels read their operands as views.
READS_VIEWS: Final = (Kind.CONTRACTION, Kind.CONVOLUTION, Kind.CONCAT)
#: How many bytes an instruction's kernel needs to work in, given the definitions around it.
Workspace: TypeAlias = Callable[[Instruction, Mapping[Value, Instruction]], int]


@record
class Place:
    """`kind` is input, output, arena or constant; `index` a position, or a byte offset in the arena."""

    kind: str
    index: int


@record(eq=False, frozen=False)
class Plan:
    """Places by value, the arena's size, and results that must be copied: (output, source)."""

    places: dict[Value, Place] = field(default_factory=dict)
    arena_bytes: int = 0
    copies: list[tuple[int, Value]] = field(default_factory=list)
    #: Of control flow instructions, the layout and where in the arena it begins.
    layouts: dict[Instruction, tuple[Layout, int]] = field(default_factory=dict)
    #: Of instructions whose kernels need one, where in the arena the workspace begins.
    workspaces: dict[Instruction, int] = field(default_factory=dict)
    #: Carries whose memory the result at the same position may be.
    replaceable: frozenset[int] = frozenset()


@record(eq=False, frozen=False)
class Layout:
    """The workspace of a control flow instruction: an arena that its regions share, behind it the second
    buffers of a loop's carries (-1 for those that steps update in place), and a place for a condition.

    For a ``rewind`` `spares` are those of its states, and `carries` has two buffers for each carry: the same
    one twice where steps update it in place, none where it is on the stack.
    """

    plans: tuple[Plan, ...]
    spares: tuple[int, ...]
    condition: int
    nbytes: int
    carries: tuple[tuple[int, int] | None, ...] = ()


def layout_of(instruction: Instruction, workspace: Workspace) -> Layout:
    """Plan the memory of a control flow instruction's regions."""
    if instruction.op.kind is Kind.REWIND:
        return _layout_of_rewind(instruction, workspace)
    carries = instruction.attrs.get("carries", 0)
    plans = tuple([plan_buffers(region, workspace, carries) for region in instruction.regions])
    top = _rounded(max(plan.arena_bytes for plan in plans))
    spares: list[int] = []
    for position in range(carries):
        if position in plans[-1].replaceable:
            spares.append(-1)
            continue
        spares.append(top)
        top += _rounded(instruction.operands[position].type.nbytes)
    return Layout(plans, tuple(spares), top, top + _ALIGNMENT)


def on_stack(rewind: Instruction) -> list[bool]:
    """Which carries of a ``rewind`` its backward step reads, so that each step's are kept."""
    backward = rewind.regions[2]
    read = {operand for one in backward.body for operand in one.operands} | set(backward.results)
    return [param in read for param in backward.params[: rewind.attrs["carries"]]]


def _layout_of_rewind(instruction: Instruction, workspace: Workspace) -> Layout:
    condition, body, backward = instruction.regions
    count, states = instruction.attrs["carries"], instruction.attrs["states"]
    own = len(instruction.operands) - states
    plans = (
        plan_buffers(condition, workspace),
        plan_buffers(body, workspace, count),
        plan_buffers(backward, workspace, states, own),
    )
    top = _rounded(max(plan.arena_bytes for plan in plans))
    spares: list[int] = []
    for position in range(states):
        if position in plans[2].replaceable:
            spares.append(-1)
            continue
        spares.append(top)
        top += _rounded(instruction.results[position].type.nbytes)
    carries: list[tuple[int, int] | None] = []
    for position, kept in enumerate(on_stack(instruction)):
        if kept:
            carries.append(None)
            continue
        size = _rounded(instruction.operands[position].type.nbytes)
        one = position in plans[1].replaceable
        carries.append((top, top if one else top + size))
        top += size if one else 2 * size
    return Layout(plans, tuple(spares), top, top + _ALIGNMENT, tuple(carries))


def _rounded(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


def reads(instruction: Instruction, defs: Mapping[Value, Instruction]) -> list[Value]:
    """The values whose memory `instruction` reads; products and concatenations read through views."""
    if instruction.op.kind in READS_VIEWS:
        return [resolve(operand, defs)[0] for operand in instruction.operands]
    return list(instruction.operands)


def plan_buffers(function: Function, workspace: Workspace, carries: int = 0, first: int = 0) -> Plan:
    """Place every value of `function`, whose instructions run in order: a loop's body with so many carries,
    which come in as the parameters from `first` on."""
    return _Planner(function, workspace).run(carries, first)


class _Planner:
    def __init__(self, function: Function, workspace: Workspace) -> None:
        self.function, self.workspace = function, workspace
        self.defs = {result: one for one in function.body for result in one.results}
        self.plan = Plan()
        #: The value whose memory a value shares.
        self.owner: dict[Value, Value] = {}
        self.last_use: dict[Value, int] = {}

    def root(self, value: Value) -> Value:
        """The value that owns `value`'s memory: reshapes share."""
        definition = self.defs.get(value)
        while definition is not None and definition.op.kind is Kind.VIEW:
            value = definition.operands[0]
            definition = self.defs.get(value)
        return value

    def run(self, carries: int, first: int) -> Plan:
        function, plan = self.function, self.plan
        for position, param in enumerate(function.params):
            plan.places[param] = Place("input", position)
        constants = 0
        for one in function.body:
            if one.op.kind is Kind.CREATION:
                plan.places[one.result] = Place("constant", constants)
                constants += 1
        self._find_last_uses()
        for position, result in enumerate(function.results):
            root = self.root(result)
            if root in plan.places:
                plan.copies.append((position, root))
            else:
                plan.places[root] = Place("output", position)
        self._take_over()
        self._fill_arena()
        for one in function.body:
            if one.op.kind is Kind.VIEW:
                plan.places[one.result] = plan.places[self.root(one.result)]
        plan.replaceable = self._replaceable(carries, first)
        return plan

    def _replaceable(self, carries: int, first: int) -> frozenset[int]:
        """The results that are updates of their parameters, which die there, by what is written to their
        places first."""
        found = set()
        seen: set[Place] = set()
        for number, one in enumerate(self.function.body):
            for place in {self.plan.places[result] for result in one.results} - seen:
                if place.kind != "output" or place.index >= carries:
                    continue
                seen.add(place)
                param = self.function.params[first + place.index]
                others = [self.root(value) for value in one.operands[1:]]
                if (
                    one.op.kind in TAKES_OVER
                    and self.root(one.operands[0]) is param
                    and param not in others
                    and self.last_use.get(param) == number
                ):
                    found.add(place.index)
        return frozenset(found)

    def _find_last_uses(self) -> None:
        for position, one in enumerate(self.function.body):
            if one.op.kind is not Kind.VIEW:
                for value in reads(one, self.defs):
                    self.last_use[self.root(value)] = position
        for result in self.function.results:
            self.last_use[self.root(result)] = len(self.function.body)

    def _take_over(self) -> None:
        """Let updated operands that die share their result's memory, from the last update back."""
        for position in range(len(self.function.body) - 1, -1, -1):
            one = self.function.body[position]
            if one.op.kind not in TAKES_OVER:
                continue
            x = self.root(one.operands[0])
            others = [self.root(value) for value in one.operands[1:]]
            if x in self.plan.places or x in others or self.last_use.get(x) != position:
                continue
            if len(self.defs[x].results) > 1:
                continue
            owner = self.owner.get(one.result, one.result)
            self.owner[x] = owner
            self.last_use[owner] = max(self.last_use.get(owner, position), position)
            if owner in self.plan.places:
                self.plan.places[x] = self.plan.places[owner]

    def _fill_arena(self) -> None:
        """First fit, in order of definition; space is free after a value's last use."""
        live: list[tuple[int, int, int]] = []  # offset, size, last use
        offsets: dict[Value, int] = {}
        for position, one in enumerate(self.function.body):
            if one.op.kind is Kind.VIEW:
                continue
            live = sorted([entry for entry in live if entry[2] >= position])
            least, start = 0, 0  # no room for so many bytes before the entry of that number
            if one.op.kind in CONTROL:
                layout = layout_of(one, self.workspace)
                self.plan.layouts[one] = layout, self._while_running(position, live, layout.nbytes)
            needed = self.workspace(one, self.defs)
            if needed:
                self.plan.workspaces[one] = self._while_running(position, live, _rounded(needed))
            for result in one.results:
                if result in self.plan.places:
                    continue
                owner = self.owner.get(result, result)
                if owner in offsets:
                    self.plan.places[result] = Place("arena", offsets[owner])
                    continue
                size = _rounded(max(result.type.nbytes, 1))
                last = max(self.last_use.get(owner, position), position)
                offset, at = _first_fit(live, size, start if size >= least else 0)
                live.insert(at, (offset, size, last))
                least, start = size, at
                offsets[owner] = offset
                self.plan.places[result] = Place("arena", offset)
                self.plan.arena_bytes = max(self.plan.arena_bytes, offset + size)

    def _while_running(self, position: int, live: list[tuple[int, int, int]], size: int) -> int:
        """Room of `size` bytes for the instruction at `position` alone."""
        offset, at = _first_fit(live, size)
        live.insert(at, (offset, size, position))
        self.plan.arena_bytes = max(self.plan.arena_bytes, offset + size)
        return offset


def _first_fit(live: list[tuple[int, int, int]], size: int, start: int = 0) -> tuple[int, int]:
    """The lowest offset with room for `size` bytes among entries ordered by offset, none of which overlap,
    and its place in the order. *Requires*: there is no such room before entry `start`."""
    offset = live[start - 1][0] + live[start - 1][1] if start else 0
    for at in range(start, len(live)):
        if live[at][0] - offset >= size:
            return offset, at
        offset = live[at][0] + live[at][1]
    return offset, len(live)
