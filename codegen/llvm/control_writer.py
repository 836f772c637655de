"""Writer of operations in structured control flow: conditionals, loops and ways out of them.

Values that parts and steps hand on are given and taken as lists of registers; `control_operations` makes phis
of them. Loops of known length are rotated (test at the end); their bounds are constants or registers, i64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from .control_operations import (
    Branch,
    Conditional,
    Label,
    Loop,
    RegionEnd,
    RegionPart,
    Return,
    SideExit,
    While,
)
from .function import ENTRY, Declarations, FunctionCode
from .operations import Arrange, Compute, Convert, FunctionCall, Operation
from .registers import Reg, constant, llvm_type
from .stack import Slots, with_scratch

Bound: TypeAlias = Reg | int
#: Writes a part of a conditional, and returns the values that it hands on.
Part: TypeAlias = Callable[[], Sequence[Reg] | None]


class OperationWriter:
    """Appends operations, and regions of them, to those of one LLVM function, and names what they define.

    What is written in a region may leave it: by `ret`, `branch`, or the exits here.
    """

    #: The block that is being written.
    block = ENTRY

    def __init__(self, declarations: Declarations | None = None) -> None:
        #: Stack slots, at the top of the entry block, and what follows them.
        self.slots = Slots()
        self.operations: list[Operation] = []
        self._counter = 0
        self._labels = 0
        #: Declarations of intrinsics and externals, shared by the functions of a module.
        self.declarations = Declarations() if declarations is None else declarations
        #: Whether the machine has what `maths.wide` writes.
        self.wide_tables = self.declarations.wide_tables

    def fresh(self, prefix: str = "v") -> str:
        """A new name."""
        self._counter += 1
        return f"%{prefix}{self._counter}"

    # -- values -----------------------------------------------------------------------------------

    def compute(self, code: str, dtype: str, lanes: int, *arguments: Reg) -> Reg:
        """Append ``code`` on arguments of one type, with a result of `dtype` x `lanes`."""
        self._counter += 1
        result = Compute(f"%v{self._counter}", dtype, lanes, code, arguments)
        self.operations.append(result)
        return result

    def convert(self, code: str, x: Reg, dtype: str) -> Reg:
        """Append a conversion to `dtype`."""
        result = Convert(self.fresh(), dtype, x.lanes, code, x)
        self.operations.append(result)
        return result

    def arrange(self, code: str, dtype: str, lanes: int, *arguments: Reg, tail: str = "") -> Reg:
        """Append a choice among arguments, or a move of lanes, with a result of `dtype` x `lanes`."""
        result = Arrange(self.fresh(), dtype, lanes, code, arguments, tail)
        self.operations.append(result)
        return result

    # -- blocks -----------------------------------------------------------------------------------

    def start(self, label: str) -> None:
        """Begin the block `label`; the previous one must have been ended."""
        self.operations.append(Label(label))
        self.block = label

    def branch(self, label: str) -> None:
        """End the block: go on at `label`."""
        self.operations.append(Branch("", label))

    def branch_if(self, condition: Reg, then: str, otherwise: str) -> None:
        """End the block: go on at one of two labels."""
        self.operations.append(Branch(condition.text, then, otherwise))

    def ret(self, value: Reg | None = None) -> None:
        """Leave the function, with `value`."""
        self.operations.append(Return(value))

    # -- functions --------------------------------------------------------------------------------

    def declare(self, name: str, signature: str) -> None:
        """Declare an external function or an intrinsic, unless it is declared."""
        self.declarations.setdefault(name, f"declare {signature}")

    def run(self, callee: str, *arguments: Reg) -> None:
        """Call a function of this module, or one that is declared, without a result."""
        self.operations.append(FunctionCall(f"@{callee}", arguments))

    def result_of(self, callee: str, dtype: str, lanes: int, *arguments: Reg) -> Reg:
        """Call a function of this module, or one that is declared, for a result of `dtype` x `lanes`."""
        result = FunctionCall(f"@{callee}", arguments, self.fresh(), dtype, lanes)
        self.operations.append(result)
        return result

    def call(self, name: str, dtype: str, lanes: int, *args: Reg) -> Reg:
        """Call the external or intrinsic `name`, declaring it, for a result of `dtype` x `lanes`."""
        if name not in self.declarations:
            self.declare(name, f"{llvm_type(dtype, lanes)} @{name}({', '.join([arg.type for arg in args])})")
        return self.result_of(name, dtype, lanes, *args)

    def function(self, signature: str, attributes: str = "") -> FunctionCode:
        """The finished function: ``define <signature> { ... }``."""
        slots, operations = self.slots, [*self.slots, *self.operations]
        if slots.scratch_bytes:
            operations = with_scratch(operations, slots.scratch_bytes)
        return FunctionCode(signature, attributes, operations, slots.stack_bytes, slots.scratch_bytes)

    # -- regions ----------------------------------------------------------------------------------

    def label(self, name: str) -> str:
        """A new label."""
        self._labels += 1
        return f"{name}.{self._labels}"  # not a name that `fresh` gives: LLVM has one space of names

    def _registers_like(self, values: Sequence[Reg], prefix: str = "v") -> list[Reg]:
        return [Reg(self.fresh(prefix), value.dtype, value.lanes) for value in values]

    # -- conditionals -----------------------------------------------------------------------------

    def when(
        self, condition: Reg, part: Part, otherwise: Sequence[Reg] = (), *, rare: bool = False
    ) -> list[Reg]:
        """Run `part` where the scalar `condition` holds, which may be `rare`; its values there, and
        `otherwise` elsewhere."""
        region = Conditional(condition, [self.label("then")], self.label("after"), rare=rare)
        region.ways_out[-1] = self.block, otherwise
        return self._parts(region, [part], otherwise)

    def one_of(self, selector: Reg, parts: Sequence[Part]) -> list[Reg]:
        """Run the first of two `parts` where a bool holds, else the second; or the part with this number, the
        last one where there is none. The values of that part."""
        return self._parts(
            Conditional(selector, [self.label("part") for _ in parts], self.label("after")), parts
        )

    def _parts(self, region: Conditional, parts: Sequence[Part], values: Sequence[Reg] = ()) -> list[Reg]:
        """Write `parts`; the values behind them, which are like `values` where there are some."""
        self.operations.append(region)
        for number, (label, part) in enumerate(zip(region.labels, parts, strict=True)):
            if number:
                self.operations.append(RegionPart(region, number))
            self.block = label
            results = part()
            if not self.operations[-1].ends_block:
                region.ways_out[number] = self.block, results or ()
                values = values or results or ()
        self.operations.append(RegionEnd(region))
        self.block = region.joined
        counts = sorted({len(brought) for _, brought in region.ways_out.values()})
        assert len(counts) < 2, f"parts hand on {' and '.join(map(str, counts))} values"
        region.merged = self._registers_like(values)
        return list(region.merged)

    # -- loops of known length --------------------------------------------------------------------

    def loop(
        self,
        start: Bound,
        stop: Bound,
        step: int,
        body: Callable[[Reg, list[Reg]], Sequence[Reg]],
        carried: Sequence[Reg] = (),
        *,
        nonempty: bool = False,
    ) -> list[Reg]:
        """``for i in range(start, stop, step)``, with `body(i, carried) -> carried`.

        Without registers the trip count is known: no iterations write nothing, one writes the body alone.
        `nonempty` promises at least one iteration where bounds are registers.
        """
        if isinstance(start, int) and isinstance(stop, int):
            trips = -(-(stop - start) // step)
            if trips <= 0:
                return list(carried)
            if trips == 1:
                return list(body(constant(start, "i64"), list(carried)))
            nonempty = True
        first, last = [bound if isinstance(bound, Reg) else constant(bound, "i64") for bound in (start, stop)]
        head, done = self.label("loop"), self.label("done")
        guard = None
        if not nonempty:
            skipped = self.label("skip")
            enter = self.label("enter")
            guard = self.fresh(), enter, skipped
            self.block = enter
        before = self.block
        index = Reg(self.fresh("i"), "i64")
        phis = self._registers_like(carried, "c")
        region = Loop(first, last, step, index, phis, carried, before, head, done, guard)
        self.operations.append(region)
        self.block = head
        results = list(body(index, list(phis)))
        region.end(results, self.block, Reg(self.fresh(), "i64"), self.fresh())
        self.operations.append(RegionEnd(region))
        self.block = done
        if guard is None:
            return results
        self.block = region.joined = self.label("joined")
        region.merged = self._registers_like(results)
        return list(region.merged)

    # -- loops of unknown length ------------------------------------------------------------------

    def begin_while(self, first: Sequence[Reg]) -> While:
        """Begin a loop whose first step takes `first` as its `carried` values."""
        head = self.label("while")
        region = While(self._registers_like(first, "c"), first, self.block, head, self.label("done"))
        self.operations.append(region)
        self.block = head
        return region

    def break_unless(self, region: While, condition: Reg, values: Sequence[Reg] = ()) -> None:
        """Leave the loop with `values` where `condition` does not hold."""
        region.ways_out.append((self.block, values))
        self._exit(condition, region.done, values, holds=False)

    def continue_unless(self, region: While, condition: Reg, values: Sequence[Reg]) -> None:
        """Go on with the next step, which takes `values`, where `condition` does not hold."""
        region.ways_in.append((self.block, values))
        self._exit(condition, region.head, values, holds=False)

    def end_while(self, region: While, values: Sequence[Reg], more: Reg | None = None) -> list[Reg]:
        """End a step: the next one takes `values`. Where there is `more`, it has to hold for that. What was
        left with."""
        region.ways_in.append((self.block, values))
        region.more = more
        self.operations.append(RegionEnd(region))
        self.block = region.done
        region.merged = self._registers_like(region.ways_out[0][1] if region.ways_out else ())
        return list(region.merged)

    # -- ways out ---------------------------------------------------------------------------------

    def exit_if(self, condition: Reg, label: str) -> None:
        """Go to `label` where `condition` holds."""
        self._exit(condition, label, holds=True)

    def _exit(self, condition: Reg, label: str, values: Sequence[Reg] = (), *, holds: bool) -> None:
        self.block = self.label("on")
        self.operations.append(SideExit(condition, label, self.block, values, holds=holds))
