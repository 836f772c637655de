"""Executable: a compiled Function, ready to call."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen.interface import FAILED, REPORT, HostCall, Library
from ..ir.content import NoContent
from ..ir.errors import CompileError, DomainError, OutOfBoundsError
from ..ir.failures import not_ours, warn_of_failure
from ..ir.graph import Function
from ..ir.passes import OPTIMIZE, PIPELINE, run_passes
from ..ir.process.locks import ForkLock, computed_once
from .cache.code import Code, instruction_text, load_code, read_instruction, store_code
from .cache.keys import function_key
from .cache.objects import link
from .cache.store import CACHE
from .host_calls import callback_of
from .interrupts import interruptible, poll_imports
from .native.allocator import empty
from .native.gemm import product_addresses
from .native.single_gemm import link_single_gemm, single_gemm_code
from .observing import OBSERVER
from .threads import POOL
from .tiers import BACKGROUND, saves_time, tiers_are_on

if TYPE_CHECKING:
    from ..codegen.instrument.variants import Instrument
    from ..codegen.module.writer import Module

Array = np.ndarray[Any, Any]

#: Estimated cycles from which the GIL is let go while native code runs.
RELEASE_GIL_CYCLES = 40_000.0


class Executable:
    """Native code for one Function.

    Attributes:
        source: the Function as traced.
        milliseconds: compile time by phase.
        found: whether the machine code came from the disk cache.
        errors: messages by the status that ``@main`` gives, less 1.
        not_lowered: ops that run by their NumPy kernel from within.
        kernels: how many kernels it has.
        arena_bytes: bytes for intermediate values.
        slow_enough: whether a call pays for letting go of the GIL.
        begun: when compiling began, by `time.monotonic_ns`.
        reuses: by result, the parameter of those `donated` whose memory the caller may give it.
        tier: "baseline" where the optimized code is not there yet, else "optimized"; see `tiers`.
        problem: why the optimized code could not be made, empty otherwise.
        fallbacks: what was compiled in a simpler way since the compiler failed on it, as texts of warnings;
            such code is not kept on disk.
    """

    #: The variant with clocks around its kernels, once somebody wanted it; see `timing`.
    timed_variant: Executable | None = None

    def __init__(
        self, function: Function, instrument: Instrument | None = None, donated: Collection[int] = ()
    ) -> None:
        if OBSERVER.compiling is not None and instrument is None:
            OBSERVER.compiling(function)
        if instrument is None and os.environ.get("TRACEJIT_CHECK") == "1":
            from ..codegen.instrument.access_checks import AccessChecks

            instrument = AccessChecks()
        self.begun = time.monotonic_ns()
        self.source = function
        self.milliseconds: dict[str, float] = {}
        self._instrument = instrument
        self._raised = threading.local()
        self._donated = tuple(sorted(donated))
        self.tier, self.problem, self.fallbacks = "optimized", "", list[str]()
        #: What is called back; what `_upgrade` needs; the baseline tier's code; and who holds `address`.
        self._calls: list[HostCall] = []
        self._job: tuple[Any, ...] | None = None
        self._earlier: Library | None = None
        self._followers: list[tuple[Any, int]] = []
        self._lock = ForkLock()
        code, self.found = self._code()
        self.errors, self.reuses = code.errors, code.reuses
        self.kernels, self.arena_bytes = code.kernels, code.arena_bytes
        self.slow_enough = code.cycles > RELEASE_GIL_CYCLES
        if self.found:
            calls = [HostCall(symbol, read_instruction(text)) for symbol, text in code.host_calls]
        else:
            calls = self._calls
        self.not_lowered = [call.instruction.op.name for call in calls]
        self._callbacks = [callback_of(call, self._raised) for call in calls]
        self._use(self._link(code))
        self.milliseconds.update(self.library.milliseconds)
        if self._job is not None:
            BACKGROUND.submit(functools.partial(_upgrade, weakref.ref(self), *self._job))

    def _use(self, library: Library) -> None:
        """Let calls run the code in `library`."""
        self.library = library
        if library.polls:
            self._main: Callable[[int, int], int] = interruptible(self.address)
        else:
            self._main = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(self.address)
        if "release" in library.addresses:
            # not __del__: in a cycle the collector may finalise the library, which unmaps the code, first
            weakref.finalize(self, _release, library).atexit = False

    def follow(self, holder: Any, place: int) -> None:
        """Write `address` to the memory at `place`, which `holder` owns, now and when it changes."""
        with self._lock:
            ctypes.c_int64.from_address(place).value = self.address
            if self.tier != "optimized":
                self._followers.append((holder, place))

    def _replace(self, library: Library) -> None:
        """Let calls run the optimized tier from now on. Those that run the baseline one end there, so it
        stays."""
        with self._lock:
            self._earlier = self.library
            self._use(library)
            self.tier, self._job = "optimized", None
            for _, place in self._followers:
                # one store: a call reads the one or the other
                ctypes.c_int64.from_address(place).value = self.address
            self._followers.clear()
        if "release" in self._earlier.addresses:
            _release(self._earlier)  # the arena that it keeps

    def _code(self) -> tuple[Code, bool]:
        """The machine code, and whether it was found on disk."""
        start = time.perf_counter()
        key = self._key()
        code = None if key is None else load_code(key)
        if code is not None:
            self._lap("cache", start)
            return code, True
        code = self._compile()
        if self.fallbacks:
            key = None
        texts = []
        if key is not None:
            texts = [instruction_text(call.instruction) for call in self._calls]
        if self._job is not None:
            self._job = (*self._job, code, key, texts)
        elif key is not None:
            store_code(key, code, texts)
        return code, False

    def _key(self) -> str | None:
        """What the disk cache knows the code by; None where it cannot be kept, or is not to be."""
        if CACHE.problem or self._instrument is not None:
            return None
        try:
            return function_key(self.source, repr(self._donated))
        except NoContent:
            return None

    def _compile(self) -> Code:
        start = time.perf_counter()
        from .compiling import machine_code

        BACKGROUND.calling()
        fused = self.fused
        self._lap("passes", start)
        start = time.perf_counter()
        ready = self._single_gemm_code(fused)
        if ready is not None:
            self._lap("generate", start)
            self._improve_later(None)
            return ready
        module, baseline = self._module_to_compile()
        self._lap("generate", start)
        generating = self.milliseconds["generate"]
        made, code, milliseconds = machine_code(
            module, self._donated, self._instrument, baseline=baseline, between=BACKGROUND.calling
        )
        self._take(made)
        self._calls = made.host_calls
        if baseline:
            self._improve_later(None if made.shortened else made)
        self.milliseconds.update(milliseconds)
        self.milliseconds["generate"] += generating
        return code

    def _single_gemm_code(self, fused: Function) -> Code | None:
        """Code that is there already for a function that is one product; None for others."""
        if self._instrument is not None:
            return None
        try:
            return single_gemm_code(fused, self._donated)
        except not_ours():
            raise
        except Exception as error:
            instead = "It is compiled as others are"
            self.fallbacks.append(warn_of_failure(f"@{fused.name} as one product", instead, error))
            return None

    def _improve_later(self, full: Module | None) -> None:
        """What is linked now is baseline code, in whose place the optimized code comes: of the module `full`
        where it is known."""
        self.tier = "baseline"
        self._job = (self.fused, self._donated, full)

    def _module_to_compile(self) -> tuple[Module, bool]:
        """The text to compile now, and whether it is for the baseline tier."""
        if self._instrument is not None or not tiers_are_on():
            return self.module, False
        from .compiling import module_of

        module = module_of(self.fused, self.fallbacks, self._donated, compact=True)
        self._take(module)
        if saves_time(module.text, module.slower):
            return module, True
        if not module.shortened:
            vars(self).setdefault("module", module)
        return self.module, False

    def _take(self, module: Module) -> None:
        """Go on with what `module` was made of."""
        assert module.recovery is not None
        if module.recovery.function is not self.fused:
            vars(self)["fused"] = module.recovery.function
            vars(self).pop("module", None)

    @computed_once
    def optimized(self) -> Function:
        """After the passes before fusion."""
        return run_passes(self.source, OPTIMIZE, failures=self.fallbacks)

    @computed_once
    def fused(self) -> Function:
        """After fusion, what code is generated from."""
        return run_passes(self.optimized, PIPELINE[len(OPTIMIZE) :], failures=self.fallbacks)

    @computed_once
    def module(self) -> Module:
        """The LLVM text and its kernels; made anew where the machine code was found on disk."""
        from .compiling import module_of

        module = module_of(self.fused, self.fallbacks, self._donated, self._instrument)
        self._take(module)
        return module

    def _lap(self, phase: str, start: float) -> None:
        self.milliseconds[phase] = (time.perf_counter() - start) * 1e3

    def _link(self, code: Code) -> Library:
        imports: dict[str, int] = {}
        for dtype in code.products:
            imports.update(product_addresses(dtype))
        if code.parallel:
            imports.update(POOL.imports())
        if code.polls:
            imports.update(poll_imports())
        for (name, _), callback in zip(code.host_calls, self._callbacks, strict=True):
            imports[name] = ctypes.cast(callback, ctypes.c_void_p).value or 0
        if code.numbers:
            library = link_single_gemm(code, imports)
        else:
            library = link(code.image, code.exports, imports)
        library.polls = code.polls
        return library

    @property
    def address(self) -> int:
        """The address of ``@main``."""
        return self.library.addresses["main"]

    def __call__(self, args: Sequence[Array]) -> list[Array]:
        """Run on arrays of just the parameters' types; anything else raises CompileError.

        The arrays are copied first where they are not contiguous, aligned and in native byte order.
        """
        if OBSERVER.call is not None:
            results: list[Array] = OBSERVER.call(self, args)
            return results
        return self.run(args)

    def run(self, args: Sequence[Array], into: Mapping[int, Array] | None = None) -> list[Array]:
        """The same, unobserved. `into` gives the arrays of some results, by number: each may be the argument
        that `reuses` says for it, as long as nothing else uses its memory."""
        if len(args) != len(self.source.params):
            raise CompileError(f"expected {len(self.source.params)} arguments, got {len(args)}")
        plain = [self._plain(arg, i) for i, arg in enumerate(args)]
        results = [
            into[i] if into and i in into else empty(result.shape, result.dtype)
            for i, result in enumerate(self.source.results)
        ]
        inputs = (ctypes.c_void_p * max(1, len(plain)))(*[array.ctypes.data for array in plain])
        outputs = (ctypes.c_void_p * max(1, len(results)))(*[result.ctypes.data for result in results])
        status = self._main(ctypes.addressof(inputs), ctypes.addressof(outputs))
        if status:
            self.fail(status)
        return results

    def _plain(self, arg: Any, position: int) -> Array:
        param = self.source.params[position]
        array: Array = np.asarray(arg)  # not a subclass: its shape is what the array's is
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        array = np.require(array, requirements=["C", "A"])
        if array.dtype != param.dtype or array.shape != param.shape:
            raise CompileError(f"argument {position} must be {param.type}, got {array.dtype} {array.shape}")
        return array if array.dtype is param.dtype else array.astype(param.dtype)

    def fail(self, status: int) -> None:
        """Raise what ``@main`` says with a `status` that is not 0."""
        message = self.errors[status - 1]
        raised = getattr(self._raised, "error", None)
        if raised is not None:
            self._raised.error = None
            if isinstance(raised, ValueError) and not self._raised.users:
                raise DomainError(f"{message.split(':')[0]}: {raised}") from raised
            if isinstance(raised, IndexError) and not self._raised.users:
                raise OutOfBoundsError(str(raised)) from raised
            try:
                raise raised
            finally:
                del raised  # or the exception would hold itself alive through this frame
        if message.startswith("out of memory"):
            raise MemoryError(message)
        if message.startswith(FAILED):
            first = ctypes.c_int64.from_address(self.library.addresses[REPORT] + 8).value
            raise CompileError(f"{message}: it begins at byte {first}. A bug in tracejit: please report it")
        raise OutOfBoundsError(message)


def _upgrade(
    executable: weakref.ref[Executable],
    fused: Function,
    donated: Collection[int],
    module: Module | None,
    baseline: Code,
    key: str | None,
    calls: list[str],
) -> None:
    """Compile the optimized tier of `executable`, of `module` if that is there, keep it on disk, and put it
    into the baseline one's place."""
    from .compiling import machine_code, module_of

    if executable() is None:
        return
    try:
        between = functools.partial(BACKGROUND.give_way, lambda: executable() is not None)
        notes: list[str] = []
        module = module or module_of(fused, notes, donated)
        if module.recovery is not None:
            module.recovery.notes = notes
        module, code, _ = machine_code(module, donated, baseline=False, whole=False, between=between)
        same = code.answers_like(baseline)
        if not same and not notes:
            raise CompileError(
                "the optimized code has other errors, callbacks or donations than the baseline code"
            )
        if key is not None and same and not notes:
            store_code(key, code, calls)
        alive = executable()
        if alive is None:
            return
        alive.fallbacks += notes
        if same:
            alive._replace(alive._link(code))
        else:  # a kernel of the optimized tier has become a host call
            alive.problem, alive._job = notes[-1], None
    except Exception as error:
        alive = executable()
        if alive is not None:
            alive.problem, alive._job = f"{type(error).__name__}: {error}", None
        raise


def _release(library: Library) -> None:
    """Give the arena back, which the code owns, while the code is still there."""
    ctypes.CFUNCTYPE(None)(library.addresses["release"])()
