"""Writer of a whole Function as one native function.

``i32 @main(ptr inputs, ptr outputs)`` runs the kernels in order over planned buffers. It returns 0, or the
number of the message that says what went wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from ...base.loading import LazyModule
from ...ir.graph import Function
from ..control.loop_records import ARENA, early_release_function, release_function
from ..instrument.variants import PLAIN, Instrument
from ..interface import c_functions, out_of_memory
from ..llvm.emitter import Reg, constant, pointer
from ..llvm.function import Code, code_length
from ..llvm.operations import Convert
from ..llvm.target import Target
from ..nest.fusions import Fusions
from ..plan.buffers import BufferPlace, plan_buffers
from ..plan.generated import HostCall as HostCall
from ..plan.generated import Module as Module
from ..plan.recovery import Recovery
from ..tiers import OPTIMIZED, ScheduleParameters
from .body import BodyWriter
from .families import LOWERINGS
from .parts import ModuleParts

if TYPE_CHECKING:
    from . import allocation
else:  # with the first arena that is not on the stack
    allocation = LazyModule(".allocation", __package__)

#: Arenas up to this size are on the stack.
STACK_ARENA: Final = 4096


def generate(
    function: Function,
    target: Target,
    instrument: Instrument | None = None,
    donated: Collection[int] = (),
    recovery: Recovery | None = None,
    *,
    parameters: ScheduleParameters = OPTIMIZED.parameters,
    errors: Sequence[str] = (),
) -> Module:
    """LLVM text for a fused `function`, in the sizes of `parameters`, with what `instrument` adds; some
    results may be written over `donated` parameters, see `donation`. What it fails on is simplified, by
    `recovery` if there is one. Its messages stand behind the `errors` of other code."""
    recovery = recovery or Recovery(function)

    def write(simpler: Function) -> Module:
        return ModuleWriter(simpler, Fusions(target, parameters), instrument or PLAIN, donated, errors).run()

    module = recovery.attempt(write)
    module.recovery, module.target, module.parameters = recovery, target, parameters
    module.other_errors = list(errors)
    return module


class ModuleWriter(BodyWriter):
    """Writes a Function as one native function: ``@main`` over arrays of pointers."""

    def __init__(
        self, function: Function, fusions: Fusions, instrument: Instrument, donated: Collection[int],
        errors: Sequence[str] = (),
    ) -> None:  # fmt: skip
        instrument.begin()
        module = ModuleParts(function, fusions, instrument, errors)
        super().__init__(module, function, plan_buffers(function, module.memory, donated=donated))

    def run(self) -> Module:
        """The module, with ``@main`` as its last function."""
        w, module = self.w, self.module
        self._open_arena()
        self._instructions()
        self.close_arena("done")
        w.ret(constant(0, "i32"))
        self.exits()
        module.instrument.finish(self)
        self.functions += release_function(self.declarations) + early_release_function(self.declarations)
        arguments = ", ".join(f"ptr {text}" for text in ("%inputs", "%outputs", *module.extra))
        main = w.function(f"i32 @main({arguments})", self._attributes())
        head: Code = [*self.globals, *self.declarations.values()]
        products = sorted({kernel.product for kernel in module.kernels if kernel.product})
        unrolled = {
            kernel.name: code_length(kernel.code)
            for kernel in module.kernels
            if kernel.instruction and LOWERINGS[kernel.instruction.op.kind].unrolled
        }
        functions, much = [*self.functions, main], 2 * sum(unrolled.values())
        return Module(
            head, functions, module.kernels, module.host_calls, self.errors, self.parallel, products,
            self.plan.arena_bytes, self.cycles + 1e5 * len(module.host_calls), self.slower,
            module.descriptions,
            lapack=sorted({symbol for kernel in module.kernels for symbol in kernel.lapack}),
            c_functions=c_functions(self.declarations), plan=self.plan,
            reduce_loops=not much or much < code_length([*head, *functions]),
        )  # fmt: skip

    # -- memory -----------------------------------------------------------------------------------

    def _open_arena(self) -> None:
        """The arena: on the stack if small, else kept between calls in a slot that one call owns."""
        w, size = self.w, self.plan.arena_bytes
        if size == 0:
            return
        if size <= STACK_ARENA:
            self._arena_on_stack()
            return
        self.declarations[ARENA] = f"@{ARENA} = internal global ptr null"
        w.declare("aligned_alloc", "ptr @aligned_alloc(i64, i64)")
        w.declare("free", "void @free(ptr)")
        self.errors.append(out_of_memory(size))
        status = len(self.errors)
        kept = w.exchange(f"@{ARENA}", pointer("null"))

        def allocate() -> list[Reg]:
            fresh = allocation.allocated(w, size)
            w.when(w.same_place(fresh.text, "null"), lambda: w.ret(constant(status, "i32")))
            return [fresh]

        (arena,) = w.when(w.same_place(kept.text, "null"), allocate, [kept])
        w.operations.append(Convert("%arena", "ptr", 1, "bitcast", arena))

    def close_arena(self, label: str) -> None:
        w = self.w
        w.free_held()
        if self.plan.arena_bytes <= STACK_ARENA:
            return
        w.run("free", w.exchange(f"@{ARENA}", pointer("%arena")))

    def _argument(self, place: BufferPlace) -> str:
        """The pointer to an input or an output."""
        return self.w.load_pointer(self.w.offset(f"%{place.kind}s", "ptr", place.index))
