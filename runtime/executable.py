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

from ..base.errors import (
    CompileError,
    DomainError,
    IndexValueError,
    LinAlgError,
    OutOfBoundsError,
    checked_error,
)
from ..base.loading import LazyModule
from ..base.machine import use_machine
from ..base.process.finalization import finalize
from ..base.process.locks import ForkLock
from ..codegen.interface import (
    EARLY_RELEASE,
    FAILED,
    REPORT,
    Library,
)
from ..ir.graph import Function
from ..ir.ops.linalg.undetermined import GRADIENT_WARNING
from .cache.code import Code
from .compilation import Compilation, Upgrade
from .interrupts import interruptible, poll_imports
from .loading.objects import link
from .native.allocator import empty
from .native.lapack import lapack_addresses
from .native.single_gemm import link_single_gemm
from .observing import OBSERVER
from .repeats import Repeats, once, repeating, repeats_of
from .threads import POOL
from .tiers import BACKGROUND

if TYPE_CHECKING:
    from ..codegen.instrument import access_checks
    from ..codegen.instrument.variants import Instrument
    from ..codegen.module import step_copies
    from ..codegen.module.step_copies import StepCopy
    from ..codegen.module.writer import Module
    from . import denormals, host_calls
    from .native import gemm
else:
    access_checks = LazyModule("..codegen.instrument.access_checks", __package__)
    denormals = LazyModule(".denormals", __package__)
    gemm = LazyModule(".native.gemm", __package__)
    host_calls = LazyModule(".host_calls", __package__)
    step_copies = LazyModule("..codegen.module.step_copies", __package__)


Array = np.ndarray[Any, Any]

#: Estimated cycles from which the GIL is let go while native code runs.
RELEASE_GIL_CYCLES = 40_000.0


