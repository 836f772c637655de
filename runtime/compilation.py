"""Compilation of one Function: its machine code is found on disk or in memory, or compiled, baseline tier
first."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from ..base.errors import CompileError
from ..base.loading import LazyModule
from ..base.machine import Machine, machine, use_machine
from ..base.process.collector import collector_paused
from ..base.process.locks import computed_once
from ..base.process.progress import no_progress
from ..base.records import record
from ..codegen.interface import HostCall
from ..codegen.tiers import BASELINE, OPTIMIZED, Tier
from ..ir.content import NoContent
from ..ir.failures import not_ours, warn_of_failure
from ..ir.graph import Function
from .cache.code import Code
from .cache.store import CACHE
from .native.allocator import touch_ahead
from .native.lapack import lapack_key
from .native.single_gemm import single_gemm_code
from .tiers import BACKGROUND, saves_time, tiers_are_on

if TYPE_CHECKING:
    from ..codegen.instrument.variants import Instrument
    from ..codegen.module.writer import Module
    from ..ir import passes
    from . import compiling
    from .cache import entries, keys
else:
    passes = LazyModule("..ir.passes", __package__)
    compiling = LazyModule(".compiling", __package__)
    entries = LazyModule(".cache.entries", __package__)
    keys = LazyModule(".cache.keys", __package__)


class Compilation:
    """Compiles one Function.

    Attributes:
        source: the Function as traced.
        milliseconds: compile time by phase.
        fallbacks: what was compiled in a simpler way since the compiler failed on it, as texts of warnings;
            such code is not kept on disk.
        machine: what the code is for, the current one where this begins.
        key: what the disk cache knows the code by, once it is there; None where it is not kept.
    """

    key: str | None = None

    def __init__(self, source: Function, instrument: Instrument | None, donated: Collection[int]) -> None:
        self.source, self.instrument = source, instrument
        self.donated = tuple(sorted(donated))
        self.machine = machine()
        self.milliseconds: dict[str, float] = {}
        self.fallbacks: list[str] = []

    # -- stages -----------------------------------------------------------------------------------

    @computed_once
    def optimized(self) -> Function:
        """The Function after the passes before fusion."""
        with use_machine(self.machine):
            return passes.run_passes(self.source, passes.OPTIMIZE, failures=self.fallbacks)

    @computed_once
    def fused(self) -> Function:
        """The Function after fusion, from which code is generated."""
        with use_machine(self.machine):
            following = passes.PIPELINE[len(passes.OPTIMIZE) :]
            return passes.run_passes(self.optimized, following, failures=self.fallbacks)

    @computed_once
    def module(self) -> Module:
        """The LLVM text and its kernels; made anew where the machine code was found on disk."""
        with use_machine(self.machine):
            module = compiling.module_of(self.fused, self.fallbacks, self.donated, self.instrument)
        self._take(module)
        return module

    # -- machine code -----------------------------------------------------------------------------

    def run(self) -> CompilationResult:
        """The machine code, from disk where it is there."""
        with collector_paused():
            return self._run()

    def _run(self) -> CompilationResult:
        start = time.perf_counter()
        key = self._key()
        code = None if key is None else entries.load_code(key)
        if code is not None:
            self._lap("cache", start)
            self.key = key
            calls = [HostCall(symbol, entries.read_instruction(text)) for symbol, text in code.host_calls]
            return CompilationResult(code, calls, None, found=True)
        code, module, tier = self._compile()
        calls = module.host_calls if module is not None else []
        if self.fallbacks:
            key = None
        self.key = key
        texts = [] if key is None else [entries.instruction_text(call.instruction) for call in calls]
        if tier is BASELINE:
            shared = module if module is not None and not module.shortened else None
            upgrade = Upgrade(
                self.fused, self.donated, shared, code, key, tuple(texts), self.machine, self.instrument
            )
            return CompilationResult(code, calls, upgrade)
        if key is not None:
            entries.store_code(key, code, texts)
        return CompilationResult(code, calls, None)

    def _key(self) -> str | None:
        """The key of the code in the disk cache, or None where the code cannot or should not be kept."""
        if CACHE.problem or self.instrument is not None:
            return None
        try:
            return keys.function_key(
                self.source, repr(self.donated), repr(self.machine), lapack_key(self.source)
            )
        except NoContent:
            return None

    def _compile(self) -> tuple[Code, Module | None, Tier]:
        """The code, its module unless it was there already, and its tier."""
        start = time.perf_counter()
        BACKGROUND.calling()
        touch_ahead([value.type.nbytes for value in self.source.results])
        fused = self.fused
        self._lap("passes", start)
        start = time.perf_counter()
        ready = self._single_gemm_code(fused)
        if ready is not None:
            self._lap("generate", start)
            return ready, None, BASELINE
        module, tier = self._module_to_compile()
        self._lap("generate", start)
        generating = self.milliseconds["generate"]
        module, code, milliseconds = compiling.machine_code(
            module, self.donated, self.instrument, tier=tier, between=BACKGROUND.calling
        )
        self._take(module)
        self.milliseconds.update(milliseconds)
        self.milliseconds["generate"] += generating
        return code, module, tier

    def _single_gemm_code(self, fused: Function) -> Code | None:
        """Code that is there already for a function that is one product; None for others."""
        if self.instrument is not None:
            return None
        try:
            return single_gemm_code(fused, self.donated)
        except not_ours():
            raise
        except Exception as error:
            instead = "It is compiled as others are"
            self.fallbacks.append(warn_of_failure(f"@{fused.name} as one product", instead, error))
            return None

    def _module_to_compile(self) -> tuple[Module, Tier]:
        """The text to compile now, and its tier."""
        instrument = self.instrument
        if not tiers_are_on() or not (instrument is None or instrument.tiered):
            return self.module, OPTIMIZED
        module = compiling.module_of(
            self.fused, self.fallbacks, self.donated, instrument, parameters=BASELINE.parameters
        )
        self._take(module)
        if instrument is not None or saves_time(module.text, module.slower):
            return module, BASELINE
        if not module.shortened:
            vars(self).setdefault("module", module)
        return self.module, OPTIMIZED

    def _take(self, module: Module) -> None:
        """Continue with the Function that `module` was made of, after a recovery."""
        assert module.recovery is not None
        if module.recovery.function is not self.fused:
            vars(self)["fused"] = module.recovery.function
            vars(self).pop("module", None)

    def _lap(self, phase: str, start: float) -> None:
        self.milliseconds[phase] = (time.perf_counter() - start) * 1e3


@record(eq=False)
class Upgrade:
    """Inputs for compiling the optimized tier while the baseline tier answers calls."""

    fused: Function
    donated: tuple[int, ...]
    #: The optimized tier's module, where the baseline's text serves for both tiers.
    module: Module | None
    baseline: Code
    #: Key in the disk cache, None where it is not kept; and the host calls, as texts.
    key: str | None
    calls: tuple[str, ...]
    machine: Machine
    instrument: Instrument | None = None

    def compile(self, is_wanted: Callable[[], bool]) -> tuple[Code | None, list[str]]:
        """Compile the optimized tier: its code, and notes of recoveries. The code is None where a kernel has
        become a host call, since it cannot replace the baseline code then. Stops where `is_wanted` returns
        False."""
        notes: list[str] = []
        with use_machine(self.machine), no_progress():  # in a thread of its own
            module = self.module or compiling.module_of(self.fused, notes, self.donated, self.instrument)
            if module.errors != self.baseline.errors[: len(module.errors)]:  # calls may still get those
                errors = self.baseline.errors
                module = compiling.module_of(self.fused, notes, self.donated, self.instrument, errors=errors)
            if module.recovery is not None:
                module.recovery.notes = notes
            _, code, _ = compiling.machine_code(
                module,
                self.donated,
                self.instrument,
                tier=OPTIMIZED,
                whole=False,
                between=lambda: BACKGROUND.give_way(is_wanted),
            )
        same = code.answers_like(self.baseline)
        if not same and not notes:
            raise CompileError(
                "the optimized code has other errors, callbacks or donations than the baseline code"
            )
        if self.key is not None and same and not notes:
            entries.store_code(self.key, code, list(self.calls))
        return (code if same else None), notes


@record(eq=False)
class CompilationResult:
    """Machine code with its host calls, and for the baseline tier the inputs of its upgrade."""

    code: Code
    host_calls: list[HostCall]
    upgrade: Upgrade | None
    #: Whether it came from the disk cache.
    found: bool = False
