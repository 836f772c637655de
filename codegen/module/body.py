"""Writers of the bodies of native functions: a Function's instructions over planned buffers.

What has no lowering is a *host call*: its NumPy kernel, run from within through a callback.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from ...base.loading import LazyModule
from ...base.process.progress import with_progress
from ...ir.access import resolve, start_in_memory
from ...ir.graph import Function, Instruction, Value
from ...ir.registry import Kind
from ..instrument.variants import PLAIN
from ..interface import CALL_BACK, PARALLEL_FOR, POLL, out_of_memory
from ..llvm.emitter import Reg, constant, pointer
from ..llvm.function import UNOPTIMIZED, calls
from ..llvm.loops import FunctionWriter
from ..llvm.operations import Convert, Slot
from ..llvm.registers import bytes_constant
from ..llvm.scratch import reserve
from ..llvm.stack import check_stack
from ..lowering.exits import LONG_CYCLES, ExitWriter, polled_loop
from ..lowering.kernel import Kernel
from ..lowering.lowering import LoweringContext
from ..lowering.parallel_for import run_tasks
from ..plan.buffers import BufferPlace, BufferPlan
from ..plan.generated import HostCall
from ..plan.recovery import attributed
from .families import LOWERINGS
from .parts import ModuleParts

if TYPE_CHECKING:
    from ..control import regions
    from ..control.regions import RegionCode
else:
    regions = LazyModule("..control.regions", __package__)

#: Functions of more instructions than this are compiled as they stand: they are calls, in a row.
MANY_CALLS: Final = 100


class BodyWriter(ExitWriter):
    """Writes the instructions of a Function, which is one of the functions of a module."""

    def __init__(
        self,
        module: ModuleParts,
        function: Function,
        plan: BufferPlan,
        *,
        prefix: str = "",
        trips: float = 1.0,
    ) -> None:
        self.module, self.function, self.plan = module, function, plan
        #: Prefix of the names of the kernels and constants of this function.
        self.prefix = prefix
        #: The number of times that a call runs this function's instructions, for estimates.
        self.trips = trips
        self.defs = {result: instruction for instruction in function.body for result in instruction.results}
        self.cycles, self.slower, self.parallel = 0.0, 0.0, False
        self.declarations, self.errors = module.declarations, module.errors
        self.functions, self.globals = module.functions, module.globals
        self.descriptions = module.descriptions
        self.w = FunctionWriter(module.declarations)
        #: Stack arrays of pointers, by how many they hold.
        self.arrays: dict[int, str] = {}
        self.pointers: dict[BufferPlace, str] = {}
        self.failures: list[tuple[str, str, int]] = []
        self.stop = ""

    def _attributes(self) -> str:
        """Attributes of the function. A long row of calls is not optimized: it needs no optimizing, and LLVM
        takes more than linear time for it."""
        return f"nounwind {UNOPTIMIZED}" if len(self.function.body) > MANY_CALLS else "nounwind"

    def _instructions(self) -> None:
        """Write all instructions of the function in order, then the copies of results."""
        for number, instruction in enumerate(with_progress(self.function.body, "kernels")):
            if instruction.op.kind is Kind.CREATION:
                self._constant(instruction)
            elif instruction.op.kind not in (Kind.VIEW, Kind.ALLOCATION):
                name = f"{self.prefix}k{number}"
                with attributed(instruction):
                    mark = self.module.instrument.before(self, instruction, name)
                    self._kernel(instruction, name)
                    self.module.instrument.after(self, mark)
        for position, source in self.plan.copies:
            if source.type.nbytes:
                self.w.copy(
                    self._at(BufferPlace("output", position)), self._pointer(source), source.type.nbytes
                )

    # -- memory -----------------------------------------------------------------------------------

    def _arena_on_stack(self) -> None:
        """The arena, which is small, as a slot."""
        slot = pointer(self.w.slot("u8", self.plan.arena_bytes))
        self.w.operations.append(Convert("%arena", "ptr", 1, "bitcast", slot))

    def _at(self, place: BufferPlace) -> str:
        """The pointer to a place; loaded where it is first used, so only in blocks that dominate."""
        name = self.pointers.get(place)
        if name is not None:
            return name
        if place.kind == "constant":
            name = f"@{self.prefix}const{place.index}"
        elif place.kind == "arena":
            name = self.w.offset("%arena", "u8", place.index)
        else:
            name = self._argument(place)
        self.pointers[place] = name
        return name

    @abc.abstractmethod
    def _argument(self, place: BufferPlace) -> str:
        """The pointer to an input or an output."""

    def _pointer(self, value: Value) -> str:
        pointer, start = self._at(self.plan.places[value]), start_in_memory(value, self.defs)
        return self.w.offset(pointer, "u8", start * value.dtype.itemsize) if start else pointer

    def _constant(self, instruction: Instruction) -> None:
        """A constant's elements as bytes in the module."""
        index = self.plan.places[instruction.result].index
        data = np.ascontiguousarray(instruction.op.eval(**instruction.attrs)).tobytes()
        self.globals.append(bytes_constant(f"{self.prefix}const{index}", data))

    # -- kernels ----------------------------------------------------------------------------------

    def _kernel(self, instruction: Instruction, name: str) -> None:
        read = [self._memory_of(instruction, operand) for operand in instruction.operands]
        operands = [self._pointer(value) for value in read]
        results = [self._pointer(result) for result in instruction.results]
        kernel = self._lower(instruction, name)
        if kernel is None and instruction.op.kind.traits.control:
            layout, offset = self.plan.layouts[instruction]
            arena = self._at(BufferPlace("arena", offset))
            regions.ControlWriter(self, instruction, name, layout, arena, operands, results).run()
            return
        if kernel is None:
            self._host_call(instruction, operands + results)
            return
        check_stack(kernel.stack_bytes, f"kernel {name}")
        self._provide_scratch(kernel)
        extents = [value.type.nbytes for value in (*read, *instruction.results)]
        if instruction in self.plan.workspaces:
            extents.append(self.module.memory.workspace(instruction, self.defs))
        self.module.instrument.kernel(instruction, kernel, extents)
        kernel.instruction, kernel.trips = instruction, self.trips
        self.module.kernels.append(kernel)
        if self.module.instrument is not PLAIN or not self.module.known.has_code(kernel, name):
            self.functions += kernel.code
        self.descriptions.append(kernel.described)
        self.cycles += kernel.cycles * self.trips
        self.slower += kernel.cycles * self.trips * kernel.slowdown
        if kernel.tasks == 0:
            return
        pointers = operands + results
        if instruction in self.plan.workspaces:
            pointers.append(self._at(BufferPlace("arena", self.plan.workspaces[instruction])))
        if kernel.pooled:
            self._use_pool()
        if kernel.pooled or kernel.why_serial():
            self._call(kernel, pointers)
        else:
            self._call_in_parallel(kernel, pointers)
        left_silently = not kernel.interruptible and POLL in self.declarations and calls(kernel.code, POLL)
        if kernel.pooled or not kernel.why_serial() or left_silently:
            self.poll()  # it may have been left: then what comes next must not read what it has written

    def _provide_scratch(self, kernel: Kernel) -> None:
        """Reserve the scratch blocks that `kernel` needs; leave where there is no memory."""
        w = self.w
        for nbytes in kernel.scratch_blocks:
            self.check_status(w.cast(w.not_(reserve(w, nbytes)), "i32").text, len(self.errors))
            self.errors.append(out_of_memory(nbytes))

    def _memory_of(self, instruction: Instruction, operand: Value) -> Value:
        if instruction.op.kind.traits.reads_views:
            return resolve(operand, self.defs)[0]
        return operand

    def _lower(self, instruction: Instruction, name: str) -> Kernel | None:
        """The kernel of an instruction, by its op's kind; None where there is no lowering."""
        lowering = LOWERINGS.get(instruction.op.kind)
        if lowering is None:
            return None
        context = LoweringContext(self.defs, self.module.fusions, self.declarations)
        if self.module.instrument is not PLAIN:
            return lowering.kernel(name, instruction, context)
        return self.module.known.lower(lowering, name, instruction, context)

    def _call(self, kernel: Kernel, pointers: list[str]) -> None:
        """Run a kernel on this thread: all of its tasks, or some at a time."""
        w, buffers = self.w, [pointer(text) for text in pointers]

        def tasks(begin: Reg, end: Reg) -> None:
            if not kernel.fallible:
                w.run(kernel.name, *buffers, begin, end)
                return
            status = w.result_of(kernel.name, "i32", 1, *buffers, begin, end)
            if kernel.interruptible:
                self.leave_if(w.lt(status, 0))
            if kernel.errors:
                self.check_status(status.text, len(self.errors))

        if kernel.tasks == 1 or kernel.pooled or kernel.cycles <= LONG_CYCLES:
            tasks(constant(0, "i64"), constant(kernel.tasks, "i64"))
        else:
            together = max(1, int(LONG_CYCLES * kernel.tasks / kernel.cycles))

            def some(index: Reg, _: list[Reg]) -> Sequence[Reg]:
                first = w.mul(index, together)
                tasks(first, w.min(w.add(first, together), kernel.tasks))
                return ()

            polled_loop(w, -(-kernel.tasks // together), some, (), LONG_CYCLES, self.poll)
        self.errors += kernel.errors

    def region(self, function: Function, plan: BufferPlan, name: str, trips: float) -> RegionCode:
        """Write the region `function` as a function of its own in this module."""
        return _RegionBody(self, function, plan, name, trips).write()

    def call_region(self, region: RegionCode, pointers: Sequence[str]) -> None:
        """Run a region on an arena, its inputs and its outputs; leave where it fails."""
        arguments = [pointer(text) for text in (*self.module.extra, *pointers)]
        if not region.fallible:
            self.w.run(region.name, *arguments)
            return
        status = self.w.result_of(region.name, "i32", 1, *arguments)
        self.check_status(status.text, 0)

    def _call_in_parallel(self, kernel: Kernel, pointers: list[str]) -> None:
        self._use_pool()
        name, code = self.module.tasks.of(kernel, len(pointers))
        self.functions += code
        run_tasks(self.w, name, kernel.tasks, kernel.chunk, self._pointer_array(pointers))

    def _use_pool(self) -> None:
        self.parallel = True
        self.declarations[PARALLEL_FOR] = f"declare void @{PARALLEL_FOR}(ptr, ptr, i64, i64)"

    def _pointer_array(self, pointers: list[str]) -> str:
        """A stack array that holds `pointers`, until the next one with as many is filled."""
        w = self.w
        count = max(len(pointers), 1)
        if count not in self.arrays:
            self.arrays[count] = w.slots.take(Slot(w.fresh("pointers"), "ptr", count))
        array = self.arrays[count]
        for i, text in enumerate(pointers):
            w.store_pointer(text, w.offset(array, "ptr", i))
        return array

    def _host_call(self, instruction: Instruction, pointers: list[str]) -> None:
        w = self.w
        symbol = f"host{len(self.module.host_calls)}"
        self.module.host_calls.append(HostCall(symbol, instruction))
        self.descriptions.append(f"host call {symbol}: {instruction.op.name} by its NumPy kernel")
        self.declarations[symbol] = f"@{symbol} = external global i8"  # an object of Python's
        self.declarations[CALL_BACK] = f"declare i32 @{CALL_BACK}(ptr, ptr)"
        array = self._pointer_array(pointers)
        status = w.result_of(CALL_BACK, "i32", 1, pointer(f"@{symbol}"), pointer(array))
        self.leave_if(w.lt(status, 0))
        self.check_status(status.text, len(self.errors))
        self.errors.append(f"{instruction.op.name}: its NumPy kernel raised")


class _RegionBody(BodyWriter):
    """A region as a function over an arena, its inputs and its outputs, which fails with the module's
    status."""

    def __init__(
        self, parent: BodyWriter, function: Function, plan: BufferPlan, name: str, trips: float
    ) -> None:
        super().__init__(parent.module, function, plan, prefix=f"{name}_", trips=parent.trips * trips)
        self.parent, self.name = parent, name

    def write(self) -> RegionCode:
        """Append the function to the module."""
        self._instructions()
        fallible = self.fallible
        self.close_arena("done")
        self.w.ret(constant(0, "i32") if fallible else None)
        self.exits()
        arguments = [f"%input{i}" for i in range(len(self.function.params))]
        arguments += [f"%output{i}" for i in range(len(self.function.results))]
        pointers = ", ".join(f"ptr {text}" for text in (*self.module.extra, "%arena", *arguments))
        result = "i32" if fallible else "void"
        self.functions.append(
            self.w.function(f"internal {result} @{self.name}({pointers})", self._attributes())
        )
        self.parent.parallel |= self.parallel
        self.parent.cycles += self.cycles
        self.parent.slower += self.slower
        return regions.RegionCode(self.name, fallible, self.cycles / self.trips if self.trips else 0.0)

    def _argument(self, place: BufferPlace) -> str:
        return f"%{place.kind}{place.index}"

    def close_arena(self, label: str) -> None:
        """Give back only what steps allocated: the arena is the caller's."""
        self.w.free_held()