class Executable:
    """Native code for one Function.

    Attributes:
        source: the Function as traced.
        flush_denormals: whether calls flush denormal numbers.
        milliseconds: compile time by phase.
        found: whether the machine code came from the disk cache.
        errors: messages by the status that ``@main`` gives, less 1.
        calls_python: whether it calls Python from within, if only to warn.
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
        self,
        function: Function,
        instrument: Instrument | None = None,
        donated: Collection[int] = (),
        flush_denormals: bool = False,
    ) -> None:
        if OBSERVER.compiling is not None and instrument is None:
            OBSERVER.compiling(function)
        if instrument is None and os.environ.get("TRACEJIT_CHECK") == "1":
            instrument = access_checks.AccessChecks(tiered=True)
        self.begun = time.monotonic_ns()
        self.source, self.flush_denormals = function, flush_denormals
        self._compilation = Compilation(function, instrument, donated)
        self.milliseconds, self.fallbacks = self._compilation.milliseconds, self._compilation.fallbacks
        self._raised = threading.local()
        self.tier, self.problem = "optimized", ""
        #: The baseline tier's code, which calls may still be in; and who holds `address`.
        self._earlier: Library | None = None
        #: Number of the `errors` with which a call in the baseline tier may end, once there is an optimized
        #: one.
        self._earlier_errors = 0
        self._followers: list[tuple[Any, int]] = []
        self._lock = ForkLock()
        #: The code for arguments that repeat elements, by `repeats.Repeats`.
        self._variants: dict[tuple[tuple[int, tuple[int, ...]], ...], Executable] = {}
        self._variants_lock = ForkLock()
        compiled = self._compilation.run()
        code, self.found = compiled.code, compiled.found
        self.errors = code.errors
        #: Results that may be written over a donated parameter: of the type that the program has, where code
        #: has two reals for a complex number.
        self.reuses = {
            result: param
            for result, param in code.reuses.items()
            if function.results[result].type == function.params[param].type
        }
        self.kernels, self.arena_bytes = code.kernels, code.arena_bytes
        self.slow_enough = code.cycles > RELEASE_GIL_CYCLES
        called = [call.instruction.op for call in compiled.host_calls]
        self.calls_python = bool(called)
        self.not_lowered = [op.name for op in called if op is not GRADIENT_WARNING]
        self._callbacks = [host_calls.callback_of(call, self._raised) for call in compiled.host_calls]
        self._use(self._link(code))
        self.milliseconds.update(self.library.milliseconds)
        if compiled.upgrade is not None:
            self.tier = "baseline"
            BACKGROUND.submit(functools.partial(_upgrade, weakref.ref(self), compiled.upgrade))

    def _use(self, library: Library) -> None:
        """Let calls run the code in `library`."""
        self.library = library
        if library.polls:
            self._main: Callable[[int, int], int] = interruptible(self.address)
        else:
            self._main = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(self.address)
        if "release" in library.addresses:
            finalize(self, _function(library, "release"), keeping=library)

    def follow(self, holder: Any, place: int) -> None:
        """Write `address` to the memory at `place`, which `holder` owns, now and when it changes."""
        with self._lock:
            ctypes.c_int64.from_address(place).value = self.address
            if self.tier != "optimized":
                self._followers.append((holder, place))

    def _replace(self, library: Library, errors: list[str]) -> None:
        """Let calls run the optimized tier from now on, whose `errors` begin with the baseline one's. Those
        that run the baseline one end there, so it stays."""
        with self._lock:
            self._earlier_errors = len(self.errors)
            self.errors = max(self.errors, errors, key=len)
            self._earlier = self.library
            self._use(library)
            self.tier = "optimized"
            for _, place in self._followers:
                # one store: a call reads the one or the other
                ctypes.c_int64.from_address(place).value = self.address
            self._followers.clear()
        early = [name for name in (EARLY_RELEASE, "release") if name in self._earlier.addresses]
        if early:
            _function(self._earlier, early[0])()  # gives back the arena that it keeps

    def copies_at_steps(self) -> list[StepCopy]:
        """The copies that lines make at each step of loops, each once. Without loops the module is not asked
        for, which would have to be made again where the machine code was found on disk."""
        if not any(instruction.op.kind.traits.control for instruction in self.fused.body):
            return []
        plan = self.module.plan  # that of what the code was generated from
        return list(dict.fromkeys(step_copies.step_copies(self.fused, plan)))

    @property
    def key(self) -> str | None:
        """The key of the machine code in the disk cache, once it is compiled; None where it is not kept."""
        return self._compilation.key

    @property
    def optimized(self) -> Function:
        """The Function after the passes before fusion."""
        return self._compilation.optimized

    @property
    def fused(self) -> Function:
        """The Function after fusion, from which code is generated."""
        return self._compilation.fused

    @property
    def module(self) -> Module:
        """The LLVM text and its kernels; made anew where the machine code was found on disk."""
        return self._compilation.module

    def _link(self, code: Code) -> Library:
        imports = dict(code.c_functions)
        with use_machine(self._compilation.machine):
            for dtype in code.products:
                imports.update(gemm.product_addresses(dtype))
        if code.lapack:
            imports.update(lapack_addresses(code.lapack))
        if code.parallel:
            imports.update(POOL.imports())
        if code.polls:
            imports.update(poll_imports())
        for (name, _), callback in zip(code.host_calls, self._callbacks, strict=True):
            imports[name] = id(callback)
        if code.numbers:
            library = link_single_gemm(code, imports)
        else:
            library = link(code.image, code.exports, imports)
        library.polls = code.polls
        return denormals.flushing(library) if self.flush_denormals else library

    @property
    def address(self) -> int:
        """The address of ``@main``."""
        return self.library.addresses["main"]

    def __call__(self, args: Sequence[Array]) -> list[Array]:
        """Run on arrays of just the parameters' types; anything else raises CompileError.

        The arrays are copied first where they are not contiguous, aligned and in native byte order. Large
        ones that repeat their elements are read as they are.
        """
        if OBSERVER.call is not None:
            results: list[Array] = OBSERVER.call(self, args)
            return results
        return self.run(args)

    def run(self, args: Sequence[Array], into: Mapping[int, Array] | None = None) -> list[Array]:
        """Run as ``__call__`` does, unobserved. `into` gives the arrays of some results, by number: each may
        be the argument that `reuses` says for it, as long as nothing else uses its memory."""
        if len(args) != len(self.source.params):
            raise CompileError(f"expected {len(self.source.params)} arguments, got {len(args)}")
        arrays = [np.asarray(arg) for arg in args]  # no subclasses: a shape is what the array's is
        if not into and self._compilation.instrument is None:
            repeats = repeats_of(arrays, self.source.params)
            if repeats:
                return self._repeating(repeats).run(once(arrays, repeats))
        plain = [self._plain(array, i) for i, array in enumerate(arrays)]
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

    def _repeating(self, repeats: Repeats) -> Executable:
        """The code for arguments that have one element along the axes of `repeats`."""
        key = tuple(repeats.items())
        with self._variants_lock:
            if key not in self._variants:
                with use_machine(self._compilation.machine):
                    function = repeating(self.source, repeats)
                    self._variants[key] = Executable(function, flush_denormals=self.flush_denormals)
            return self._variants[key]

    def _plain(self, array: Array, position: int) -> Array:
        param = self.source.params[position]
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
            if isinstance(raised, (LinAlgError, IndexValueError)):
                raise raised.with_traceback(None)
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
            byte = self._failing_byte(status)
            raise CompileError(f"{message}: it begins at byte {byte}. A bug in tracejit: please report it")
        raise checked_error(message)

    def _failing_byte(self, status: int) -> int:
        """The first byte of the access that failed, by the report of the code that ended with `status`. Where
        that may be either tier's, it is the one that has a report, which is cleared when it is read."""
        libraries = [self.library]
        if self._earlier is not None and status <= self._earlier_errors:
            libraries.insert(0, self._earlier)
        for library in libraries:
            report = (ctypes.c_int64 * 3).from_address(library.addresses[REPORT])
            _, place, start = report
            if place or start:
                report[1] = report[2] = 0
                break
        return place - start


def _upgrade(waiting: weakref.ref[Executable], upgrade: Upgrade) -> None:
    """Put the optimized tier into the baseline one's place, if somebody still has the executable."""
    if waiting() is None:
        return
    try:
        code, notes = upgrade.compile(lambda: waiting() is not None)
        executable = waiting()
        if executable is None:
            return
        executable.fallbacks += notes
        if code is None:
            executable.problem = notes[-1]
        else:
            executable._replace(executable._link(code), code.errors)
    except Exception as error:
        executable = waiting()
        if executable is not None:
            executable.problem = f"{type(error).__name__}: {error}"
        raise


def _function(library: Library, name: str) -> Callable[[], None]:
    """A function of a library without arguments and results. It does not keep the library alive."""
    return ctypes.CFUNCTYPE(None)(library.addresses[name])
