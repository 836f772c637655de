"""Verifier of the invariants that a function has before it is printed as LLVM text.

1. Regions nest: a `RegionEnd` ends the innermost region that is open.
2. A block ends with a branch, a switch or a return, and nothing but the next label follows.
3. Branches go to labels of the function.
4. A register is defined once.
5. A definition dominates its uses: it stands before them in their block, or in a block that is on every way
   to theirs. What a phi reads dominates the end of the block that it comes from.
6. The phis of a block stand at its begin, and name the blocks before it, each once.
7. An operand has the type that its definition has. Arithmetic has arguments and a result of one type, and
   comparisons a result of bools.
8. What is accessed in any case, at an address that is affine in indices of loops with known bounds, lies in
   its buffer where the size of that is known.

It is run by tests, and on every kernel under ``TRACEJIT_CHECK=1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...base.errors import CompileError
from ..llvm.control_operations import (
    Branch,
    Label,
    Loop,
    RegionBegin,
    RegionEnd,
    Return,
    SideExit,
    Switch,
    While,
)
from ..llvm.function import ENTRY, Code, FunctionCode
from ..llvm.operations import Arrange, Compute, Convert, FunctionCall, Offset, Operation, Phi, Store
from ..llvm.registers import Reg, llvm_type
from .addresses import Addresses


def verify_code(code: Code, sizes: Mapping[str, int] | None = None, tasks: int = 0) -> None:
    """Verify the functions of `code`: `sizes` are the bytes of buffers, by the names that functions have for
    them, `tasks` is how many tasks there are. Raises CompileError with what is wrong."""
    for part in code:
        if isinstance(part, FunctionCode):
            verify(part, sizes, tasks)


def verify(function: FunctionCode, sizes: Mapping[str, int] | None = None, tasks: int = 0) -> None:
    """Verify one function."""
    _Verifier(function).run(sizes or {}, tasks)


class _Verifier:
    def __init__(self, function: FunctionCode) -> None:
        self.function = function
        #: Type, block and place in the block of each definition.
        self.types: dict[str, str] = dict(function.parameters)
        self.places: dict[str, tuple[str, int]] = dict.fromkeys(self.types, (ENTRY, -1))
        self.blocks: dict[str, list[Operation]] = {}
        self.targets: dict[str, Sequence[str]] = {}

    def run(self, sizes: Mapping[str, int], tasks: int) -> None:
        self._regions()
        self._blocks()
        before = self._predecessors()
        dominators = _dominators(ENTRY, self.blocks, self.targets, before)
        for label, operations in self.blocks.items():
            if label in dominators:  # LLVM does not look into what cannot be reached either
                self._block(label, operations, before[label], dominators)
        self._addresses(sizes, tasks)

    def _fail(self, message: str, operation: Operation | None = None) -> None:
        where = f": `{operation.line().strip()}`" if operation is not None else ""
        raise CompileError(f"function @{self.function.name}{where}: {message}")

    # -- structure --------------------------------------------------------------------------------

    def _regions(self) -> None:
        opened: list[RegionBegin] = []
        for operation in self.function.operations:
            if isinstance(operation, RegionBegin):
                opened.append(operation)
            elif isinstance(operation, RegionEnd) and (not opened or opened.pop() is not operation.region):
                self._fail("a region ends that is not the innermost one")
        if opened:
            self._fail(f"{len(opened)} regions do not end")

    def _blocks(self) -> None:
        """Cut the instructions into blocks, and note what they define."""
        label, block = ENTRY, list[Operation]()
        self.blocks[label] = block
        for operation in self.function.instructions:
            if isinstance(operation, Label):
                self._ended(label)
                label, block = operation.name, []
                if label in self.blocks:
                    self._fail(f"there are two blocks {label}")
                self.blocks[label] = block
                continue
            if label in self.targets:
                self._fail(f"nothing may follow the end of block {label}", operation)
            result = operation.result
            if result is not None:
                if result.text in self.places:
                    self._fail(f"{result.text} is defined twice", operation)
                self.places[result.text] = label, len(block)
                self.types[result.text] = result.type
            block.append(operation)
            if isinstance(operation, (Branch, Switch, Return)):
                self.targets[label] = operation.targets
        self._ended(label)

    def _ended(self, label: str) -> None:
        if label not in self.targets:
            self._fail(f"block {label} does not end with a branch, a switch or a return")

    def _predecessors(self) -> dict[str, list[str]]:
        before: dict[str, list[str]] = {label: [] for label in self.blocks}
        for label, targets in self.targets.items():
            for target in targets:
                if target not in before:
                    self._fail(f"block {label} leads to {target}, which is no block")
                before[target].append(label)
        return before

    # -- operations -------------------------------------------------------------------------------

    def _block(
        self, label: str, operations: list[Operation], before: list[str], dominators: Mapping[str, set[str]]
    ) -> None:
        phis = True
        for place, operation in enumerate(operations):
            if isinstance(operation, Phi):
                if not phis:
                    self._fail("a phi stands behind other operations", operation)
                self._phi(operation, before, dominators)
                continue
            phis = False
            for text in operation.operands():
                if text[:1] == "%":
                    self._dominates(text, label, place, dominators, operation)
            self._typed(operation)

    def _phi(self, phi: Phi, before: list[str], dominators: Mapping[str, set[str]]) -> None:
        sources = [label for _, label in phi.incoming]
        if sorted(sources) != sorted(set(before)):
            self._fail(
                f"values come from {', '.join(sources)}, the blocks before are {', '.join(before)}", phi
            )
        for text, label in phi.incoming:
            if text[:1] == "%" and label in dominators:
                self._dominates(text, label, len(self.blocks[label]), dominators, phi)
                self._same_type(Reg(text, phi.dtype, phi.lanes), phi)

    def _dominates(
        self, text: str, label: str, place: int, dominators: Mapping[str, set[str]], operation: Operation
    ) -> None:
        if text not in self.places:
            self._fail(f"{text} is not defined", operation)
        home, defined = self.places[text]
        if not (defined < place if home == label else home in dominators[label]):
            self._fail(f"{text} is not defined on every way to its use", operation)

    def _typed(self, operation: Operation) -> None:
        arguments = _arguments(operation)
        for argument in arguments:
            if argument.text[:1] == "%":
                self._same_type(argument, operation)
        if not isinstance(operation, Compute):
            return
        kinds = {argument.type for argument in arguments}
        if len(kinds) != 1:
            self._fail(f"its arguments have types {', '.join(sorted(kinds))}", operation)
        compares = operation.code[1:4] == "cmp"
        (expected,) = {llvm_type("bool", arguments[0].lanes)} if compares else kinds
        if operation.type != expected:
            self._fail(f"its result has type {operation.type}, expected {expected}", operation)

    def _same_type(self, use: Reg, operation: Operation) -> None:
        defined = self.types[use.text]
        if defined and use.type != defined:
            self._fail(f"{use.text} has type {defined}, is used as {use.type}", operation)

    # -- addresses --------------------------------------------------------------------------------

    def _addresses(self, sizes: Mapping[str, int], tasks: int) -> None:
        """Check what is accessed in any case: not in a conditional, nor behind a branch."""
        addresses = Addresses()
        if tasks:
            addresses.ranges |= {"%begin": (0, tasks - 1), "%end": (1, tasks)}
        conditional, loops = 0, set[str]()
        for operation in self.function.operations:
            addresses.read(operation)
            if isinstance(operation, (Branch, Return)):
                return
            if isinstance(operation, SideExit) and operation.target not in loops:
                return
            if isinstance(operation, RegionBegin):
                conditional += _may_be_skipped(operation)
                if isinstance(operation, While):
                    loops |= {operation.head, operation.done}
            elif isinstance(operation, RegionEnd):
                conditional -= _may_be_skipped(operation.region)
            access = addresses.accessed(operation)
            if access is None or conditional or access.lanes[1] == 0:
                continue
            buffer = access.address.buffer
            size = addresses.slots.get(buffer, sizes.get(buffer))
            places = access.address.offset.range(addresses.ranges)
            if size is None or places is None:
                continue
            low, high = (
                place + access.width * lane for place, lane in zip(places, access.lanes, strict=True)
            )
            if low < 0 or high > size:
                self._fail(f"it accesses bytes {low} to {high} of {buffer}, which has {size}", operation)


def _may_be_skipped(region: RegionBegin) -> bool:
    return not isinstance(region, Loop) or region.guard is not None


def _arguments(operation: Operation) -> Sequence[Reg]:
    """The operands that come with a type."""
    if isinstance(operation, (Compute, Arrange, FunctionCall)):
        return operation.arguments
    if isinstance(operation, Convert):
        return (operation.argument,)
    if isinstance(operation, (Store, Switch)):
        return (operation.value,)
    if isinstance(operation, Offset):
        return (operation.index,)
    return (operation.value,) if isinstance(operation, Return) and operation.value is not None else ()


def _dominators(
    entry: str, labels: Iterable[str], targets: Mapping[str, Sequence[str]], before: Mapping[str, list[str]]
) -> dict[str, set[str]]:
    """The blocks on every way to each block that can be reached, itself among them."""
    order, seen, stack = list[str](), {entry}, [(entry, iter(targets[entry]))]
    while stack:
        label, rest = stack[-1]
        following = next((target for target in rest if target not in seen), None)
        if following is None:
            order.append(label)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(targets[following])))
    order.reverse()
    dominators = {label: set(order) for label in order} | {entry: {entry}}
    changed = True
    while changed:
        changed = False
        for label in order[1:]:
            ways = [dominators[source] for source in before[label] if source in dominators]
            common = set.intersection(*ways) | {label}
            if common != dominators[label]:
                dominators[label], changed = common, True
    return dominators
