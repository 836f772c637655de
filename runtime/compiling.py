"""Code generation from a fused Function to machine code, through LLVM's text form.

Where it does not take a kernel, that is generated in a simpler way, see `codegen.plan.recovery`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from ..base.loading import LazyModule
from ..codegen.instrument.variants import Instrument
from ..codegen.interface import EARLY_RELEASE, POLL, REPORT
from ..codegen.llvm import compiler, target
from ..codegen.llvm.function import Code as LLVMCode
from ..codegen.llvm.multiply_add import contracted
from ..codegen.module.writer import generate
from ..codegen.plan.generated import Module
from ..codegen.plan.recovery import Recovery
from ..codegen.tiers import OPTIMIZED, Effort, ScheduleParameters, Tier
from ..ir.failures import not_ours
from ..ir.graph import Function
from .cache.code import Code
from .tiers import Abandoned

if TYPE_CHECKING:
    from ..codegen.module import donation
else:
    donation = LazyModule("..codegen.module.donation", __package__)


def module_of(
    fused: Function,
    notes: list[str],
    donated: Collection[int] = (),
    instrument: Instrument | None = None,
    *,
    parameters: ScheduleParameters = OPTIMIZED.parameters,
    errors: Sequence[str] = (),
) -> Module:
    """Generate the module for `fused` on this machine. Recoveries are added to `notes`. Its error messages
    follow `errors`, those of other code."""
    recovery = Recovery(fused, notes)
    return generate(fused, target.host(), instrument, donated, recovery, parameters=parameters, errors=errors)


def machine_code(
    module: Module,
    donated: Collection[int],
    instrument: Instrument | None = None,
    *,
    tier: Tier,
    whole: bool = True,
    between: Callable[[], None],
) -> tuple[Module, Code, dict[str, float]]:
    """`module` as machine code of a `tier`, and milliseconds by phase; first the module itself, another one
    where LLVM rejects a part of it. All of it is simplified where no kernel is to blame, if `whole` says so.
    `between` is called between pieces of a large one."""
    start = time.perf_counter()
    while True:
        try:
            effort = tier.effort
            worth = module.worth_compiling if effort is Effort.PLAIN else frozenset()
            effort = Effort.LIGHT if worth else effort
            text = module.contracted_text()
            spent = (time.perf_counter() - start) * 1e3
            reduce_loops = module.reduce_loops and tier.reduces_loops
            image, milliseconds = compiler.emit_object(
                text, effort, reduce_loops=reduce_loops, worth=worth, between=between
            )
            break
        except not_ours(Abandoned):
            raise
        except Exception as error:
            failing = [
                kernel.instruction
                for kernel in module.kernels
                if kernel.instruction and _fails(module, kernel.code)
            ]
            if not (failing or whole):
                raise
            recovery, cpu = module.recovery, module.target
            assert recovery is not None
            assert cpu is not None
            recovery.give_way(error, failing)
            module = generate(
                recovery.function, cpu, instrument, donated, recovery, parameters=module.parameters,
                errors=module.other_errors,
            )  # fmt: skip
    assert module.recovery is not None
    functions = [name for name in ("release", EARLY_RELEASE) if f"@{name}()" in text]
    exports = ["main", *functions] + [REPORT] * (f"@{REPORT} =" in text)
    code = Code(
        image, list(module.errors), module.parallel, f"@{POLL}(" in text or bool(module.host_calls),
        list(module.products),
        [(call.symbol, "") for call in module.host_calls],
        exports, module.cycles, len(module.kernels), module.arena_bytes,
        donation.reuses(module.recovery.function, module.plan, donated) if donated else {},
        lapack=list(module.lapack),
        c_functions=module.c_functions,
    )  # fmt: skip
    return module, code, {"generate": spent, **milliseconds}


def _fails(module: Module, kernel: LLVMCode) -> bool:
    """Whether LLVM rejects a kernel."""
    try:
        return compiler.rejects(contracted([*module.head, *kernel]))
    except Exception:
        return True
